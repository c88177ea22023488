//! Cutting what extractors answer.

use loom_extract::contract::{Artifact, Block, BlockKind, BoundingBox, Cell, Column, Locator, Row, Span, Table, Value};

use super::settings;
use crate::chunk::{Extracted, cut_artifact};

fn block(kind: BlockKind, text: &str) -> Block {
    let level = u8::from(matches!(kind, BlockKind::Heading | BlockKind::ListItem));
    Block { kind, text: text.into(), level, ..Block::default() }
}

fn paged(kind: BlockKind, text: &str, page: u64, bbox: [f32; 4]) -> Block {
    let locator = Locator::Pages { start: page, end: page, bbox: Some(BoundingBox(bbox)) };
    Block { locator: Some(locator), ..block(kind, text) }
}

fn of(blocks: Vec<Block>) -> Artifact {
    Artifact { format: "docx".into(), blocks, ..Artifact::default() }
}

/// Cuts in windows of 200 characters that step by 150.
fn cut(artifact: Artifact) -> Extracted {
    let tables = artifact.tables.clone();
    cut_artifact(artifact, &tables, settings(200, 150))
}

fn passages(extracted: &Extracted) -> Vec<&str> {
    super::texts(&extracted.text, &extracted.cut)
}

#[test]
fn blocks_are_written_as_markdown_and_headings_make_sections() {
    let blocks = vec![
        block(BlockKind::Paragraph, "Before."),
        Block { level: 2, ..block(BlockKind::Heading, "Two\nlines") },
        block(BlockKind::ListItem, "first"),
        Block { level: 2, ..block(BlockKind::ListItem, "nested") },
        block(BlockKind::ListItem, "3. third"),
        block(BlockKind::Quote, "said\nso"),
        Block { language: "rust".into(), ..block(BlockKind::Code, "let a = \"```\";\n# no heading") },
        block(BlockKind::Note, "A note."),
        block(BlockKind::Paragraph, "  "),
    ];
    let extracted = cut_artifact(of(blocks), &[], settings(1500, 1200));
    assert_eq!(
        extracted.text,
        "Before.\n\n## Two lines\n\n- first\n  - nested\n3. third\n\n> said\n> so\n\n````rust\nlet a = \"```\";\n# no heading\n````\n\nA note.\n"
    );
    let sections: Vec<_> = extracted.cut.sections.iter().map(|section| (&section.path, section.depth)).collect();
    assert_eq!(sections, [(&vec!["Two lines".to_owned()], 2)]);
    assert_eq!(extracted.marks.iter().map(|mark| mark.block_type).collect::<Vec<_>>(), ["paragraph", "mixed"]);
    assert!(extracted.marks.iter().all(|mark| mark.locator.is_none()), "its lines are its place");
}

fn sheet(rows: u64) -> Artifact {
    let cells = |number: u64| {
        vec![Cell::Text(format!("pump {number} of | hall")), Cell::typed(Value::Number(format!("{number}.50")), "x")]
    };
    let column = |name: &str| Column { name: name.into(), ..Column::default() };
    let table = Table {
        name: "Pumps".into(),
        columns: vec![column("Name"), column("Price\nEUR")],
        header_rows: 1,
        rows: (0..rows).map(|at| Row(at + 3, cells(at))).collect(),
        total_rows: rows,
        numbered: true,
    };
    let block = Block { table: Some(0), ..block(BlockKind::Table, "") };
    Artifact {
        format: "xlsx".into(),
        tables: vec![table],
        blocks: vec![self::block(BlockKind::Heading, "Pumps"), block],
        ..Artifact::default()
    }
}

#[test]
fn a_table_is_cut_between_rows_and_each_passage_names_its_rows() {
    let extracted = cut(sheet(40));
    assert!(extracted.text.starts_with("# Pumps\n\n| Name | Price EUR |\n| --- | --- |\n| pump 0 of \\| hall | x |\n"));
    let mut last = 2;
    for ((passage, piece), mark) in passages(&extracted).iter().zip(&extracted.cut.pieces).zip(&extracted.marks) {
        assert!(passage.lines().filter(|line| line.starts_with('|')).all(|line| line.ends_with('|')), "{passage}");
        assert_eq!((mark.block_type, piece.section_path.join("")), ("table", "Pumps".to_owned()));
        let Some(Locator::Rows { sheet, start, end }) = &mark.locator else { panic!("{mark:?}") };
        let numbers: Vec<u64> = passage
            .split("pump ")
            .skip(1)
            .map(|row| row.split(' ').next().expect("words").parse::<u64>().expect("a number") + 3)
            .collect();
        assert_eq!((sheet.as_str(), *start, *end), ("Pumps", numbers[0], numbers[numbers.len() - 1]), "{passage}");
        assert!(*start <= last + 1 && *end > last, "no row is left out: {start} after {last}");
        last = *end;
        let is_first = passage.contains("Name");
        assert_eq!(piece.table_header.as_deref(), (!is_first).then_some("| Name | Price EUR |\n| --- | --- |"));
    }
    assert_eq!(last, 42);
    assert!(extracted.marks.len() > 4);
}

