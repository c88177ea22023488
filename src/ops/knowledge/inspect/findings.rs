//! What is wrong, what clears it, and the names that both mean.

use loom_storage::Scope;

use super::documents::{Documents, Found};
use super::ingests::{Ingests, Known};
use super::live_since;
use super::shapes::{DocumentFinding, Finding, FindingKind, IngestFinding, Severity};
use crate::context::Reading;
use crate::error::Error;

/// The checks of documents and passages.
pub const CHECKS: [&str; 4] =
    ["documents_without_chunks", "unembedded_chunks", "chunks_under_other_model", "mixed_live_versions"];

/// What a check is, whatever it finds.
struct Check {
    code: &'static str,
    severity: Severity,
    kind: FindingKind,
    /// What a document that it found is, after the number of them.
    what: &'static str,
    remedy: &'static str,
    refs: &'static [&'static str],
}

impl Check {
    fn finding(&self, count: u64, samples: Vec<String>) -> Finding {
        Finding {
            code: self.code,
            severity: if count == 0 { Severity::Info } else { self.severity },
            kind: self.kind,
            count,
            summary: format!("{count} {}", self.what),
            remedy: self.remedy,
            samples,
            refs: self.refs.to_vec(),
        }
    }
}

const WITHOUT_CHUNKS: Check = Check {
    code: CHECKS[0],
    severity: Severity::Warning,
    kind: FindingKind::SystemState,
    what: "live documents have no passage, so that no search finds them",
    remedy: "A document that is empty but for its title can stay. Write others again with their text; ingest an extracted file \
             again from its original.",
    refs: &["knowledge.upsert", "knowledge.ingest", "GET /v1/knowledge.download"],
};
const UNEMBEDDED: Check = Check {
    code: CHECKS[1],
    severity: Severity::Error,
    kind: FindingKind::SystemState,
    what: "live passages have no vector under the serving model: they are found by words and names alone",
    remedy: "Cut and embed the documents again with `loom rechunk --source-uri`; ingest an extracted file again from its original.",
    refs: &["loom rechunk", "knowledge.upsert", "knowledge.ingest"],
};
const OTHER_MODEL: Check = Check {
    code: CHECKS[2],
    severity: Severity::Warning,
    kind: FindingKind::SystemState,
    what: "live passages have a vector under another model alone",
    remedy: "A change of LOOM_EMBEDDING_MODEL moves every passage in the background: `loom model` shows how far it is.",
    refs: &["LOOM_EMBEDDING_MODEL", "loom model", "namespace.list"],
};
const MIXED: Check = Check {
    code: CHECKS[3],
    severity: Severity::Warning,
    kind: FindingKind::UsageHeuristic,
    what: "documents serve passages of two versions",
    remedy: "None: a source address serves one version here, whichever operation wrote it.",
    refs: &["knowledge.add", "knowledge.upsert"],
};

/// The findings about documents and passages.
pub fn of_documents(documents: &Documents, samples: usize) -> Vec<DocumentFinding> {
    let one = |check: &Check, count: u64, found: &[Found]| {
        let of = |is_extracted: bool| {
            let these = found.iter().filter(move |found| found.is_extracted || !is_extracted);
            these.map(|found| found.source_uri.clone())
        };
        DocumentFinding {
            finding: check.finding(count, of(false).take(samples).collect()),
            ingested: of(true).count() as u64,
            ingested_samples: of(true).take(samples).collect(),
        }
    };
    vec![
        one(&WITHOUT_CHUNKS, documents.without_chunks.len() as u64, &documents.without_chunks),
        one(&UNEMBEDDED, documents.unembedded_chunks, &documents.unembedded),
        one(&OTHER_MODEL, 0, &[]),
        one(&MIXED, 0, &[]),
    ]
}

