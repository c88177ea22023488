//! `loom search`.

use super::sample;

#[test]
fn a_search_shows_what_is_found_where() {
    let loom = sample();
    loom.ok(["add", "docs"]);
    let out = loom.ok(["search", "how do I roll back", "-k", "1"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "1. deploy  Deploy > Rollback", "{out}");
    assert!(lines[1].contains(&loom.uri("docs/deploy.md")), "{out}");
    assert!(lines[1].contains("lines 5-7  revision 1  score "), "{out}");
    assert!(out.contains("   Run make undo, then tell the team."), "{out}");
    assert!(!out.contains('\u{1b}'), "no colour in a pipe");

    let found = loom.json(["search", "door", "--mode", "lexical"]);
    assert_eq!(found["results"][0]["source_uri"], loom.uri("docs/notes/door.txt"));
    let elsewhere = loom.json(["search", "door", "--prefix", &loom.uri("docs/deploy")]);
    assert!(elsewhere["results"].as_array().unwrap().iter().all(|hit| hit["source_uri"] == loom.uri("docs/deploy.md")));
    assert_eq!(loom.ok(["search", "zebra", "--mode", "lexical"]), "no passage found\n");
    assert_eq!(loom.ok(["search", "door", "--namespace", "other"]), "no passage found\n");
}

#[test]
fn a_search_says_why_to_a_person() {
    let loom = sample();
    loom.ok(["add", "docs"]);
    let uri = loom.uri("docs/deploy.md");
    let out = loom.ok(["search", "make undo", "-k", "1", "--explain", "--why-not", &uri]);
    for line in
        ["   · words: 1st, BM25 ", "   · meaning: ", "   · holds the words make, undo", "weighed: ", "milliseconds: "]
    {
        assert!(out.contains(line), "{line}: {out}");
    }
    assert!(out.contains(&format!("{uri}: found: it is hit 1")), "{out}");
    let out = loom.ok(["search", "door", "--why-not", "never"]);
    assert!(out.contains("never: not stored: nothing was ever stored"), "{out}");
    assert!(!out.contains("weighed"), "{out}");
    assert!(!loom.ok(["search", "door"]).contains("BM25"));
}

#[test]
fn a_search_takes_what_the_operation_takes() {
    let loom = sample();
    loom.ok(["add", "docs"]);
    let whole = loom.json(["search", "roll back", "-k", "1", "--expand", "section"]);
    assert_eq!(whole["results"][0]["expansion"]["truncated"], false, "{whole}");
    let around = loom.json(["search", "roll back", "-k", "1", "--expand", "1"]);
    assert!(around["results"][0]["expansion"]["last_chunk_idx"].is_u64(), "{around}");
    let narrow = loom.json(["search", "roll back", "-k", "1", "--narrow"]);
    assert!(narrow["results"][0]["span"]["text"].is_string(), "{narrow}");
    let out = loom.ok(["search", "roll back", "-k", "1", "--narrow"]);
    assert!(out.contains(narrow["results"][0]["span"]["text"].as_str().unwrap().lines().next().unwrap()), "{out}");
    for filter in [
        ["--metadata", r#"{"team": "none"}"#],
        ["--session", "none"],
        ["--class", "imported"],
        ["--format", "pdf"],
        ["--block-type", "table"],
    ] {
        assert_eq!(loom.ok(["search", "roll back", filter[0], filter[1]]), "no passage found\n", "{filter:?}");
    }
    assert_ne!(loom.ok(["search", "roll back", "--since", "3600", "--mine", "--rerank", "none"]), "no passage found\n");
    let refused = loom.run(["search", "x", "--rerank", "nobody"]);
    assert!(refused.status != 0 && refused.err.contains("nobody"), "{refused:?}");
    for bad in [["--expand", "all"], ["--metadata", "[1]"]] {
        assert_eq!(loom.run(["search", "x", bad[0], bad[1]]).status, 2, "{bad:?}");
    }
}
