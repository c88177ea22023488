//! A small namespace beside a large one, and a filter that leaves little.

use serde_json::{Value, json};

use crate::harness::{Folder, hits, ok, uris};

const WORDS: [&str; 8] = ["harbour", "ferry", "berth", "tide", "anchor", "pilot", "quay", "mooring"];
/// The case says 50,000. This many keep the test under a few seconds in the development profile and are still more
/// than any leg's depth, more than one segment of the lexical index, and more than is scanned as one block.
const LARGE: usize = 10_000;

fn body(n: usize) -> String {
    let word = |by: usize| WORDS[(n / by) % WORDS.len()];
    format!("The {} and the {} by the {} number {n}.", word(1), word(8), word(64))
}

fn fill(engine: &loom::Engine, namespace: &str, count: usize) {
    for start in (0..count).step_by(500) {
        let entries: Vec<Value> = (start..(start + 500).min(count))
            .map(|n| {
                let tag = if n % 1_000 == 7 { "rare" } else { "common" };
                json!({ "source_uri": format!("doc/{n:05}"), "content": body(n), "tags": [tag] })
            })
            .collect();
        ok(engine, "knowledge.bulk_add", json!({ "namespace": namespace, "entries": entries }));
    }
}

/// Case 17.
#[test]
fn a_small_namespace_and_a_narrow_filter_are_answered_exactly() {
    let folder = Folder::new();
    let engine = folder.open();
    fill(&engine, "small", 30);
    let ask = |namespace: &str, mode: &str, filter: Value| {
        let mut input =
            json!({ "namespace": namespace, "namespace_scope": "this", "query": "ferry by the quay", "top_k": 10 });
        input["search_mode"] = json!(mode);
        for (name, value) in filter.as_object().unwrap() {
            input[name] = value.clone();
        }
        hits(&ok(&engine, "knowledge.search", input))
    };
    let modes = ["lexical", "semantic", "hybrid"];
    let before = modes.map(|mode| ask("small", mode, json!({})));
    assert!(before.iter().all(|found| found.len() == 10));
    fill(&engine, "large", LARGE);
    let after = modes.map(|mode| ask("small", mode, json!({})));
    assert_eq!(before, after, "scores of one namespace do not depend on another");

    for mode in modes {
        let rare = ask("large", mode, json!({ "tags": ["rare"] }));
        let by_prefix: Vec<String> = (0..LARGE).filter(|n| n % 1_000 == 7).map(|n| format!("doc/{n:05}")).collect();
        let mut found = uris(&rare);
        found.sort_unstable();
        let holds: Vec<&str> = by_prefix
            .iter()
            .map(String::as_str)
            .filter(|uri| mode != "lexical" || matches(&body(uri[4..].parse().unwrap())))
            .collect();
        assert_eq!(found, holds, "{mode}: a filter that keeps 0.1% finds all of it");
        // The same documents in the order and with the scores of the whole namespace's answer, where both legs agree
        // on what was left out.
        if mode != "hybrid" {
            let score = |hit: &Value| (hit["source_uri"].clone(), hit["score"].clone());
            let prefixes: Vec<String> = by_prefix[..8].to_vec();
            let few = ask("large", mode, json!({ "uri_prefix": prefixes }));
            let expected: Vec<_> =
                rare.iter().filter(|hit| prefixes.iter().any(|uri| hit["source_uri"] == **uri)).map(score).collect();
            assert_eq!(few.iter().map(score).collect::<Vec<_>>(), expected, "{mode}");
        }
    }
    // The best ten of everything, recomputed by walking all of it in slices small enough to be read whole.
    for mode in ["lexical", "semantic"] {
        let mut all: Vec<(f64, f64, String)> = Vec::new();
        for slice in 0..LARGE / 100 {
            let prefix = json!([format!("doc/{slice:03}")]);
            let found = ask("large", mode, json!({ "uri_prefix": prefix, "top_k": 100 }));
            all.extend(found.iter().map(|hit| {
                let number = |name: &str| hit[name].as_f64().unwrap_or(f64::NEG_INFINITY);
                (number("score"), number("similarity"), hit["source_uri"].as_str().unwrap().to_owned())
            }));
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let best = ask("large", mode, json!({}));
        let scores: Vec<f64> = best.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert_eq!(scores, all[..10].iter().map(|hit| hit.0).collect::<Vec<_>>(), "{mode}");
    }
}

/// Whether a text holds a word of the query.
fn matches(text: &str) -> bool {
    ["ferry", "quay"].iter().any(|word| text.contains(word))
}
