//! Case 17: a small namespace beside a large one, and a filter that leaves little.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../it/calls.rs"]
#[allow(dead_code, reason = "the other tests also call what must be refused")]
mod calls;

use loom::{Config, Engine};
use serde_json::{Value, json};

use calls::{hits, ok};

const WORDS: [&str; 8] = ["harbour", "ferry", "berth", "tide", "anchor", "pilot", "quay", "mooring"];
const LARGE: usize = 50_000;
/// Of so many documents one has the rare tag.
const RARE: usize = 1_000;
/// The most prefixes that a search takes.
const PREFIXES_MAX: usize = 8;
const QUERY: &str = "ferry by the quay";

fn body(n: usize) -> String {
    let word = |by: usize| WORDS[(n / by) % WORDS.len()];
    format!("The {} and the {} by the {} number {n}.", word(1), word(8), word(64))
}

fn fill(engine: &Engine, namespace: &str, count: usize) {
    for start in (0..count).step_by(500) {
        let entries: Vec<Value> = (start..(start + 500).min(count))
            .map(|n| {
                let tag = if n % RARE == 7 { "rare" } else { "common" };
                json!({ "source_uri": format!("doc/{n:05}"), "content": body(n), "tags": [tag] })
            })
            .collect();
        ok(engine, "knowledge.bulk_add", json!({ "namespace": namespace, "entries": entries }));
    }
}

fn ask(engine: &Engine, namespace: &str, mode: &str, filter: &Value) -> Vec<Value> {
    let mut input = json!({ "namespace": namespace, "namespace_scope": "this", "query": QUERY, "top_k": 10 });
    input["search_mode"] = json!(mode);
    for (name, value) in filter.as_object().unwrap() {
        input[name] = value.clone();
    }
    hits(&ok(engine, "knowledge.search", input))
}

fn scores(hits: &[Value]) -> Vec<f64> {
    hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect()
}

/// The best ten scores of what each of the filters leaves; each must leave few enough to be returned whole.
fn best_of(engine: &Engine, mode: &str, filters: impl Iterator<Item = Value>) -> Vec<f64> {
    let mut all: Vec<f64> = filters.flat_map(|filter| scores(&ask(engine, "large", mode, &filter))).collect();
    all.sort_by(|one, other| other.total_cmp(one));
    all.truncate(10);
    all
}

#[test]
fn a_small_namespace_and_a_narrow_filter_are_answered_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path(), Config::default()).unwrap();
    fill(&engine, "small", 30);
    let modes = ["lexical", "semantic", "hybrid"];
    let before = modes.map(|mode| ask(&engine, "small", mode, &json!({})));
    assert!(before.iter().all(|found| found.len() == 10));
    fill(&engine, "large", LARGE);
    let after = modes.map(|mode| ask(&engine, "small", mode, &json!({})));
    assert_eq!(before, after, "scores of one namespace do not depend on another");

    let rare: Vec<String> = (0..LARGE).filter(|n| n % RARE == 7).map(|n| format!("doc/{n:05}")).collect();
    for mode in modes {
        let found = ask(&engine, "large", mode, &json!({ "tags": ["rare"] }));
        assert_eq!(found.len(), 10, "{mode}");
        assert!(found.iter().all(|hit| rare.iter().any(|uri| hit["source_uri"] == **uri)), "{mode}: {found:#?}");
        // A fused score depends on what else is ranked; those of the legs do not.
        if mode != "hybrid" {
            let few = rare.chunks(PREFIXES_MAX).map(|prefixes| json!({ "uri_prefix": prefixes }));
            assert_eq!(scores(&found), best_of(&engine, mode, few), "{mode}: the best ten of 0.1%");
        }
    }
    // The best ten of everything, against all of it in slices small enough to be returned whole.
    let slices = (0..LARGE / 100).map(|slice| json!({ "uri_prefix": [format!("doc/{slice:03}")], "top_k": 100 }));
    assert_eq!(scores(&ask(&engine, "large", "lexical", &json!({}))), best_of(&engine, "lexical", slices));
}
