//! Original files beside the text, and downloads.

use std::io::Read as _;

use loom::{Caller, Code, DownloadSource, Engine};
use serde_json::json;

use crate::harness::{Folder, add, ok, refused};

fn download(engine: &Engine, source_uri: &str) -> (DownloadSource, String, String, Vec<u8>) {
    let mut download = engine.download(&Caller::local(), "", "", source_uri).unwrap();
    let mut bytes = Vec::new();
    download.body.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, download.size);
    (download.source, download.filename, download.content_type, bytes)
}

#[test]
fn an_original_is_downloaded_as_it_was_given() {
    let folder = Folder::new();
    let engine = folder.open();
    let put = |more: serde_json::Value| {
        let mut input = json!({ "source_uri": "docs/a", "content": "the text" });
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        ok(&engine, "knowledge.upsert", input);
    };
    put(
        json!({ "original_bytes_b64": "AAECAw==", "original_filename": "a.bin", "blob_content_type": "application/x-a" }),
    );
    let first = (DownloadSource::Blob, "a.bin".to_owned(), "application/x-a".to_owned(), vec![0, 1, 2, 3]);
    assert_eq!(download(&engine, "docs/a"), first);
    // A text alone keeps the original, and may name it anew.
    put(json!({ "content": "another text" }));
    assert_eq!(download(&engine, "docs/a"), first);
    put(json!({ "original_filename": "b.bin" }));
    assert_eq!(download(&engine, "docs/a").1, "b.bin");
    ok(&engine, "knowledge.update_metadata", json!({ "source_uri": "docs/a", "title": "T", "reindex": true }));
    assert_eq!(download(&engine, "docs/a").3, [0, 1, 2, 3]);
    // New bytes come with their own name, or with none.
    put(json!({ "original_bytes_b64": "BA==" }));
    assert_eq!(download(&engine, "docs/a"), (DownloadSource::Blob, "a".into(), String::new(), vec![4]));
    // An empty string is no bytes given, not a file of no bytes.
    put(json!({ "original_bytes_b64": "", "original_filename": "c.bin" }));
    assert_eq!(download(&engine, "docs/a"), (DownloadSource::Blob, "c.bin".into(), String::new(), vec![4]));
    // A deleted document downloads nothing, and what is written after it has no original.
    ok(&engine, "knowledge.delete", json!({ "source_uri": "docs/a" }));
    let gone = engine.download(&Caller::local(), "", "", "docs/a").err().unwrap();
    assert_eq!((gone.code, gone.field.as_deref()), (Code::NotFound, Some("source_uri")));
    add(&engine, "docs/a", "plain");
    let text = (DownloadSource::Text, "a.md".into(), "text/markdown; charset=utf-8".into(), b"plain".to_vec());
    assert_eq!(download(&engine, "docs/a"), text);
}

#[test]
fn an_original_outlives_a_restart_and_its_twin() {
    let folder = Folder::new();
    let engine = folder.open();
    for uri in ["a", "b"] {
        ok(&engine, "knowledge.add", json!({ "source_uri": uri, "content": "x", "original_bytes_b64": "aGVsbG8=" }));
    }
    ok(&engine, "knowledge.delete", json!({ "source_uri": "a" }));
    drop(engine);
    let engine = folder.open();
    assert_eq!(download(&engine, "b").3, b"hello");
    assert_eq!(ok(&engine, "knowledge.restore", json!({ "source_uri": "a" }))["original"], "kept");
    assert_eq!(download(&engine, "a").3, b"hello");
}

#[test]
fn what_is_no_base64_or_too_large_is_refused() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| config.documents.original_bytes = 5);
    let put = |encoded: &str| json!({ "source_uri": "a", "content": "x", "original_bytes_b64": encoded });
    for wrong in ["not base64!", "aGVsbG8", "aGVsbG8=\n", "aGVs*G8="] {
        let error = refused(&engine, "knowledge.add", put(wrong));
        assert_eq!(
            (error.code, error.field.as_deref()),
            (Code::ValidationFailed, Some("original_bytes_b64")),
            "{wrong}"
        );
    }
    ok(&engine, "knowledge.add", put("aGVsbG8="));
    for large in ["aGVsbG8h", &"aaaa".repeat(1000)] {
        let error = refused(&engine, "knowledge.add", put(large));
        assert_eq!((error.code, error.field.as_deref()), (Code::PayloadTooLarge, Some("original_bytes_b64")));
        assert!(error.message.contains("LOOM_KNOWLEDGE_UPLOAD_MAX_BYTES"), "{error}");
    }
    assert_eq!(download(&engine, "a").3, b"hello", "a refused write leaves what was there");
}
