//! A change of embedding model while searches run: the old serves until the new is complete.

pub mod endpoint;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loom::{Code, Engine};
use serde_json::{Value, json};

use crate::harness::{Folder, add, hits, ok, refused, search, uris};
use endpoint::Endpoint;

const BUILT_IN: &str = "loom-static-256";
const DOCUMENTS: usize = 40;

fn open(folder: &Folder, endpoint: Option<&Endpoint>) -> Engine {
    folder.open_with(|config| {
        if let Some(endpoint) = endpoint {
            config.embedding.model = "openai:fake".into();
            config.embedding.base_url.clone_from(&endpoint.base);
            config.embedding.attempts_max = 1;
        }
    })
}

fn stored(folder: &Folder) -> Engine {
    let engine = open(folder, None);
    for n in 0..DOCUMENTS {
        add(&engine, &format!("doc/{n}"), &format!("# Shelf {n}\n\nThe marmalade jar number {n} stands here."));
    }
    engine
}

/// Looks at the namespace until it is as wanted.
fn wait(engine: &Engine, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let row = ok(engine, "namespace.list", json!({}))["namespaces"][0].clone();
        if wanted(&row) {
            return row;
        }
        assert!(Instant::now() < deadline, "{what}: {row}");
        thread::yield_now();
    }
}

fn settled(engine: &Engine, model: &str) {
    wait(engine, model, |row| row["embedding_model"] == model && row["reembedding"].is_null());
}

/// Searches by meaning until told to stop; every answer must be full and of one of the models.
fn search_until(engine: &Engine, done: &AtomicBool, models: &[&str]) -> usize {
    let mut searches = 0;
    while !done.load(Ordering::Acquire) || searches == 0 {
        for mode in ["semantic", "hybrid"] {
            let input =
                json!({ "query": "marmalade jar", "search_mode": mode, "top_k": 10, "namespace_scope": "this" });
            let answer = ok(engine, "knowledge.search", input);
            assert_eq!(hits(&answer).len(), 10, "{mode}: {answer}");
            assert!(models.contains(&answer["embedding_model"].as_str().unwrap()), "{answer}");
        }
        searches += 1;
    }
    searches
}

/// Sets a flag when it goes.
struct StoreOnDrop<'a>(&'a AtomicBool);

impl Drop for StoreOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Case 22.
#[test]
fn the_old_model_serves_until_the_new_one_is_complete() {
    let folder = Folder::new();
    drop(stored(&folder));
    let endpoint = Endpoint::start(48);
    let engine = open(&folder, Some(&endpoint));
    let (done, searches) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                searches.fetch_add(search_until(&engine, &done, &[BUILT_IN, "openai:fake"]), Ordering::Relaxed);
            });
        }
        // Also when the move fails, or the searches would go on for ever.
        let _stop = StoreOnDrop(&done);
        settled(&engine, "openai:fake");
    });
    assert!(searches.into_inner() > 0);
    let hit = &search(&engine, "semantic", "marmalade jar number 17", 1)[0];
    assert_eq!(hit["source_uri"], "doc/17");
    // A write embeds under the new model, and the vectors of both are there after a restart.
    add(&engine, "new", "# Cellar\n\nThe pickled walnuts.");
    drop(engine);
    let engine = open(&folder, Some(&endpoint));
    assert_eq!(uris(&search(&engine, "semantic", "pickled walnuts", 1)), ["new"]);
    assert_eq!(search(&engine, "semantic", "marmalade", 100).len(), DOCUMENTS + 1);
    drop(engine);
    // And back, with documents that the first model never saw.
    let engine = open(&folder, None);
    assert_eq!(search(&engine, "lexical", "walnuts", 5).len(), 1);
    settled(&engine, BUILT_IN);
    assert_eq!(uris(&search(&engine, "semantic", "pickled walnuts", 1)), ["new"]);
    assert_eq!(search(&engine, "semantic", "marmalade", 100).len(), DOCUMENTS + 1);
}

