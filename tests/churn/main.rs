//! Deletes 5,000 chunks and adds them again, 100 times: the disk and the memory that this takes stay bounded.
//!
//! `LOOM_CHURN_CYCLES` sets the cycles (default 100).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../it/calls.rs"]
#[allow(dead_code, reason = "the other tests also call what must be refused")]
mod calls;

use std::fs;
use std::path::Path;

use loom::{Caller, Config, DoctorOptions, Engine};
use loom_storage::RedbOptions;
use serde_json::{Value, json};

use calls::{ok, search};

const DOCS: usize = 50;
const SECTIONS: usize = 100;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

fn uri(doc: usize) -> String {
    format!("berth/{doc}")
}

fn text(doc: usize) -> String {
    let section = |section| format!("# Rope {section}\n\nMooring rope {section} of berth {doc}.");
    (0..SECTIONS).map(section).collect::<Vec<_>>().join("\n\n")
}

/// Bytes below a folder.
fn size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }).sum()
}

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

fn add(engine: &Engine) {
    let entries: Vec<Value> = (0..DOCS).map(|doc| json!({ "source_uri": uri(doc), "content": text(doc) })).collect();
    let answer = ok(engine, "knowledge.bulk_add", json!({ "entries": entries }));
    assert!(answer["written"].as_array().unwrap().iter().all(|entry| entry["chunks_created"] == SECTIONS));
}

/// The folder's size once it is closed, with the room given back that nothing needs, and that of its projections.
fn closed(folder: &Path, engine: Engine) -> (u64, u64) {
    drop(engine);
    let index = size(&folder.join("index"));
    open(folder).compact(&Caller::local()).unwrap();
    (size(folder), index)
}

fn open(folder: &Path) -> Engine {
    Engine::open(folder, Config::default()).unwrap()
}

fn uris() -> Vec<String> {
    (0..DOCS).map(uri).collect()
}

fn delete(engine: &Engine) {
    let deleted = ok(engine, "knowledge.bulk_delete", json!({ "source_uris": uris() }));
    assert_eq!(deleted["total_chunks_tombstoned"], DOCS * SECTIONS);
    assert!(search(engine, "hybrid", "mooring rope 7", 10).is_empty());
}

/// What cycles of a delete and `again` left behind.
struct Outcome {
    /// Bytes of the closed folder after two cycles and after all of them, in all.
    all: [u64; 2],
    /// The same of the projections.
    index: [u64; 2],
    /// Bytes of the folder while it is written to, after a tenth of the cycles and after all of them: with the room of
    /// what the last commits replaced.
    running: [u64; 2],
    /// Resident memory after a tenth of the cycles and after all of them.
    resident: Option<[u64; 2]>,
}

fn churn(again: impl Fn(&Engine)) -> Outcome {
    // In memory where the system has that: lengths are measured here, not the disk's speed.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let folder = folder.path();
    let cycles = setting("LOOM_CHURN_CYCLES", 100);
    let cycle = |engine: &Engine| {
        delete(engine);
        again(engine);
    };
    let engine = open(folder);
    add(&engine);
    cycle(&engine);
    cycle(&engine);
    let (all_before, index_before) = closed(folder, engine);
    let engine = open(folder);
    let (mut resident_before, mut running_before) = (None, 0);
    for nth in 0..cycles - 2 {
        cycle(&engine);
        if nth == cycles / 10 {
            resident_before = resident();
            running_before = size(folder);
        }
    }
    let running = [running_before, size(folder)];
    assert_eq!(search(&engine, "hybrid", "mooring rope 7", 100).len(), 100);
    let resident = resident_before.zip(resident()).map(Into::into);
    let report = engine.doctor(DoctorOptions { repair: false, deep: false }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
    let (all_after, index_after) = closed(folder, engine);
    let outcome = Outcome { all: [all_before, all_after], index: [index_before, index_after], running, resident };
    let Outcome { all, index, resident, .. } = &outcome;
    eprintln!("{cycles} cycles: all {all:?}, projections {index:?}, running {running:?}, resident {resident:?} bytes");
    outcome
}

fn assert_within([before, after]: [u64; 2]) {
    assert!(10 * after <= 13 * before, "{before} bytes became {after}");
}

fn deleting_and_restoring_costs_no_disk_and_no_memory() {
    let outcome = churn(|engine| {
        for uri in uris() {
            assert_eq!(ok(engine, "knowledge.restore", json!({ "source_uri": uri }))["chunks_restored"], SECTIONS);
        }
    });
    assert_within(outcome.all);
    assert_within(outcome.index);
    assert_within(outcome.running);
    if let Some(resident) = outcome.resident {
        assert_within(resident);
    }
}

fn deleting_and_adding_again_costs_a_few_rows_of_history() {
    let outcome = churn(add);
    assert_within(outcome.all);
    assert_within(outcome.index);
    assert_within(outcome.running);
    if let Some([before, after]) = outcome.resident {
        // History fills the store's cache, and nothing else grows with it: a kilobyte kept for each chunk would be
        // 500 MB.
        let cache = RedbOptions::default().cache_bytes as u64;
        assert!(after <= before + cache + (48 << 20), "{before} bytes became {after}, the cache has {cache}");
    }
}

/// One after the other: the memory is the whole process's.
#[test]
fn what_is_deleted_and_brought_back_leaves_nothing_behind() {
    deleting_and_restoring_costs_no_disk_and_no_memory();
    deleting_and_adding_again_costs_a_few_rows_of_history();
}
