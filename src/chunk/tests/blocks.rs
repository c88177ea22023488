//! What is a heading, and what is front matter.

use super::{cut_default, outline, texts, titled, titles};
use crate::chunk::{HEADING_BYTES_MAX, SECTIONS_MAX};

#[test]
fn fenced_lines_are_never_headings() {
    let text = "# Setup\n\n```bash\n# install tools\n```\n\n~~~\n```\n## not a heading\n~~~\n\n# Next\n";
    assert_eq!(titles(text), titled(&[(1, "Setup"), (1, "Next")]));
    assert!(cut_default(text).pieces.iter().all(|piece| !piece.section_path.concat().contains("install")));
    assert_eq!(titles("```\n# a\n``` \t\n# b\n"), titled(&[(1, "b")]));
    assert_eq!(titles("```\r# a\r```\r# b\r"), titled(&[(1, "b")]));
}

#[test]
fn an_underline_needs_three_characters() {
    let text = "Alpha\n==\n\nBeta\n===\n\nGamma\n--\n\nDelta\n---\n\n- item\n---\n\ntext\n\n---\n";
    assert_eq!(titles(text), titled(&[(1, "Beta"), (2, "Delta")]));
    assert_eq!(titles("Alpha\n==\nBeta\n===\nGamma\n--\nDelta\n---\n"), titled(&[(1, "Beta"), (2, "Delta")]));
    assert_eq!(titles("Alpha\r\n==\r\nBeta\r\n===  \r\n"), titled(&[(1, "Beta")]));
    assert_eq!(titles("Alpha\n    ===\n"), titled(&[]));
    assert_eq!(titles("two\nlines\n===\n"), titled(&[(1, "two lines")]));
}

#[test]
fn one_line_heading_elements_are_headings() {
    let text = "<h2>One</h2>\n\n<div>\n## two\n</div>\n\n<h3>\nthree\n</h3>\n";
    assert_eq!(titles(text), titled(&[(2, "One")]));
    assert_eq!(
        titles("  <H1 align=\"center\" title='a > b'>Fast &amp; <em>small</em> &lt;3 *x*</H1 >\n"),
        titled(&[(1, "Fast & small <3 *x*")])
    );
    assert_eq!(titles("text\n<h2>One</h2>\n"), titled(&[(2, "One")]));
    assert_eq!(titles("<h1>A</h1>\n<h2>B</h2>\ntext\n<h3>C</h3>\n"), titled(&[(1, "A"), (2, "B")]));
    for text in [
        "<h1>A</h2>\n",
        "<h7>A</h7>\n",
        "<h1>A</h1> and more\n",
        "<h1>A\n",
        "<h1></h1>\n",
        "<header>A</header>\n",
        "    <h1>A</h1>\n",
        "- <h1>A</h1>\n",
        "<!--\n<h1>A</h1>\n-->\n",
        "```\n<h1>A</h1>\n```\n",
    ] {
        assert_eq!(titles(text), titled(&[]), "{text:?}");
    }
}

#[test]
fn only_the_top_level_has_headings() {
    for text in ["- # a\n", "> # a\n", "1. a\n   ===\n", "    # a\n", "#a\n", "####### a\n", "***\n", "#\n", "\\# a\n"]
    {
        assert_eq!(titles(text), titled(&[]), "{text:?}");
    }
    assert_eq!(titles("- item\n\n# After\n> quote\n# Last #\n"), titled(&[(1, "After"), (1, "Last")]));
}

#[test]
fn a_heading_is_plain_text_on_one_line() {
    assert_eq!(
        titles("# A *b* `c_d` [e](f) ![g](h) &copy; [1.0] <b>i</b>\u{0}\tj {#id}\n\n[1.0]: x\n"),
        titled(&[(1, "A b c_d e g © 1.0 i j")])
    );
    let long = "ab\u{301}".repeat(100_000);
    let text = format!("# {long}\ntext\n");
    let title = &titles(&text)[0].1;
    assert!(title.len() <= HEADING_BYTES_MAX && title.len() > HEADING_BYTES_MAX - 4);
    assert!(long.starts_with(title.as_str()) && title.ends_with(['\u{301}', 'a']));
}

