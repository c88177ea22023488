//! Erasing a namespace.

use loom_storage::{Batch, Hash, RecordWrite, Scope, Snapshot, Write};
use serde_json::Value;

use super::Erased;
use super::records::{hush, remove, remove_blobs};
use crate::datasets::{self, DATASETS};
use crate::engine::Inner;
use crate::error::Error;
use crate::extracted::ARTIFACTS;
use crate::jobs::{self, Job};
use crate::models;
use crate::namespaces;
use crate::reads::READS;
use crate::uploads::UPLOADS;

/// Blobs read at a time.
const PAGE: usize = 1_000;

/// Erases a namespace as far as it is still there.
pub(super) fn erase(engine: &Inner, scope: &Scope, erased: &mut Erased) -> Result<(), Error> {
    // What is under way stops before it publishes, and cannot publish without its record.
    erased.records += remove(engine, &jobs::prefix(scope), |record| {
        let job: Job = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        engine.queue.stop(scope, job.id);
        Ok(true)
    })?;
    let of_scope = |start: &str| format!("{start}{}/{}/", scope.org, scope.namespace);
    engine.reads.forget(scope, |_| true);
    datasets::forget(engine);
    for start in [UPLOADS, ARTIFACTS, DATASETS, READS] {
        erased.records += remove(engine, &of_scope(start), |_| Ok(true))?;
    }
    let snapshot = engine.store.snapshot()?;
    let blobs = catalogued(snapshot.as_ref(), scope)?;
    if let Some(row) = snapshot.namespace(scope)? {
        erased.documents += row.documents;
        erased.versions += row.versions;
    }
    drop(snapshot);
    // A write that was planned before and comes after meets another embedding record than it read, and is planned anew.
    let gone = [models::record_key(scope), namespaces::facts_key(scope)];
    let mut writes = vec![Write::EraseNamespace { scope: scope.clone() }];
    writes.extend(gone.into_iter().map(|key| Write::Record(RecordWrite { key, value: None })));
    engine.store.commit(Batch { preconditions: Vec::new(), writes })?;
    engine.projections.discard(scope)?;
    erased.originals += remove_blobs(engine, scope, &blobs)?;
    let namespace = Value::from(scope.namespace.as_str());
    hush(engine, &scope.org, |row| row.get("namespace") == Some(&namespace))
}

/// The catalogued blobs of a namespace.
pub(super) fn catalogued(snapshot: &dyn Snapshot, scope: &Scope) -> Result<Vec<Hash>, Error> {
    let mut found = Vec::new();
    // No hash sorts before this one; a blob that has it all the same is found by the address of the page before.
    let mut after = (scope.clone(), Hash([0; 32]));
    if snapshot.blob(scope, &after.1)?.is_some() {
        found.push(after.1);
    }
    loop {
        let page = snapshot.blobs(Some((&after.0, &after.1)), PAGE)?;
        for (of, row) in &page.items {
            if of != scope {
                return Ok(found);
            }
            found.push(row.hash);
        }
        let Some(last) = found.last().filter(|_| page.more) else { return Ok(found) };
        after.1 = *last;
    }
}
