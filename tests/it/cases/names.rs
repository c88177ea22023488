//! Characters that no name may hold, and prefixes that are nothing but text.

use loom::Code;
use serde_json::{Value, json};

use crate::harness::{Folder, add, ok, refused, uris};
use crate::server::Server;

/// Case 10.
#[test]
fn a_nul_is_refused_by_the_name_of_its_field() {
    let folder = Folder::new();
    let engine = folder.open();
    let fields: [(&str, Value); 14] = [
        ("source_uri", json!("a\0b")),
        ("content", json!("text\0more")),
        ("title", json!("a\0")),
        ("description", json!("\0")),
        ("tags[1]", json!(["fine", "a\0b"])),
        ("metadata.key", json!({ "key": "a\0" })),
        ("metadata.a.b[1]", json!({ "a": { "b": ["fine", "a\0"] } })),
        ("metadata.a\\0b", json!({ "a\0b": 1 })),
        ("original_filename", json!("a\0.pdf")),
        ("blob_content_type", json!("text/plain\0")),
        ("agent", json!("a\0")),
        ("session_id", json!("a\0")),
        ("namespace", json!("a\0")),
        ("org", json!("a\0")),
    ];
    for (field, value) in fields {
        let name = field.split(['.', '[']).next().unwrap();
        for op in ["knowledge.add", "knowledge.upsert"] {
            let mut input = json!({ "source_uri": "a", "content": "text" });
            input[name] = value.clone();
            let error = refused(&engine, op, input);
            assert_eq!((error.code, error.field.as_deref()), (Code::ValidationFailed, Some(field)), "{op}");
            assert!(!error.message.contains('\0'), "{op} {field}");
        }
        if !["agent", "session_id", "namespace", "org"].contains(&name) {
            let mut entry = json!({ "source_uri": "a", "content": "text" });
            entry[name] = value.clone();
            let entries = json!([{ "source_uri": "first", "content": "x" }, entry]);
            let error = refused(&engine, "knowledge.bulk_add", json!({ "entries": entries }));
            assert_eq!(error.field, Some(format!("entries[1].{field}")));
        }
    }
    assert_eq!(ok(&engine, "knowledge.list", json!({}))["rows"], json!([]), "nothing was written");
    add(&engine, "a", "text");
    for (field, value) in [("title", json!("\0")), ("description", json!("\0")), ("tags[0]", json!(["\0"]))] {
        let name = field.split('[').next().unwrap();
        let error = refused(&engine, "knowledge.update_metadata", json!({ "source_uri": "a", name: value }));
        assert_eq!((error.code, error.field.as_deref()), (Code::ValidationFailed, Some(field)));
    }
    let error = refused(&engine, "knowledge.search", json!({ "query": "a\0b" }));
    assert_eq!(error.field.as_deref(), Some("query"));
    for op in ["knowledge.get", "knowledge.outline", "knowledge.delete", "knowledge.restore"] {
        let error = refused(&engine, op, json!({ "source_uri": "a\0" }));
        assert_eq!(error.field.as_deref(), Some("source_uri"), "{op}");
    }
    let error = refused(&engine, "knowledge.bulk_delete", json!({ "source_uris": ["a", "a\0"] }));
    assert_eq!(error.field.as_deref(), Some("source_uris[1]"));
}

#[test]
fn other_odd_characters_are_kept_as_they_are() {
    let folder = Folder::new();
    let engine = folder.open();
    let odd = "tab\there \u{1}\u{7f}\u{feff}\u{200b}\u{202e}\u{fffd}\u{10ffff}";
    let input = json!({
        "source_uri": "ünï/☃ %2e..\u{202e}", "content": odd, "title": odd, "description": odd, "tags": [odd],
        "metadata": { odd: odd }, "original_filename": odd, "agent": odd, "session_id": odd,
    });
    ok(&engine, "knowledge.add", input);
    let got = ok(&engine, "knowledge.get", json!({ "source_uri": "ünï/☃ %2e..\u{202e}" }));
    assert_eq!((&got["content"], &got["title"], &got["tags"][0]), (&json!(odd), &json!(odd), &json!(odd)));
    assert_eq!(got["metadata"], json!({ odd: odd }));
    for control in ["a\nb", "a\u{85}", "\u{1b}[31m", "a\u{7f}"] {
        let error = refused(&engine, "knowledge.add", json!({ "source_uri": control, "content": "x" }));
        assert_eq!(error.field.as_deref(), Some("source_uri"), "{control:?}");
    }
}

