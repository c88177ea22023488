//! `loom doctor`: whether storage is sound and the projections hold exactly what it serves.

use std::sync::Arc;
use std::time::Duration;

use loom_index::{Difference, Inventory, Miscount, Part};
use loom_storage::{ChunkId, Scope, Snapshot, Version};
use serde::Serialize;

use crate::deadline::after;
use crate::engine::Engine;
use crate::error::Error;

/// The most findings of the store, of what it could give back, and of each namespace that are listed one by one.
const LISTED_MAX: usize = 20;
/// How many versions are read at a time.
const VERSIONS_PAGE: usize = 256;
/// How long a namespace's index may take to be built before it is reported as one that cannot be compared.
const DOCTOR_WAIT: Duration = Duration::from_hours(1);

/// What a check does beside reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct DoctorOptions {
    /// Rebuild the projections of every namespace that has a finding.
    pub repair: bool,
    /// Also hash every text and blob, and analyse every chunk to compare its words with those it is found by. Takes as
    /// long as to rebuild the lexical index.
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

/// Findings of one place: the first ones, and how many there are.
#[derive(Default)]
struct Findings {
    listed: Vec<Finding>,
    found: usize,
    severity: Option<Severity>,
}

impl Findings {
    fn push(&mut self, severity: Severity, what: impl FnOnce() -> String) {
        self.found += 1;
        self.severity = Some(severity);
        if self.found <= LISTED_MAX {
            self.listed.push(Finding { severity, what: what() });
        }
    }

    /// Adds to `report` those that are listed, and how many more there are of `what`.
    fn list(mut self, what: &str, report: &mut Report) {
        report.findings.append(&mut self.listed);
        if let Some(severity) = self.severity.filter(|_| self.found > LISTED_MAX) {
            let what = format!("{what}: {} more like these are not listed", self.found - LISTED_MAX);
            report.findings.push(Finding { severity, what });
        }
    }
}

impl Engine {
    /// Checks storage and compares the projections with it, chunk by chunk; with `repair`, rebuilds those that differ.
    ///
    /// Holds about 60 bytes of memory for each chunk of one namespace at a time.
    pub fn doctor(&self, options: DoctorOptions) -> Result<Report, Error> {
        let mut report = Report::default();
        let mut faults = Findings::default();
        self.inner().store.verify(options.deep, &mut |fault| faults.push(Severity::Error, || fault))?;
        let is_sound = faults.found == 0;
        faults.list("the store", &mut report);
        let snapshot = self.inner().store.snapshot()?;
        let mut unnamed = Findings::default();
        snapshot.unnamed_blobs(&mut |name, bytes| {
            let what = || format!("no document names blob {name}, {bytes} bytes: `loom compact` removes it");
            unnamed.push(Severity::Info, what);
        })?;
        unnamed.list("blobs that no document names", &mut report);
        let mut differing = 0;
        for row in snapshot.namespaces(None)? {
            report.namespaces += 1;
            let differences = match self.compare(&row.scope, snapshot.as_ref(), options, &mut report) {
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
            if differences.found == 0 {
                continue;
            }
            differing += 1;
            if options.repair {
                self.inner().projections.discard(&row.scope)?;
                let left = self.compare(&row.scope, snapshot.as_ref(), options, &mut Report::default())?;
                if left.found == 0 {
                    report.repaired.push(row.scope.to_string());
                    continue;
                }
            }
            differences.list(&row.scope.to_string(), &mut report);
        }
        report.sound = is_sound && differing == report.repaired.len();
        Ok(report)
    }

    /// What differs between a namespace's projections and what storage serves.
    fn compare(
        &self,
        scope: &Scope,
        snapshot: &dyn Snapshot,
        options: DoctorOptions,
        report: &mut Report,
    ) -> Result<Findings, Error> {
        let until = after(DOCTOR_WAIT);
        let projection = self.inner().projection(scope, snapshot, until, until)?;
        let view = projection.view(self.inner().store.as_ref(), until)?;
        let inventory = view.inventory(options.deep)?;
        let comparison =
            Comparison { scope, snapshot: view.into_snapshot(), inventory, findings: Findings::default(), chunks: 0 };
        comparison.run(report)
    }
}

/// What mends an index.
const REBUILD: &str = "`loom doctor --repair` rebuilds it";

/// What a projection holds of a namespace, beside the store at the same moment.
struct Comparison<'a> {
    scope: &'a Scope,
    snapshot: Arc<dyn Snapshot>,
    inventory: Inventory,
    findings: Findings,
    chunks: u64,
}

