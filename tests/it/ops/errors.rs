//! Every refusal: its code, its status and the field it names.

use loom::{Code, Role};
use serde_json::{Value, json};

use crate::harness::{Folder, add, holder, ok, refused};
use crate::server::Server;

/// Calls that must be refused: the operation, the input, the field named.
fn invalid() -> Vec<(&'static str, Value, &'static str)> {
    let long = |count: usize| "x".repeat(count);
    let doc = |field: &str, value: Value| {
        let mut input = json!({ "source_uri": "a", "content": "one" });
        input[field] = value;
        input
    };
    let ask = |field: &str, value: Value| json!({ "query": "one", field: value });
    let add = "knowledge.add";
    vec![
        (add, json!({ "content": "one" }), "source_uri"),
        (add, json!({ "source_uri": "a" }), "content"),
        (add, doc("source_uri", json!("")), "source_uri"),
        (add, doc("source_uri", json!(long(2_049))), "source_uri"),
        (add, doc("source_uri", json!("a\nb")), "source_uri"),
        (add, doc("source_uri", json!(7)), "source_uri"),
        (add, doc("content", json!(null)), "content"),
        (add, doc("title", json!(long(1_001))), "title"),
        (add, doc("title", json!(["a"])), "title"),
        (add, doc("description", json!(long(4_001))), "description"),
        (add, doc("tags", json!("a")), "tags"),
        (add, doc("tags", json!(["a", 7])), "tags[1]"),
        (add, doc("tags", json!(["a", " "])), "tags[1]"),
        (add, doc("tags", json!([long(201)])), "tags[0]"),
        (add, doc("tags", json!((0..101).map(|n| n.to_string()).collect::<Vec<_>>())), "tags"),
        (add, doc("metadata", json!([1])), "metadata"),
        (add, doc("metadata", json!({ "k": long(65_536) })), "metadata"),
        (add, doc("original_filename", json!(long(513))), "original_filename"),
        (add, doc("blob_content_type", json!(long(513))), "blob_content_type"),
        (add, doc("agent", json!(long(513))), "agent"),
        (add, doc("session_id", json!(long(513))), "session_id"),
        (add, doc("source_class", json!("mine")), "source_class"),
        (add, doc("namespace", json!("a/b")), "namespace"),
        (add, doc("namespace", json!(long(129))), "namespace"),
        (add, doc("org", json!(".a")), "org"),
        ("knowledge.upsert", doc("title", json!(long(1_001))), "title"),
        ("knowledge.bulk_add", json!({}), "entries"),
        ("knowledge.bulk_add", json!({ "entries": [] }), "entries"),
        ("knowledge.bulk_add", json!({ "entries": vec![doc("title", json!("")); 501] }), "entries"),
        (
            "knowledge.bulk_add",
            json!({ "entries": [doc("title", json!("")), { "source_uri": "b" }] }),
            "entries[1].content",
        ),
        ("knowledge.bulk_add", json!({ "entries": [doc("tags", json!(["a", ""]))] }), "entries[0].tags[1]"),
        ("knowledge.bulk_add", json!({ "entries": [doc("x", json!(1)), doc("x", json!(1))] }), "entries[1].source_uri"),
        ("knowledge.bulk_delete", json!({ "source_uris": [] }), "source_uris"),
        ("knowledge.bulk_delete", json!({ "source_uris": vec!["a"; 501] }), "source_uris"),
        ("knowledge.bulk_delete", json!({ "source_uris": ["a", ""] }), "source_uris[1]"),
        ("knowledge.delete", json!({}), "source_uri"),
        ("knowledge.get", json!({ "source_uri": "a", "include_superseded": "yes" }), "include_superseded"),
        ("knowledge.outline", json!({ "source_uri": "a", "section_path": "a" }), "section_path"),
        ("knowledge.restore", json!({ "source_uri": "a", "if_revision": -1 }), "if_revision"),
        ("knowledge.restore", json!({ "source_uri": "a", "if_revision": 1.5 }), "if_revision"),
        ("knowledge.update_metadata", json!({ "source_uri": "a", "tags": [""] }), "tags[0]"),
        ("knowledge.update_metadata", json!({ "source_uri": "a", "title": long(1_001) }), "title"),
        ("knowledge.list", json!({ "limit": 0 }), "limit"),
        ("knowledge.list", json!({ "limit": 501 }), "limit"),
        ("knowledge.list", json!({ "fields": ["title", "nope"] }), "fields[1]"),
        ("knowledge.list", json!({ "namespaces": ["ok", "not ok"] }), "namespaces[1]"),
        ("knowledge.list", json!({ "namespaces": vec!["a"; 101] }), "namespaces"),
        ("knowledge.list", json!({ "tags": vec!["a"; 101] }), "tags"),
        ("knowledge.list", json!({ "uri_prefix": vec!["a"; 9] }), "uri_prefix"),
        ("knowledge.search", json!({}), "query"),
        ("knowledge.search", ask("query", json!("")), "query"),
        ("knowledge.search", ask("query", json!(long(8_193))), "query"),
        ("knowledge.search", ask("top_k", json!(0)), "top_k"),
        ("knowledge.search", ask("top_k", json!(101)), "top_k"),
        ("knowledge.search", ask("top_k", json!(-1)), "top_k"),
        ("knowledge.search", ask("top_k", json!(5_000_000_000_u64)), "top_k"),
        ("knowledge.search", ask("since_seconds", json!(-1)), "since_seconds"),
        ("knowledge.search", ask("lexical_weight", json!(-0.5)), "lexical_weight"),
        ("knowledge.search", ask("lexical_weight", json!("1")), "lexical_weight"),
        ("knowledge.search", ask("search_mode", json!("fuzzy")), "search_mode"),
        ("knowledge.search", ask("namespace_scope", json!("all")), "namespace_scope"),
        ("knowledge.search", ask("uri_prefix", json!(vec!["a"; 9])), "uri_prefix"),
        ("knowledge.search", ask("tags", json!(vec!["a"; 101])), "tags"),
        ("knowledge.search", ask("session_ids", json!(vec!["a"; 101])), "session_ids"),
        ("knowledge.search", ask("source_classes", json!(vec!["a"; 101])), "source_classes"),
        ("knowledge.search", ask("formats", json!(vec!["a"; 101])), "formats"),
        ("knowledge.search", ask("block_types", json!(vec!["a"; 101])), "block_types"),
        ("knowledge.search", ask("rerank", json!("https://evil.example")), "rerank"),
        ("namespace.list", json!({ "org": "a b" }), "org"),
    ]
}

