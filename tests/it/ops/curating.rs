//! `knowledge.dedup_list`, `knowledge.dedup_resolve`, `knowledge.history`, `knowledge.reads`, `knowledge.inspect`, and reading a
//! revision: keeping a namespace in order.

use expect_test::expect;
use loom::{Code, Engine};
use serde_json::{Value, json};

use super::ingesting::{ended, ingest, opened_with};
use crate::extractor::{artifact, paragraphs, refusal};
use crate::harness::{Folder, add, check, ok, refused, search};

#[test]
fn a_duplicate_goes_once_it_is_confirmed_and_is_not_restored() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "same text", "title": "First"}
advance 1000
knowledge.add {"source_uri": "b", "content": "same text", "title": "Second"}
knowledge.add {"source_uri": "c", "content": "other text"}
knowledge.dedup_list
knowledge.dedup_resolve {"canonical_uri": "a", "duplicate_uri": "b", "decision": "keep_canonical", "confirm_duplicate_uri": "a"}
knowledge.dedup_resolve {"canonical_uri": "a", "duplicate_uri": "a", "decision": "swap", "confirm_duplicate_uri": "a"}
knowledge.dedup_resolve {"canonical_uri": "a", "duplicate_uri": "c", "decision": "swap", "confirm_duplicate_uri": "c"}
knowledge.dedup_resolve {"canonical_uri": "a", "duplicate_uri": "x", "decision": "swap", "confirm_duplicate_uri": "x"}
knowledge.dedup_resolve {"canonical_uri": "a", "duplicate_uri": "b", "decision": "keep_canonical", "confirm_duplicate_uri": "b"}
knowledge.get {"source_uri": "b"}
knowledge.restore {"source_uri": "b"}
knowledge.dedup_list
knowledge.dedup_list {"limit": 201}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"doc_id":"#02","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"b"}
            {"doc_id":"#03","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"c"}
            {"doc_clusters":[{"content_hash":"2e68a7bba11b90d1bae1daea2dd4951779cf45d5897c62539d01f44054bcb1e0","title":"First","documents":[{"source_uri":"a","title":"First","revision":1,"ingested_at":"2026-01-01T00:00:00.000Z","chars":9},{"source_uri":"b","title":"Second","revision":1,"ingested_at":"2026-01-01T00:00:01.000Z","chars":9}],"canonical_uri":"a","size":2}],"chunk_clusters":[]}
            {"error":{"code":"CONFIRM_MISMATCH","message":"confirm_duplicate_uri must repeat duplicate_uri: nothing changed","retryable":false,"field":"confirm_duplicate_uri"}}
            {"error":{"code":"VALIDATION_FAILED","message":"duplicate_uri must name another document than canonical_uri","retryable":false,"field":"duplicate_uri"}}
            {"error":{"code":"PRECONDITION_FAILED","message":"the two documents no longer have the same text: read them again before one of them goes","retryable":false,"field":"duplicate_uri"}}
            {"error":{"code":"NOT_FOUND","message":"dev/local has no live document \"x\": knowledge.dedup_list shows those that are","retryable":false,"field":"duplicate_uri"}}
            {"canonical_uri":"a","duplicate_uri":"b","decision":"keep_canonical","superseded_uri":"b"}
            {"found":false,"source_uri":"b","title":null,"description":null,"content":null,"tags":null,"metadata":null,"ingested_at":null,"superseded":null,"doc_id":null,"revision":null,"format":null,"parser":null,"coverage":null}
            {"restored":false,"reason":"not_restorable","doc_id":"#02","revision":1,"chunks_restored":0,"original":"none"}
            {"doc_clusters":[],"chunk_clusters":[]}
            {"error":{"code":"VALIDATION_FAILED","message":"limit must be 1 to 200; it is 201","retryable":false,"field":"limit"}}
        "##]],
    );
}

