//! Whole documents, contexts and settings.

use super::{cut_default, settings, texts};
use crate::chunk::{ChunkSettings, Piece, context, cut};

#[test]
fn blank_documents_have_no_pieces() {
    for text in ["", "\n", "\r\n\r\n  \t\n", "\u{feff}", "\u{feff}\n\n", "---\ntitle: a\n---\n", "\u{3000}\u{2028}"] {
        let cut = cut_default(text);
        assert_eq!((cut.pieces.len(), cut.sections.len()), (0, 0), "{text:?}");
        assert_eq!(cut.chars, text.chars().count() as u64);
    }
    assert_eq!(Piece::without_text().place.byte_end, 0);
}

#[test]
fn a_lone_heading_is_one_piece() {
    let cut = cut_default("\n# Only\n");
    assert_eq!(texts("\n# Only\n", &cut), ["# Only"]);
    assert_eq!((cut.sections[0].chunks, cut.sections[0].chars), ((0, 1), 7));
    assert_eq!(cut.pieces[0].place.line_start, 2);
}

#[test]
fn lines_end_as_in_commonmark() {
    let text = "one\rtwo\r\nthree\u{2028}still\u{c}still\n# four\r";
    let cut = cut_default(text);
    let lines: Vec<_> = cut.pieces.iter().map(|piece| (piece.place.line_start, piece.place.line_end)).collect();
    assert_eq!(lines, [(1, 3), (4, 4)]);
    let lone = "# a\rtext\r\r# b\r```\r# c\r```\r";
    let cut = cut_default(lone);
    assert_eq!(texts(lone, &cut), ["# a\rtext", "# b\r```\r# c\r```"]);
}

#[test]
fn a_context_joins_what_there_is() {
    let path = ["Deploy".to_owned(), "Rollback".to_owned(), "Cloud".to_owned()];
    assert_eq!(
        context("Ops\nrunbook ", "How to.", &path, Some("|a|\n|-|")),
        "Ops runbook\nHow to.\nDeploy > Rollback > Cloud\n|a|\n|-|"
    );
    assert_eq!(context("", " ", &[], None), "");
    assert_eq!(context("T", "", &[], None), "T");
    assert!(context(&"a".repeat(1_000_000), &"é".repeat(1_000_000), &path, None).len() < 6_000);
}

#[test]
fn settings_are_checked_in_words() {
    let error = |size, stride| match ChunkSettings::new(size, stride) {
        Ok(settings) => panic!("{settings:?} should be refused"),
        Err(error) => error.to_string(),
    };
    assert_eq!(error(5, 5), "LOOM_KNOWLEDGE_CHUNK_SIZE is 5; it must be from 32 to 100000 characters");
    assert!(error(usize::MAX, 1).starts_with("LOOM_KNOWLEDGE_CHUNK_SIZE"));
    for stride in [0, 101, usize::MAX] {
        assert!(
            error(100, stride).starts_with(&format!("LOOM_KNOWLEDGE_CHUNK_STRIDE is {stride}; it must be from 1 to"))
        );
    }
    assert_eq!(ChunkSettings::new(1500, 1200), Ok(ChunkSettings::default()));
}

#[test]
fn sections_do_not_share_windows() {
    let text = format!("# A\n\n{0}\n\n## B\n\n{0}", "A sentence of words. ".repeat(30));
    let cut = cut(&text, settings(200, 150));
    let [a, b] = &cut.sections[..] else { panic!("two sections") };
    assert_eq!((a.chunks.0, a.chunks.1, b.chunks.1 as usize), (0, b.chunks.0, cut.pieces.len()));
    assert!(texts(&text, &cut)[b.chunks.0 as usize].starts_with("## B"));
    assert_eq!(a.chars + b.chars, cut.chars);
}
