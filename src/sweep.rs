//! What nobody needs any more: originals, artifacts and rows of datasets that no live document names, and records of uploads and ingests
//! past their time.
//!
//! A blob is needed by the live documents that name it as their original or artifact, by uploads that can still be ingested,
//! and by ingests that are not over. One that nothing needs goes once it was stored `LOOM_DOCUMENT_BLOB_MIN_AGE_SECONDS` ago; its
//! bytes are removed after the commit that takes it out of the catalogue, and an upload that brings them meanwhile keeps them.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use loom_storage::{
    Batch, BlobRow, Hash, Precondition, Record, RecordWrite, Scope, Snapshot, Timestamp, Write, live_versions,
};
use serde::Serialize;

use crate::audit;
use crate::config::number;
use crate::datasets::{DATASETS, snapshot_hashes, snapshots_of};
use crate::engine::{Engine, Inner};
use crate::error::Error;
use crate::extracted::{ARTIFACTS, ArtifactRow, artifact_key};
use crate::jobs::{self, Job};
use crate::reads;
use crate::uploads::{UPLOADS, Upload};

/// How long the record of an upload is kept after it can no longer be ingested.
const UPLOAD_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// How long the record of an ingest is kept after its last change.
const JOB_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// How many rows are read, and how many are removed in one commit.
const PAGE: usize = 1_000;

/// When originals that nothing needs are removed.
#[derive(Clone, Debug)]
pub struct SweepSettings {
    /// How often the sweep runs, in seconds: `LOOM_DOCUMENT_BLOB_GC_INTERVAL_SECONDS`, default an hour; 0 never.
    pub interval_s: u64,
    /// How long a blob is kept at least after it was stored, in seconds: `LOOM_DOCUMENT_BLOB_MIN_AGE_SECONDS`, default an hour.
    pub blob_age_s: u64,
}

impl Default for SweepSettings {
    fn default() -> Self {
        Self { interval_s: 60 * 60, blob_age_s: 60 * 60 }
    }
}

impl SweepSettings {
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        number(lookup, "LOOM_DOCUMENT_BLOB_GC_INTERVAL_SECONDS", &mut self.interval_s, 0)?;
        number(lookup, "LOOM_DOCUMENT_BLOB_MIN_AGE_SECONDS", &mut self.blob_age_s, 0)
    }
}

/// The stored originals and artifacts, by what needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlobTotals {
    /// Blobs in the catalogue.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that nothing needs, of whatever age.
    pub unneeded: u64,
    /// Their bytes.
    pub unneeded_bytes: u64,
    /// Those of them that are old enough to go with the next sweep, or went with this one.
    pub sweepable: u64,
    /// Their bytes.
    pub sweepable_bytes: u64,
}

impl Engine {
    /// Counts the stored blobs; with `remove`, removes those that a sweep would.
    pub fn blobs(&self, remove: bool) -> Result<BlobTotals, Error> {
        self.inner().refuse_when_closed()?;
        let (totals, sweepable) = survey(self.inner())?;
        if remove {
            remove_blobs(self.inner(), &sweepable)?;
        }
        Ok(totals)
    }

    /// Removes the records of uploads seven days after they expired, of ingests thirty days after their last change, of reads
    /// past every window and of the audit past its days, as a sweep does; answers how many.
    pub fn expire_records(&self) -> Result<u64, Error> {
        self.inner().refuse_when_closed()?;
        let ledgers = expire_ledgers(self.inner())?;
        Ok(expire_uploads(self.inner())? + expire_jobs(self.inner())? + ledgers)
    }
}

/// Sweeps when it is time.
pub(crate) fn pass(engine: &Inner) -> Result<(), Error> {
    let interval = engine.config.sweep.interval_s;
    if interval == 0 || !engine.sweeps.is_due(Duration::from_secs(interval)) {
        return Ok(());
    }
    let (uploads, ingests) = (expire_uploads(engine)?, expire_jobs(engine)?);
    expire_ledgers(engine)?;
    let (totals, sweepable) = survey(engine)?;
    remove_blobs(engine, &sweepable)?;
    tracing::debug!(uploads, ingests, blobs = totals.sweepable, bytes = totals.sweepable_bytes, "swept");
    Ok(())
}

