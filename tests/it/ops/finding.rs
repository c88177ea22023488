//! `knowledge.search`: exact names, fusion across namespaces, noise, and saying why.

use loom::Engine;
use loom_storage::{Batch, RecordWrite, RedbOptions, RedbStore, Store as _, Write};
use serde_json::{Value, json};

use crate::harness::{Folder, add, hits, ok, refused, uris};

/// The answer of a search with these fields.
fn searched(engine: &Engine, query: &str, more: &Value) -> Value {
    let mut input = json!({ "query": query, "namespace_scope": "this" });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    ok(engine, "knowledge.search", input)
}

fn first(engine: &Engine, query: &str) -> Value {
    hits(&searched(engine, query, &json!({})))[0].clone()
}

#[test]
fn names_that_share_their_words_are_told_apart() {
    let folder = Folder::new();
    let engine = folder.open();
    // The plain text says the words of both names often; the code names one thing each.
    let texts = [
        ("orders", "# Load\n\nOrders daily, daily orders. Rows come from `orders_daily` each night.\n"),
        ("daily", "# Load\n\nOrders daily, daily orders. Rows come from `daily_orders` each night.\n"),
        ("path", "# Pool\n\n```toml\n[pool]\npool.max-size = 5\n```\n"),
        ("camel", "# Users\n\n```js\nlet userId = row.key;\n```\n"),
        ("words", "# About\n\nThe user id and the pool max size are explained to users of the pool.\n"),
    ];
    for (uri, text) in texts {
        add(&engine, uri, text);
    }
    for (query, uri, keys) in [
        ("orders_daily", "orders", json!(["orders_daily"])),
        ("why is DAILY_ORDERS late", "daily", json!(["DAILY_ORDERS"])),
        ("what does pool.max-size do", "path", json!(["pool.max-size"])),
        ("where is userId set", "camel", json!(["userId"])),
    ] {
        let hit = first(&engine, query);
        assert_eq!((hit["source_uri"].as_str(), &hit["keys_matched"]), (Some(uri), &keys), "{query}");
    }
    for (query, mode) in [("orders daily", "hybrid"), ("orders_daily", "lexical"), ("orders_daily", "semantic")] {
        let found = hits(&searched(&engine, query, &json!({ "search_mode": mode })));
        assert!(found.iter().all(|hit| hit["keys_matched"] == json!([])), "{query} in {mode}");
    }
}

