//! Queries that are no questions, and namespaces that have no answers.

use std::time::{Duration, Instant};

use loom::{Code, Engine};
use serde_json::{Value, json};

use crate::harness::{Folder, add, hits, ok, refused, search, uris};

const MODES: [&str; 3] = ["lexical", "semantic", "hybrid"];

fn shelf(engine: &Engine) {
    add(engine, "adapter", "# Cables\n\nThe usb-c adapter is in the second drawer.");
    add(engine, "wiki", "# Links\n\nSee https://wiki.example.org for the rest.");
    add(engine, "sum", "# Sums\n\nWhat is 2 and 12 together?");
    add(engine, "plain", "# Prose\n\nNothing and or not special, foo a.");
}

/// Case 12.
#[test]
fn syntax_is_words() {
    let folder = Folder::new();
    let engine = folder.open();
    shelf(&engine);
    let brackets = "(".repeat(8_000);
    let nested = format!("{}a{}", "(".repeat(4_000), ")".repeat(4_000));
    let odd = [
        "a:(^",
        "(foo:>12)",
        "AND OR :( ",
        "\"unclosed",
        "usb-c adapter\"\"",
        ">>>",
        "https://wiki.example.org",
        "+ 2",
        "-",
        &brackets,
        &nested,
        "title:plain",
        "/re.*gex/",
        "[a TO z]",
        "{!lucene}",
        "a~2^3",
        "*",
        "?",
        "a*",
        "\\",
        "'; DROP TABLE",
        "NOT",
        "NEAR/3",
        "a && b || !c",
        "<b>",
        "%27",
        "\u{202e}cba",
        "\u{0}".trim_matches('\0'),
    ];
    for query in odd.into_iter().filter(|query| !query.is_empty()) {
        for mode in MODES {
            let started = Instant::now();
            search(&engine, mode, query, 10);
            let shown: String = query.chars().take(20).collect();
            assert!(started.elapsed() < Duration::from_secs(2), "{mode} {shown} took {:?}", started.elapsed());
        }
    }
    for (query, uri) in [
        ("usb-c adapter\"\"", "adapter"),
        ("\"unclosed drawer", "adapter"),
        ("https://wiki.example.org", "wiki"),
        ("+ 2", "sum"),
        ("(foo:>12)", "plain"),
    ] {
        for mode in ["lexical", "hybrid"] {
            let found = search(&engine, mode, query, 10);
            assert!(uris(&found).contains(&uri), "{mode} {query}: {:?}", uris(&found));
        }
    }
    assert_eq!(uris(&search(&engine, "lexical", "usb-c adapter\"\"", 1)), ["adapter"]);
    assert_eq!(uris(&search(&engine, "lexical", "-drawer", 1)), ["adapter"], "a dash excludes nothing");
}

#[test]
fn a_query_has_its_bounds() {
    let folder = Folder::new();
    let engine = folder.open();
    shelf(&engine);
    let words: String = (0..1_300).flat_map(|n| ["w".into(), n.to_string(), " ".into()]).collect();
    for longest in ["é".repeat(8_192), words] {
        for mode in MODES {
            search(&engine, mode, &longest, 100);
        }
    }
    for (query, told) in [("é".repeat(8_193), "8192"), (String::new(), "empty")] {
        let error = refused(&engine, "knowledge.search", json!({ "query": query }));
        assert_eq!((error.code, error.field.as_deref()), (Code::ValidationFailed, Some("query")));
        assert!(error.message.contains(told), "{}", error.message);
    }
}

/// Case 13.
#[test]
fn a_query_of_nothing_is_no_error() {
    let folder = Folder::new();
    let engine = folder.open();
    shelf(&engine);
    add(&engine, "emoji", "# Mood\n\n🎉 🎉 🎉");
    for query in
        ["...", "?!", "—", "🎉", "👨\u{200d}👩\u{200d}👧", " ", "\t\n ", "\u{200b}", "\u{301}", "、。", "()[]{}"]
    {
        for mode in MODES {
            let input = json!({ "query": query, "search_mode": mode, "narrow_spans": true });
            let answer = ok(&engine, "knowledge.search", input);
            assert_eq!(answer["results"], json!([]), "{mode} {query:?}");
            assert_eq!(answer["embedding_model"], "loom-static-256");
        }
    }
    for query in ["the", "of the and", "AND OR NOT", "is it"] {
        assert_eq!(search(&engine, "lexical", query, 10), Vec::<Value>::new(), "{query}");
        search(&engine, "hybrid", query, 10);
        search(&engine, "semantic", query, 10);
    }
}

