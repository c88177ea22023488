//! `knowledge.inspect`: a report on the documents of a namespace, on what was extracted, and on its ingests.

mod documents;
mod findings;
mod ingests;
mod shapes;

use loom_storage::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};
use documents::Documents;
use ingests::Ingests;
use shapes::{
    ChunkTotals, DecisionTotals, DocumentFinding, DocumentTotals, ExtractionTotals, IngestFinding, IngestionTotals,
    InspectDocument, MemoryFindingRef, ReportCoverage,
};

/// The most documents listed, and samples of a finding.
const SAMPLES_MAX: u32 = 100;
/// What a single store has no plane for.
const SKIPPED: [&str; 2] = [
    "decisions: no decisions are kept beside documents here",
    "memory_findings: no memories are kept beside documents here",
];

/// See the module.
pub struct Inspect;

/// The input of `knowledge.inspect`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The newest documents listed, and the samples of each finding, at most (0-100).
    #[serde(default = "sample_limit_default")]
    sample_limit: u32,
}

fn sample_limit_default() -> u32 {
    20
}

/// The output of `knowledge.inspect`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The tenant.
    org: String,
    /// The namespace.
    namespace: String,
    /// When the report was made; all of it is of that moment.
    computed_at: String,
    /// Its documents.
    documents: DocumentTotals,
    /// Their passages, and how many searches find by meaning.
    chunks: ChunkTotals,
    /// Null: no decisions are kept here.
    decisions: Option<DecisionTotals>,
    /// The newest live documents, newest first.
    listed: Vec<InspectDocument>,
    /// Whether `listed` has every live document.
    listed_complete: bool,
    /// One for each check of documents and passages; a check that found nothing is `info` with count 0.
    findings: Vec<DocumentFinding>,
    /// Which of these checks ran.
    coverage: ReportCoverage,
    /// The ingests of the last 30 days.
    ingestions: IngestionTotals,
    /// What was kept of the live documents that were extracted.
    extraction: ExtractionTotals,
    /// One for each check of ingests and extraction.
    ingest_findings: Vec<IngestFinding>,
    /// Empty: no memories are kept here.
    memory_findings: Vec<MemoryFindingRef>,
    /// What was not looked at, each as `section: reason`.
    skipped: Vec<String>,
}

impl Query for Inspect {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.inspect",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "Report on a namespace's documents, their passages and extraction, and where its ingests stand.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::range("sample_limit", input.sample_limit, 0, SAMPLES_MAX)?;
        let samples = input.sample_limit as usize;
        let ingests = Ingests::read(reading, &scope)?;
        let documents = Documents::read(reading, &scope, samples)?;
        let listed = documents.listed.iter().map(|version| documents::shown(reading, &scope, version, &ingests));
        let listed = listed.collect::<Result<Vec<_>, _>>()?;
        Ok(Output {
            org: scope.org.clone(),
            namespace: scope.namespace.clone(),
            computed_at: rfc3339(reading.now()),
            listed_complete: listed.len() as u64 == documents.totals.live,
            listed,
            findings: findings::of_documents(&documents, samples),
            coverage: ReportCoverage { ran: findings::CHECKS.map(str::to_owned).to_vec(), skipped: Vec::new() },
            ingestions: ingests.totals(reading, &scope, samples)?,
            ingest_findings: findings::of_ingests(reading, &scope, &ingests, &documents, samples)?,
            extraction: documents.extraction,
            chunks: documents.chunks,
            documents: documents.totals,
            decisions: None,
            memory_findings: Vec::new(),
            skipped: SKIPPED.map(str::to_owned).to_vec(),
        })
    }
}

/// Whether a document is live at a source address, and since when.
fn live_since(
    reading: &Reading<'_>,
    scope: &Scope,
    source_uri: &str,
) -> Result<Option<loom_storage::Timestamp>, Error> {
    let head = reading.snapshot().head(scope, source_uri)?.filter(|head| head.live);
    let version = head.map(|head| reading.snapshot().version(scope, head.version)).transpose()?.flatten();
    Ok(version.map(|version| version.ingested_at))
}