/// When the last sweep began.
#[derive(Default)]
pub(crate) struct Sweeps(parking_lot::Mutex<Option<std::time::Instant>>);

impl Sweeps {
    /// Whether `interval` has passed since the last; if so, one begins. The first comes an interval after the start.
    fn is_due(&self, interval: Duration) -> bool {
        let mut last = self.0.lock();
        let is_due = last.is_some_and(|last| last.elapsed() >= interval);
        if is_due || last.is_none() {
            *last = Some(std::time::Instant::now());
        }
        is_due
    }
}

/// The blobs, and those that may go.
fn survey(engine: &Inner) -> Result<(BlobTotals, Vec<(Scope, BlobRow)>), Error> {
    let snapshot = engine.store.snapshot()?;
    let age_ms = i64::try_from(engine.config.sweep.blob_age_s.saturating_mul(1000)).unwrap_or(i64::MAX);
    let newest = Timestamp(engine.config.clock.now().0.saturating_sub(age_ms));
    let (mut totals, mut sweepable) = (BlobTotals::default(), Vec::new());
    let mut needed: Option<(Scope, HashSet<Hash>)> = None;
    let mut after: Option<(Scope, Hash)> = None;
    loop {
        let page = snapshot.blobs(after.as_ref().map(|(scope, hash)| (scope, hash)), PAGE)?;
        for (scope, row) in page.items {
            if needed.as_ref().is_none_or(|(of, _)| *of != scope) {
                needed = Some((scope.clone(), needed_in(engine, snapshot.as_ref(), &scope)?));
            }
            totals.blobs += 1;
            totals.bytes += row.size;
            after = Some((scope.clone(), row.hash));
            if needed.as_ref().is_some_and(|(_, needed)| needed.contains(&row.hash)) {
                continue;
            }
            totals.unneeded += 1;
            totals.unneeded_bytes += row.size;
            if row.stored_at <= newest {
                totals.sweepable += 1;
                totals.sweepable_bytes += row.size;
                sweepable.push((scope, row));
            }
        }
        if !page.more || engine.stop.load(Ordering::Acquire) {
            return Ok((totals, sweepable));
        }
    }
}

/// The blobs of a namespace that something needs.
fn needed_in(engine: &Inner, snapshot: &dyn Snapshot, scope: &Scope) -> Result<HashSet<Hash>, Error> {
    let mut needed = HashSet::new();
    for version in live_versions(snapshot, scope) {
        let version = version?;
        needed.extend(version.document.original.as_ref().map(|original| original.blob));
        if !version.document.format.is_empty()
            && let Some(record) = snapshot.record(&artifact_key(scope, version.doc_id))?
        {
            let row: ArtifactRow = serde_json::from_slice(&record.value).map_err(Error::internal)?;
            needed.extend(Hash::from_hex(&row.sha256));
            needed.extend(snapshots_of(snapshot, scope, version.doc_id)?);
        }
    }
    let now = engine.config.clock.now();
    each_record(snapshot, &format!("{UPLOADS}{}/{}/", scope.org, scope.namespace), |record| {
        let upload: Upload = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        needed.extend(Hash::from_hex(&upload.sha256).filter(|_| upload.expires_at > now));
        Ok(())
    })?;
    each_record(snapshot, &jobs::prefix(scope), |record| {
        let job: Job = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        needed.extend(Hash::from_hex(&job.file.sha256).filter(|_| !job.state.is_over()));
        Ok(())
    })?;
    Ok(needed)
}

fn remove_blobs(engine: &Inner, sweepable: &[(Scope, BlobRow)]) -> Result<(), Error> {
    let idle = Duration::from_secs(engine.config.sweep.blob_age_s);
    for some in sweepable.chunks(PAGE) {
        if engine.stop.load(Ordering::Acquire) {
            return Ok(());
        }
        let drops = some.iter().map(|(scope, row)| Write::DropBlob { scope: scope.clone(), row: row.clone() });
        engine.commit(Batch { preconditions: Vec::new(), writes: drops.collect() })?;
        for (scope, row) in some {
            engine.store.remove_blob(scope, &row.hash, idle)?;
        }
    }
    Ok(())
}

