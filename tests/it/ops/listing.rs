//! `knowledge.list`: filters, pages and cursors.

use expect_test::expect;
use serde_json::{Value, json};

use crate::harness::{Folder, add, check, ok, refused};

#[test]
fn a_row_says_all_of_a_document() {
    check(
        r##"
knowledge.add {"source_uri": "a", "content": "# É\n\none", "title": "T", "description": "D", "tags": ["x"], "metadata": {"k": [1]}, "original_bytes_b64": "aGVsbG8=", "original_filename": "a.txt", "agent": "scribe", "session_id": "s", "source_class": "imported"}
knowledge.list {}
advance 5
knowledge.delete {"source_uri": "a"}
knowledge.list {}
knowledge.list {"include_superseded": true, "fields": ["source_uri", "superseded", "superseded_at", "ingested_at"]}
knowledge.list {"fields": [], "include_superseded": true}
"##,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"rows":[{"namespace":"local","source_uri":"a","title":"T","description":"D","tags":["x"],"metadata":{"k":[1]},"doc_id":"#01","revision":1,"format":"","ingested_at":"2026-01-01T00:00:00.000Z","superseded":false,"superseded_at":null,"chunks":1,"chars":8,"has_original":true,"original_filename":"a.txt","original_bytes":5,"agent":"scribe","session_id":"s","source_class":"imported","actor":"user:local"}],"next_cursor":null}
            {"deleted":true,"chunks_tombstoned":1}
            {"rows":[],"next_cursor":null}
            {"rows":[{"source_uri":"a","ingested_at":"2026-01-01T00:00:00.000Z","superseded":true,"superseded_at":"2026-01-01T00:00:00.005Z"}],"next_cursor":null}
            {"rows":[{}],"next_cursor":null}
        "##]],
    );
}

#[test]
fn lists_filter_by_tag_and_prefix() {
    check(
        r#"
knowledge.bulk_add {"entries": [{"source_uri": "d/1", "content": "x", "tags": ["Red", "big"]}, {"source_uri": "d/2", "content": "x", "tags": ["red"]}, {"source_uri": "e/3", "content": "x", "tags": ["blue", "Café"]}, {"source_uri": "e/4", "content": "x"}]}
knowledge.list {"tags": ["RED"], "fields": ["source_uri"]}
knowledge.list {"tags": ["red", "blue"], "fields": ["source_uri"]}
knowledge.list {"tags": ["red", "BIG"], "tags_every": true, "fields": ["source_uri"]}
knowledge.list {"tags": ["red", "blue"], "tags_every": true, "fields": ["source_uri"]}
knowledge.list {"tags": ["CAFE\u0301"], "fields": ["source_uri"]}
knowledge.list {"tags": ["re"], "fields": ["source_uri"]}
knowledge.list {"tags_every": true, "limit": 1, "fields": ["source_uri"], "uri_prefix": ["e/"]}
knowledge.list {"uri_prefix": ["d/1", "e/4", "z"], "fields": ["source_uri"]}
"#,
        &expect![[r##"
            {"written":[{"source_uri":"d/1","doc_id":"#01","chunks_created":1},{"source_uri":"d/2","doc_id":"#02","chunks_created":1},{"source_uri":"e/3","doc_id":"#03","chunks_created":1},{"source_uri":"e/4","doc_id":"#04","chunks_created":1}],"embedding_model":"loom-static-256","embedding_dim":256}
            {"rows":[{"source_uri":"d/2"},{"source_uri":"d/1"}],"next_cursor":null}
            {"rows":[{"source_uri":"e/3"},{"source_uri":"d/2"},{"source_uri":"d/1"}],"next_cursor":null}
            {"rows":[{"source_uri":"d/1"}],"next_cursor":null}
            {"rows":[],"next_cursor":null}
            {"rows":[{"source_uri":"e/3"}],"next_cursor":null}
            {"rows":[],"next_cursor":null}
            {"rows":[{"source_uri":"e/4"}],"next_cursor":"MToxNzY3MjI1NjAwMDAwOjE2Nzc3MjE5Ojg1NDQzMGNmNjAxN2I4Mzg"}
            {"rows":[{"source_uri":"e/4"},{"source_uri":"d/1"}],"next_cursor":null}
        "##]],
    );
}

#[test]
fn an_edit_is_what_lists_filter_by() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "x", "tags": ["old"]}
knowledge.update_metadata {"source_uri": "a", "tags": ["new"]}
knowledge.list {"tags": ["old"]}
knowledge.list {"tags": ["new"], "fields": ["source_uri", "tags", "revision"]}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"updated":true,"title":"","description":"","tags":["new"],"chunks_reindexed":0}
            {"rows":[],"next_cursor":null}
            {"rows":[{"source_uri":"a","tags":["new"],"revision":1}],"next_cursor":null}
        "##]],
    );
}

