//! `knowledge.dataset_get`: the typed datasets that a file's tables became.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Reading;
use crate::datasets::{DatasetOut, find, show};
use crate::error::Error;
use crate::ingest;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// The most rows of a sample.
const SAMPLE_ROWS_MAX: u32 = 50;
/// How many datasets of a source have samples.
const SAMPLES_MAX: usize = 20;

/// See the module.
pub struct DatasetGet;

/// The input of `knowledge.dataset_get`.
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
    /// One dataset of it; empty for all.
    #[serde(default)]
    dataset_id: String,
    /// How many of its first rows to return of each dataset (0-50), of the first 20.
    #[serde(default)]
    sample_rows: u32,
}

/// The output of `knowledge.dataset_get`.
#[derive(Default, Serialize, JsonSchema)]
pub struct Output {
    /// Whether the source has a live document.
    found: bool,
    /// The live document's revision; 0 where there is none.
    revision: u64,
    /// Its datasets in the order of the file's tables; none of a document that is no file with tables.
    datasets: Vec<DatasetOut>,
}

impl Query for DatasetGet {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.dataset_get",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "The typed datasets of an ingested file: schemas, open questions, rejected rows, and first rows on request.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        limits::text("dataset_id", &input.dataset_id, limits::LABEL_CHARS_MAX)?;
        limits::range("sample_rows", input.sample_rows, 0, SAMPLE_ROWS_MAX)?;
        let Some(version) = ingest::live_in(reading.snapshot(), &scope, &input.source_uri)? else {
            return Ok(Output::default());
        };
        let stored = find(reading.snapshot(), &scope, version.doc_id)?.map(|(stored, _)| stored.datasets);
        let wanted = stored.unwrap_or_default().into_iter();
        let wanted = wanted.filter(|dataset| input.dataset_id.is_empty() || dataset.dataset_id == input.dataset_id);
        let datasets = wanted.enumerate().map(|(at, dataset)| {
            let rows = if at < SAMPLES_MAX { input.sample_rows as usize } else { 0 };
            show(reading, &scope, version.revision, &dataset, rows)
        });
        Ok(Output { found: true, revision: version.revision.0, datasets: datasets.collect::<Result<_, _>>()? })
    }
}
