//! Cutting again what was stored under other rules.

use loom::{Caller, Engine};
use loom_storage::Scope;
use serde_json::json;

use crate::harness::{Folder, add, hits, ok, search};

fn rechunk(engine: &Engine, source_uri: Option<&str>, apply: bool) -> loom::Rechunked {
    let scope = Scope::new("dev", "local");
    let mut seen = Vec::new();
    let done = engine.rechunk(&Caller::local(), &scope, source_uri, apply, &mut |done, all| seen.push((done, all)));
    let done = done.expect("it is cut again");
    assert_eq!(seen.last().copied(), Some((done.documents, done.documents)), "its progress ends");
    done
}

#[test]
fn documents_are_cut_again_under_other_settings() {
    let folder = Folder::new();
    let engine = folder.open();
    let paragraphs: Vec<_> =
        (0..12).map(|at| format!("Paragraph {at} of the harbour. {}", "It is long. ".repeat(20))).collect();
    add(&engine, "long", &paragraphs.join("\n\n"));
    add(&engine, "short", "The harbour is small.");
    assert_eq!(rechunk(&engine, None, true), loom::Rechunked { documents: 2, ..loom::Rechunked::default() });
    let before = search(&engine, "lexical", "harbour", 100).len();
    engine.close().unwrap();
    drop(engine);
    let engine = folder.open_with(|config| {
        config.chunks = loom::chunk::ChunkSettings::new(400, 300).unwrap();
    });
    let seen = rechunk(&engine, None, false);
    assert_eq!((seen.changed.as_slice(), seen.rewritten), (&["long".to_owned()][..], 0));
    assert_eq!(search(&engine, "lexical", "harbour", 100).len(), before, "nothing was written");
    assert_eq!(rechunk(&engine, Some("short"), true).rewritten, 0);
    let done = rechunk(&engine, None, true);
    assert_eq!((done.rewritten, done.failed.len()), (1, 0));
    assert!(search(&engine, "lexical", "harbour", 100).len() > before);
    let document = ok(&engine, "knowledge.get", json!({ "source_uri": "long" }));
    assert_eq!((&document["revision"], &document["content"]), (&json!(2), &json!(paragraphs.join("\n\n"))));
    assert_eq!(rechunk(&engine, None, true).changed, Vec::<String>::new());
}

#[test]
fn a_retitled_document_gets_its_new_label() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "notes", "# Discussion\n\nThe cache was talked about at length.\n");
    ok(&engine, "knowledge.update_metadata", json!({ "source_uri": "notes", "title": "Storage sync 2026-03-04" }));
    let noise = |engine: &Engine| search(engine, "lexical", "cache", 1)[0]["noise"].clone();
    assert_eq!(noise(&engine), json!(false));
    assert_eq!(rechunk(&engine, Some("notes"), true).rewritten, 1);
    assert_eq!(noise(&engine), json!(true));
}

#[test]
fn an_index_is_built_anew_with_the_same_answers() {
    let folder = Folder::new();
    let engine = folder.open();
    for number in 0..20 {
        add(&engine, &format!("{number}"), &format!("The pump {number} of the harbour."));
    }
    let asked = json!({ "query": "pump 7 harbour", "namespace_scope": "this", "top_k": 20 });
    let before = hits(&ok(&engine, "knowledge.search", asked.clone()));
    engine.rebuild_index(&Caller::local(), &Scope::new("dev", "local")).expect("it is built");
    assert_eq!(hits(&ok(&engine, "knowledge.search", asked)), before);
}
