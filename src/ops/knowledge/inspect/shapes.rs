//! The parts of the report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Live and deleted documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LiveDeleted {
    /// Source addresses that serve a document.
    pub live: u64,
    /// Source addresses that serve none any more.
    pub deleted: u64,
}

/// The documents of a namespace.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DocumentTotals {
    /// Source addresses that serve a document.
    pub live: u64,
    /// Source addresses that serve none any more.
    pub deleted: u64,
    /// The same by format; `text` for what was written as text.
    pub by_format: BTreeMap<String, LiveDeleted>,
    /// Live documents by the scheme of their source address; `none` for one without.
    pub by_scheme: BTreeMap<String, u64>,
    /// When the newest live document was written; null when there is none.
    pub newest_ingested_at: Option<String>,
    /// Revisions before the current ones, all together.
    pub earlier_revisions: u64,
    /// Documents without a revision: there are none here.
    pub unnumbered: u64,
    /// Stored versions that are not served.
    pub retired_versions: u64,
}

/// Passages under one embedding model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelChunks {
    /// The model.
    pub model: String,
    /// Live passages that it is to have vectors of.
    pub chunks: u64,
    /// Those that have one.
    pub with_vector: u64,
}

/// The live passages of a namespace.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ChunkTotals {
    /// How many there are.
    pub live: u64,
    /// The same by embedding model: the serving one, and the one that is being moved to.
    pub by_model: Vec<ModelChunks>,
    /// Those with a vector under the serving model; the others are found by words and names alone.
    pub searchable: u64,
    /// The serving model.
    pub embedder_model: String,
}

/// Decisions of one stage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionStage {
    /// How many.
    pub total: u64,
    /// Pinned or attested.
    pub confirmed: u64,
    /// Neither.
    pub unconfirmed: u64,
    /// Whose source changed.
    pub source_changed: u64,
    /// With a recorded outcome.
    pub with_outcome: u64,
}

/// Decisions that cite documents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionTotals {
    /// Made.
    pub decided: DecisionStage,
    /// Proposed.
    pub proposed: DecisionStage,
    /// What counts as one.
    pub definition: String,
    /// Names that the definition means.
    pub refs: Vec<String>,
}

/// Passages of one document.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DocumentChunks {
    /// Live ones.
    pub live: u64,
    /// With a vector under the serving model.
    pub searchable: u64,
    /// Without.
    pub unembedded: u64,
    /// With a vector under another model alone.
    pub other_model: u64,
    /// Versions that they are of.
    pub versions: u64,
    /// Characters of one on average.
    pub avg_chars: u64,
}

/// One ingest.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InspectJob {
    /// Its id.
    pub ingestion_id: String,
    /// `pending`, `processing`, `ready`, `partial`, `failed` or `cancelled`.
    pub state: String,
    /// Where it is or last was.
    pub stage: String,
    /// Its runs so far.
    pub attempts: u32,
    /// Why it failed or waits; empty otherwise.
    pub error_code: String,
    /// `content`, `extractor`, `access`, `server`, `conflict` or `retrying`; empty where nothing failed.
    pub failure_class: String,
    /// When it was asked for.
    pub queued_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it ended; null before.
    pub ended_at: Option<String>,
    /// When it may run next; null once it is over.
    pub next_due_at: Option<String>,
}

/// The ingests of one document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentJobs {
    /// How many of the last 30 days.
    pub total: u64,
    /// The newest.
    pub latest: Option<InspectJob>,
    /// The oldest that is open, else the newest.
    pub current: Option<InspectJob>,
    /// The one that is open; empty when none is.
    pub open_ingestion_id: String,
    /// Whether the document was written or deleted after the newest ended.
    pub replaced: bool,
}

/// One live document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InspectDocument {
    /// Its source address.
    pub source_uri: String,
    /// Its title.
    pub title: String,
    /// The id of its version.
    pub doc_id: String,
    /// Its revision.
    pub revision: u64,
    /// The ingest that published it; empty for a text, or when its record is gone.
    pub ingestion_id: String,
    /// Its earlier versions.
    pub retired_versions: u64,
    /// Its passages.
    pub chunks: DocumentChunks,
    /// Null: no decisions are kept here.
    pub decisions: Option<DecisionTotals>,
    /// How much of the file was extracted (unit, total, extracted, failed, lost); null for a text.
    pub extraction: Option<Map<String, Value>>,
    /// Its ingests.
    pub jobs: DocumentJobs,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing to do.
    Info,
    /// Worth a look.
    Warning,
    /// Something is missing until it is mended.
    Error,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The server's own state.
    SystemState,
    /// How it is used.
    UsageHeuristic,
    /// What was sent breaks a contract.
    ContractViolation,
}

/// What every finding says.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// Its name.
    pub code: &'static str,
    /// How much it matters; `info` where it found nothing.
    pub severity: Severity,
    /// What it is about.
    pub kind: FindingKind,
    /// How many it concerns.
    pub count: u64,
    /// What was found, in a sentence.
    pub summary: String,
    /// What clears it.
    pub remedy: &'static str,
    /// Source addresses that it concerns.
    pub samples: Vec<String>,
    /// The operations and settings that it means.
    pub refs: Vec<&'static str>,
}

/// A finding about documents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentFinding {
    /// What every finding says.
    #[serde(flatten)]
    pub finding: Finding,
    /// How many of these an ingest published.
    pub ingested: u64,
    /// Their source addresses.
    pub ingested_samples: Vec<String>,
}

/// A finding about ingests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct IngestFinding {
    /// What every finding says.
    #[serde(flatten)]
    pub finding: Finding,
    /// The ingest of each sample.
    pub ingestion_ids: Vec<String>,
    /// How many of these have no live document.
    pub without_document: u64,
}

/// The ingests of the last 30 days.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct IngestionTotals {
    /// How many are in each state.
    pub by_state: BTreeMap<String, u64>,
    /// Those that are said to run and that no worker of this process runs.
    pub stalled: u64,
    /// When the oldest open one was asked for; null when none is open.
    pub oldest_open_queued_at: Option<String>,
    /// Source addresses with an ingest and no live document.
    pub without_document: u64,
    /// These, newest first.
    pub without_document_listed: Vec<String>,
    /// Source addresses that were written or deleted after their newest ingest ended.
    pub replaced: u64,
    /// Whether ingests run here.
    pub worker_enabled: bool,
    /// Whether files can be read here.
    pub extractor_configured: bool,
}

/// What was extracted of the live documents.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ExtractionTotals {
    /// Live documents that were extracted from a file.
    pub documents: u64,
    /// Those of which not everything was.
    pub incomplete: u64,
    /// By capability, the documents that lost it.
    pub lost: BTreeMap<String, u64>,
}

/// Which checks ran.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportCoverage {
    /// These.
    pub ran: Vec<String>,
    /// These did not.
    pub skipped: Vec<String>,
}

/// A finding about memories.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryFindingRef {
    /// Its name.
    pub code: String,
    /// How many it concerns.
    pub count: u64,
}