#[test]
fn a_move_stopped_half_way_can_be_read_gone_on_with_and_taken_back() {
    let folder = Folder::new();
    drop(stored(&folder));
    let endpoint = Endpoint::start(48);
    let half_way = |row: &Value| row["reembedding"]["done"].as_u64().is_some_and(|done| done > 0);
    // The second time, what was embedded the first time is kept: nothing more may be answered for it to stay half way.
    for (back, texts) in [(true, 36), (false, 0)] {
        endpoint.allow(texts);
        let engine = open(&folder, Some(&endpoint));
        let row = wait(&engine, "half way", half_way);
        assert_eq!(row["embedding_model"], BUILT_IN);
        assert_eq!(row["reembedding"]["model"], "openai:fake");
        let (done, total) = (&row["reembedding"]["done"], &row["reembedding"]["total"]);
        assert!(done.as_u64() < total.as_u64() && total.as_u64() == Some(DOCUMENTS as u64), "{row}");
        search_until(&engine, &AtomicBool::new(true), &[BUILT_IN]);
        drop(engine);
        if back {
            let engine = open(&folder, None);
            search_until(&engine, &AtomicBool::new(true), &[BUILT_IN]);
            add(&engine, "meanwhile", "# Attic\n\nThe rocking horse.");
            settled(&engine, BUILT_IN);
            assert_eq!(uris(&search(&engine, "semantic", "rocking horse", 1)), ["meanwhile"]);
            ok(&engine, "knowledge.delete", json!({ "source_uri": "meanwhile" }));
        }
    }
    endpoint.allow(usize::MAX);
    let before = endpoint.texts();
    let engine = open(&folder, Some(&endpoint));
    settled(&engine, "openai:fake");
    let embedded = endpoint.texts() - before;
    assert!(embedded < DOCUMENTS, "what was embedded is kept; {embedded} texts were embedded");
    search_until(&engine, &AtomicBool::new(true), &["openai:fake"]);
    assert_eq!(uris(&search(&engine, "semantic", "marmalade jar number 31", 1)), ["doc/31"]);
}

#[test]
fn a_document_deleted_before_a_move_is_found_by_meaning_once_restored() {
    let folder = Folder::new();
    let engine = stored(&folder);
    add(&engine, "gone", "# Attic\n\nThe rocking horse.");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "gone" }));
    drop(engine);
    let endpoint = Endpoint::start(48);
    let engine = open(&folder, Some(&endpoint));
    settled(&engine, "openai:fake");
    assert_eq!(ok(&engine, "knowledge.restore", json!({ "source_uri": "gone" }))["chunks_restored"], 1);
    assert_eq!(uris(&search(&engine, "semantic", "rocking horse", 1)), ["gone"]);
    drop(engine);
    let engine = open(&folder, Some(&endpoint));
    assert_eq!(uris(&search(&engine, "semantic", "rocking horse", 1)), ["gone"], "after a restart too");
}

#[test]
fn another_dimension_under_the_same_name_is_refused_and_harms_nothing() {
    let folder = Folder::new();
    let endpoint = Endpoint::start(48);
    let engine = open(&folder, Some(&endpoint));
    add(&engine, "a", "# Attic\n\nThe rocking horse.");
    drop(engine);
    let other = Endpoint::start(64);
    let engine = open(&folder, Some(&other));
    for (op, input) in [
        ("knowledge.search", json!({ "query": "rocking horse" })),
        ("knowledge.add", json!({ "source_uri": "b", "content": "The piano." })),
    ] {
        let error = refused(&engine, op, input);
        assert_eq!(error.code, Code::ProviderRefused, "{op}: {error}");
        for told in ["openai:fake", "48", "64"] {
            assert!(error.message.contains(told), "{op}: {error}");
        }
    }
    assert_eq!(uris(&search(&engine, "lexical", "rocking horse", 1)), ["a"]);
    drop(engine);
    let engine = open(&folder, Some(&endpoint));
    assert_eq!(uris(&search(&engine, "semantic", "rocking horse", 1)), ["a"]);
    add(&engine, "b", "The piano.");
}