/// Case 15.
#[test]
fn chinese_without_spaces_is_found_by_its_parts() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "zh", "# 说明\n\n分布式数据库系统需要定期备份数据。");
    add(&engine, "zh2", "# 天气\n\n今天北京天气晴朗，适合外出散步。");
    add(&engine, "ja", "# 案内\n\n東京タワーの展望台は午前九時に開きます。");
    add(&engine, "ko", "# 안내\n\n데이터베이스를백업합니다.");
    add(&engine, "en", "# Backups\n\nThe warehouse is copied each night.");
    for (query, uri) in [
        ("库", "zh"),
        ("备份", "zh"),
        ("数据库系", "zh"),
        ("分布式数据库", "zh"),
        ("定期备份数据", "zh"),
        ("晴", "zh2"),
        ("北京", "zh2"),
        ("展望", "ja"),
        ("タワー", "ja"),
        ("東京タワーの", "ja"),
    ] {
        for mode in ["lexical", "hybrid"] {
            let found = search(&engine, mode, query, 5);
            assert_eq!(uris(&found).first(), Some(&uri), "{mode} {query}");
        }
    }
    let whole = search(&engine, "lexical", "数据库备份", 5);
    assert_eq!(uris(&whole), ["zh"]);
    let mixed = search(&engine, "lexical", "数据库 xyzzyplugh", 5);
    assert_eq!(uris(&mixed), ["zh"], "the half that is there is found");
    let score = |hits: &[Value]| hits[0]["score"].as_f64().unwrap();
    add(&engine, "both", "# 两者\n\n数据库 xyzzyplugh");
    let mixed = search(&engine, "lexical", "数据库 xyzzyplugh", 5);
    assert_eq!(uris(&mixed), ["both", "zh"], "lower than what holds both");
    assert!(score(&mixed) > mixed[1]["score"].as_f64().unwrap());
}

/// Case 18.
#[test]
fn namespaces_without_an_answer_answer() {
    let folder = Folder::new();
    let engine = folder.open();
    let assert_nothing = |why: &str| {
        for mode in MODES {
            for scope in ["this", "all_mine"] {
                let input = json!({
                    "query": "words of a document", "search_mode": mode, "namespace_scope": scope, "narrow_spans": true,
                    "tags": ["a"], "uri_prefix": ["a"],
                });
                let answer = ok(&engine, "knowledge.search", input);
                assert_eq!(
                    (&answer["results"], &answer["stale_dropped"]),
                    (&json!([]), &json!(0)),
                    "{why} {mode} {scope}"
                );
            }
            assert_eq!(search(&engine, mode, "words of a document", 5), Vec::<Value>::new(), "{why} {mode}");
        }
    };
    assert_nothing("never written to");
    for n in 0..3 {
        add(&engine, &format!("a/{n}"), "words of a document");
    }
    for n in 0..3 {
        ok(&engine, "knowledge.delete", json!({ "source_uri": format!("a/{n}") }));
    }
    assert_nothing("all deleted");
    add(&engine, "blank", "");
    assert_nothing("a document without a chunk");
    add(&engine, "b", "# Pets\n\nThe cat sleeps on the warm sofa.");
    let found = search(&engine, "hybrid", "feline", 5);
    assert_eq!(uris(&found), ["b"], "the meaning answers where no word does");
    assert_eq!((&found[0]["lexical_score"], found[0]["similarity"].is_f64()), (&json!(0.0), true));
    assert!(search(&engine, "lexical", "feline", 5).is_empty());
    // No word of this text is known to the model: it is found by its words alone.
    add(&engine, "c", "ⴰⵣⵓⵍ");
    let found = search(&engine, "hybrid", "ⴰⵣⵓⵍ", 5);
    assert_eq!(uris(&found).first(), Some(&"c"));
    assert!(hits(&json!({ "results": found })).iter().all(|hit| hit["score"].as_f64().unwrap() > 0.0));
}
