//! Retention by age, which is off until somebody sets it: what is older than a number of days is erased.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use loom_storage::{Timestamp, Version};
use parking_lot::Mutex;

use super::Erased;
use super::person::{drop_unneeded, erase_versions, every_version, still_needed};
use super::records::remove_blobs;
use crate::config::number;
use crate::engine::{Engine, Inner};
use crate::error::Error;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How often the ages are looked at.
const INTERVAL: Duration = Duration::from_hours(1);

/// How long what was written is kept. A single store has no passages without their document, so the two settings differ in
/// what they reach.
#[derive(Clone, Debug, Default)]
pub struct RetentionSettings {
    /// The days after which a replaced or deleted version goes, counted from when it was written:
    /// `LOOM_RETENTION_CHUNKS_DAYS`, default 0: never.
    pub chunks_days: u32,
    /// The days after which any version goes, live ones too: `LOOM_RETENTION_DOCUMENTS_DAYS`, default 0: never.
    pub documents_days: u32,
}

impl RetentionSettings {
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        number(lookup, "LOOM_RETENTION_CHUNKS_DAYS", &mut self.chunks_days, 0)?;
        number(lookup, "LOOM_RETENTION_DOCUMENTS_DAYS", &mut self.documents_days, 0)
    }

    /// Whether a version is past its time.
    fn is_past(&self, version: &Version, now: Timestamp) -> bool {
        let older = |days: u32| days > 0 && now.0.saturating_sub(version.ingested_at.0) > i64::from(days) * DAY_MS;
        !version.is_erased() && (older(self.documents_days) || (!version.is_live() && older(self.chunks_days)))
    }
}

/// When the ages were last looked at.
#[derive(Default)]
pub(crate) struct Looked(Mutex<Option<Instant>>);

impl Engine {
    /// Erases the versions that are past their time, as the background does once an hour.
    pub fn run_retention(&self) -> Result<(), Error> {
        self.inner().refuse_when_closed()?;
        retain(self.inner())
    }
}

/// Erases what is past its time, once an hour.
pub(crate) fn pass(engine: &Inner) -> Result<(), Error> {
    {
        let mut looked = engine.retention.0.lock();
        if looked.is_some_and(|at| at.elapsed() < INTERVAL) {
            return Ok(());
        }
        *looked = Some(Instant::now());
    }
    retain(engine)
}

fn retain(engine: &Inner) -> Result<(), Error> {
    let settings = &engine.config.retention;
    if settings.chunks_days == 0 && settings.documents_days == 0 {
        return Ok(());
    }
    let now = engine.config.clock.now();
    for row in engine.store.snapshot()?.namespaces(None)? {
        let snapshot = engine.store.snapshot()?;
        let mut past: BTreeMap<String, Vec<Version>> = BTreeMap::new();
        every_version(snapshot.as_ref(), &row.scope, |version| {
            if settings.is_past(&version, now) {
                past.entry(version.source_uri.clone()).or_default().push(version);
            }
            Ok(())
        })?;
        drop(snapshot);
        let (mut blobs, mut erased) = (HashSet::new(), Erased::default());
        if past.is_empty() {
            continue;
        }
        erase_versions(engine, &row.scope, past, &mut blobs, &mut erased, &mut HashSet::new())?;
        drop_unneeded(engine, &row.scope)?;
        let needed = still_needed(engine.store.snapshot()?.as_ref(), &row.scope, &blobs)?;
        let blobs: Vec<_> = blobs.difference(&needed).copied().collect();
        remove_blobs(engine, &row.scope, &blobs)?;
        if erased.versions > 0 {
            tracing::info!(scope = %row.scope, versions = erased.versions, "versions past their time were removed");
        }
    }
    Ok(())
}