#[test]
fn paths_follow_the_levels() {
    let text = "before\n# A\n### B\n## C\n# D\n";
    assert_eq!(outline(text), ["1 A [1, 2) 4", "3 A > B [2, 3) 6", "2 A > C [3, 4) 5", "1 D [4, 5) 4"]);
    assert_eq!(texts(text, &cut_default(text)), ["before", "# A", "### B", "## C", "# D"]);
    assert_eq!(cut_default(text).pieces[0].section_path, Vec::<String>::new());
}

#[test]
fn sections_are_bounded() {
    let text = "# a\n".repeat(SECTIONS_MAX + 10);
    let cut = cut_default(&text);
    assert_eq!(cut.sections.len(), SECTIONS_MAX);
    assert_eq!(cut.sections.iter().map(|section| section.chars).sum::<u64>(), cut.chars);
}

#[test]
fn front_matter_is_in_no_section() {
    let text = "---\nowner: ana\n---\n\n# Title\n";
    let cut = cut_default(text);
    assert_eq!(cut.front_matter.as_ref().map(|front| front.byte_end), Some(19));
    assert_eq!(texts(text, &cut), ["# Title"]);
    assert_eq!(cut.pieces[0].place.line_start, 5);
    assert_eq!(titles("---\n\n## A\n\ntext\n\n---\n\n## B\n"), titled(&[(2, "A"), (2, "B")]));
    assert_eq!(cut_default("---\n\n## A\ntext\n---\n## B\n").front_matter, None);
}

#[test]
fn front_matter_states_title_description_and_tags() {
    let read = |text: &str| {
        let front = cut_default(text).front_matter.unwrap_or_else(|| panic!("no front matter in {text:?}"));
        (front.title, front.description, front.tags)
    };
    let some = |text: &str| Some(text.to_owned());
    let yaml =
        "\u{feff}---  \r\ntitle: 2024\r\ndescription: >\r\n  two\r\n  lines\r\ntags: [a, b c, null, {x: y}]\r\n...\r\n";
    assert_eq!(read(yaml), (some("2024"), some("two lines"), vec!["a".into(), "b c".into()]));
    assert_eq!(read("---\ntags: x, y z,\ntitle: ~\n---"), (None, None, vec!["x".into(), "y z".into()]));
    assert_eq!(read("---\ntags: x y\ntitle: [a]\n---\n"), (None, None, vec!["x".into(), "y".into()]));
    assert_eq!(read("---\nnested: {title: no, tags: [no]}\n? [title]\n: no\n---\n"), (None, None, vec![]));
    assert_eq!(read("---\na: &x {title: b}\ntitle: *x\n'title': \"a\\0b\"\n---\n"), (some("a b"), None, vec![]));
}

#[test]
fn what_is_no_mapping_is_no_front_matter() {
    let deep = format!("---\na: {}\n---\n", "[".repeat(30_000));
    let nested = format!("---\n{}a: b\n---\n", "- ".repeat(30_000));
    let long = format!("---\na: {}\n---\n", "b".repeat(70_000));
    let unclosed = format!("---\na: {}\n", "b\n".repeat(70_000));
    for text in [
        "---\n---\n",
        "---\n- a\n---\n",
        "---\na\n---\n",
        "---\na: [\n---\n",
        "---\na: b\n",
        " ---\na: b\n---\n",
        "---\n# only a comment\n---\n",
        "----\na: b\n---\n",
        "---\na: b\n----\n",
        &deep,
        &nested,
        &long,
        &unclosed,
    ] {
        assert_eq!(cut_default(text).front_matter, None, "{}", &text[..text.len().min(60)]);
    }
}

#[test]
fn aliases_are_not_expanded() {
    let level = |level: usize| format!("a{level}: &a{level} [*a{0}, *a{0}, *a{0}]\n", level - 1);
    let levels: String = (1..1000).map(level).collect();
    let yaml = format!("---\na0: &a0 [x, x]\n{levels}title: bomb\n---\n");
    assert_eq!(cut_default(&yaml).front_matter.and_then(|front| front.title).as_deref(), Some("bomb"));
}

#[test]
fn deep_nesting_does_not_hide_what_follows() {
    let lines = "b\n".repeat(20_000);
    for marker in ["> ", "- ", "1. ", "> - ", "* "] {
        let text = format!("{}a\n{lines}\n# After\n", marker.repeat(20_000));
        assert_eq!(titles(&text), titled(&[(1, "After")]), "{marker:?}");
    }
    let rule = format!("# A\n{}\n# B\n", "* ".repeat(100));
    assert_eq!(titles(&rule), titled(&[(1, "A"), (1, "B")]));
}