/// Counts of reads past every window, and audit records past `LOOM_AUDIT_DAYS`.
fn expire_ledgers(engine: &Inner) -> Result<u64, Error> {
    let now = engine.config.clock.now();
    let reads = expire(engine, reads::READS, |record| {
        let read: reads::Read = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        Ok(reads::is_past(&read, now))
    })?;
    let days = engine.config.access.audit_days;
    if days == 0 {
        return Ok(reads);
    }
    let newest = audit::newest_first(Timestamp(now.0.saturating_sub(i64::from(days) * 86_400_000)));
    let records = expire(engine, audit::AUDIT, |record| {
        // Later records sort before earlier ones.
        Ok(record.key.splitn(3, '/').nth(2).is_some_and(|at| at > newest.as_str()))
    })?;
    Ok(reads + records)
}

fn expire_uploads(engine: &Inner) -> Result<u64, Error> {
    let newest = Timestamp(engine.config.clock.now().0.saturating_sub(UPLOAD_KEPT_MS));
    expire(engine, UPLOADS, |record| {
        let upload: Upload = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        Ok(upload.expires_at <= newest)
    })
}

fn expire_jobs(engine: &Inner) -> Result<u64, Error> {
    let newest = Timestamp(engine.config.clock.now().0.saturating_sub(JOB_KEPT_MS));
    let jobs = expire(engine, jobs::JOBS, |record| {
        let job: Job = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        Ok(job.state.is_over() && job.updated_at <= newest)
    })?;
    Ok(jobs + expire_artifacts(engine)? + expire_datasets(engine)?)
}

/// Removes the rows of artifacts whose bytes are gone: of versions that are no longer live.
fn expire_artifacts(engine: &Inner) -> Result<u64, Error> {
    let snapshot = engine.store.snapshot()?;
    expire(engine, ARTIFACTS, |record| {
        let row: ArtifactRow = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        let mut parts = record.key[ARTIFACTS.len()..].split('/');
        let (Some(org), Some(namespace), Some(hash)) = (parts.next(), parts.next(), Hash::from_hex(&row.sha256)) else {
            return Err(Error::internal("an artifact's row has no namespace or hash"));
        };
        Ok(snapshot.blob(&Scope::new(org, namespace), &hash)?.is_none())
    })
}

/// Removes the records of datasets whose rows are gone: of versions that are no longer live.
fn expire_datasets(engine: &Inner) -> Result<u64, Error> {
    let snapshot = engine.store.snapshot()?;
    expire(engine, DATASETS, |record| {
        let mut parts = record.key[DATASETS.len()..].split('/');
        let (Some(org), Some(namespace)) = (parts.next(), parts.next()) else {
            return Err(Error::internal("a record of datasets has no namespace"));
        };
        let scope = Scope::new(org, namespace);
        for hash in snapshot_hashes(record)? {
            if snapshot.blob(&scope, &hash)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// Removes the records under a prefix that are past their time, unless they change meanwhile; answers how many.
fn expire(engine: &Inner, prefix: &str, is_past: impl Fn(&Record) -> Result<bool, Error>) -> Result<u64, Error> {
    let snapshot = engine.store.snapshot()?;
    let mut past = Vec::new();
    each_record(snapshot.as_ref(), prefix, |record| {
        if is_past(record)? {
            past.push((record.key.clone(), record.changed));
        }
        Ok(())
    })?;
    for some in past.chunks(PAGE) {
        if engine.stop.load(Ordering::Acquire) {
            break;
        }
        let preconditions =
            some.iter().map(|(key, changed)| Precondition::Record { key: key.clone(), changed: Some(*changed) });
        let writes = some.iter().map(|(key, _)| Write::Record(RecordWrite { key: key.clone(), value: None }));
        match engine.commit(Batch { preconditions: preconditions.collect(), writes: writes.collect() }) {
            // One of them changed: the next sweep looks again.
            Ok(_) | Err(loom_storage::Error::RecordConflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(past.len() as u64)
}

fn each_record(
    snapshot: &dyn Snapshot,
    prefix: &str,
    mut each: impl FnMut(&Record) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut after: Option<String> = None;
    loop {
        let page = snapshot.records(prefix, after.as_deref(), PAGE)?;
        page.items.iter().try_for_each(&mut each)?;
        let Some(last) = page.items.last().filter(|_| page.more) else { return Ok(()) };
        after = Some(last.key.clone());
    }
}
