//! Writers and readers of one document at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use loom::{Code, Engine};
use serde_json::{Value, json};

use crate::harness::{Folder, call, hits, ok};

const WRITERS: usize = 20;
const READERS: usize = 20;
const ROUNDS: usize = 5;

fn body(writer: usize, round: usize) -> String {
    let mark = format!("mark{writer}x{round}");
    format!(
        "# One\n\nThe shared lighthouse {mark}.\n\n# Two\n\nThe shared foghorn {mark}.\n\n# Three\n\nThe shared buoy {mark}."
    )
}

/// The marks that the hits of one document carry.
fn marks(found: &[Value]) -> Vec<String> {
    let mark = |hit: &Value| {
        let content = hit["content"].as_str().unwrap();
        content.split([' ', '.']).find(|word| word.starts_with("mark")).unwrap().to_owned()
    };
    let mut marks: Vec<String> = found.iter().map(mark).collect();
    marks.sort();
    marks.dedup();
    marks
}

fn read_until(engine: &Engine, done: &AtomicBool, mode: &str) -> usize {
    let mut reads = 0;
    while !done.load(Ordering::Acquire) || reads == 0 {
        let input = json!({ "query": "shared lighthouse foghorn buoy", "search_mode": mode, "top_k": 50, "collapse_sections": false });
        let found = hits(&ok(engine, "knowledge.search", input));
        assert_eq!(found.len(), 3, "one live version, whole");
        assert_eq!(marks(&found).len(), 1, "chunks of one version");
        assert!(found.iter().all(|hit| hit["doc_id"] == found[0]["doc_id"]));
        let got = ok(engine, "knowledge.get", json!({ "source_uri": "one" }));
        assert_eq!((&got["found"], &got["superseded"]), (&json!(true), &json!(false)));
        reads += 1;
    }
    reads
}

/// Case 19.
#[test]
fn racing_writes_of_one_document_leave_one_version_and_no_gap() {
    let folder = Folder::new();
    let engine = folder.open();
    ok(&engine, "knowledge.upsert", json!({ "source_uri": "one", "content": body(0, 0) }));
    let (start, done) = (Barrier::new(WRITERS + READERS), AtomicBool::new(false));
    let (won, lost) = (AtomicUsize::new(1), AtomicUsize::new(0));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (engine, start, won, lost) = (&engine, &start, &won, &lost);
                scope.spawn(move || {
                    start.wait();
                    for round in 1..=ROUNDS {
                        let input = json!({ "source_uri": "one", "content": body(writer, round) });
                        match call(engine, "knowledge.upsert", input) {
                            Ok(answer) => {
                                assert_eq!(answer["chunks_superseded"], 3);
                                won.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(error) => {
                                assert_eq!(
                                    (error.code, error.code.status()),
                                    (Code::PreconditionFailed, 409),
                                    "{error}"
                                );
                                lost.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                })
            })
            .collect();
        for reader in 0..READERS {
            let (engine, start, done) = (&engine, &start, &done);
            scope.spawn(move || {
                start.wait();
                read_until(engine, done, ["lexical", "semantic", "hybrid"][reader % 3]);
            });
        }
        let failed = writers.into_iter().find_map(|writer| writer.join().err());
        done.store(true, Ordering::Release);
        assert!(failed.is_none(), "a writer failed");
    });
    let (won, lost) = (won.into_inner(), lost.into_inner());
    assert_eq!(won + lost, WRITERS * ROUNDS + 1);
    let rows = ok(&engine, "knowledge.list", json!({ "include_superseded": true, "limit": 500 }));
    let rows = rows["rows"].as_array().unwrap();
    let mut revisions: Vec<u64> = rows.iter().map(|row| row["revision"].as_u64().unwrap()).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=won as u64).collect::<Vec<_>>(), "each revision is taken once");
    assert_eq!(rows.iter().filter(|row| row["superseded"] == false).count(), 1);
}

#[test]
fn deletes_and_restores_race_without_harm() {
    let folder = Folder::new();
    let engine = folder.open();
    ok(&engine, "knowledge.upsert", json!({ "source_uri": "one", "content": body(0, 0) }));
    let start = Barrier::new(9);
    thread::scope(|scope| {
        for thread in 0..9 {
            let (engine, start) = (&engine, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..10 {
                    let (op, input) = match thread % 3 {
                        0 => ("knowledge.delete", json!({ "source_uri": "one" })),
                        1 => ("knowledge.restore", json!({ "source_uri": "one" })),
                        _ => ("knowledge.upsert", json!({ "source_uri": "one", "content": body(thread, round) })),
                    };
                    if let Err(error) = call(engine, op, input) {
                        assert_eq!(error.code, Code::PreconditionFailed, "{op}: {error}");
                    }
                    let input =
                        json!({ "query": "shared lighthouse foghorn buoy", "top_k": 50, "collapse_sections": false });
                    let found = hits(&ok(engine, "knowledge.search", input));
                    assert!(found.is_empty() || found.len() == 3 && marks(&found).len() == 1, "{:?}", marks(&found));
                }
            });
        }
    });
    let live = ok(&engine, "knowledge.get", json!({ "source_uri": "one" }))["found"] == true;
    let input = json!({ "query": "shared lighthouse foghorn buoy", "collapse_sections": false });
    assert_eq!(hits(&ok(&engine, "knowledge.search", input)).len(), if live { 3 } else { 0 });
}

#[test]
fn writes_of_different_documents_never_refuse_each_other() {
    let folder = Folder::new();
    let engine = folder.open();
    let start = Barrier::new(12);
    thread::scope(|scope| {
        for writer in 0..12 {
            let (engine, start) = (&engine, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..5 {
                    // The first writes also race to make the namespace.
                    let input = json!({ "source_uri": format!("{writer}/{round}"), "content": body(writer, round) });
                    ok(engine, "knowledge.add", input);
                }
            });
        }
    });
    let list = ok(&engine, "namespace.list", json!({}));
    assert_eq!((&list["namespaces"][0]["documents"], &list["namespaces"][0]["chunks"]), (&json!(60), &json!(180)));
}
