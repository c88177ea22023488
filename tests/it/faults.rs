//! Every write operation over a disk that fails once, or fills up for a while, at every write and sync: the caller is
//! told the truth, and the same engine goes on.

#[expect(dead_code, reason = "the storage's own tests use the rest of it")]
#[path = "../../storage/tests/faults/disk.rs"]
mod disk;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use disk::{At, Disk, Fault, Lost};
use loom::{Caller, Code, Config, Engine};
use loom_storage::{RedbOptions, RedbStore};
use serde_json::{Value, json};

fn script() -> Vec<(&'static str, Value)> {
    let text = |word: &str| format!("# {word}\n\nThe {word} is kept here.\n");
    let entry = |uri: &str, word: &str| json!({ "source_uri": uri, "content": text(word) });
    vec![
        ("knowledge.add", entry("a", "anchor")),
        ("knowledge.bulk_add", json!({ "entries": [entry("b", "beacon"), entry("c", "compass")] })),
        ("knowledge.upsert", entry("a", "almanac")),
        ("knowledge.update_metadata", json!({ "source_uri": "b", "title": "Beacons" })),
        ("knowledge.delete", json!({ "source_uri": "a" })),
        ("knowledge.bulk_delete", json!({ "source_uris": ["b", "c"] })),
        ("knowledge.restore", json!({ "source_uri": "a" })),
    ]
}

fn call(engine: &Engine, op: &str, input: &Value) -> Result<Value, loom::Error> {
    let Value::Object(input) = input.clone() else { panic!("an object") };
    Ok(engine.call(&Caller::local(), op, input)?.output)
}

/// What is served and was, without ids and times.
fn state(engine: &Engine) -> Value {
    let list = call(engine, "knowledge.list", &json!({ "include_superseded": true, "limit": 100 })).unwrap();
    let fields = ["source_uri", "title", "revision", "superseded", "chunks"];
    let mut rows: Vec<Value> = list["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| fields.iter().map(|field| row[field].clone()).collect())
        .collect();
    rows.sort_by_key(ToString::to_string);
    rows.into()
}

fn engine(disk: &Disk, folder: &std::path::Path) -> Engine {
    let options = RedbOptions { retry_after: Duration::ZERO, cache_bytes: 4 << 20, ..RedbOptions::default() };
    let [main, wal, blobs] = [0, 1, 2].map(|file| disk.opener(file));
    let store = RedbStore::open_with_backends(folder, &options, main, wal, blobs).unwrap();
    Engine::open_over(Arc::new(store), folder, Config::default()).unwrap()
}

/// The states before the first operation and after each.
fn expected() -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&Disk::new(), folder.path());
    let mut states = vec![state(&engine)];
    for (op, input) in script() {
        call(&engine, op, &input).unwrap();
        states.push(state(&engine));
        assert_ne!(states[states.len() - 2], states[states.len() - 1], "{op} changes something");
    }
    states
}

fn every_operation(fault: Fault) {
    let (script, expected) = (script(), expected());
    let mut injected: BTreeMap<&str, u32> = BTreeMap::new();
    let made = Disk::new();
    drop(engine(&made, tempfile::tempdir().unwrap().path()));
    for kind in [At::Write, At::Sync] {
        for number in 1.. {
            let (folder, disk) = (tempfile::tempdir().unwrap(), made.after_power_loss(Lost::Nothing));
            let engine = engine(&disk, folder.path());
            disk.break_at(fault, kind(number));
            for (index, (op, input)) in script.iter().enumerate() {
                let before = disk.fired();
                let answered = call(&engine, op, input);
                if disk.fired() && !before {
                    *injected.entry(op).or_default() += 1;
                }
                let place = format!("{fault:?} at {:?} in {op}", kind(number));
                if let Err(error) = answered {
                    assert_eq!(error.code, Code::BackendUnavailable, "{place}: {error:?}");
                    let unsettled = error.message.contains("cannot be told");
                    disk.mend();
                    assert!(engine.readiness().ready, "{place}: {:?}", engine.readiness());
                    let now = state(&engine);
                    assert!(
                        now == expected[index] || unsettled && now == expected[index + 1],
                        "{place}: {error}: {now}"
                    );
                    if now == expected[index] {
                        call(&engine, op, input).unwrap_or_else(|error| panic!("{place}, again: {error:?}"));
                    }
                }
                assert_eq!(state(&engine), expected[index + 1], "{place}");
            }
            let fired = disk.fired();
            disk.mend();
            let report = engine.doctor(loom::DoctorOptions::default()).unwrap();
            assert!(report.sound, "{fault:?} at {:?}: {report:?}", kind(number));
            if !fired {
                break;
            }
        }
    }
    eprintln!("{fault:?}: injected and held, by operation: {injected:?}");
    assert_eq!(injected.len(), script.len(), "every operation met it: {injected:?}");
}

#[test]
fn a_disk_that_fails_once_under_every_operation() {
    every_operation(Fault::FailOnce);
}

#[test]
fn a_disk_that_is_full_for_a_while_under_every_operation() {
    every_operation(Fault::Full);
}