#[test]
fn what_is_out_of_range_is_refused_by_the_name_of_its_field() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "one");
    for (op, input, field) in invalid() {
        let shown: String = input.to_string().chars().take(120).collect();
        let error = refused(&engine, op, input);
        assert_eq!(
            (error.code, error.field.as_deref()),
            (Code::ValidationFailed, Some(field)),
            "{op} {shown}: {error}"
        );
        assert!(error.message.contains(field), "{op} {shown}: {error}");
        assert!(error.message.len() < 1_000, "{op} {shown}: a message repeats no long input");
    }
    let got =
        ok(&engine, "knowledge.list", json!({ "include_superseded": true, "fields": ["source_uri", "revision"] }));
    assert_eq!(got["rows"], json!([{ "source_uri": "a", "revision": 1 }]), "nothing was written");
}

#[test]
fn the_same_refusals_come_over_http() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "one");
    let server = Server::start(engine);
    for (op, input, field) in invalid() {
        let (status, answer) = server.post(op, &input);
        let error = &answer["error"];
        assert_eq!(
            (status, error["code"].as_str(), error["field"].as_str()),
            (422, Some("VALIDATION_FAILED"), Some(field))
        );
        assert_eq!(error["retryable"], false);
    }
}

#[test]
fn bounds_hold_at_their_edge() {
    let folder = Folder::new();
    let engine = folder.open();
    let long = |count: usize| "é".repeat(count);
    let input = json!({
        "namespace": "n".repeat(128), "source_uri": long(2_048), "content": "one", "title": long(1_000),
        "description": long(4_000), "tags": (0..100).map(|n| format!("{n:0>200}")).collect::<Vec<_>>(),
        "metadata": { "k": "x".repeat(65_528) }, "original_filename": long(512), "blob_content_type": long(512),
        "agent": long(512), "session_id": long(512),
    });
    ok(&engine, "knowledge.add", input);
    let entries: Vec<Value> = (0..500).map(|n| json!({ "source_uri": n.to_string(), "content": "x" })).collect();
    ok(&engine, "knowledge.bulk_add", json!({ "entries": entries }));
    let source_uris: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    assert_eq!(
        ok(&engine, "knowledge.bulk_delete", json!({ "source_uris": source_uris }))["total_chunks_tombstoned"],
        500
    );
}