#[test]
fn swap_retires_the_canonical_one_and_searches_show_it_at_once() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "the harbour at night");
    add(&engine, "b", "the harbour at night");
    assert_eq!(search(&engine, "lexical", "harbour", 9).len(), 2);
    let input = json!({
        "canonical_uri": "a", "duplicate_uri": "b", "decision": "swap", "confirm_duplicate_uri": "b",
    });
    assert_eq!(ok(&engine, "knowledge.dedup_resolve", input.clone())["superseded_uri"], "a");
    let left = search(&engine, "lexical", "harbour", 9);
    assert_eq!((left.len(), &left[0]["source_uri"]), (1, &json!("b")));
    assert_eq!(refused(&engine, "knowledge.dedup_resolve", input).code, Code::NotFound, "it is settled");
}

#[test]
fn passages_that_stand_in_several_documents_are_shown_on_request() {
    let folder = Folder::new();
    let engine = folder.open();
    let licence = "## Licence\n\nAll rights of the harbour are reserved.";
    for uri in ["a", "b", "c"] {
        add(&engine, uri, &format!("# {uri}\n\nText of {uri}.\n\n{licence}"));
    }
    add(&engine, "d", &format!("{licence}\n\n{licence}"));
    let quiet = ok(&engine, "knowledge.dedup_list", json!({}));
    assert_eq!(quiet, json!({ "doc_clusters": [], "chunk_clusters": [] }));
    let shown = ok(&engine, "knowledge.dedup_list", json!({ "include_chunk_clusters": true }));
    let [cluster] = shown["chunk_clusters"].as_array().unwrap().as_slice() else { panic!("{shown}") };
    assert!(cluster["excerpt"].as_str().unwrap().starts_with("## Licence"), "{cluster}");
    let first = &cluster["chunks"][0];
    assert_eq!((&first["source_uri"], &first["section"]), (&json!("a"), &json!("a > Licence")));
    assert!(cluster["size"].as_u64().unwrap() >= 3, "{cluster}");
}

#[test]
fn a_history_tells_every_revision_and_each_can_be_read() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "one", "agent": "bot", "title": "First"}
advance 1000
knowledge.upsert {"source_uri": "a", "content": "two words"}
knowledge.delete {"source_uri": "a"}
advance 1000
knowledge.add {"source_uri": "a", "content": "three"}
knowledge.history {"source_uri": "a"}
knowledge.history {"source_uri": "a", "limit": 1}
knowledge.history {"source_uri": "a", "before": 2}
knowledge.history {"source_uri": "b"}
knowledge.get {"source_uri": "a", "revision": 2}
knowledge.get {"source_uri": "a", "revision": 4}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"doc_id":"#02","chunks_created":1,"chunks_superseded":1,"embedding_model":"loom-static-256","embedding_dim":256,"duplicate_of_uri":"","duplicate_chunk_count":0,"namespace":"local","source_uri":"a"}
            {"deleted":true,"chunks_tombstoned":1}
            {"doc_id":"#04","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"found":true,"source_uri":"a","revisions":[{"revision":3,"doc_id":"#04","title":"","ingested_at":"2026-01-01T00:00:02.000Z","live":true,"superseded_at":null,"cause":"","chars":5,"chunks":1,"agent":"","session_id":"","actor":"user:local","format":"","original_bytes":0},{"revision":2,"doc_id":"#02","title":"","ingested_at":"2026-01-01T00:00:01.000Z","live":false,"superseded_at":"2026-01-01T00:00:01.000Z","cause":"deleted","chars":9,"chunks":1,"agent":"","session_id":"","actor":"user:local","format":"","original_bytes":0},{"revision":1,"doc_id":"#01","title":"First","ingested_at":"2026-01-01T00:00:00.000Z","live":false,"superseded_at":"2026-01-01T00:00:01.000Z","cause":"replaced","chars":3,"chunks":1,"agent":"bot","session_id":"","actor":"user:local","format":"","original_bytes":0}],"more":false}
            {"found":true,"source_uri":"a","revisions":[{"revision":3,"doc_id":"#04","title":"","ingested_at":"2026-01-01T00:00:02.000Z","live":true,"superseded_at":null,"cause":"","chars":5,"chunks":1,"agent":"","session_id":"","actor":"user:local","format":"","original_bytes":0}],"more":true}
            {"found":true,"source_uri":"a","revisions":[{"revision":1,"doc_id":"#01","title":"First","ingested_at":"2026-01-01T00:00:00.000Z","live":false,"superseded_at":"2026-01-01T00:00:01.000Z","cause":"replaced","chars":3,"chunks":1,"agent":"bot","session_id":"","actor":"user:local","format":"","original_bytes":0}],"more":false}
            {"found":false,"source_uri":"b","revisions":[],"more":false}
            {"found":true,"source_uri":"a","title":"","description":"","content":"two words","tags":[],"metadata":{},"ingested_at":"2026-01-01T00:00:01.000Z","superseded":true,"doc_id":"#02","revision":2,"format":null,"parser":null,"coverage":null}
            {"found":false,"source_uri":"a","title":null,"description":null,"content":null,"tags":null,"metadata":null,"ingested_at":null,"superseded":null,"doc_id":null,"revision":null,"format":null,"parser":null,"coverage":null}
        "##]],
    );
}