const BACKLOG: Check = Check {
    code: "ingest_backlog",
    severity: Severity::Info,
    kind: FindingKind::SystemState,
    what: "files wait to be read, or are being read",
    remedy: "Nothing, while they are young: files of one namespace are read in turn. More workers read more at once.",
    refs: &["knowledge.ingest_status", "knowledge.ingest_cancel", "LOOM_KNOWLEDGE_INGEST_WORKERS"],
};
const EXTRACTOR: Check = Check {
    code: "extractor_unavailable",
    severity: Severity::Error,
    kind: FindingKind::SystemState,
    what: "files found no extractor that reads their format, answers in time and keeps to the contract",
    remedy: "See with `loom doctor` which formats are read and why others are not, configure an extractor for the format, and \
             ingest the files again.",
    refs: &["knowledge.formats", "LOOM_DOCUMENT_EXTRACTOR_URL", "LOOM_DOCUMENT_EXTRACTORS_JSON", "knowledge.ingest"],
};
const ACCESS: Check = Check {
    code: "ingest_missing_access",
    severity: Severity::Error,
    kind: FindingKind::SystemState,
    what: "files could not be read where they are stored",
    remedy: "Upload the files again and ingest those uploads.",
    refs: &["POST /v1/knowledge.upload", "knowledge.ingest"],
};
const CONTENT: Check = Check {
    code: "ingest_content_rejected",
    severity: Severity::Warning,
    kind: FindingKind::ContractViolation,
    what: "files were refused for what is in them; an earlier revision still serves",
    remedy: "Read each error with knowledge.ingest_status: mend or split the file, name its encoding or format, or allow a part \
             of it to be published.",
    refs: &["knowledge.ingest_status", "knowledge.ingest", "allow_partial", "options.encoding"],
};
const SERVER: Check = Check {
    code: "ingest_failed_on_server",
    severity: Severity::Error,
    kind: FindingKind::SystemState,
    what: "ingests failed through no fault of the file",
    remedy: "Look into the log for the cause, then ingest the files again.",
    refs: &["knowledge.ingest", "LOOM_KNOWLEDGE_INGEST_MAX_ATTEMPTS", "LOOM_LOG"],
};
const INCOMPLETE: Check = Check {
    code: "extraction_incomplete",
    severity: Severity::Warning,
    kind: FindingKind::UsageHeuristic,
    what: "live documents hold less than their file does",
    remedy: "knowledge.get shows in `coverage` what is missing. Install what reads it, such as the program tesseract for scanned \
             pages, and ingest the files again.",
    refs: &["knowledge.get", "loom doctor", "knowledge.ingest"],
};

/// The sources that a check found.
#[derive(Default)]
struct Judged {
    count: u64,
    without_document: u64,
    samples: Vec<String>,
    ingestion_ids: Vec<String>,
}

/// The findings about ingests and extraction.
pub fn of_ingests(
    reading: &Reading<'_>,
    scope: &Scope,
    ingests: &Ingests,
    documents: &Documents,
    samples: usize,
) -> Result<Vec<IngestFinding>, Error> {
    let checks = [BACKLOG, EXTRACTOR, ACCESS, CONTENT, SERVER];
    let mut found: Vec<Judged> = checks.iter().map(|_| Judged::default()).collect();
    for (source_uri, jobs) in &ingests.0 {
        let live = live_since(reading, scope, source_uri)?;
        let Some(current) = Ingests::current(jobs).filter(|_| !Ingests::is_replaced(jobs, live)) else { continue };
        let Some(at) = judged(current) else { continue };
        let judged = &mut found[at];
        judged.count += 1;
        judged.without_document += u64::from(live.is_none());
        if judged.samples.len() < samples {
            judged.samples.push(source_uri.clone());
            judged.ingestion_ids.push(current.id.clone());
        }
    }
    let mut findings: Vec<IngestFinding> = checks
        .iter()
        .zip(found)
        .map(|(check, judged)| IngestFinding {
            finding: check.finding(judged.count, judged.samples),
            ingestion_ids: judged.ingestion_ids,
            without_document: judged.without_document,
        })
        .collect();
    let incomplete: Vec<String> =
        documents.incomplete.iter().take(samples).map(|found| found.source_uri.clone()).collect();
    let ids = incomplete.iter().map(|uri| {
        let jobs = ingests.0.get(uri).map(Vec::as_slice).unwrap_or_default();
        jobs.last().map_or_else(String::new, |job| job.id.clone())
    });
    findings.push(IngestFinding {
        ingestion_ids: ids.collect(),
        finding: INCOMPLETE.finding(documents.incomplete.len() as u64, incomplete),
        without_document: 0,
    });
    Ok(findings)
}

/// The check that a job falls under.
fn judged(job: &Known) -> Option<usize> {
    match (job.state.is_over(), job.failure_class()) {
        (false, "" | "retrying") => Some(0),
        (_, "extractor") => Some(1),
        (_, "access") => Some(2),
        (_, "content") => Some(3),
        (_, "server") => Some(4),
        (_, _) => None,
    }
}
