//! Control records on their way out.

use loom_storage::{Batch, Hash, Record, RecordWrite, Scope, Write};
use std::time::Duration;

use crate::audit::AUDIT;
use crate::engine::Inner;
use crate::error::Error;
use serde_json::{Map, Value};

/// How many records are read, and removed in one commit.
const PAGE: usize = 1_000;

/// Removes the records under a prefix for which `goes` is true; answers how many.
pub(super) fn remove(
    engine: &Inner,
    prefix: &str,
    mut goes: impl FnMut(&Record) -> Result<bool, Error>,
) -> Result<u64, Error> {
    rewrite(engine, prefix, |record| Ok(if goes(record)? { Some(None) } else { None }))
}

/// Writes the records under a prefix anew for which `value` answers something: the new value, or `None` to remove it.
fn rewrite(
    engine: &Inner,
    prefix: &str,
    mut value: impl FnMut(&Record) -> Result<Option<Option<Vec<u8>>>, Error>,
) -> Result<u64, Error> {
    let (mut count, mut after) = (0, None::<String>);
    loop {
        let page = engine.store.snapshot()?.records(prefix, after.as_deref(), PAGE)?;
        let mut batch = Batch::default();
        for record in &page.items {
            if let Some(value) = value(record)? {
                batch.writes.push(Write::Record(RecordWrite { key: record.key.clone(), value }));
            }
        }
        count += batch.writes.len() as u64;
        engine.commit(batch)?;
        let Some(last) = page.items.last().filter(|_| page.more) else { return Ok(count) };
        after = Some(last.key.clone());
    }
}

/// Takes out of the audit what was changed, where `goes` is true of the record: who did what stays.
pub(super) fn hush(engine: &Inner, org: &str, goes: impl Fn(&Map<String, Value>) -> bool) -> Result<(), Error> {
    rewrite(engine, &format!("{AUDIT}{org}/"), |record| {
        let mut row: Map<String, Value> = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        let says = row.get("what").and_then(Value::as_object).is_some_and(|what| !what.is_empty());
        if !says || !goes(&row) {
            return Ok(None);
        }
        row.insert("what".into(), Value::Object(Map::new()));
        Ok(Some(Some(serde_json::to_vec(&row).map_err(Error::internal)?)))
    })?;
    Ok(())
}

/// Removes blobs: the catalogue's rows that are still there, and the bytes. Those that an upload brings at this moment are
/// kept by it.
pub(super) fn remove_blobs(engine: &Inner, scope: &Scope, hashes: &[Hash]) -> Result<u64, Error> {
    let snapshot = engine.store.snapshot()?;
    let mut batch = Batch::default();
    for hash in hashes {
        if let Some(row) = snapshot.blob(scope, hash)? {
            batch.writes.push(Write::DropBlob { scope: scope.clone(), row });
        }
    }
    drop(snapshot);
    engine.commit(batch)?;
    let mut removed = 0;
    for hash in hashes {
        removed += u64::from(engine.store.remove_blob(scope, hash, Duration::ZERO)?);
    }
    Ok(removed)
}
