//! Where a document is cut: rows stay whole, graphemes too, and nothing grows out of bounds.

use std::time::Instant;

use loom::Engine;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use crate::harness::{Folder, add, hits, ok, search};

/// Every chunk of the only document, in order, as searches show them.
fn chunks(engine: &Engine, query: &str) -> Vec<Value> {
    let count = ok(engine, "knowledge.outline", json!({ "source_uri": "doc" }))["chunk_count"].as_u64().unwrap();
    let mut found = search(engine, "lexical", query, 100);
    found.sort_by_key(|hit| hit["chunk_idx"].as_u64());
    assert_eq!(found.len() as u64, count.min(100), "the query finds every chunk");
    found
}

/// The text that a hit's locator points at.
fn located(content: &str, hit: &Value) -> String {
    let at = |name: &str| usize::try_from(hit["locator"][name].as_u64().unwrap()).unwrap();
    content.chars().skip(at("char_start")).take(at("char_end") - at("char_start")).collect()
}

/// Case 5.
#[test]
fn no_chunk_cuts_a_row_and_each_can_be_found_by_the_header() {
    use std::fmt::Write as _;
    let mut table =
        String::from("Deliveries of the harbour office.\n\n| Quartermaster | Tonnage | Berth |\n|---|---|---|\n");
    for row in 0..400 {
        writeln!(table, "| name {row:04} aaaaaaaaaaaaaaaa | {row:06} tons | berth {:04} bbb |", row % 7).unwrap();
    }
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "doc", &table);
    // The continuations hold the header's word in their context alone.
    let found = chunks(&engine, "quartermaster");
    assert!(found.len() > 5, "{}", found.len());
    let rows: Vec<&str> = table.lines().collect();
    for hit in &found {
        let content = hit["content"].as_str().unwrap();
        assert_eq!(content, located(&table, hit), "the stored text is exact");
        for line in content.lines().filter(|line| !line.is_empty()) {
            assert!(rows.contains(&line), "a cut row: {line}");
        }
    }
    assert!(!found[1]["content"].as_str().unwrap().contains("Quartermaster"), "the header is not in the text");
}

/// Case 6.
#[test]
fn a_line_without_a_space_is_cut_in_linear_time() {
    let folder = Folder::new();
    let engine = folder.open();
    let size = folder.config().chunks.size();
    let minified = |bytes: usize| format!("{{\"rows\":[{}0]}}", "{\"k\":17},".repeat(bytes / 9));
    let timed = |bytes: usize| {
        let text = minified(bytes);
        let started = Instant::now();
        let cut = loom::chunk::cut(&text, folder.config().chunks);
        (cut.pieces.len(), started.elapsed())
    };
    let (small, small_time) = timed(300_000);
    let (large, large_time) = timed(2_400_000);
    assert!(large >= 7 * small && large <= 9 * small, "{small} pieces, then {large}");
    // Eight times the text; quadratic work would take 64 times as long.
    assert!(large_time < 30 * small_time, "{small_time:?}, then {large_time:?}");
    add(&engine, "doc", &minified(300_000));
    let got = ok(&engine, "knowledge.search", json!({ "query": "rows 17", "top_k": 100, "collapse_sections": false }));
    let found = hits(&got);
    assert!(!found.is_empty());
    assert!(found.iter().all(|hit| hit["content"].as_str().unwrap().chars().count() <= size));
}

#[test]
fn long_urls_at_line_ends_stay_within_the_size() {
    let folder = Folder::new();
    let engine = folder.open();
    let size = folder.config().chunks.size();
    let line = |n: usize| format!("link {n}: https://wiki.example.org/{}", "a/b-c_d%20".repeat(20));
    let text: String = (0..60).flat_map(|n| [line(n), "\n".into()]).collect();
    add(&engine, "doc", &text);
    let found = chunks(&engine, "link wiki");
    for hit in &found {
        assert!(hit["content"].as_str().unwrap().chars().count() <= size);
        assert_eq!(hit["content"].as_str().unwrap(), located(&text, hit));
    }
    for n in [0, 31, 59] {
        assert!(
            found.iter().any(|hit| hit["content"].as_str().unwrap().contains(&line(n))),
            "line {n} is whole somewhere"
        );
    }
}

/// Case 7.
#[test]
fn no_grapheme_is_split_and_offsets_count_characters() {
    let families = ["👨\u{200d}👩\u{200d}👧\u{200d}👦", "e\u{301}", "\r\n", "🇨🇭", "क\u{94d}ष\u{93f}"];
    for family in families {
        for before in 4090..=4097 {
            let text = format!("{}{family} tail of the text", "x".repeat(before));
            let settings = loom::chunk::ChunkSettings::new(4096, 3072).unwrap();
            let borders: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            for piece in loom::chunk::cut(&text, settings).pieces {
                let (start, end) = (piece.place.byte_start, piece.place.byte_end);
                for at in [start, end] {
                    assert!(borders.contains(&usize::try_from(at).unwrap()), "{family:?} at {before} is split at {at}");
                }
                assert!(piece.place.char_end - piece.place.char_start <= 4096);
            }
        }
    }
    let folder = Folder::new();
    let engine = folder.open_with(|config| config.chunks = loom::chunk::ChunkSettings::new(4096, 3072).unwrap());
    let text = format!("{}{} tail of the text", "x".repeat(4095), families[0]);
    add(&engine, "doc", &text);
    let answer = ok(&engine, "knowledge.search", json!({ "query": "tail", "collapse_sections": false }));
    let answer: Value = serde_json::from_str(&answer.to_string()).expect("no lone surrogate reaches JSON");
    assert!(!hits(&answer).is_empty());
    for hit in hits(&answer) {
        assert_eq!(hit["content"].as_str().unwrap(), located(&text, &hit));
    }
}

/// Case 16.
#[test]
fn what_stands_deep_in_a_long_section_is_found() {
    let folder = Folder::new();
    let engine = folder.open();
    let filler = "The committee reads the minutes and goes on to the next point. ".repeat(120);
    let hash = "d2a84f4b8b650937ec8f73cd8be2c74add5a911ba64df27458ed8229da80";
    assert_eq!(hash.len(), 60);
    add(&engine, "deep", &format!("# Minutes\n\n{filler}Then the ombudsman spoke.\n{filler}"));
    add(&engine, "hash", &format!("# Digests\n\n{filler}sha {hash} end"));
    for n in 0..30 {
        add(&engine, &format!("other/{n}"), &format!("# Other {n}\n\nThe committee reads point {n}."));
    }
    for mode in ["lexical", "hybrid"] {
        for (query, uri, holds) in [("ombudsman", "deep", "ombudsman"), (hash, "hash", hash)] {
            let found = search(&engine, mode, query, 3);
            assert_eq!(found[0]["source_uri"], uri, "{mode} {query}");
            assert!(found[0]["content"].as_str().unwrap().contains(holds), "{mode} {query}");
        }
    }
}
