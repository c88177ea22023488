//! `knowledge.dataset_approve`: a dataset's schema is answered for.

use std::collections::BTreeMap;

use loom_extract::contract::CellType;
use loom_storage::{Batch, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::Planning;
use crate::datasets::{DatasetOut, approve, datasets_unchanged, described, find};
use crate::error::{Code, Error};
use crate::ingest;
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// The most columns whose types one approval changes.
const COLUMNS_MAX: usize = 1_000;

/// See the module.
pub struct DatasetApprove;

/// The input of `knowledge.dataset_approve`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The ingested file.
    source_uri: String,
    /// The dataset, as `knowledge.dataset_get` names it.
    dataset_id: String,
    /// The snapshot that was looked at (`knowledge.dataset_get`); refused once another serves.
    snapshot_id: String,
    /// The types to change, by the names of the columns; the others keep theirs.
    #[serde(default)]
    columns: BTreeMap<String, CellType>,
}

/// The output of `knowledge.dataset_approve`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether the source is live and has the dataset.
    found: bool,
    /// The dataset as approved; null when it was not found.
    dataset: Option<DatasetOut>,
    /// Whether a changed type made a new snapshot.
    retyped: bool,
}

impl Command for DatasetApprove {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.dataset_approve",
        role: Role::Writer,
        kind: Kind::Write,
        audited: true,
        mcp_all_listed: false,
        summary: "Approve a dataset's schema; columns whose types are changed are typed again from the stored extraction.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        limits::text("dataset_id", &input.dataset_id, limits::LABEL_CHARS_MAX)?;
        limits::text("snapshot_id", &input.snapshot_id, limits::LABEL_CHARS_MAX)?;
        limits::list_len("columns", input.columns.len(), 0, COLUMNS_MAX)?;
        let (head, live) = ingest::current(planning, &scope, &input.source_uri)?;
        let Some(version) = live else { return Ok(not_found()) };
        let Some((mut stored, changed)) = find(planning.snapshot(), &scope, version.doc_id)? else {
            return Ok(not_found());
        };
        let Some(dataset) = stored.datasets.iter_mut().find(|dataset| dataset.dataset_id == input.dataset_id) else {
            return Ok(not_found());
        };
        if dataset.snapshot_id != input.snapshot_id {
            let message = "another snapshot serves the dataset by now: read it again with knowledge.dataset_get";
            let field = Some("snapshot_id".into());
            return Err(Error { field, ..Error::new(Code::PreconditionFailed, message) });
        }
        let retyping = approve(planning, &scope, version.doc_id, dataset, &input.columns)?;
        let shown = described(version.revision, dataset, dataset.incomplete(false), None);
        let retyped = retyping.is_some();
        let mut batch = Batch::default();
        batch.preconditions.push(ingest::head_unchanged(&scope, &input.source_uri, head.as_ref()));
        batch.preconditions.push(datasets_unchanged(&scope, version.doc_id, changed));
        batch.writes.extend(retyping.map(|retyping| Write::PutBlob { scope: scope.clone(), row: retyping.blob }));
        batch.writes.push(stored.write(&scope, version.doc_id)?);
        let audit = json!({
            "source_uri": input.source_uri, "dataset_id": input.dataset_id, "snapshot_id": shown.snapshot_id,
            "columns": input.columns,
        });
        let answer = move |_: &_| Output { found: true, dataset: Some(shown), retyped };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}

fn not_found() -> Plan<Output> {
    let answer = |_: &_| Output { found: false, dataset: None, retyped: false };
    Plan { batch: Batch::default(), answer: Box::new(answer), audit: Value::Null }
}