#[test]
fn a_passage_spans_exactly_its_blocks() {
    let long =
        "A sentence that fills the better part of a window, and goes on about valves for a while more. ".repeat(2);
    let extracted = cut(of(vec![
        paged(BlockKind::Heading, "Valves", 1, [0.0, 0.0, 50.0, 10.0]),
        paged(BlockKind::Paragraph, "Short.", 1, [5.0, 20.0, 90.0, 30.0]),
        paged(BlockKind::Paragraph, &long, 2, [5.0, 5.0, 60.0, 15.0]),
        paged(BlockKind::Paragraph, "End.", 3, [0.0, 0.0, 1.0, 1.0]),
    ]));
    let pages: Vec<_> = extracted.marks.iter().map(|mark| mark.locator.clone()).collect();
    assert_eq!(pages[0], Some(Locator::Pages { start: 1, end: 2, bbox: None }), "{:?}", passages(&extracted));
    assert!(matches!(pages[pages.len() - 1], Some(Locator::Pages { end: 3, .. })), "{pages:?}");
    let one = cut(of(vec![
        paged(BlockKind::Paragraph, "One.", 4, [5.0, 20.0, 90.0, 30.0]),
        paged(BlockKind::Caption, "Two.", 4, [1.0, 25.0, 50.0, 40.0]),
    ]));
    let bbox = Some(BoundingBox([1.0, 20.0, 90.0, 40.0]));
    assert_eq!(one.marks[0].locator, Some(Locator::Pages { start: 4, end: 4, bbox }));
    assert_eq!(one.marks[0].block_type, "mixed");
}

fn spanned(text: &str, parts: &[(BlockKind, &str, &[&str])]) -> Artifact {
    let mut from = 0;
    let blocks = parts.iter().map(|(kind, part, keys)| {
        let at = text[from..].find(part).expect("a part of the text") + from;
        from = at + part.len();
        let chars = |byte: usize| text[..byte].chars().count() as u64;
        let span = Some(Span { start: chars(at), end: chars(from) });
        Block { kind: *kind, span, keys: keys.iter().map(|key| (*key).to_owned()).collect(), ..Block::default() }
    });
    Artifact { format: "sql".into(), blocks: blocks.collect(), text: Some(text.into()), ..Artifact::default() }
}

#[test]
fn statements_stay_whole_where_they_fit_and_bring_their_names() {
    let create = |name: &str| format!("-- größe\nCREATE TABLE {name} (id int, {});", "note text, ".repeat(8));
    let (one, two) = (create("orders"), create("orders_daily"));
    let text = format!("{one}\n\n{two}\n");
    let extracted = cut(spanned(
        &text,
        &[
            (BlockKind::SqlStatement, &one, &["orders", "orders.id"]),
            (BlockKind::SqlStatement, &two, &["orders_daily", "orders_daily.id"]),
        ],
    ));
    assert_eq!(extracted.text, text);
    assert_eq!(passages(&extracted), [one.as_str(), two.as_str()]);
    assert_eq!(extracted.marks[1].keys, ["orders_daily", "orders_daily.id"]);
    assert_eq!(extracted.marks[0].block_type, "sql_statement");
}

#[test]
fn a_block_that_is_cut_leaves_each_passage_the_names_it_spells() {
    let statement = format!("INSERT INTO prices (amount) VALUES {} RETURNING currency;", "(1.25), ".repeat(60));
    let extracted = cut(spanned(
        &statement,
        &[(BlockKind::SqlStatement, &statement, &["prices", "prices.amount", "prices.currency"])],
    ));
    let marks = &extracted.marks;
    assert_eq!(marks[0].keys, ["prices", "prices.amount"]);
    assert_eq!(marks[marks.len() - 1].keys, ["prices.currency"]);
    assert!(marks[1].keys.is_empty());
}

#[test]
fn keys_under_one_path_are_cited_by_it() {
    let text = "[server]\nhost = \"a\"\n[client]\nport = 1\n";
    let key = |path: &str, line: u64| Some(Locator::Key { path: path.into(), line_start: line, line_end: line });
    let mut artifact = spanned(
        text,
        &[(BlockKind::TomlTable, "[server]", &["server"]), (BlockKind::TomlKey, "host = \"a\"", &["server.host"])],
    );
    artifact.blocks[0].locator = key("server", 1);
    artifact.blocks[1].locator = key("server.host", 2);
    let both = cut(artifact.clone());
    let locator = Locator::Key { path: "server".into(), line_start: 1, line_end: 2 };
    assert_eq!((both.marks[0].block_type, both.marks[0].locator.clone()), ("mixed", Some(locator)));
    let mut apart = spanned(text, &[(BlockKind::TomlKey, "host = \"a\"", &[]), (BlockKind::TomlKey, "port = 1", &[])]);
    apart.blocks[0].locator = key("server.host", 2);
    apart.blocks[1].locator = key("client.port", 4);
    let lines = cut(apart).marks[0].locator.clone();
    assert!(matches!(lines, Some(Locator::Lines { start: 2, end: 4, .. })), "{lines:?}");
}

#[test]
fn markdown_is_cut_as_a_text_that_was_added() {
    let text = "---\ntitle: T\n---\n# A\n\nOne `name_a`.\n\n## B\n\n```\ncode_b()\n```\n";
    let mut artifact = spanned(
        text,
        &[
            (BlockKind::Heading, "# A", &[]),
            (BlockKind::Paragraph, "One `name_a`.", &[]),
            (BlockKind::Heading, "## B", &[]),
            (BlockKind::Code, "```\ncode_b()\n```", &[]),
        ],
    );
    artifact.format = "markdown".into();
    for heading in [0, 2] {
        artifact.blocks[heading].level = 1;
    }
    let extracted = cut(artifact);
    assert_eq!(extracted.cut, crate::chunk::cut(text, settings(200, 150)));
    let kinds: Vec<_> = extracted.marks.iter().map(|mark| (mark.block_type, mark.keys.join(" "))).collect();
    assert_eq!(kinds, [("paragraph", "name_a".to_owned()), ("code", "code_b".to_owned())]);
}
