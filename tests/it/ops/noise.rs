//! Labels of noise through every way a text is written.

use loom::Engine;
use serde_json::{Value, json};

use crate::harness::{Folder, ok, search};

const TITLE: &str = "Lantern sync 2025-11-20";
const TEXT: &str = "# Lantern\n\nAna showed the lantern.\n\n# Wick\n\nAgreed: a longer wick for the lantern.\n";

/// Of the chunks of the one document, in order, whether each is noise.
fn labels(engine: &Engine) -> Vec<bool> {
    let mut hits = search(engine, "lexical", "lantern", 10);
    hits.sort_by_key(|hit| hit["chunk_idx"].as_u64());
    hits.iter().map(|hit| hit["noise"].as_bool().expect("a label")).collect()
}

#[test]
fn every_write_labels() {
    let document = json!({ "source_uri": "a", "title": TITLE, "content": TEXT });
    for (op, input) in [
        ("knowledge.add", document.clone()),
        ("knowledge.bulk_add", json!({ "entries": [document] })),
        ("knowledge.upsert", document),
        ("knowledge.add", json!({ "source_uri": "a", "content": TEXT.replacen("Lantern", TITLE, 1) })),
        ("knowledge.add", json!({ "source_uri": "a", "content": format!("---\ntitle: {TITLE}\n---\n{TEXT}") })),
    ] {
        let folder = Folder::new();
        let engine = folder.open();
        ok(&engine, op, input);
        assert_eq!(labels(&engine), [true, false], "{op}");
        drop(engine);
        assert_eq!(labels(&folder.open()), [true, false], "{op}, opened again");
    }
}

#[test]
fn a_new_title_counts_when_the_chunks_are_written_again() {
    let folder = Folder::new();
    let engine = folder.open();
    let retitle = |title: &str, reindex: bool| -> Value {
        ok(&engine, "knowledge.update_metadata", json!({ "source_uri": "a", "title": title, "reindex": reindex }))
    };
    ok(&engine, "knowledge.add", json!({ "source_uri": "a", "title": "Lanterns", "content": TEXT }));
    assert_eq!(labels(&engine), [false, false]);
    retitle(TITLE, false);
    assert_eq!(labels(&engine), [false, false], "the chunks are as they were");
    retitle(TITLE, true);
    assert_eq!(labels(&engine), [true, false]);
    retitle("Lanterns", false);
    assert_eq!(labels(&engine), [true, false], "the chunks are as they were");
    ok(&engine, "knowledge.upsert", json!({ "source_uri": "a", "title": "Lanterns", "content": TEXT }));
    assert_eq!(labels(&engine), [false, false]);
}

#[test]
fn a_title_alone_is_content() {
    let folder = Folder::new();
    let engine = folder.open();
    ok(&engine, "knowledge.add", json!({ "source_uri": "a", "title": TITLE, "content": "" }));
    assert_eq!(labels(&engine), [false]);
}