#[test]
fn names_go_with_their_documents() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "Set `retry_limit` here.");
    add(&engine, "b", "Set `retry_limit` there.");
    let found = |engine: &Engine| {
        let found = hits(&searched(engine, "retry_limit", &json!({})));
        let mut named: Vec<_> = found.iter().filter(|hit| hit["keys_matched"] == json!(["retry_limit"])).collect();
        named.sort_by_key(|hit| hit["source_uri"].as_str());
        named.into_iter().map(|hit| hit["source_uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&engine), ["a", "b"]);
    ok(&engine, "knowledge.delete", json!({ "source_uri": "a" }));
    add(&engine, "b", "Set `retry_limit_ms` there.");
    assert_eq!(found(&engine), Vec::<String>::new());
    ok(&engine, "knowledge.restore", json!({ "source_uri": "a" }));
    assert_eq!(found(&engine), ["a"]);
    engine.close().unwrap();
    drop(engine);
    assert_eq!(found(&folder.open()), ["a"], "from disk");
}

/// Says of namespaces what they are, before an engine opens the folder.
fn tell(folder: &Folder, facts: &[(&str, Value)]) {
    let store = RedbStore::open(folder.path(), &RedbOptions::default()).unwrap();
    let record = |(name, facts): &(&str, Value)| {
        let value = Some(facts.to_string().into_bytes());
        Write::Record(RecordWrite { key: format!("namespace/dev/{name}"), value })
    };
    let writes = facts.iter().map(record).collect();
    store.commit(Batch { preconditions: Vec::new(), writes }).unwrap();
}

fn add_to(engine: &Engine, namespace: &str, uri: &str, content: &str) {
    let input = json!({ "namespace": namespace, "source_uri": uri, "content": content });
    ok(engine, "knowledge.add", input);
}

fn fanned(engine: &Engine, query: &str, more: &Value) -> (Vec<String>, Value) {
    let answer = searched(engine, query, &{
        let mut more = more.clone();
        more["namespace_scope"] = json!("all_mine");
        more
    });
    let found = hits(&answer);
    let named = found
        .iter()
        .map(|hit| format!("{}/{}", hit["namespace"].as_str().unwrap(), hit["source_uri"].as_str().unwrap()));
    (named.collect(), answer)
}

#[test]
fn public_namespaces_are_searched_when_nothing_private_is_close() {
    let folder = Folder::new();
    tell(&folder, &[("team", json!({ "visibility": "public" })), ("repo", json!({ "kind": "code" }))]);
    let engine = folder.open();
    add_to(&engine, "local", "pump", "The pump is restarted with the green switch beside the valve.");
    add_to(&engine, "mine", "boat", "The boat is painted white every spring.");
    add_to(&engine, "team", "pump", "The team restarts the pump with the red switch beside the valve.");
    add_to(&engine, "team", "tax", "The annual tax declaration is due at the end of May.");
    add_to(&engine, "repo", "pump", "fn restart_pump() {}");
    let (found, _) = fanned(&engine, "how is the pump restarted with the switch", &json!({}));
    assert!(found.contains(&"local/pump".into()) && !found.iter().any(|hit| hit.starts_with("team/")), "{found:?}");
    let (found, answer) = fanned(&engine, "when is the annual tax declaration due", &json!({ "explain": true }));
    assert_eq!(found[0], "team/tax");
    assert_eq!(answer["report"]["public_pass"], json!(true));
    assert!(!found.iter().any(|hit| hit.starts_with("repo/")), "another kind: {found:?}");
    let (found, _) = fanned(&engine, "restart pump", &json!({ "namespaces": ["repo"] }));
    assert!(found.contains(&"repo/pump".into()), "it is named: {found:?}");
}

#[test]
fn noise_that_is_close_does_not_keep_the_public_namespaces_out() {
    let folder = Folder::new();
    tell(&folder, &[("team", json!({ "visibility": "public" }))]);
    let engine = folder.open();
    let notes = json!({
        "source_uri": "notes", "title": "Storage sync 2026-03-04",
        "content": "# Discussion\n\nWe talked about whether the tax declaration is due in May.\n",
    });
    ok(&engine, "knowledge.add", notes);
    add_to(&engine, "team", "tax", "The annual tax declaration is due at the end of May.");
    let (found, _) = fanned(&engine, "when is the tax declaration due", &json!({}));
    assert_eq!(found, ["team/tax", "local/notes"]);
}

#[test]
fn scores_of_namespaces_can_be_compared() {
    let folder = Folder::new();
    let engine = folder.open();
    // In the small namespace the word is in every document, in all of them together it is rare.
    add_to(&engine, "local", "one", "valve");
    for number in 0..30 {
        add_to(&engine, "large", &format!("{number}"), &format!("pipe {number} of the house"));
    }
    add_to(&engine, "large", "valve", "valve");
    let (found, answer) = fanned(&engine, "valve", &json!({ "search_mode": "lexical" }));
    assert_eq!(found.len(), 2);
    let scores: Vec<_> = hits(&answer).iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert_eq!(scores[0].to_bits(), scores[1].to_bits(), "the same passage is worth the same everywhere");
}

#[test]
fn many_namespaces_answer_as_one_would() {
    let folder = Folder::new();
    let engine = folder.open();
    let things = ["pump", "valve", "boat", "lamp", "stair", "`max_flow` gauge", "window"];
    for number in 0..180 {
        let (one, other) = (things[number % 7], things[number * number % 5]);
        let text = format!("The {one} number {number} stands near the {other}. {}", "It is old. ".repeat(number % 4));
        // More than a leg returns, most of them in one of the three.
        add_to(&engine, "whole", &format!("{number:03}"), &text);
        add_to(&engine, ["a", "b", "b", "b", "c"][number % 5], &format!("{number:03}"), &text);
    }
    for (query, more) in [
        ("which valve stands near a boat", json!({})),
        ("old lamp number 33", json!({ "search_mode": "lexical" })),
        ("something to look through", json!({ "search_mode": "semantic" })),
        ("max_flow of the pump", json!({ "collapse_sections": false, "top_k": 60 })),
    ] {
        let found = |namespaces: Value| {
            let mut input = more.clone();
            (input["namespace"], input["namespaces"]) =
                (namespaces[0].clone(), json!(&namespaces.as_array().unwrap()[1..]));
            input["namespace_scope"] = json!("this");
            let answer = searched(&engine, query, &input);
            // Sums in another order differ in their last digits.
            let scores = hits(&answer).into_iter().map(|hit| format!("{:.12}", hit["score"].as_f64().unwrap()));
            // Texts that are alike tie, and the last of them may be others.
            scores.collect::<Vec<_>>()
        };
        assert_eq!(found(json!(["a", "b", "c"])), found(json!(["whole"])), "{query}");
    }
}

#[test]
fn noise_moves_below_what_is_close() {
    let content = |line: &str| format!("# Discussion\n\n{line}\n");
    let fill = |engine: &Engine| {
        let noise = json!({
            "source_uri": "noise", "title": "Storage sync 2026-03-04",
            "content": content("The cache eviction policy, the cache eviction policy: is the cache eviction policy right?"),
        });
        ok(engine, "knowledge.add", noise);
        add(engine, "guide", &content("The cache eviction policy removes the oldest entries first."));
        add(engine, "other", &content("Bicycles are repaired in the yard behind the house."));
    };
    let folder = Folder::new();
    let engine = folder.open();
    fill(&engine);
    let answer = searched(&engine, "cache eviction policy", &json!({ "explain": true }));
    let found = hits(&answer);
    assert_eq!(uris(&found)[..2], ["guide", "noise"]);
    assert_eq!((&found[1]["noise"], &found[1]["explanation"]["demoted"]), (&json!(true), &json!(true)));
    let why = searched(&engine, "cache eviction policy", &json!({ "top_k": 1, "why_not": "noise" }));
    assert_eq!(why["why_not"]["reason"], "demoted", "{why}");
    engine.close().unwrap();
    drop(engine);
    let engine = folder.open_with(|config| config.search.noise_filter = false);
    assert_eq!(uris(&hits(&searched(&engine, "cache eviction policy", &json!({}))))[0], "noise");
}

#[test]
fn a_search_says_what_each_leg_made_of_a_hit() {
    let folder = Folder::new();
    let engine = folder.open();
    let lines: Vec<_> =
        (0..60).map(|line| format!("Line {line}: the pump `max_flow` is set before restarting.")).collect();
    let text = lines.join("\n\n");
    add(&engine, "pump", &format!("# Flow\n\n{text}"));
    add(&engine, "boat", "The boat is white.");
    let answer = searched(&engine, "restart max_flow", &json!({ "explain": true }));
    let hit = &hits(&answer)[0];
    let why = &hit["explanation"];
    let parts: f64 = ["lexical", "vector", "keys"].iter().map(|leg| why[leg]["part"].as_f64().unwrap()).sum();
    assert!((parts - hit["score"].as_f64().unwrap()).abs() < 1e-9, "{hit}");
    assert_eq!(why["matched_terms"], json!(["restart", "max_flow"]));
    assert_eq!(why["keys"]["score"], json!(1.0));
    assert_eq!(why["folded"].as_array().unwrap().len() as u64, hit["siblings_folded"].as_u64().unwrap());
    assert!(hit["siblings_folded"].as_u64().unwrap() > 0);
    let report = &answer["report"];
    assert_eq!((&report["fusion"], &report["keys"]), (&json!("convex"), &json!(["max_flow"])));
    assert!(report["lexical_candidates"].as_u64().unwrap() > 0 && report["selected"].as_u64().unwrap() > 1);
    let plain = searched(&engine, "restart max_flow", &json!({}));
    assert!(plain.get("report").is_none() && hits(&plain)[0].get("explanation").is_none());
}

#[test]
fn a_document_that_is_missing_from_the_hits_is_accounted_for() {
    let folder = Folder::new();
    let engine = folder.open();
    for number in 0..8 {
        add(&engine, &format!("pump/{number}"), &format!("The pump {number} is restarted with its switch."));
    }
    ok(&engine, "knowledge.add", json!({ "source_uri": "tagged", "content": "The pump is red.", "tags": ["red"] }));
    add(&engine, "gone", "The pump is gone.");
    ok(&engine, "knowledge.delete", json!({ "source_uri": "gone" }));
    let why = |uri: &str, more: Value| {
        let mut more = more;
        more["why_not"] = json!(uri);
        searched(&engine, "restart the pump", &more)["why_not"].clone()
    };
    let found = why("pump/1", json!({ "top_k": 50 }));
    assert_eq!((found["reason"].as_str(), found["hit"].is_u64()), (Some("found"), true), "{found}");
    let filtered = why("pump/1", json!({ "tags": ["red"], "uri_prefix": ["pump/"], "metadata": { "a": 1 } }));
    assert_eq!((&filtered["reason"], &filtered["filtered_by"]), (&json!("filtered"), &json!(["tags", "metadata"])));
    assert_eq!(why("gone", json!({}))["reason"], "deleted");
    assert_eq!(why("never", json!({}))["reason"], "not_stored");
    let below = why("tagged", json!({ "top_k": 1 }));
    assert_eq!(below["reason"], "ranked_below", "{below}");
    assert!(below["place"].as_u64().unwrap() > 1 && below["lexical_rank"].is_u64() && below["vector_rank"].is_u64());
    let unmatched = json!({ "search_mode": "lexical", "query": "zebra" });
    assert_eq!(why("tagged", unmatched)["reason"], "no_match");
}

#[test]
fn a_hit_is_expanded_to_its_neighbours_or_its_section() {
    let folder = Folder::new();
    let engine = folder.open();
    let paragraph = |word: &str| format!("The {word} stands here. {}\n\n", "It is written down at length. ".repeat(40));
    let text = format!(
        "# One\n\n{}{}{}# Two\n\n{}",
        paragraph("anchor"),
        paragraph("beacon"),
        paragraph("compass"),
        paragraph("dory")
    );
    add(&engine, "a", &text);
    let hit = |more: Value| hits(&searched(&engine, "beacon stands", &more))[0].clone();
    let plain = hit(json!({ "narrow_spans": true }));
    let whole = hit(json!({ "expand": "section", "narrow_spans": true }));
    let content = whole["content"].as_str().unwrap();
    assert!(content.starts_with("# One") && content.contains("compass") && !content.contains("dory"));
    let (start, end) =
        (whole["locator"]["char_start"].as_u64().unwrap(), whole["locator"]["char_end"].as_u64().unwrap());
    let chars: Vec<char> = text.chars().collect();
    let placed: String = chars[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()].iter().collect();
    assert_eq!(placed, content, "its place is exact");
    let span = &whole["span"];
    let within: String = content.chars().collect::<Vec<_>>()[usize::try_from(span["start"].as_u64().unwrap()).unwrap()
        ..usize::try_from(span["end"].as_u64().unwrap()).unwrap()]
        .iter()
        .collect();
    assert_eq!((span["text"].as_str(), &span["text"]), (Some(within.as_str()), &plain["span"]["text"]));
    let idx = plain["chunk_idx"].as_u64().unwrap();
    let next = hit(json!({ "expand": { "after": 1 } }));
    assert_eq!(next["expansion"], json!({ "first_chunk_idx": idx, "last_chunk_idx": idx + 1, "truncated": false }));
    assert!(plain.get("expansion").is_none());
    let error = refused(&engine, "knowledge.search", json!({ "query": "x", "expand": { "before": 11 } }));
    assert_eq!(error.field.as_deref(), Some("expand.before"));
}

#[test]
fn metadata_filters() {
    let folder = Folder::new();
    let engine = folder.open();
    for (uri, metadata) in [
        ("old", json!({ "team": "storage", "year": 2024 })),
        ("new", json!({ "team": ["search", "storage"], "year": 2026 })),
        ("none", json!({})),
    ] {
        ok(&engine, "knowledge.add", json!({ "source_uri": uri, "content": "the same harbour", "metadata": metadata }));
    }
    let found = |metadata: Value| {
        let found = hits(&searched(&engine, "harbour", &json!({ "metadata": metadata })));
        let mut found: Vec<String> = uris(&found).into_iter().map(Into::into).collect();
        found.sort();
        found
    };
    assert_eq!(found(json!({ "team": "storage" })), ["new", "old"]);
    assert_eq!(found(json!({ "team": "storage", "year": { "gte": 2025 } })), ["new"]);
    assert_eq!(found(json!({ "year": [2024, 2025] })), ["old"]);
    ok(&engine, "knowledge.update_metadata", json!({ "source_uri": "old", "title": "Edited" }));
    assert_eq!(found(json!({ "team": "storage" })), ["new", "old"]);
    for bad in [json!({ "year": { "gt": 1 } }), json!({ "year": { "gte": [1] } }), json!({ "year": [] })] {
        let error = refused(&engine, "knowledge.search", json!({ "query": "x", "metadata": bad }));
        assert_eq!(error.field.as_deref(), Some("metadata.year"));
    }
}