impl Comparison<'_> {
    fn run(mut self, report: &mut Report) -> Result<Findings, Error> {
        let (mut documents, mut after) = (0, None);
        loop {
            let page = self.snapshot.live_versions(self.scope, after, VERSIONS_PAGE)?;
            documents += page.items.len() as u64;
            for version in &page.items {
                self.version(version)?;
            }
            after = page.items.last().map(|version| version.id);
            if !page.more || after.is_none() {
                break;
            }
        }
        self.left_over()?;
        report.documents += documents;
        report.chunks += self.chunks;
        Ok(self.findings)
    }

    fn version(&mut self, version: &Version) -> Result<(), Error> {
        let Self { scope, snapshot, inventory, findings, chunks: seen } = self;
        let chunks = snapshot.chunks(scope, version.first_chunk, version.chunk_count)?;
        let inputs: Vec<_> = chunks.iter().map(|chunk| chunk.input_hash).collect();
        let vectors = snapshot.vectors(scope, &inventory.model.name, &inputs)?;
        *seen += chunks.len() as u64;
        let of = |at: usize| format!("{scope}: {}", chunk_words(version, at));
        for at in (0..chunks.len()).filter(|at| vectors[*at].is_none()) {
            let what = || format!("{} has no vector: store the document again", of(at));
            findings.push(Severity::Warning, what);
        }
        inventory.compare(version, &chunks, &vectors, |part, at, difference| {
            let what = || {
                let difference = match difference {
                    Difference::Missing => "is not in",
                    Difference::Repeated => "is more than once in",
                    Difference::Altered => "is another in",
                };
                format!("{} {difference} {}: {REBUILD}", of(at), part_words(part))
            };
            findings.push(Severity::Warning, what);
        });
        Ok(())
    }

    fn left_over(&mut self) -> Result<(), Error> {
        let Self { scope, snapshot, inventory, findings, chunks } = self;
        for (part, id) in inventory.left_over() {
            // The store is asked for what is listed alone.
            let name = if findings.found < LISTED_MAX { name_of(scope, snapshot.as_ref(), id)? } else { String::new() };
            let what = || {
                format!(
                    "{scope}: {name} is in {}, which is to hold it once if it is served: {REBUILD}",
                    part_words(part)
                )
            };
            findings.push(Severity::Warning, what);
        }
        if let Some(Miscount { counted, held }) = inventory.miscount() {
            let what = || {
                format!(
                    "{scope}: scores are computed for {} chunks of {} words, the lexical index holds {} of {}: {REBUILD}",
                    counted.0, counted.1, held.0, held.1
                )
            };
            findings.push(Severity::Warning, what);
        }
        let served = inventory.served() as u64;
        if served != *chunks {
            let what = || format!("{scope}: {served} chunks are searched, storage serves {chunks}: {REBUILD}");
            findings.push(Severity::Warning, what);
        }
        Ok(())
    }
}

fn part_words(part: Part) -> &'static str {
    match part {
        Part::Catalog => "the catalogue of what is searched",
        Part::Lexical => "the lexical index",
        Part::Vector => "the vector index",
    }
}

fn chunk_words(version: &Version, at: usize) -> String {
    format!(
        "chunk {at} of {:?} (version {}, chunk id {})",
        version.source_uri,
        version.revision.0,
        version.first_chunk.0 + at as u64
    )
}

/// A chunk in words, whether its version is served or not.
fn name_of(scope: &Scope, snapshot: &dyn Snapshot, id: ChunkId) -> Result<String, Error> {
    let Some(chunk) = snapshot.chunk(scope, id)? else { return Ok(format!("chunk id {}, which is not stored,", id.0)) };
    let version = snapshot.version(scope, chunk.version)?;
    let at = usize::try_from(chunk.idx).unwrap_or(usize::MAX);
    Ok(version.map_or_else(|| format!("chunk id {}", id.0), |version| chunk_words(&version, at)))
}