#[test]
fn what_is_too_large_names_its_setting() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| {
        config.documents.content_bytes = 100;
        config.documents.chunks = 3;
    });
    let error = refused(&engine, "knowledge.add", json!({ "source_uri": "a", "content": "x".repeat(101) }));
    assert_eq!((error.code, error.field.as_deref()), (Code::PayloadTooLarge, Some("content")));
    assert!(error.message.contains("LOOM_KNOWLEDGE_MAX_CONTENT_BYTES") && error.message.contains("100"), "{error}");
    let sections = "# a\n\n# b\n\n# c\n\n# d\n";
    let error = refused(&engine, "knowledge.upsert", json!({ "source_uri": "a", "content": sections }));
    assert_eq!((error.code, error.field.as_deref()), (Code::PayloadTooLarge, Some("content")));
    assert!(error.message.contains("LOOM_KNOWLEDGE_MAX_CHUNKS") && error.message.contains('3'), "{error}");
    let entries = json!([{ "source_uri": "b", "content": "x" }, { "source_uri": "a", "content": sections }]);
    let error = refused(&engine, "knowledge.bulk_add", json!({ "entries": entries }));
    assert_eq!(error.field.as_deref(), Some("entries[1].content"));
    let error = refused(
        &engine,
        "knowledge.bulk_add",
        json!({ "entries": [{ "source_uri": "b", "content": "x".repeat(101) }] }),
    );
    assert_eq!(error.field.as_deref(), Some("entries[0].content"));
}

#[test]
fn a_role_that_is_too_low_is_refused() {
    let folder = Folder::new();
    let engine = folder.open();
    let input = || serde_json::from_value(json!({ "source_uri": "a", "content": "one" })).unwrap();
    let caller = |role| holder(&[("*", role)]);
    let error = engine.call(&caller(Role::Viewer), "knowledge.add", input()).unwrap_err();
    assert_eq!((error.code, error.code.status()), (Code::Forbidden, 403));
    engine.call(&caller(Role::Writer), "knowledge.add", input()).unwrap();
    let read = engine.call(&caller(Role::Viewer), "knowledge.get", input()).unwrap();
    assert_eq!(read.output["found"], true);
}

#[test]
fn an_unknown_operation_and_an_unknown_document_are_told_apart() {
    let folder = Folder::new();
    let engine = folder.open();
    let error = refused(&engine, "knowledge.upsrt", json!({}));
    assert_eq!((error.code, error.code.status()), (Code::UnknownOp, 404));
    assert!(error.message.contains("knowledge.upsert"), "{error}");
    let error = refused(&engine, "knowledge.update_metadata", json!({ "source_uri": "a" }));
    assert_eq!((error.code, error.field.as_deref()), (Code::NotFound, Some("source_uri")));
    engine.close().unwrap();
    let error = refused(&engine, "knowledge.get", json!({ "source_uri": "a" }));
    assert_eq!((error.code, error.code.retryable()), (Code::Overloaded, true));
}
