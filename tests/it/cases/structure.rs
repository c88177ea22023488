//! What is a heading, and what only looks like one.

use loom::Engine;
use serde_json::{Value, json};

use crate::harness::{Folder, add, ok, search, uris};

/// The headings of a text: level and title.
fn headings(engine: &Engine, content: &str) -> Vec<(u64, String)> {
    add(engine, "doc", content);
    let outline = ok(engine, "knowledge.outline", json!({ "source_uri": "doc" }));
    let sections = outline["sections"].as_array().unwrap();
    assert_eq!(outline["structured"], !sections.is_empty(), "{outline}");
    sections.iter().map(|section| (section["depth"].as_u64().unwrap(), text(&section["title"]))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn assert_headings(content: &str, expected: &[(u64, &str)]) {
    let folder = Folder::new();
    let found = headings(&folder.open(), content);
    let expected: Vec<(u64, String)> = expected.iter().map(|(level, title)| (*level, (*title).to_owned())).collect();
    assert_eq!(found, expected, "{content:?}");
}

/// Case 1.
#[test]
fn nothing_inside_a_fence_is_a_heading() {
    let content = "# Setup\n\n```bash\n# install tools\nmake tools\n```\n\n~~~\n```\n## not a heading\n```\n~~~\n\n# Next\n\nGo on.\n";
    assert_headings(content, &[(1, "Setup"), (1, "Next")]);
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "doc", content);
    for hit in search(&engine, "lexical", "install tools heading next", 50) {
        let section = hit["section"].as_str().unwrap();
        assert!(section == "Setup" || section == "Next", "{section}");
    }
    assert_eq!(search(&engine, "lexical", "install tools", 1)[0]["section"], "Setup");
}

#[test]
fn a_fence_ends_at_its_own_kind_only() {
    // Longer than it opened closes; shorter, of the other character, or with words after it does not.
    assert_headings("# A\n\n````\n```\n# in\n`````\n\n# B\n", &[(1, "A"), (1, "B")]);
    assert_headings("# A\n\n~~~\n```\n# in\n~~~ x\n# in\n~~~~\n# B\n", &[(1, "A"), (1, "B")]);
    assert_headings("# A\n\n```\n# never closed\n\n## still code\n", &[(1, "A")]);
    assert_headings("# A\n\n1. step\n\n   ```\n   # in a list\n   ```\n\n# B\n", &[(1, "A"), (1, "B")]);
    assert_headings("# A\n\n    # indented code\n\n# B\n", &[(1, "A"), (1, "B")]);
    assert_headings("# A\r\n\r\n```\r\n# in\r\n```\r\n\r\n# B\r\n", &[(1, "A"), (1, "B")]);
    // Backticks after an opening fence make it a line of text.
    assert_headings("# A\n\n``` a`b\n# B\n", &[(1, "A"), (1, "B")]);
}

/// Case 2.
#[test]
fn front_matter_is_metadata_and_a_thematic_break_is_not() {
    let front = "---\nowner: ana\n---\n\n# Title\n\nBody.\n";
    assert_headings(front, &[(1, "Title")]);
    let rule = "---\n\n## A\n\ntext\n\n---\n\n## B\n\nmore\n";
    assert_headings(rule, &[(2, "A"), (2, "B")]);
    let folder = Folder::new();
    let engine = folder.open();
    for (uri, content) in [("front", front), ("rule", rule)] {
        add(&engine, uri, content);
        assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": uri }))["content"], content);
    }
    assert!(search(&engine, "lexical", "owner ana", 5).is_empty(), "front matter is in no section");
}

#[test]
fn front_matter_names_what_the_call_does_not() {
    let folder = Folder::new();
    let engine = folder.open();
    let content = "---\ntitle: From the text\ndescription: What it is\ntags: [Ops, run book]\n---\nBody.\n";
    add(&engine, "text", content);
    let fields = |uri: &str| {
        let got = ok(&engine, "knowledge.get", json!({ "source_uri": uri }));
        (text(&got["title"]), text(&got["description"]), got["tags"].clone())
    };
    assert_eq!(fields("text"), ("From the text".into(), "What it is".into(), json!(["Ops", "run book"])));
    let input = json!({ "source_uri": "call", "content": content, "title": "T", "description": "D", "tags": ["x"] });
    ok(&engine, "knowledge.add", input);
    assert_eq!(fields("call"), ("T".into(), "D".into(), json!(["x"])));
    for open in ["----\ntitle: no\n---\n# H\n", " ---\ntitle: no\n---\n# H\n", "\n---\ntitle: no\n---\n# H\n"] {
        add(&engine, "not", open);
        assert_eq!(fields("not").0, "", "{open:?}");
    }
}

/// Case 3.
#[test]
fn an_underline_of_three_makes_a_heading_and_a_shorter_one_does_not() {
    let content = "Alpha\n==\n\nBeta\n===\n\nGamma\n--\n\nDelta\n---\n\n- item\n---\n\ntext\n\n---\n";
    assert_headings(content, &[(1, "Beta"), (2, "Delta")]);
}

#[test]
fn an_underline_needs_its_text_directly_above() {
    assert_headings("Two\nlines\n===\n", &[(1, "Two lines")]);
    assert_headings("A\n=====   \n\nB\n   ---\n", &[(1, "A"), (2, "B")]);
    assert_headings("A\n    ===\n", &[]);
    assert_headings("A\n= = =\n\nB\n- - -\n", &[]);
    assert_headings("> quoted\n---\n", &[]);
    assert_headings("# A\n===\n", &[(1, "A")]);
    assert_headings("| a |\n|---|\n| b |\n", &[]);
}

/// Case 4.
#[test]
fn a_heading_element_on_one_line_is_a_heading() {
    assert_headings("<h2>One</h2>\n\nText.\n", &[(2, "One")]);
    assert_headings("<div>\n## two\n</div>\n", &[]);
    assert_headings("<h2>\nThree\n</h2>\n", &[]);
    assert_headings("<h3 id=\"x\">Four <em>five</em></h3>\n", &[(3, "Four five")]);
    assert_headings("<H1>Six</H1>\n", &[(1, "Six")]);
    assert_headings("<h7>Seven</h7>\n\n<h2>Eight</h3>\n\n<header>Nine</header>\n", &[]);
    assert_headings("```\n<h2>Ten</h2>\n```\n\n<!--\n# Eleven\n-->\n", &[]);
}

/// Case 8.
#[test]
fn documents_of_nothing_are_documents() {
    let folder = Folder::new();
    let engine = folder.open();
    let documents = [
        ("empty", "", "Quiet lantern"),
        ("blank", " \n\n\t\r\n", "Blank harbour"),
        ("title", "", "Only nameplate"),
        ("heading", "# Solitary signpost\n", ""),
        ("bare", "#\n", "Bare hashmark"),
        ("front", "---\ntitle: Frontal octopus\n---\n", ""),
        ("nothing", "", ""),
    ];
    for (uri, content, title) in documents {
        let input = json!({ "source_uri": uri, "content": content, "title": title });
        let chunks = ok(&engine, "knowledge.add", input)["chunks_created"].as_u64();
        assert_eq!(chunks, Some(u64::from(uri != "nothing")), "{uri}");
        let got = ok(&engine, "knowledge.get", json!({ "source_uri": uri }));
        assert_eq!((got["found"].as_bool(), text(&got["content"])), (Some(true), content.to_owned()));
        assert_eq!(ok(&engine, "knowledge.outline", json!({ "source_uri": uri }))["found"], true);
    }
    let listed = ok(&engine, "knowledge.list", json!({}));
    assert_eq!(listed["rows"].as_array().unwrap().len(), documents.len());
    for (uri, query) in [
        ("empty", "quiet lantern"),
        ("blank", "blank harbour"),
        ("title", "nameplate"),
        ("heading", "signpost"),
        ("bare", "hashmark"),
        ("front", "octopus"),
    ] {
        for mode in ["lexical", "hybrid", "semantic"] {
            assert_eq!(uris(&search(&engine, mode, query, 1)), [uri], "{mode} {query}");
        }
    }
}