fn reads(engine: &Engine, input: Value) -> Vec<(String, u64, u64)> {
    let answer = ok(engine, "knowledge.reads", input);
    let row = |row: &Value| {
        let count = |name: &str| row[name].as_u64().unwrap();
        (row["source_uri"].as_str().unwrap().to_owned(), count("reads"), count("agents"))
    };
    answer["reads"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn reads_are_counted_by_document_and_agent_and_outlive_the_process() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "one");
    add(&engine, "b", "two");
    let get = |engine: &Engine, uri: &str, agent: &str| {
        ok(engine, "knowledge.get", json!({ "source_uri": uri, "agent": agent }));
    };
    for agent in ["scout", "scout", "clerk", "dashboard", "bench", "assistant", "cli"] {
        get(&engine, "a", agent);
    }
    get(&engine, "b", "");
    get(&engine, "missing", "scout");
    ok(&engine, "knowledge.list", json!({}));
    assert_eq!(reads(&engine, json!({})), [("a".into(), 3, 2), ("b".into(), 1, 1)]);
    engine.close().unwrap();
    drop(engine);
    folder.clock.advance_ms(8 * 86_400_000);
    let engine = folder.open();
    get(&engine, "b", "scout");
    assert_eq!(reads(&engine, json!({})), [("b".into(), 1, 1)], "a week is looked back");
    assert_eq!(reads(&engine, json!({ "days": 30 })), [("a".into(), 3, 2), ("b".into(), 2, 2)]);
    assert_eq!(reads(&engine, json!({ "days": 30, "source_uris": ["a"] })), [("a".into(), 3, 2)]);
    assert_eq!(ok(&engine, "knowledge.reads", json!({ "days": 99 }))["window_days"], 30);
    assert_eq!(ok(&engine, "knowledge.reads", json!({ "days": 0 }))["window_days"], 1);
    folder.clock.advance_ms(40 * 86_400_000);
    engine.close().unwrap();
    drop(engine);
    let engine = folder.open();
    assert!(engine.expire_records().unwrap() >= 4, "counts past every window are removed");
    assert_eq!(reads(&engine, json!({ "days": 30 })), []);
}

