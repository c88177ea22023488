use expect_test::{Expect, expect};

use crate::contract::RefusalCode;
use crate::readers::testing::{listed, read_as, spanned, survives};

fn check(source: &str, expected: &Expect) {
    let artifact = read_as("markdown", source.as_bytes()).expect("Markdown");
    assert_eq!(artifact.text.as_deref(), Some(source));
    let covered: String = spanned(&artifact).concat().split_whitespace().collect();
    assert_eq!(covered, source.split_whitespace().collect::<String>(), "every word is in a block");
    expected.assert_eq(&listed(&artifact));
}

#[test]
fn blocks_have_types() {
    check(
        "---\nowner: ana\ntags: [a, b]\n---\n# Title\n\nSome *text*\nover lines.\n\n- one\n- two\n  - inner\n\n  after\n1. first\n\n> quoted\n> # more\n\n```rust,ignore\n# no heading\n```\n\n    indented\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[link]: https://example.org\n\n***\n",
        &expect![[r#"
            field: ---\nowner: ana\ntags: [a, b]\n--- ["owner", "tags"]
            heading1: # Title
            paragraph: Some *text*\nover lines.
            list_item1: - one
            list_item1: - two
            list_item2: - inner
            paragraph: after
            list_item1: 1. first
            quote: > quoted\n> # more
            code(rust): ```rust,ignore\n# no heading\n```
            code:     indented
            table: | a | b |\n|---|---|\n| 1 | 2 |
            paragraph: [link]: https://example.org\n\n***
        "#]],
    );
}

#[test]
fn headings_are_those_of_the_engine() {
    check(
        "Alpha\n==\n\nBeta\n===\n\nGamma\n--\n\nDelta\n---\n\n- item\n---\n\n<h2>One</h2>\n\n<div>\n## two\n</div>\n\n<h3>\nspread\n</h3>\n",
        &expect![[r"
            paragraph: Alpha\n==
            heading1: Beta\n===
            paragraph: Gamma\n--
            heading2: Delta\n---
            list_item1: - item
            paragraph: ---
            heading2: <h2>One</h2>
            paragraph: <div>\n## two\n</div>
            paragraph: <h3>\nspread\n</h3>
        "]],
    );
}

#[test]
fn rules_are_no_front_matter() {
    check(
        "---\n\n## A\n\ntext\n\n---\n\n## B\n",
        &expect![[r"
        paragraph: ---
        heading2: ## A
        paragraph: text
        paragraph: ---
        heading2: ## B
    "]],
    );
}

#[test]
fn blank_is_no_text_and_deep_nesting_costs_little() {
    assert_eq!(read_as("markdown", b" \n\n").map_err(|refusal| refusal.code), Err(RefusalCode::NoText));
    let deep = format!("{}\n", "> ".repeat(2000)).repeat(200) + &format!("{}x\n", "- ".repeat(2000)).repeat(200);
    read_as("markdown", deep.as_bytes()).expect("text");
}

#[test]
fn damage_is_survived() {
    survives("markdown", "---\na: 1\n---\n# Ü\n- b\n  1. c\n\n> d\n\n```x\ne\n```\n|f|\n|-|\n<h1>g</h1>\n".as_bytes());
}
