//! Namespaces as things of their own, and collections as folders of them.

use expect_test::expect;
use loom::{Code, Role};
use serde_json::{Value, json};

use crate::harness::{Folder, add, check, holder, ok, refused, search};

/// Makes a collection by its title; its name.
fn make(engine: &loom::Engine, title: &str, parent: &str) -> String {
    let made = ok(engine, "collection.create", json!({ "title": title, "parent": parent, "derive_name": true }));
    made["namespace"].as_str().unwrap().to_owned()
}

fn paths(engine: &loom::Engine, input: Value) -> Vec<String> {
    let listed = ok(engine, "collection.list", input);
    let path = |entry: &Value| {
        entry["path"].as_array().unwrap().iter().map(|title| title.as_str().unwrap()).collect::<Vec<_>>().join("/")
    };
    listed["collections"].as_array().unwrap().iter().map(path).collect()
}

#[test]
fn a_namespace_is_made_changed_deleted_and_brought_back() {
    check(
        r#"
namespace.get {"namespace": "notes"}
namespace.create {"namespace": "notes", "visibility": "public", "title": "Team notes"}
namespace.create {"namespace": "notes"}
knowledge.add {"namespace": "notes", "source_uri": "a", "content": "words"}
namespace.update {"namespace": "notes", "owner": "user:ana"}
namespace.update {"namespace": "missing", "owner": "user:ana"}
namespace.delete {"namespace": "notes", "confirm": "note"}
namespace.delete {"namespace": "notes", "confirm": "notes"}
namespace.delete {"namespace": "notes", "confirm": "notes"}
knowledge.get {"namespace": "notes", "source_uri": "a"}
knowledge.add {"namespace": "notes", "source_uri": "a", "content": "words"}
knowledge.search {"namespace": "notes", "query": "words"}
knowledge.search {"namespaces": ["notes"], "query": "words"}
namespace.list
namespace.create {"namespace": "notes"}
namespace.get {"namespace": "notes"}
namespace.restore {"namespace": "notes"}
namespace.restore {"namespace": "notes"}
knowledge.get {"namespace": "notes", "source_uri": "a"}
namespace.create {"namespace": "c", "kind": "collection"}
"#,
        &expect![[r##"
            {"found":false,"namespace":null}
            {"namespace":"notes","kind":"memory","visibility":"public","owner":"user:local"}
            {"error":{"code":"PRECONDITION_FAILED","message":"the namespace notes exists: namespace.update changes it","retryable":false,"field":"namespace"}}
            {"doc_id":"#02","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"notes","source_uri":"a"}
            {"updated":true,"namespace":"notes","kind":"memory","visibility":"public","title":"Team notes","owner":"user:ana"}
            {"error":{"code":"NOT_FOUND","message":"there is no namespace missing: write a document to it, or use namespace.create","retryable":false,"field":"namespace"}}
            {"error":{"code":"CONFIRM_MISMATCH","message":"confirm must repeat the namespace's name: nothing was deleted","retryable":false,"field":"confirm"}}
            {"deleted":true,"deleted_at":"2026-01-01T00:00:00.000Z","documents":1}
            {"deleted":false,"deleted_at":"2026-01-01T00:00:00.000Z","documents":1}
            {"error":{"code":"NOT_FOUND","message":"the namespace notes is deleted: namespace.restore brings it back with all it holds","retryable":false,"field":"namespace"}}
            {"error":{"code":"NOT_FOUND","message":"the namespace notes is deleted: namespace.restore brings it back with all it holds","retryable":false,"field":"namespace"}}
            {"error":{"code":"NOT_FOUND","message":"the namespace notes is deleted: namespace.restore brings it back with all it holds","retryable":false,"field":"namespace"}}
            {"error":{"code":"NOT_FOUND","message":"the namespace notes is deleted: namespace.restore brings it back with all it holds","retryable":false,"field":"namespace"}}
            {"namespaces":[],"next_cursor":null}
            {"error":{"code":"PRECONDITION_FAILED","message":"the namespace notes is deleted: namespace.restore brings it back","retryable":false,"field":"namespace"}}
            {"found":true,"namespace":{"namespace":"notes","kind":"memory","visibility":"public","title":"Team notes","owner":"user:ana","parent":null,"created_at":"2026-01-01T00:00:00.000Z","deleted_at":"2026-01-01T00:00:00.000Z","documents":1,"chunks":1,"versions":1,"embedding_model":"loom-static-256","reembedding":null}}
            {"restored":true,"documents":1}
            {"restored":false,"documents":1}
            {"found":true,"source_uri":"a","title":"","description":"","content":"words","tags":[],"metadata":{},"ingested_at":"2026-01-01T00:00:00.000Z","superseded":false,"doc_id":"#02","revision":1,"format":null,"parser":null,"coverage":null}
            {"error":{"code":"VALIDATION_FAILED","message":"kind must not be collection: collection.create makes those","retryable":false,"field":"kind"}}
        "##]],
    );
}

#[test]
fn a_deleted_namespace_is_not_searched_with_the_others() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "here", "words of the harbour");
    ok(
        &engine,
        "knowledge.add",
        json!({ "namespace": "other", "source_uri": "there", "content": "words of the harbour" }),
    );
    let found = || {
        let answer = ok(&engine, "knowledge.search", json!({ "query": "harbour" }));
        answer["results"].as_array().unwrap().len()
    };
    assert_eq!(found(), 2);
    ok(&engine, "namespace.delete", json!({ "namespace": "other", "confirm": "other" }));
    assert_eq!(found(), 1);
    ok(&engine, "namespace.restore", json!({ "namespace": "other" }));
    assert_eq!(found(), 2);
    assert_eq!(search(&engine, "hybrid", "harbour", 5).len(), 1);
}

#[test]
fn a_folder_sent_again_finds_its_collections() {
    let folder = Folder::new();
    let engine = folder.open();
    let top = make(&engine, "Project  X", "");
    let plans = make(&engine, "Plans", &top);
    assert_eq!((make(&engine, "project x", ""), make(&engine, " PLANS ", &top)), (top.clone(), plans.clone()));
    assert_ne!(make(&engine, "Plans", ""), plans, "another place");
    assert_eq!(paths(&engine, json!({})), ["Plans", "Project  X", "Project  X/Plans"]);
    ok(&engine, "knowledge.add", json!({ "namespace": plans, "source_uri": "a", "content": "the secret plan" }));

    // A deleted collection is not brought back by making one of its title.
    ok(&engine, "collection.delete", json!({ "namespace": plans, "confirm": plans }));
    let again = make(&engine, "Plans", &top);
    assert_ne!(again, plans);
    let read = ok(&engine, "knowledge.get", json!({ "namespace": again, "source_uri": "a" }));
    assert_eq!(read["found"], false);
    ok(&engine, "namespace.restore", json!({ "namespace": plans }));
    let read = ok(&engine, "knowledge.get", json!({ "namespace": plans, "source_uri": "a" }));
    assert_eq!(read["found"], true);
}

#[test]
fn titles_that_cannot_be_seen_and_depths_past_eight_are_refused() {
    let folder = Folder::new();
    let engine = folder.open();
    let title = |title: &str| refused(&engine, "collection.create", json!({ "title": title, "derive_name": true }));
    for wrong in ["", "  \u{a0} ", "a\u{200b}b", "a\nb", "\u{202e}txt", &"x".repeat(201)] {
        assert_eq!(title(wrong).field.as_deref(), Some("title"), "{wrong:?}");
    }
    ok(&engine, "collection.create", json!({ "title": "x".repeat(200), "derive_name": true }));
    let mut at = make(&engine, "0", "");
    let mut all = vec![at.clone()];
    for level in 1..=8 {
        at = make(&engine, &level.to_string(), &at);
        all.push(at.clone());
    }
    let input = json!({ "title": "9", "parent": at, "derive_name": true });
    assert_eq!(refused(&engine, "collection.create", input).code, Code::PreconditionFailed);
    let shallow = make(&engine, "shallow", "");
    make(&engine, "leaf", &shallow);
    let moved = |namespace: &str, parent: &str| {
        crate::calls::call(&engine, "collection.move", json!({ "namespace": namespace, "parent": parent }))
    };
    assert!(moved(&shallow, &all[7]).is_err(), "its leaf would stand in nine");
    assert_eq!(moved(&shallow, &all[6]).unwrap()["moved"], true);
    assert_eq!(moved(&shallow, &all[6]).unwrap()["moved"], false);
    assert!(moved(&all[0], &all[3]).is_err() && moved(&all[0], &all[0]).is_err(), "not into itself");
    assert_eq!(moved(&all[1], "").unwrap()["parent"], Value::Null);
    assert!(moved("local", "").is_err(), "a namespace that is no collection");
}

#[test]
fn a_collection_with_others_in_it_goes_only_with_them() {
    let folder = Folder::new();
    let engine = folder.open();
    let top = make(&engine, "Top", "");
    let inner = make(&engine, "Inner", &top);
    ok(&engine, "knowledge.add", json!({ "namespace": inner, "source_uri": "a", "content": "words" }));
    for op in ["collection.delete", "namespace.delete"] {
        let error = refused(&engine, op, json!({ "namespace": top, "confirm": top }));
        assert_eq!(error.code, Code::PreconditionFailed, "{op}");
    }
    let gone = ok(&engine, "collection.delete", json!({ "namespace": top, "confirm": top, "recursive": true }));
    assert_eq!(gone, json!({ "deleted": [top, inner], "documents": 1 }));
    assert_eq!(paths(&engine, json!({})), Vec::<String>::new());
    assert_eq!(refused(&engine, "namespace.restore", json!({ "namespace": inner })).code, Code::PreconditionFailed);
    ok(&engine, "namespace.restore", json!({ "namespace": top }));
    ok(&engine, "namespace.restore", json!({ "namespace": inner }));
    assert_eq!(paths(&engine, json!({ "parent": top })), ["Inner"]);
}

#[test]
fn a_role_in_a_collection_holds_in_those_that_stand_in_it() {
    let folder = Folder::new();
    let engine = folder.open();
    let top = make(&engine, "Top", "");
    let inner = make(&engine, "Inner", &top);
    let other = make(&engine, "Other", "");
    let caller = holder(&[(&top, Role::Writer)]);
    let call = |op: &str, input: Value| {
        let Value::Object(input) = input else { panic!("an object") };
        engine.call(&caller, op, input).map(|answer| answer.output)
    };
    let add =
        |namespace: &str| call("knowledge.add", json!({ "namespace": namespace, "source_uri": "a", "content": "x" }));
    assert!(add(&top).is_ok() && add(&inner).is_ok());
    assert_eq!(add(&other).unwrap_err().code, Code::Forbidden);
    let listed = call("collection.list", json!({})).unwrap();
    assert_eq!(listed["collections"].as_array().unwrap().len(), 2);
    let made = call("collection.create", json!({ "title": "Deep", "parent": inner, "derive_name": true })).unwrap();
    assert!(add(made["namespace"].as_str().unwrap()).is_ok());
    let at_top = call("collection.create", json!({ "title": "Deep", "derive_name": true }));
    assert_eq!(at_top.unwrap_err().code, Code::Forbidden, "the top belongs to the organisation");
    ok(&engine, "collection.move", json!({ "namespace": inner, "parent": other }));
    assert_eq!(add(&inner).unwrap_err().code, Code::Forbidden, "it stands elsewhere now");
}
