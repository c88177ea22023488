//! The fuzz targets' corpora, replayed; those of readers are in `extract/tests/corpus.rs`.

#[path = "../../fuzz/bodies.rs"]
mod bodies;
#[path = "../../fuzz/replay.rs"]
mod replay;

fn replay(target: &str, body: impl Fn(&[u8])) {
    replay::replay(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus"), target, body);
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

#[test]
fn any_artifact_is_checked_and_what_passes_is_cut() {
    replay("artifact", bodies::artifact);
}
