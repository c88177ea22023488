//! Sixteen writers and sixteen readers of a few documents at once, every call recorded, and a checker that finds no
//! stale or impossible read.
//!
//! `LOOM_HISTORY_SECONDS` sets how long they run (default 30), `LOOM_HISTORY_SEED` what they choose.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../it/calls.rs"]
#[allow(dead_code, reason = "the other tests also call what must be refused")]
mod calls;
mod checker;
#[path = "../crash/random.rs"]
mod random;
mod recorder;

use std::collections::{BTreeMap, HashMap};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use loom::{Config, DoctorOptions, Engine};
use serde_json::{Value, json};

use calls::ok;
use checker::{Call, Outcome, State};
use random::Random;
use recorder::{Answer, DOCS, Entry, Recorder, uri};

const WRITERS: u64 = 16;
const READERS: u64 = 16;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

#[test]
fn no_read_is_stale_or_impossible_under_writers_and_readers_of_one_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path(), Config::default()).unwrap();
    let recorder = Recorder::default();
    let seed = setting("LOOM_HISTORY_SEED", 1);
    let run_for = Duration::from_secs(setting("LOOM_HISTORY_SECONDS", 30));
    let start = Barrier::new(usize::try_from(WRITERS + READERS).unwrap());
    let entries: Vec<Entry> = thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS + READERS)
            .map(|number| {
                let (engine, recorder, start) = (&engine, &recorder, &start);
                scope.spawn(move || {
                    let mut random = Random(seed.wrapping_mul(1_000).wrapping_add(number));
                    let (mut entries, mut wrote) = (Vec::new(), 0);
                    start.wait();
                    let end = Instant::now() + run_for;
                    while Instant::now() < end {
                        if number < WRITERS {
                            entries.push(recorder.write(engine, &mut random, number, wrote));
                            wrote += 1;
                        } else {
                            entries.push(recorder.read(engine, &mut random));
                        }
                    }
                    entries
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    drop(engine);
    // What a restart reads comes after all of it.
    let engine = Engine::open(folder.path(), Config::default()).unwrap();
    let last = recorder.read_all(&engine);
    let versions = versions(&engine);
    let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
    let counts = check(entries.into_iter().chain(last), &versions);
    eprintln!("{counts:?}");
    for what in ["wrote", "deleted", "restored", "lost", "saw"] {
        assert!(counts.get(what).is_some_and(|count| *count > 0), "nothing {what}: {counts:?}");
    }
}

/// The revision of every version ever written, by its id.
fn versions(engine: &Engine) -> HashMap<String, u64> {
    let (mut found, mut cursor) = (HashMap::new(), Value::Null);
    loop {
        let fields = json!(["doc_id", "revision"]);
        let input = json!({ "include_superseded": true, "limit": 500, "cursor": cursor, "fields": fields });
        let page = ok(engine, "knowledge.list", input);
        for row in page["rows"].as_array().unwrap() {
            let earlier = found.insert(row["doc_id"].as_str().unwrap().to_owned(), row["revision"].as_u64().unwrap());
            assert_eq!(earlier, None, "each version is listed once");
        }
        if page["next_cursor"].is_null() {
            return found;
        }
        cursor = page["next_cursor"].clone();
    }
}

/// Holds the history of each document against a register; how many calls there were of each kind.
fn check(entries: impl Iterator<Item = Entry>, versions: &HashMap<String, u64>) -> BTreeMap<&'static str, usize> {
    let mut histories: Vec<Vec<Call>> = vec![Vec::new(); DOCS];
    let mut counts = BTreeMap::new();
    let revision =
        |id: &String| *versions.get(id).unwrap_or_else(|| panic!("{id} is no version that was ever written"));
    let live = |id: &Option<String>| Outcome::SawLive(id.as_ref().map(revision));
    for Entry { started, answered, answer } in entries {
        let mut note = |doc: usize, what: &'static str, outcome: Outcome| {
            histories[doc].push(Call { started, answered, outcome });
            *counts.entry(what).or_insert(0) += 1;
        };
        match answer {
            Answer::Wrote(doc, id) => note(doc, "wrote", Outcome::Wrote(revision(&id))),
            Answer::Deleted(doc) => note(doc, "deleted", Outcome::Deleted),
            Answer::Restored(doc, id) => note(doc, "restored", Outcome::Restored(revision(&id))),
            Answer::Lost(doc) => note(doc, "lost", Outcome::Lost),
            Answer::Saw(doc, None) => note(doc, "saw", Outcome::Saw(State::Absent)),
            Answer::Saw(doc, Some((id, true))) => note(doc, "saw", Outcome::Saw(State::Live(revision(&id)))),
            Answer::Saw(doc, Some((id, false))) => note(doc, "saw", Outcome::Saw(State::Deleted(revision(&id)))),
            Answer::SawLive(doc, id) => note(doc, "saw live", live(&id)),
            Answer::SawAll(ids) => {
                for (doc, id) in ids.iter().enumerate() {
                    note(doc, "saw all", live(id));
                }
            }
        }
    }
    let written = counts.get("wrote").copied().unwrap_or(0);
    assert_eq!(written, versions.len(), "every version is one that a writer was told of");
    for (doc, history) in histories.iter().enumerate() {
        let outcome = checker::check(history);
        assert_eq!(outcome, Ok(()), "{} after {} calls", uri(doc), history.len());
    }
    counts
}
