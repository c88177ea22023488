//! `knowledge.search`: modes, filters, collapsing and narrowing.

use expect_test::expect;
use loom::Engine;
use serde_json::{Value, json};

use crate::harness::{Folder, check, hits, ok, uris};

#[test]
fn a_hit_says_what_a_citation_needs() {
    check(
        r##"
knowledge.add {"source_uri": "a", "title": "Guide", "content": "# Ops\n\n## Rollback\n\nRun é the undo.\n", "tags": ["Ops"], "agent": "scribe", "session_id": "s", "source_class": "derived"}
knowledge.search {"query": "undo", "search_mode": "lexical"}
"##,
        &expect![[r###"
            {"doc_id":"#01","chunks_created":2,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"results":[{"namespace":"local","source_uri":"a","doc_id":"#01","revision":1,"format":"","title":"Guide","tags":["Ops"],"chunk_idx":1,"content":"## Rollback\n\nRun é the undo.","section":"Ops > Rollback","section_path":["Ops","Rollback"],"similarity":null,"lexical_score":0.6100624203681946,"score":0.6100624203681946,"keys_matched":[],"noise":false,"siblings_folded":0,"block_type":"","locator":{"kind":"lines","start":3,"end":5,"char_start":7,"char_end":35},"span":null,"session_id":"s","source_class":"derived","agent":"scribe","ingested_at":"2026-01-01T00:00:00.000Z"}],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
        "###]],
    );
}

/// The best documents of a search with these further fields.
fn found(engine: &Engine, query: &str, more: &Value) -> Vec<String> {
    let mut input = json!({ "query": query, "namespace_scope": "this", "top_k": 100 });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    let found = hits(&ok(engine, "knowledge.search", input));
    let mut found: Vec<String> = uris(&found).into_iter().map(Into::into).collect();
    found.sort();
    found
}

#[test]
fn each_filter_keeps_what_it_says() {
    let folder = Folder::new();
    let engine = folder.open();
    for (uri, tags, session, class) in [
        ("d/1", json!(["Red", "big"]), "s1", "asserted"),
        ("d/2", json!(["red"]), "s1", "derived"),
        ("e/3", json!(["blue"]), "s2", "external"),
        ("e/4", json!([]), "", "imported"),
    ] {
        folder.clock.advance_ms(10_000);
        let input = json!({
            "source_uri": uri, "content": "the same harbour", "tags": tags, "session_id": session, "source_class": class,
        });
        ok(&engine, "knowledge.add", input);
    }
    let all = ["d/1", "d/2", "e/3", "e/4"];
    for (filter, expected) in [
        (json!({}), &all[..]),
        (json!({ "tags": ["RED"] }), &["d/1", "d/2"]),
        (json!({ "tags": ["big", "blue"] }), &["d/1", "e/3"]),
        (json!({ "tags": ["none"] }), &[]),
        (json!({ "since_seconds": 0 }), &["e/4"]),
        (json!({ "since_seconds": 10 }), &["e/3", "e/4"]),
        (json!({ "since_seconds": 29 }), &["d/2", "e/3", "e/4"]),
        (json!({ "since_seconds": u64::MAX }), &all),
        (json!({ "since_seconds": null }), &all),
        (json!({ "uri_prefix": ["d/"] }), &["d/1", "d/2"]),
        (json!({ "uri_prefix": ["d/2", "e/"] }), &["d/2", "e/3", "e/4"]),
        (json!({ "session_ids": ["s1"] }), &["d/1", "d/2"]),
        (json!({ "session_ids": [""] }), &["e/4"]),
        (json!({ "session_ids": ["S1"] }), &[]),
        (json!({ "source_classes": ["asserted", "imported"] }), &["d/1", "e/4"]),
        (json!({ "formats": [""] }), &all),
        (json!({ "formats": ["sql"] }), &[]),
        (json!({ "block_types": ["paragraph"] }), &[]),
        (
            json!({ "tags": ["red"], "source_classes": ["derived"], "uri_prefix": ["d/"], "session_ids": ["s1"] }),
            &["d/2"],
        ),
        (json!({ "tags": ["red"], "uri_prefix": ["e/"] }), &[]),
    ] {
        for mode in ["lexical", "semantic", "hybrid"] {
            let mut input = filter.clone();
            input["search_mode"] = json!(mode);
            assert_eq!(found(&engine, "same harbour", &input), expected, "{input}");
        }
    }
    ok(&engine, "knowledge.update_metadata", json!({ "source_uri": "e/4", "tags": ["RED"] }));
    assert_eq!(
        found(&engine, "same harbour", &json!({ "tags": ["red"] })),
        ["d/1", "d/2", "e/4"],
        "an edit counts at once"
    );
    ok(&engine, "knowledge.delete", json!({ "source_uri": "d/1" }));
    folder.clock.advance_ms(1_000_000);
    ok(&engine, "knowledge.restore", json!({ "source_uri": "d/1" }));
    assert_eq!(
        found(&engine, "same harbour", &json!({ "since_seconds": 60 })),
        Vec::<String>::new(),
        "a restore is no write"
    );
}

#[test]
fn one_hit_stands_for_its_section() {
    let folder = Folder::new();
    let engine = folder.open();
    let filler = "The ferry crosses the strait and the pilot waves from the quay. ".repeat(90);
    ok(
        &engine,
        "knowledge.add",
        json!({ "source_uri": "a", "content": format!("# One\n\n{filler}\n\n# Two\n\nThe ferry rests.") }),
    );
    let ask = |collapse: bool, mode: &str| {
        let input = json!({ "query": "ferry", "search_mode": mode, "top_k": 20, "collapse_sections": collapse });
        hits(&ok(&engine, "knowledge.search", input))
    };
    for mode in ["lexical", "semantic", "hybrid"] {
        let whole = ask(false, mode);
        let collapsed = ask(true, mode);
        assert!(whole.len() > 3, "{mode}");
        assert!(whole.iter().all(|hit| hit["siblings_folded"] == 0));
        assert_eq!(collapsed.len(), 2, "{mode}");
        let siblings: u64 = collapsed.iter().map(|hit| hit["siblings_folded"].as_u64().unwrap()).sum();
        assert_eq!(siblings + 2, whole.len() as u64, "{mode}: every sibling is counted");
        for hit in &collapsed {
            let best = whole.iter().find(|other| other["section_path"] == hit["section_path"]).unwrap();
            assert_eq!(best["chunk_idx"], hit["chunk_idx"], "{mode}: the best stands for them");
        }
    }
}

#[test]
fn a_span_is_the_two_sentences_nearest_to_the_query() {
    let folder = Folder::new();
    let engine = folder.open();
    let content = "# Café\n\nThe menu changes daily. Bread is baked at dawn. The oven is from 1911. Guests pay in cash. The cat sleeps upstairs. Nobody knows its name.";
    ok(&engine, "knowledge.add", json!({ "source_uri": "a", "content": content }));
    for mode in ["lexical", "semantic", "hybrid"] {
        let input = json!({ "query": "who is the cat that sleeps", "search_mode": mode, "narrow_spans": true });
        let hit = &hits(&ok(&engine, "knowledge.search", input))[0];
        let span = &hit["span"];
        assert!(span["text"].as_str().unwrap().contains("cat sleeps"), "{mode}: {span}");
        assert!(span["text"].as_str().unwrap().matches('.').count() <= 2, "{mode}: {span}");
        let at = |name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
        let cut: String =
            hit["content"].as_str().unwrap().chars().skip(at("start")).take(at("end") - at("start")).collect();
        assert_eq!(span["text"], json!(cut), "offsets count characters");
        assert!(span["similarity"].as_f64().unwrap() > hit["similarity"].as_f64().unwrap_or(0.0), "{mode}");
    }
    let plain = ok(&engine, "knowledge.search", json!({ "query": "cat" }));
    assert_eq!(hits(&plain)[0]["span"], Value::Null);
}

#[test]
fn modes_pin_a_leg_and_the_weight_shifts_the_fusion() {
    let folder = Folder::new();
    let engine = folder.open();
    for (uri, content) in [
        ("words", "Path path path src/path/main.rs in the path of paths."),
        ("meaning", "The kitten naps on the couch."),
        ("other", "Taxes are due in April."),
    ] {
        ok(&engine, "knowledge.add", json!({ "source_uri": uri, "content": content }));
    }
    let ask = |more: Value| {
        let mut input = json!({ "query": "path where a cat sleeps on a sofa" });
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        hits(&ok(&engine, "knowledge.search", input))
    };
    let lexical = ask(json!({ "search_mode": "lexical" }));
    assert_eq!(uris(&lexical), ["words"]);
    assert_eq!(lexical[0]["score"], lexical[0]["lexical_score"]);
    let semantic = ask(json!({ "search_mode": "semantic" }));
    assert_eq!(uris(&semantic)[0], "meaning");
    assert_eq!((&semantic[0]["score"], &semantic[0]["lexical_score"]), (&semantic[0]["similarity"], &json!(0.0)));
    assert_eq!(uris(&ask(json!({ "lexical_weight": 100 })))[0], "words");
    assert_eq!(uris(&ask(json!({ "lexical_weight": 0 }))), uris(&semantic));
    let hybrid = ask(json!({}));
    assert_eq!(hybrid.len(), 3);
    let scores: Vec<f64> = hybrid.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn a_fan_out_reads_no_more_namespaces_than_it_may() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| config.search.fanout_namespaces_max = 2);
    for namespace in ["a", "b", "c", "d", "local"] {
        ok(
            &engine,
            "knowledge.add",
            json!({ "namespace": namespace, "source_uri": "x", "content": "the same harbour" }),
        );
    }
    let ask = |input: Value| {
        let answer = ok(&engine, "knowledge.search", input);
        let mut read: Vec<String> = hits(&answer).iter().map(|hit| hit["namespace"].as_str().unwrap().into()).collect();
        read.sort();
        (read.join(" "), answer["namespaces_skipped"].clone())
    };
    let query = "same harbour";
    assert_eq!(ask(json!({ "query": query, "top_k": 50 })), ("a b local".into(), json!(["c", "d"])));
    assert_eq!(ask(json!({ "query": query, "namespaces": ["d", "c", "b"] })), ("b c d local".into(), json!([])));
    assert_eq!(ask(json!({ "query": query, "namespace_scope": "this" })), ("local".into(), json!([])));
    assert_eq!(ask(json!({ "query": query, "namespace": "new" })), ("a b".into(), json!(["c", "d", "local"])));
}
