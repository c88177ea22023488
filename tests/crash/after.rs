//! What must hold of a folder after its process was killed.

use std::path::Path;
use std::time::{Duration, Instant};

use loom::{DoctorOptions, Engine};
use serde_json::{Value, json};

use crate::calls::{ok, search};
use crate::known::{Docs, Journal, marker, shown};
use crate::server::Embedding;

const MODES: [&str; 3] = ["hybrid", "semantic", "lexical"];
/// What is asked before and after a rebuild.
const QUERIES: [&str; 4] = ["words of filler", "section two body", "title 1", "marker"];

pub fn open(folder: &Path, embedding: &Embedding) -> Engine {
    Engine::open(folder, embedding.config()).unwrap()
}

/// The documents of a writer as the folder has them.
pub fn found(engine: &Engine, journal: &Journal) -> Docs {
    let doc = |uri: &String| {
        let input = json!({ "source_uri": uri, "include_superseded": true });
        Some((uri.clone(), shown(&ok(engine, "knowledge.get", input))?))
    };
    journal.addresses().filter_map(doc).collect()
}

/// Holds every document against what its writer knows, which is then what was found, and the searches with it.
pub fn verify(engine: &Engine, journals: &mut [Journal]) {
    for journal in journals {
        let open: Vec<_> = journal.open_step().into_iter().flat_map(|step| step.changes.clone()).collect();
        let docs = found(engine, journal);
        journal.settle(docs.clone());
        for (uri, doc) in docs.iter().chain(open.iter().map(|(uri, doc)| (uri, doc))) {
            let live = docs.get(uri).is_some_and(|found| found.live && found.body == doc.body);
            assert_eq!(is_found(engine, uri, doc.body), live, "{uri}, {}", marker(doc.body));
        }
    }
    let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
}

/// Whether the text of a body is found at an address.
fn is_found(engine: &Engine, uri: &str, body: u64) -> bool {
    let input = json!({
        "query": marker(body), "search_mode": "lexical", "namespace_scope": "this", "uri_prefix": [uri], "top_k": 1,
    });
    let answer = ok(engine, "knowledge.search", input);
    answer["results"].as_array().unwrap().iter().any(|hit| hit["content"].as_str().unwrap().contains(&marker(body)))
}

/// Waits until the namespace is served by the configured model.
fn settle_model(engine: &Engine, model: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let list = ok(engine, "namespace.list", json!({}));
        let row = &list["namespaces"][0];
        if row.is_null() || row["reembedding"].is_null() && (model.is_empty() || row["embedding_model"] == model) {
            return;
        }
        assert!(Instant::now() < deadline, "the namespace does not come to {model}: {row}");
        std::thread::yield_now();
    }
}

/// What searches of every mode answer: ids, order, scores and all.
pub fn answers(engine: &Engine, queries: &[&str]) -> Vec<Value> {
    queries.iter().flat_map(|query| MODES.map(|mode| search(engine, mode, query, 50).into())).collect()
}

/// Deletes the projections: what is built anew answers the same.
pub fn rebuild(folder: &Path, embedding: &Embedding) {
    let engine = open(folder, embedding);
    settle_model(&engine, &embedding.model);
    let before = answers(&engine, &QUERIES);
    assert!(before.iter().any(|hits| !hits.as_array().unwrap().is_empty()), "something is found");
    drop(engine);
    std::fs::remove_dir_all(folder.join("index")).unwrap();
    assert_eq!(before, answers(&open(folder, embedding), &QUERIES));
}