fn page(engine: &loom::Engine, input: &Value) -> (Vec<String>, Value) {
    let answer = ok(engine, "knowledge.list", input.clone());
    let uri = |row: &Value| format!("{}/{}", row["namespace"].as_str().unwrap(), row["source_uri"].as_str().unwrap());
    (answer["rows"].as_array().unwrap().iter().map(uri).collect(), answer["next_cursor"].clone())
}

#[test]
fn pages_show_each_document_once_newest_first() {
    let folder = Folder::new();
    let engine = folder.open();
    let mut stored = Vec::new();
    for n in 0..23 {
        // Some were written in the same moment, and those of two namespaces are mixed.
        folder.clock.advance_ms(i64::from(n % 3 == 0));
        let namespace = ["one", "two"][n % 2];
        let input = json!({ "namespace": namespace, "source_uri": format!("{n}"), "content": "x" });
        ok(&engine, "knowledge.add", input);
        stored.push(format!("{namespace}/{n}"));
    }
    stored.reverse();
    for limit in [1, 2, 5, 22, 23, 500] {
        let mut input = json!({ "namespace": "one", "namespaces": ["two"], "limit": limit });
        let mut listed = Vec::new();
        loop {
            let (rows, cursor) = page(&engine, &input);
            assert!(rows.len() == limit || cursor.is_null(), "a page is full unless it is the last");
            listed.extend(rows);
            if cursor.is_null() {
                break;
            }
            input["cursor"] = cursor;
            assert!(listed.len() < stored.len(), "no page after the last");
        }
        assert_eq!(listed, stored, "limit {limit}");
    }
}

#[test]
fn what_is_written_between_two_pages_shifts_nothing() {
    let folder = Folder::new();
    let engine = folder.open();
    for n in 0..6 {
        folder.clock.advance_ms(1);
        add(&engine, &format!("{n}"), "x");
    }
    let (first, cursor) = page(&engine, &json!({ "limit": 2 }));
    assert_eq!(first, ["local/5", "local/4"]);
    folder.clock.advance_ms(1);
    add(&engine, "later", "x");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "4" }));
    ok(&engine, "knowledge.delete", json!({ "source_uri": "2" }));
    let (second, cursor) = page(&engine, &json!({ "limit": 2, "cursor": cursor }));
    assert_eq!(second, ["local/3", "local/1"]);
    assert_eq!(page(&engine, &json!({ "limit": 2, "cursor": cursor })), (vec!["local/0".into()], Value::Null));
}

#[test]
fn a_cursor_holds_for_its_namespaces_alone() {
    let folder = Folder::new();
    let engine = folder.open();
    for namespace in ["one", "two"] {
        for n in 0..3 {
            let input = json!({ "namespace": namespace, "source_uri": format!("{n}"), "content": "x" });
            ok(&engine, "knowledge.add", input);
        }
    }
    let (_, cursor) = page(&engine, &json!({ "namespace": "one", "namespaces": ["two"], "limit": 2 }));
    let cursor = cursor.as_str().unwrap().to_owned();
    page(&engine, &json!({ "namespace": "one", "namespaces": ["two", "one"], "cursor": cursor }));
    page(&engine, &json!({ "namespace": "two", "namespaces": ["one"], "cursor": cursor }));
    for other in [
        json!({ "namespace": "one" }),
        json!({ "namespace": "two" }),
        json!({ "namespace": "one", "namespaces": ["two", "three"] }),
        json!({ "org": "other", "namespace": "one", "namespaces": ["two"] }),
    ] {
        let mut input = other;
        input["cursor"] = json!(cursor);
        assert_eq!(refused(&engine, "knowledge.list", input).field.as_deref(), Some("cursor"));
    }
    let cut = &cursor[..cursor.len() - 2];
    for wrong in ["", "x", "====", "MTox", cut, &format!("{cursor}A"), &"A".repeat(100_000), "é\u{0}"] {
        let input = json!({ "namespace": "one", "namespaces": ["two"], "cursor": wrong });
        assert_eq!(refused(&engine, "knowledge.list", input).field.as_deref(), Some("cursor"), "{wrong:.20}");
    }
}
