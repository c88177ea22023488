//! Hundreds of namespaces in one folder, of which few may be open at a time.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use loom::Engine;
use serde_json::{Value, json};

use crate::harness::{Folder, hits, ok, uris};

const WORDS: [&str; 3] = ["kettle", "lantern", "sextant"];

fn open(folder: &Folder, open_max: usize) -> Engine {
    folder.open_with(|config| config.index.open_max = open_max)
}

fn fill(engine: &Engine, namespace: usize) {
    // Some are large enough to be written to files when they are closed.
    let others = if namespace.is_multiple_of(20) { 80 } else { 0 };
    let words = WORDS.iter().map(ToString::to_string).chain((0..others).map(|number| format!("chair{number}")));
    let entries: Vec<Value> = words
        .map(|word| json!({ "source_uri": word, "content": format!("The {word} of house {namespace}.") }))
        .collect();
    ok(engine, "knowledge.bulk_add", json!({ "namespace": format!("house-{namespace}"), "entries": entries }));
}

/// Asks a namespace for one of its documents, which must be the first found, of its own three at most.
fn ask(engine: &Engine, namespace: usize, word: &str) -> Vec<Value> {
    let input = json!({
        "namespace": format!("house-{namespace}"), "namespace_scope": "this", "query": format!("the {word}"), "top_k": 100,
    });
    let found = hits(&ok(engine, "knowledge.search", input));
    assert_eq!(uris(&found)[0], word);
    for hit in &found {
        let text = hit["content"].as_str().unwrap();
        assert!(text.ends_with(&format!("of house {namespace}.")), "{text} is of another namespace");
    }
    found
}

/// How many of the documents that every namespace has are among the hits.
fn known(found: &[Value]) -> usize {
    uris(found).iter().filter(|uri| WORDS.contains(uri)).count()
}

fn metric(engine: &Engine, name: &str) -> usize {
    let metrics = engine.metrics().unwrap();
    let (_, _, value) = metrics.iter().find(|(found, _, _)| *found == name).expect("a metric");
    format!("{value}").parse().expect("a count")
}

/// Files below `folder` that this process has open or mapped.
#[cfg(target_os = "linux")]
fn held_files(folder: &Path) -> usize {
    let opened = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let opened = opened.filter(|entry| fs::read_link(entry.path()).is_ok_and(|path| path.starts_with(folder)));
    let name = folder.to_str().unwrap();
    let mapped = fs::read_to_string("/proc/self/maps").unwrap();
    opened.count() + mapped.lines().filter(|line| line.contains(name)).count()
}

/// Numbers that look random and are the same in every run.
fn shuffled(count: usize, round: usize) -> impl Iterator<Item = usize> {
    // 7 and 11 have no factor in common with the counts used here.
    (0..count).map(move |at| (at * [7, 11][round % 2] + round) % count)
}

#[test]
fn three_hundred_namespaces_answer_within_the_room_for_a_few() {
    const NAMESPACES: usize = 300;
    const OPEN_MAX: usize = 8;
    let folder = Folder::new();
    let engine = open(&folder, OPEN_MAX);
    for namespace in 0..NAMESPACES {
        fill(&engine, namespace);
    }
    let mut first: Vec<Vec<Value>> = vec![Vec::new(); NAMESPACES];
    for round in 0..2 {
        for namespace in shuffled(NAMESPACES, round) {
            let found = ask(&engine, namespace, WORDS[namespace % WORDS.len()]);
            if round == 0 {
                first[namespace] = found;
            } else {
                assert_eq!(first[namespace], found, "house {namespace} answers as before it was closed");
            }
            let open = metric(&engine, "loom_projections_open");
            assert!(open <= OPEN_MAX, "{open} are open");
        }
    }
    assert!(metric(&engine, "loom_projections_closed_total") >= 2 * NAMESPACES - OPEN_MAX);
    #[cfg(target_os = "linux")]
    {
        let held = held_files(folder.path());
        // The store's own, and about ten of each open namespace that has files.
        assert!(held <= 16 + OPEN_MAX * 16, "{held} files are held");
        // Those of the other tests of this process included.
        let threads = fs::read_dir("/proc/self/task").unwrap().count();
        assert!(threads < NAMESPACES, "{threads} threads");
    }
}

#[test]
fn writers_and_searchers_lose_nothing_while_projections_come_and_go() {
    const NAMESPACES: usize = 40;
    const ROUNDS: usize = 4;
    let folder = Folder::new();
    let engine = open(&folder, 4);
    let searches = AtomicUsize::new(0);
    thread::scope(|scope| {
        for worker in 0..4 {
            let (engine, searches) = (&engine, &searches);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    // Each worker has its own namespaces to write to, and all share those that are open.
                    for namespace in shuffled(NAMESPACES, round).filter(|namespace| namespace % 4 == worker) {
                        fill(engine, namespace);
                        let word = WORDS[round % WORDS.len()];
                        assert_eq!(known(&ask(engine, namespace, word)), WORDS.len());
                        let gone = json!({ "namespace": format!("house-{namespace}"), "source_uri": word });
                        assert_eq!(ok(engine, "knowledge.delete", gone)["deleted"], true);
                        let left = WORDS[(round + 1) % WORDS.len()];
                        assert_eq!(known(&ask(engine, namespace, left)), WORDS.len() - 1);
                        searches.fetch_add(2, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(searches.into_inner(), 2 * NAMESPACES * ROUNDS);
    assert!(metric(&engine, "loom_projections_closed_total") > NAMESPACES);
    drop(engine);
    let engine = open(&folder, 64);
    for namespace in 0..NAMESPACES {
        assert_eq!(known(&ask(&engine, namespace, WORDS[ROUNDS % WORDS.len()])), WORDS.len() - 1);
    }
}