#[test]
fn a_header_cannot_be_smuggled_in_with_a_file_name() {
    let folder = Folder::new();
    let engine = folder.open();
    let input = json!({
        "source_uri": "a", "content": "x", "original_bytes_b64": "aGVsbG8=",
        "original_filename": "a\r\nx-evil: 1\u{202e}.txt", "blob_content_type": "text/html\r\nx-evil: 1",
    });
    ok(&engine, "knowledge.add", input);
    let server = Server::start(engine);
    let mut response = ureq::get(format!("{}/v1/knowledge.download?source_uri=a", server.base)).call().unwrap();
    assert!(response.headers().get("x-evil").is_none());
    assert_eq!(response.body_mut().read_to_string().unwrap(), "hello");
}

/// Case 11.
#[test]
fn a_prefix_is_literal() {
    let folder = Folder::new();
    let engine = folder.open();
    let highest = "docs/\u{10ffff}";
    let stored = [
        "docs/2026_06/a",
        "docs/2026-06/a",
        "docs/2026x06/a",
        "docs/100%/a",
        "docs/1000/a",
        "docs\\win\\a",
        "docs/*/a",
        "docs/[a]/x",
        "docs/a/x",
        "docs/\u{10ffff}",
        "docs/\u{10ffff}\u{10ffff}z",
        "Docs/A",
        "docs/é",
        "docs/e\u{301}",
    ];
    for uri in stored {
        add(&engine, uri, "the same words everywhere");
    }
    let prefixes = [
        "docs/2026_06/",
        "docs/2026-06/",
        "docs/2026x06/",
        "docs/100%",
        "docs/1",
        "docs\\",
        "docs\\w",
        "docs/*",
        "docs/[",
        "docs/[a]",
        highest,
        "docs/",
        "Docs/",
        "docs/é",
        "docs/e",
        "",
        "%",
        "_",
        ".*",
        "docs/2026.06",
        "docs/2026_06/a",
        "docs/2026_06/ab",
    ];
    for prefix in prefixes {
        let mut expected: Vec<&str> = stored.iter().copied().filter(|uri| uri.starts_with(prefix)).collect();
        expected.sort_unstable();
        let listed = ok(&engine, "knowledge.list", json!({ "uri_prefix": [prefix], "limit": 500 }));
        let mut listed = uris(listed["rows"].as_array().unwrap());
        listed.sort_unstable();
        assert_eq!(listed, expected, "list {prefix:?}");
        for mode in ["lexical", "semantic", "hybrid"] {
            let input = json!({ "query": "same words", "uri_prefix": [prefix], "search_mode": mode, "top_k": 100 });
            let found = ok(&engine, "knowledge.search", input);
            let mut found = uris(found["results"].as_array().unwrap());
            found.sort_unstable();
            assert_eq!(found, expected, "{mode} {prefix:?}");
        }
    }
    let both = json!({ "uri_prefix": ["docs/2026_06/", "docs/[", "docs/2026_06/a"] });
    assert_eq!(ok(&engine, "knowledge.list", both)["rows"].as_array().unwrap().len(), 2, "each once");
    let nine = vec!["a"; 9];
    for (op, input) in [
        ("knowledge.list", json!({ "uri_prefix": nine })),
        ("knowledge.search", json!({ "query": "a", "uri_prefix": nine })),
    ] {
        assert_eq!(refused(&engine, op, input).field.as_deref(), Some("uri_prefix"));
    }
}