#[test]
fn a_report_of_an_empty_namespace_finds_nothing() {
    let folder = Folder::new();
    let engine = folder.open();
    let report = ok(&engine, "knowledge.inspect", json!({ "namespace": "none" }));
    assert_eq!((&report["documents"]["live"], &report["listed_complete"]), (&json!(0), &json!(true)));
    for finding in report["findings"].as_array().unwrap().iter().chain(report["ingest_findings"].as_array().unwrap()) {
        assert_eq!((&finding["severity"], &finding["count"]), (&json!("info"), &json!(0)), "{finding}");
        assert!(finding["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{finding}");
    }
    assert_eq!(report["memory_findings"], json!([]));
    assert_eq!(report["skipped"].as_array().unwrap().len(), 2);
}

#[test]
fn a_report_counts_documents_and_finds_what_is_wrong_with_ingests() {
    let folder = Folder::new();
    let engine = opened_with(
        &folder,
        |name, _| match name {
            "corrupt.pdf" => refusal(422, "corrupt"),
            "partial.txt" => {
                let coverage =
                    json!({ "unit": "pages", "total": 2, "extracted": 1, "failed": 1, "lost": ["ocr_text"] });
                let blocks = json!([{ "kind": "paragraph", "text": "half of it" }]);
                (200, artifact("text", &json!({ "blocks": blocks, "coverage": coverage })))
            }
            _ => paragraphs("text", "whole words"),
        },
        |_| {},
    );
    add(&engine, "file:///a", "one");
    add(&engine, "file:///a", "two");
    add(&engine, "b", "three");
    add(&engine, "empty", "");
    add(&engine, "gone", "four");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "gone" }));
    let whole = ingest(&engine, "whole.txt", b"x", &json!({}));
    ended(&engine, &whole);
    ended(&engine, &ingest(&engine, "partial.txt", b"x", &json!({ "allow_partial": true })));
    let corrupt = ingest(&engine, "corrupt.pdf", b"x", &json!({}));
    ended(&engine, &corrupt);
    let report = ok(&engine, "knowledge.inspect", json!({}));
    let documents = &report["documents"];
    assert_eq!(
        (&documents["live"], &documents["deleted"], &documents["earlier_revisions"]),
        (&json!(5), &json!(1), &json!(1))
    );
    assert_eq!(documents["by_format"]["text"]["live"], 5);
    assert_eq!(documents["by_scheme"], json!({ "file": 1, "none": 4 }));
    assert_eq!(documents["retired_versions"], 2);
    let chunks = &report["chunks"];
    assert_eq!((&chunks["live"], &chunks["searchable"]), (&chunks["by_model"][0]["chunks"], &chunks["live"]));
    let listed = report["listed"].as_array().unwrap();
    let by_uri = |uri: &str| listed.iter().find(|entry| entry["source_uri"] == uri).unwrap();
    assert_eq!(by_uri("whole.txt")["ingestion_id"], json!(whole));
    assert_eq!(by_uri("whole.txt")["jobs"]["latest"]["state"], "ready");
    assert_eq!(by_uri("partial.txt")["extraction"]["failed"], 1);
    assert_eq!(by_uri("b")["ingestion_id"], "");
    let finding = |list: &str, code: &str| {
        report[list].as_array().unwrap().iter().find(|finding| finding["code"] == code).unwrap().clone()
    };
    let rejected = finding("ingest_findings", "ingest_content_rejected");
    assert_eq!((&rejected["samples"], &rejected["ingestion_ids"]), (&json!(["corrupt.pdf"]), &json!([corrupt])));
    assert_eq!((&rejected["severity"], &rejected["without_document"]), (&json!("warning"), &json!(1)));
    let incomplete = finding("ingest_findings", "extraction_incomplete");
    assert_eq!((&incomplete["count"], &incomplete["samples"]), (&json!(1), &json!(["partial.txt"])));
    assert_eq!(report["extraction"]["lost"], json!({ "ocr_text": 1 }));
    assert_eq!(report["ingestions"]["by_state"], json!({ "failed": 1, "partial": 1, "ready": 1 }));
    assert_eq!(report["ingestions"]["without_document_listed"], json!(["corrupt.pdf"]));
    let few = ok(&engine, "knowledge.inspect", json!({ "sample_limit": 1 }));
    assert_eq!((few["listed"].as_array().unwrap().len(), &few["listed_complete"]), (1, &json!(false)));
    // A write that comes after an ingest replaces it.
    folder.clock.advance_ms(1_000);
    add(&engine, "corrupt.pdf", "written by hand");
    let report = ok(&engine, "knowledge.inspect", json!({}));
    assert_eq!(report["ingestions"]["replaced"], 1);
}
