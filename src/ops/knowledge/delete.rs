//! `knowledge.delete`: stop serving a document; its rows stay, so that it can be restored.

use loom_storage::{Batch, Cause, Committed, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Planning;
use crate::error::Error;
use crate::ingest;
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Delete;

/// The input of `knowledge.delete`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The document to delete.
    source_uri: String,
}

/// The output of `knowledge.delete`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether a live document was deleted.
    deleted: bool,
    /// How many live chunks it had.
    chunks_tombstoned: u32,
}

impl Command for Delete {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.delete",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Delete a document: searches stop returning it at once; knowledge.restore brings it back.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        let (head, live) = ingest::current(planning, &scope, &input.source_uri)?;
        let mut batch = Batch::default();
        if live.is_some() {
            batch.preconditions.push(ingest::head_unchanged(&scope, &input.source_uri, head.as_ref()));
            batch.writes.push(Write::Retire {
                scope: scope.clone(),
                source_uri: input.source_uri.clone(),
                cause: Cause::Delete,
                at: planning.now(),
            });
        }
        let output = Output { deleted: live.is_some(), chunks_tombstoned: live.map_or(0, |live| live.chunk_count) };
        let audit = json!({ "scope": scope.to_string(), "source_uri": input.source_uri, "deleted": output.deleted });
        Ok(Plan { batch, answer: Box::new(move |_: &Committed| output), audit })
    }
}
