//! `knowledge.ingest_status`: where a job stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::jobs::{self, Job, State};
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct IngestStatus;

/// The input of `knowledge.ingest_status` and `knowledge.ingest_cancel`.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "KnowledgeIngestionInput")]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    pub org: String,
    /// The namespace.
    #[serde(default)]
    pub namespace: String,
    /// The id that `knowledge.ingest` answered.
    pub ingestion_id: String,
}

/// The output of `knowledge.ingest_status`: every field but `found` and `ingestion_id` is empty when nothing was found.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "KnowledgeIngestStatusOutput")]
pub struct Output {
    /// Whether the namespace has such a job.
    found: bool,
    /// The job asked about.
    ingestion_id: String,
    /// The document's identifier.
    source_uri: String,
    /// `pending`, `processing`, `ready`, `partial`, `failed` or `cancelled`.
    state: String,
    /// Where it is or last ran: `parse`, `embed` or `publish`; empty once it published.
    stage: String,
    /// Its runs so far.
    attempts: u32,
    /// Why it failed, or `retrying` while it waits for its next run; empty otherwise.
    error_code: String,
    /// The same in words.
    error_message: String,
    /// The format the file was read as; empty before.
    format: String,
    /// How much of the file was extracted (unit, total, extracted, failed, lost).
    coverage: Option<Map<String, Value>>,
    /// What the extractor has to say of the file.
    warnings: Vec<String>,
    /// Chunks published; 0 until it publishes.
    chunks: u64,
    /// The revision published; 0 until it publishes.
    revision: u64,
    /// The revision that must be live when it publishes; null for any.
    expected_revision: Option<u64>,
    /// The uploaded file's name.
    filename: String,
    /// Whether searches find the document by this job: `ready`, `pending`, `failed` or `cancelled`.
    retrieval: String,
    /// Whether it was asked to stop.
    cancel_requested: bool,
    /// When it was asked for.
    created_at: Option<String>,
    /// When it last changed.
    updated_at: Option<String>,
}

impl Query for IngestStatus {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.ingest_status",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "Say where an ingest stands: its state, coverage, warnings, failure and published revision.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        let found = match input.ingestion_id.parse::<Uuid>() {
            Ok(id) => jobs::find(reading.snapshot(), &scope, id)?,
            Err(_) => None,
        };
        let Some((job, _)) = found else {
            return Ok(Output { ingestion_id: input.ingestion_id, ..Output::default() });
        };
        let stage = reading.queue().stage(job.id).filter(|_| job.state == State::Processing);
        Ok(shown(job, stage.map(jobs::Stage::name)))
    }
}

fn shown(job: Job, running: Option<&str>) -> Output {
    let retrieval = match job.state {
        State::Pending | State::Processing => "pending",
        State::Ready | State::Partial => "ready",
        State::Failed => "failed",
        State::Cancelled => "cancelled",
    };
    let coverage = job.coverage.and_then(|coverage| serde_json::to_value(coverage).ok());
    Output {
        found: true,
        ingestion_id: job.id.to_string(),
        source_uri: job.ask.source_uri,
        state: job.state.name().to_owned(),
        stage: running.or(job.stage.map(jobs::Stage::name)).unwrap_or_default().to_owned(),
        attempts: job.attempts,
        error_code: job.error_code,
        error_message: job.error_message,
        format: job.format,
        coverage: coverage.and_then(|coverage| coverage.as_object().cloned()),
        warnings: job.warnings,
        chunks: job.chunks,
        revision: job.revision,
        expected_revision: job.ask.expected_revision,
        filename: job.file.filename,
        retrieval: retrieval.to_owned(),
        cancel_requested: job.cancel_requested,
        created_at: Some(rfc3339(job.created_at)),
        updated_at: Some(rfc3339(job.updated_at)),
    }
}
