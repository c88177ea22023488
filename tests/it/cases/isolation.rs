//! A namespace never sees another's documents.

use loom::Engine;
use serde_json::{Value, json};

use crate::harness::{Folder, hits, ok, uris};

fn stored(engine: &Engine) {
    for (org, namespace) in [("dev", "local"), ("dev", "other"), ("dev", "third"), ("elsewhere", "local")] {
        for uri in ["shared", &format!("only/{org}/{namespace}")] {
            let input = json!({
                "org": org, "namespace": namespace, "source_uri": uri, "tags": [namespace],
                "content": format!("# Harbour\n\nThe ferry of {org} {namespace} leaves at nine."),
            });
            ok(engine, "knowledge.add", input);
        }
    }
}

/// The namespaces that hits or rows come from.
fn seen(items: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = items.iter().map(|item| item["namespace"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Case 24.
#[test]
fn only_the_namespaces_named_are_read() {
    let folder = Folder::new();
    let engine = folder.open();
    stored(&engine);
    let cases = [
        (json!({ "namespace_scope": "this" }), vec!["local"]),
        (json!({ "namespace_scope": "this", "namespaces": [] }), vec!["local"]),
        (json!({ "namespace_scope": "this", "namespaces": [], "tags": [] }), vec!["local"]),
        (json!({ "namespaces": ["third"] }), vec!["local", "third"]),
        (json!({ "namespaces": ["third"], "namespace_scope": "this" }), vec!["local", "third"]),
        (json!({ "namespaces": ["local", "local", "@me"] }), vec!["local"]),
        (json!({ "namespaces": ["unknown"] }), vec!["local"]),
        (json!({ "namespace": "unknown", "namespace_scope": "this" }), vec![]),
        (json!({ "namespace": "unknown", "namespaces": ["@me"] }), vec!["local"]),
        (json!({ "namespace": "Local", "namespace_scope": "this" }), vec![]),
        (json!({ "namespace": "loca", "namespace_scope": "this" }), vec![]),
        (json!({ "tags": ["other"], "namespace_scope": "this" }), vec![]),
        (json!({ "tags": ["other"] }), vec!["other"]),
        (json!({ "org": "elsewhere" }), vec!["local"]),
        (json!({ "org": "nobody" }), vec![]),
        (json!({}), vec!["local", "other", "third"]),
    ];
    for (input, expected) in cases {
        for mode in ["lexical", "semantic", "hybrid"] {
            let mut input = input.clone();
            input["query"] = json!("ferry harbour nine");
            input["search_mode"] = json!(mode);
            input["top_k"] = json!(100);
            let found = hits(&ok(&engine, "knowledge.search", input.clone()));
            assert_eq!(seen(&found), expected, "{input}");
            let org = input["org"].as_str().unwrap_or("dev");
            assert!(
                found.iter().all(|hit| hit["content"].as_str().unwrap().contains(&format!("ferry of {org}"))),
                "{input}"
            );
        }
    }
}

#[test]
fn lists_and_reads_keep_to_their_namespace() {
    let folder = Folder::new();
    let engine = folder.open();
    stored(&engine);
    for (input, expected) in [
        (json!({}), vec!["local"]),
        (json!({ "namespaces": [] }), vec!["local"]),
        (json!({ "namespaces": ["other", "@me", "other"] }), vec!["local", "other"]),
        (json!({ "namespace": "unknown" }), vec![]),
        (json!({ "namespaces": ["unknown"] }), vec!["local"]),
        (json!({ "tags": [] }), vec!["local"]),
    ] {
        let rows = ok(&engine, "knowledge.list", input.clone());
        let rows = rows["rows"].as_array().unwrap();
        assert_eq!(seen(rows), expected, "{input}");
        assert_eq!(rows.len(), 2 * expected.len(), "{input}: each once");
    }
    let foreign = "only/dev/other";
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": foreign }))["found"], false);
    assert_eq!(ok(&engine, "knowledge.outline", json!({ "source_uri": foreign }))["found"], false);
    assert_eq!(ok(&engine, "knowledge.delete", json!({ "source_uri": foreign }))["deleted"], false);
    assert_eq!(ok(&engine, "knowledge.restore", json!({ "source_uri": foreign }))["reason"], "not_found");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "shared" }));
    let kept = ok(&engine, "knowledge.get", json!({ "namespace": "other", "source_uri": "shared" }));
    assert_eq!((&kept["found"], &kept["revision"]), (&json!(true), &json!(1)));
    let found = ok(&engine, "knowledge.search", json!({ "query": "ferry", "namespaces": ["other"], "top_k": 100 }));
    let mut found = uris(found["results"].as_array().unwrap());
    found.sort_unstable();
    assert_eq!(found, ["only/dev/local", "only/dev/other", "shared"]);
}