#[test]
fn a_model_whose_vectors_no_index_takes_is_refused_before_anything_is_stored() {
    for dim in [31, 4_097] {
        let folder = Folder::new();
        let endpoint = Endpoint::start(dim);
        let engine = open(&folder, Some(&endpoint));
        let error = refused(&engine, "knowledge.add", json!({ "source_uri": "a", "content": "The piano." }));
        assert_eq!(error.code, Code::ProviderRefused, "{error}");
        assert!(error.message.contains(&dim.to_string()) && error.message.contains("32 to 4096"), "{error}");
        assert_eq!(ok(&engine, "namespace.list", json!({}))["namespaces"], json!([]));
        drop(engine);
        // A namespace of another model stays with it.
        let engine = open(&folder, None);
        add(&engine, "a", "The piano.");
        drop(engine);
        let engine = open(&folder, Some(&endpoint));
        assert_eq!(uris(&search(&engine, "semantic", "piano", 1)), ["a"]);
    }
}

#[test]
fn a_provider_that_is_down_is_told_and_words_still_answer() {
    let folder = Folder::new();
    let endpoint = Endpoint::start(48);
    let engine = open(&folder, Some(&endpoint));
    add(&engine, "a", "# Attic\n\nThe rocking horse.");
    endpoint.allow(0);
    for (op, input) in [
        ("knowledge.search", json!({ "query": "rocking horse" })),
        ("knowledge.search", json!({ "query": "rocking horse", "search_mode": "semantic" })),
        ("knowledge.add", json!({ "source_uri": "b", "content": "The piano." })),
        ("knowledge.update_metadata", json!({ "source_uri": "a", "title": "Loft", "reindex": true })),
    ] {
        let error = refused(&engine, op, input);
        assert_eq!((error.code, error.code.retryable()), (Code::ProviderUnavailable, true), "{op}: {error}");
    }
    assert_eq!(uris(&search(&engine, "lexical", "rocking horse", 1)), ["a"]);
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "a" }))["title"], "");
    // What needs no vector needs no provider.
    add(&engine, "same", "# Attic\n\nThe rocking horse.");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "same" }));
    ok(&engine, "knowledge.restore", json!({ "source_uri": "same" }));
    assert_eq!(ok(&engine, "knowledge.list", json!({}))["rows"].as_array().unwrap().len(), 2);
    let nowhere = json!({ "query": "rocking horse", "namespace": "empty", "namespace_scope": "this" });
    assert_eq!(ok(&engine, "knowledge.search", nowhere)["results"], json!([]));
    endpoint.allow(usize::MAX);
    assert_eq!(uris(&search(&engine, "semantic", "rocking horse", 1)), ["a"]);
}

/// Opens the folder with one of the models that an endpoint serves, and waits until it serves the namespace.
fn moved(folder: &Folder, endpoint: &Endpoint, model: &str) -> Engine {
    let engine = folder.open_with(|config| {
        config.embedding.model = model.into();
        config.embedding.base_url.clone_from(&endpoint.base);
    });
    settled(&engine, model);
    engine
}

#[test]
fn the_vectors_of_the_last_model_are_kept_and_those_of_earlier_ones_are_not() {
    let folder = Folder::new();
    let endpoint = Endpoint::start(48);
    drop(stored(&folder));
    for (model, embedded) in [
        ("openai:one", DOCUMENTS),
        ("openai:two", DOCUMENTS),
        // Back to the last one: nothing is embedded. It is the other way round from now on.
        ("openai:one", 0),
        ("openai:three", DOCUMENTS),
        ("openai:two", DOCUMENTS),
    ] {
        let before = endpoint.texts();
        // The move ends with the engine at the latest, and with it what it drops.
        drop(moved(&folder, &endpoint, model));
        assert_eq!(endpoint.texts() - before, embedded, "{model}");
    }
    let engine = moved(&folder, &endpoint, "openai:two");
    assert_eq!(uris(&search(&engine, "semantic", "marmalade jar number 31", 1)), ["doc/31"]);
}
