//! Refusals on their way to the audit: a refused call must not cost a commit of its own, or refusing would be dearer
//! than answering.

use std::collections::HashMap;

use loom_storage::{Batch, RecordWrite, Timestamp, Write};
use parking_lot::Mutex;
use serde_json::json;

use crate::audit;
use crate::clock::rfc3339;
use crate::engine::Inner;
use crate::error::{Code, Error};

/// The most different refusals that wait to be written; further ones are counted as one.
const WAITING_MAX: usize = 1_000;

/// Who was refused what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Refusal {
    pub org: String,
    /// The namespace that the call named; empty where it named none.
    pub namespace: String,
    pub op: String,
    /// Empty where nobody knows.
    pub actor: String,
    pub code: Code,
}

/// The refusals that are not written yet.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<HashMap<Refusal, Times>>);

#[derive(Clone, Copy)]
struct Times {
    count: u64,
    first: Timestamp,
    last: Timestamp,
}

impl Refusals {
    /// Notes a refusal, to be written with the next pass.
    pub fn note(&self, refusal: Refusal, now: Timestamp) {
        let mut waiting = self.0.lock();
        let refusal = if waiting.len() < WAITING_MAX || waiting.contains_key(&refusal) {
            refusal
        } else {
            Refusal { namespace: String::new(), op: "(many)".into(), actor: String::new(), ..refusal }
        };
        let times = waiting.entry(refusal).or_insert(Times { count: 0, first: now, last: now });
        times.count += 1;
        times.last = now;
    }

    /// Writes what waits, as one commit. On an error it waits on.
    pub fn flush(&self, engine: &Inner) -> Result<(), Error> {
        let waiting = std::mem::take(&mut *self.0.lock());
        if waiting.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::default();
        for (refusal, times) in &waiting {
            let row = json!({
                "at": rfc3339(times.last), "op": refusal.op, "actor": refusal.actor, "org": refusal.org,
                "namespace": refusal.namespace, "outcome": "refused", "code": refusal.code,
                "count": times.count, "since": rfc3339(times.first),
            });
            let value = serde_json::to_vec(&row).map_err(Error::internal)?;
            let key = audit::key(&refusal.org, times.last, engine.config.ids.fresh());
            batch.writes.push(Write::Record(RecordWrite { key, value: Some(value) }));
        }
        if let Err(error) = engine.commit(batch) {
            let mut again = self.0.lock();
            for (refusal, times) in waiting {
                if again.len() < WAITING_MAX {
                    let since = again.entry(refusal).or_insert(Times { count: 0, ..times });
                    since.count += times.count;
                    since.first = times.first;
                }
            }
            return Err(error.into());
        }
        Ok(())
    }
}
