//! The fuzz targets' corpora, replayed: each input once gave trouble somewhere, or shows a corner.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/bodies.rs"]
mod bodies;

/// Runs a target's body on every file of its corpus.
fn replay(target: &str, body: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> =
        fs::read_dir(&folder).expect("a corpus").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{target} has a corpus");
    for file in files {
        // Shown when the body panics.
        eprintln!("{}", file.display());
        body(&fs::read(&file).expect("a readable file"));
    }
}

#[test]
fn any_text_is_cut() {
    replay("chunk", bodies::chunk);
}

#[test]
fn any_front_matter_is_read_or_is_text() {
    replay("front_matter", bodies::front_matter);
}

#[test]
fn any_text_has_terms() {
    replay("analyze", bodies::analyze);
}

#[test]
fn any_request_is_answered_or_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let engine = bodies::library(folder.path());
    replay("request", |data| bodies::request(&engine, data));
}

#[test]
fn any_query_is_answered_or_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let engine = bodies::library(folder.path());
    replay("search_query", |data| bodies::search_query(&engine, data));
}

#[test]
fn any_record_is_decoded_or_refused() {
    replay("record", bodies::record);
}

#[test]
fn any_vector_files_are_opened_or_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    replay("vectors", |data| bodies::vectors(folder.path(), data));
}
