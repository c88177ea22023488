//! How far a build has come, and whether it is given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loom_storage::{Scope, Snapshot, Version, live_versions};

use crate::error::Error;

/// The progress of building a namespace's indexes from storage.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: u64,
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Nothing done of `total` chunks, each counted once for every index; once `stop` is set, the build ends with [`Error::Stopped`].
    pub fn new(total: u64, stop: Arc<AtomicBool>) -> Self {
        Self { done: AtomicU64::new(0), total, stop }
    }

    /// The share that is done, in percent. It stays at 0 while indexes are taken from their files.
    pub fn percent(&self) -> u64 {
        (self.done.load(Ordering::Relaxed).saturating_mul(100) / self.total.max(1)).min(100)
    }

    /// The live versions of a namespace, until the build is given up.
    pub(crate) fn live_versions<'s>(
        &'s self,
        snapshot: &'s dyn Snapshot,
        scope: &'s Scope,
    ) -> impl Iterator<Item = Result<Version, Error>> + 's {
        live_versions(snapshot, scope).map(|version| {
            self.go_on()?;
            Ok(version?)
        })
    }

    /// Counts chunks that one index has taken in.
    pub(crate) fn add(&self, chunks: u32) {
        self.done.fetch_add(u64::from(chunks), Ordering::Relaxed);
    }

    /// [`Error::Stopped`] once the build is given up.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Acquire) { Err(Error::Stopped) } else { Ok(()) }
    }
}
