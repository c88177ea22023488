//! `loom doctor`: whether storage is sound and the projections hold exactly what it serves.

use std::time::Duration;

use loom_storage::{Scope, Snapshot, Version, live_versions};
use serde::Serialize;

use crate::deadline::after;
use crate::engine::Engine;
use crate::error::Error;

/// The most findings of a kind that are listed one by one.
const LISTED_MAX: usize = 20;
/// How long a namespace's index may take to be built before it is reported as one that cannot be compared.
const DOCTOR_WAIT: Duration = Duration::from_hours(1);

/// What a check does beside reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct DoctorOptions {
    /// Rebuild the projections of every namespace that has a finding.
    pub repair: bool,
    /// Also hash every text and blob.
    pub deep: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something to know.
    Info,
    /// Search may miss something until it is repaired.
    Warning,
    /// Stored data is damaged.
    Error,
}

/// One thing found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, and what to do.
    pub what: String,
}

/// What a check found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Whether nothing above `info` was found, or all of it was repaired.
    pub sound: bool,
    /// Namespaces compared.
    pub namespaces: usize,
    /// Live documents compared.
    pub documents: u64,
    /// Live chunks compared.
    pub chunks: u64,
    /// Namespaces whose projections were rebuilt.
    pub repaired: Vec<String>,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Engine {
    /// Checks storage and compares the projections with it; with `repair`, rebuilds those that differ.
    pub fn doctor(&self, options: DoctorOptions) -> Result<Report, Error> {
        let mut report = Report::default();
        let mut faults = 0_usize;
        self.inner().store.verify(options.deep, &mut |fault| {
            faults += 1;
            if faults <= LISTED_MAX {
                report.findings.push(Finding { severity: Severity::Error, what: fault });
            }
        })?;
        if faults > LISTED_MAX {
            let what = format!("{} further faults of the store are not listed", faults - LISTED_MAX);
            report.findings.push(Finding { severity: Severity::Error, what });
        }
        let mut differing = 0;
        let snapshot = self.inner().store.snapshot()?;
        for row in snapshot.namespaces(None)? {
            report.namespaces += 1;
            let differences = match self.compare(&row.scope, snapshot.as_ref(), &mut report) {
                Ok(differences) => differences,
                Err(error) => {
                    // Most often damage of the store, which is among the faults already; the others are still compared.
                    tracing::error!(scope = %row.scope, %error, cause = ?error.cause, "a namespace cannot be compared");
                    let what = format!("{}: what is searched cannot be compared: {error}", row.scope);
                    report.findings.push(Finding { severity: Severity::Error, what });
                    differing += 1;
                    continue;
                }
            };
            if differences.is_empty() {
                continue;
            }
            differing += 1;
            if options.repair {
                self.inner().projections.discard(&row.scope)?;
                let left = self.compare(&row.scope, snapshot.as_ref(), &mut Report::default())?;
                if left.is_empty() {
                    report.repaired.push(row.scope.to_string());
                    continue;
                }
            }
            report.findings.extend(differences.into_iter().take(LISTED_MAX));
        }
        report.sound = faults == 0 && differing == report.repaired.len();
        Ok(report)
    }

    /// What differs between a namespace's projections and what storage serves.
    fn compare(&self, scope: &Scope, snapshot: &dyn Snapshot, report: &mut Report) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        let mut warn = |what: String| findings.push(Finding { severity: Severity::Warning, what });
        let projection = self.inner().projection(scope, snapshot, after(DOCTOR_WAIT))?;
        let view = projection.view(self.inner().store.as_ref())?;
        let snapshot = view.snapshot();
        let (mut documents, mut chunks, mut embedded) = (0_u64, 0_u64, 0_u64);
        for version in live_versions(snapshot, scope) {
            let version = version?;
            documents += 1;
            chunks += u64::from(version.chunk_count);
            let (indexed, in_vectors) = view.holds(&version);
            let (uri, advice) = (&version.source_uri, "run `loom doctor --repair`");
            if version.chunk_count > 0 && !indexed {
                warn(format!("{scope}: the lexical index lacks {uri:?}: {advice}"));
            }
            let Vectors { expected, missing } = vectors(scope, snapshot, &version, &view.model().name)?;
            if missing > 0 {
                warn(format!("{scope}: {missing} chunks of {uri:?} have no vector: store the document again"));
            }
            embedded += expected as u64;
            if in_vectors != expected {
                warn(format!("{scope}: the vector index has {in_vectors} of {expected} chunks of {uri:?}: {advice}"));
            }
        }
        let totals = view.totals();
        if totals.lexical_chunks != chunks {
            warn(format!("{scope}: the lexical index has {} chunks, storage serves {chunks}", totals.lexical_chunks));
        }
        if totals.vector_chunks != embedded {
            warn(format!("{scope}: the vector index has {} chunks, storage serves {embedded}", totals.vector_chunks));
        }
        report.documents += documents;
        report.chunks += chunks;
        Ok(findings)
    }
}

/// The vectors of a version's chunks.
struct Vectors {
    /// Chunks with a vector that they can be found by: stored, and not zero.
    expected: usize,
    /// Chunks whose vector is not stored.
    missing: usize,
}

fn vectors(scope: &Scope, snapshot: &dyn Snapshot, version: &Version, model: &str) -> Result<Vectors, Error> {
    let chunks = snapshot.chunks(scope, version.first_chunk, version.chunk_count)?;
    let inputs: Vec<_> = chunks.iter().map(|chunk| chunk.input_hash).collect();
    let vectors = snapshot.vectors(scope, model, &inputs)?;
    let expected = vectors.iter().flatten().filter(|vector| vector.iter().any(|value| *value != 0.0)).count();
    Ok(Vectors { expected, missing: vectors.iter().filter(|vector| vector.is_none()).count() })
}
