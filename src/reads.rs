//! The reads ledger: how often agents opened each document, a count for each day.
//!
//! A read must not cost a commit, so counts gather in memory and are written every few seconds and at the close; a process
//! that is killed loses those of its last seconds. A row is a record `reads/<org>/<namespace>/<day>/<address>/<agent>`, the last
//! two as hashes.

use std::collections::HashMap;

use loom_storage::{Batch, Hash, RecordWrite, Scope, Snapshot, Timestamp, Write};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::engine::Inner;
use crate::error::Error;

/// The start of every row's key.
pub(crate) const READS: &str = "reads/";
/// The longest window, and how long rows are kept, in days.
pub(crate) const DAYS_MAX: i64 = 30;
/// The most different counts that wait to be written; reads of further documents are not counted until then.
const WAITING_MAX: usize = 10_000;
/// Rows read, and written in one commit.
const PAGE: usize = 1_000;
const DAY_MS: i64 = 86_400_000;
/// Agents whose reads are not an agent's at work: people at a screen and measurements.
const LEFT_OUT: [&str; 4] = ["assistant", "bench", "cli", "dashboard"];

/// A row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Read {
    pub source_uri: String,
    pub agent: String,
    pub count: u64,
    pub last: Timestamp,
}

/// What was read and is not written yet.
#[derive(Default)]
pub(crate) struct Ledger {
    waiting: Mutex<HashMap<(Scope, String), Read>>,
    /// Held while rows are written, so that none is written from an old count.
    flushing: Mutex<()>,
}

/// The number of the day in a key, so that days sort as they come.
fn day(at: Timestamp) -> i64 {
    at.0.max(0) / DAY_MS
}

/// The start of the keys of a namespace's rows.
pub(crate) fn prefix(scope: &Scope) -> String {
    format!("{READS}{}/{}/", scope.org, scope.namespace)
}

impl Ledger {
    /// Counts a read of a document by an agent, which may be unnamed.
    pub fn note(&self, scope: &Scope, source_uri: &str, agent: &str, now: Timestamp) {
        if LEFT_OUT.contains(&agent) {
            return;
        }
        let [uri, by] = [source_uri, agent].map(|text| Hash::of(text.as_bytes()).hex());
        let key = format!("{}{:06}/{}/{}", prefix(scope), day(now), &uri[..32], &by[..16]);
        let mut waiting = self.waiting.lock();
        let is_full = waiting.len() >= WAITING_MAX;
        match waiting.get_mut(&(scope.clone(), key.clone())) {
            Some(read) => {
                read.count += 1;
                read.last = now;
            }
            None if is_full => {}
            None => {
                let read = Read { source_uri: source_uri.into(), agent: agent.into(), count: 1, last: now };
                waiting.insert((scope.clone(), key), read);
            }
        }
    }

    /// Forgets what waits of a namespace: of all its documents, or of those for which `goes` is true.
    pub fn forget(&self, scope: &Scope, goes: impl Fn(&str) -> bool) {
        self.waiting.lock().retain(|(of, _), read| of != scope || !goes(&read.source_uri));
    }

    /// What waits of a namespace from a day on, with what is stored: every row, in no order.
    pub fn rows(
        &self,
        snapshot: &dyn Snapshot,
        scope: &Scope,
        since: Timestamp,
        mut each: impl FnMut(Read) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let prefix = prefix(scope);
        let mut after = Some(format!("{prefix}{:06}", day(since)));
        loop {
            let page = snapshot.records(&prefix, after.as_deref(), PAGE)?;
            for record in &page.items {
                each(serde_json::from_slice(&record.value).map_err(Error::internal)?)?;
            }
            let Some(last) = page.items.last().filter(|_| page.more) else { break };
            after = Some(last.key.clone());
        }
        let waiting: Vec<Read> =
            self.waiting.lock().iter().filter(|((of, _), _)| of == scope).map(|(_, read)| read.clone()).collect();
        waiting.into_iter().try_for_each(each)
    }

    /// Writes what waits. On an error it waits on.
    pub fn flush(&self, engine: &Inner) -> Result<(), Error> {
        let _alone = self.flushing.lock();
        let waiting: Vec<((Scope, String), Read)> = self.waiting.lock().drain().collect();
        for some in waiting.chunks(PAGE) {
            if let Err(error) = write(engine, some) {
                let mut again = self.waiting.lock();
                for (key, read) in some {
                    let kept = again.entry(key.clone()).or_insert(Read { count: 0, ..read.clone() });
                    kept.count += read.count;
                }
                return Err(error);
            }
        }
        Ok(())
    }
}

fn write(engine: &Inner, some: &[((Scope, String), Read)]) -> Result<(), Error> {
    let snapshot = engine.store.snapshot()?;
    let mut batch = Batch::default();
    for ((_, key), read) in some {
        let stored = snapshot.record(key)?;
        let stored: Option<Read> =
            stored.map(|record| serde_json::from_slice(&record.value)).transpose().map_err(Error::internal)?;
        let count = read.count + stored.map_or(0, |stored| stored.count);
        let value = serde_json::to_vec(&Read { count, ..read.clone() }).map_err(Error::internal)?;
        batch.writes.push(Write::Record(RecordWrite { key: key.clone(), value: Some(value) }));
    }
    engine.commit(batch)?;
    Ok(())
}

/// Whether a row is older than any window.
pub(crate) fn is_past(read: &Read, now: Timestamp) -> bool {
    now.0.saturating_sub(read.last.0) > (DAYS_MAX + 1) * DAY_MS
}

/// The start of a window of days that ends now.
pub(crate) fn window(days: u32, now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_sub(i64::from(days) * DAY_MS))
}
