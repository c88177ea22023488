//! What a sweep removes, and what it leaves: originals, uploads and ingests past their time.

use loom::{Caller, Code, Engine, UploadRequest};
use loom_storage::{Batch, Hash, RedbOptions, RedbStore, Scope, Store as _, Write};
use serde_json::json;

use super::ingesting::{ended, ingest, opened_with, status, upload};
use crate::extractor::paragraphs;
use crate::harness::{Folder, ok, refused};

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn opened(folder: &Folder) -> Engine {
    opened_with(
        folder,
        |_, bytes| paragraphs("text", std::str::from_utf8(bytes).expect("text")),
        |config| {
            config.sweep.blob_age_s = 3600;
        },
    )
}

/// Blobs, those that nothing needs, and those that a sweep takes.
fn swept(engine: &Engine, remove: bool) -> (u64, u64, u64) {
    let totals = engine.blobs(remove).expect("they are counted");
    (totals.blobs, totals.unneeded, totals.sweepable)
}

#[test]
fn originals_go_when_no_document_upload_or_ingest_needs_them() {
    let folder = Folder::new();
    let engine = opened(&folder);
    let job = ingest(&engine, "a.txt", b"alpha", &json!({}));
    ended(&engine, &job);
    upload(&engine, "waiting.txt", b"beta");
    assert_eq!(swept(&engine, false), (2, 0, 0));
    // The upload expires; the document still has its original.
    folder.clock.advance_ms(DAY_MS);
    assert_eq!(swept(&engine, true), (2, 1, 1));
    assert_eq!(swept(&engine, false), (1, 0, 0));
    ok(&engine, "knowledge.delete", json!({ "source_uri": "a.txt" }));
    assert_eq!(swept(&engine, true), (1, 1, 1));
    assert_eq!(swept(&engine, false), (0, 0, 0));
    let restored = ok(&engine, "knowledge.restore", json!({ "source_uri": "a.txt" }));
    assert_eq!(restored["restored"], true, "{restored}");
    let download = engine.download(&Caller::local(), "", "", "a.txt").expect("its text is left");
    assert_eq!(download.source, loom::DownloadSource::Text);
}

#[test]
fn a_namespace_keeps_no_more_than_its_quota() {
    let folder = Folder::new();
    let read = |_: &str, bytes: &[u8]| paragraphs("text", std::str::from_utf8(bytes).expect("text"));
    let engine = opened_with(&folder, read, |config| {
        (config.documents.blob_quota_bytes, config.sweep.blob_age_s) = (10, 0);
    });
    let request = |namespace: &str| UploadRequest {
        namespace: namespace.into(),
        filename: "b.txt".into(),
        ..UploadRequest::default()
    };
    let job = ingest(&engine, "a.txt", b"alpha 7", &json!({}));
    ended(&engine, &job);
    let mut second = engine.begin_upload(&Caller::local(), request("")).expect("there is room for three bytes");
    second.write(b"be").expect("two fit");
    let refusal = second.write(b"ta").expect_err("four do not");
    assert_eq!(refusal.code, Code::PayloadTooLarge);
    assert!(refusal.message.contains("7 bytes of files") && refusal.message.contains("BLOB_QUOTA_BYTES allows 10"));
    let encoded =
        json!({ "source_uri": "b", "content": "b", "original_bytes_b64": "YmV0YQ==", "original_filename": "b" });
    assert_eq!(refused(&engine, "knowledge.add", encoded.clone()).code, Code::PayloadTooLarge);
    // Two that each fit, and together do not.
    let begun = [(); 2].map(|()| {
        let mut one = engine.begin_upload(&Caller::local(), request("")).expect("there is room");
        one.write(b"xyz").expect("it fits");
        one
    });
    let [first, second] = begun.map(loom::Uploading::finish);
    assert!(first.is_ok());
    assert_eq!(second.expect_err("it is full").code, Code::PayloadTooLarge);
    engine.begin_upload(&Caller::local(), request("other")).expect("each namespace has its own");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "a.txt" }));
    folder.clock.advance_ms(DAY_MS);
    engine.blobs(true).expect("it is swept");
    ok(&engine, "knowledge.add", encoded);
}

#[test]
fn a_blob_is_kept_for_an_hour_and_the_same_bytes_sent_again_renew_it() {
    let folder = Folder::new();
    let engine = opened_with(&folder, |_, _| paragraphs("text", "x"), |config| config.ingest.upload_ttl_s = 1);
    upload(&engine, "a.txt", b"alpha");
    folder.clock.advance_ms(HOUR_MS - 1);
    assert_eq!(swept(&engine, true), (1, 1, 0), "it is too young");
    upload(&engine, "b.txt", b"alpha");
    folder.clock.advance_ms(1000);
    assert_eq!(swept(&engine, true), (1, 1, 0), "it was sent again");
    folder.clock.advance_ms(HOUR_MS);
    assert_eq!(swept(&engine, true), (1, 1, 1));
    assert_eq!(swept(&engine, false), (0, 0, 0));
    // Sent once more, its bytes are there whatever the sweep left of them.
    let job = ingest(&engine, "c.txt", b"alpha", &json!({}));
    assert_eq!(ended(&engine, &job)["state"], "ready");
}

#[test]
fn an_ingest_whose_bytes_are_gone_says_so() {
    let folder = Folder::new();
    let engine = opened_with(&folder, |_, _| paragraphs("text", "x"), |config| config.ingest.workers = 0);
    let job = ingest(&engine, "a.txt", b"alpha", &json!({}));
    engine.close().expect("it closes");
    drop(engine);
    let store = RedbStore::open(folder.path(), &RedbOptions::default()).expect("it opens");
    let (scope, hash) = (Scope::new("dev", "local"), Hash::of(b"alpha"));
    let row = store.snapshot().expect("a snapshot").blob(&scope, &hash).expect("no error").expect("a row");
    let drop_it = Batch { preconditions: Vec::new(), writes: vec![Write::DropBlob { scope: scope.clone(), row }] };
    store.commit(drop_it).expect("it commits");
    assert!(store.remove_blob(&scope, &hash, std::time::Duration::ZERO).expect("no error"));
    drop(store);
    let engine = opened(&folder);
    assert_eq!(ended(&engine, &job)["error_code"], "original_gone");
}

#[test]
fn records_of_uploads_and_ingests_go_when_they_are_old() {
    let folder = Folder::new();
    let engine = opened(&folder);
    let job = ingest(&engine, "a.txt", b"alpha", &json!({}));
    ended(&engine, &job);
    let pending = UploadRequest { filename: "b.txt".into(), ..UploadRequest::default() };
    drop(engine.begin_upload(&Caller::local(), pending).expect("it begins"));
    folder.clock.advance_ms(30 * DAY_MS - 1);
    engine.expire_records().expect("it sweeps");
    assert_eq!(status(&engine, &job)["found"], true);
    folder.clock.advance_ms(1);
    assert_eq!(engine.expire_records().expect("it sweeps"), 1, "the upload's went before");
    assert_eq!(status(&engine, &job)["found"], false);
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "a.txt" }))["content"], "alpha\n");
}
