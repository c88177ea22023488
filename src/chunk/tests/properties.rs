//! What holds for any text and any settings.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::span;
use crate::chunk::{ChunkSettings, Cut, cut};

/// Pieces of Markdown and of trouble.
const PARTS: &[&str] = &[
    "# ",
    "## A\n",
    "### B c\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "text ",
    "A sentence. ",
    "word",
    "===\n",
    "--\n",
    "---\n",
    "```\n",
    "~~~\n",
    "- item\n",
    "1. one\n",
    "> ",
    "    ",
    "\t",
    "|a|b|\n|-|-|\n",
    "|c d e|f|\n",
    "|",
    "<div>\n",
    "<h2>x</h2>\n",
    "<!--",
    "-->\n",
    "[a]: b\n",
    "`",
    "*",
    "é",
    "漢字。",
    "\u{1F468}\u{200D}\u{1F469}",
    "\u{1F1E6}",
    "\u{301}",
    "\u{600}",
    "\u{2028}",
    "\u{c}",
    "\u{feff}",
    "\u{0}",
    "title: x\n",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "\u{915}\u{94d}",
    "\u{3000}",
    "...\n",
    "\u{200b}",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(PARTS), 0..200).prop_map(|parts| parts.concat()),
        1 => prop::collection::vec(any::<char>(), 0..600).prop_map(String::from_iter),
        1 => prop::collection::vec(prop::sample::select(PARTS), 0..40).prop_map(|parts| format!("---\n{}", parts.concat())),
    ]
}

fn settings() -> impl Strategy<Value = ChunkSettings> {
    (32_usize..200)
        .prop_flat_map(|size| (Just(size), 1..=size))
        .prop_map(|(size, stride)| ChunkSettings::new(size, stride).expect("drawn within the bounds"))
}

/// Recounts the characters and lines before each end of each piece.
fn check_places(text: &str, cut: &Cut) -> Result<(), TestCaseError> {
    for piece in &cut.pieces {
        let (place, bytes) = (piece.place, span(piece));
        prop_assert!(text.is_char_boundary(bytes.start) && text.is_char_boundary(bytes.end));
        let chars = |to: usize| text[..to].chars().count() as u64;
        let line = |to: usize| 1 + text[..to].replace("\r\n", "\n").matches(['\n', '\r']).count() as u64;
        prop_assert_eq!((place.char_start, place.char_end), (chars(bytes.start), chars(bytes.end)));
        prop_assert_eq!((place.line_start, place.line_end), (line(bytes.start), line(bytes.end)));
    }
    prop_assert_eq!(cut.chars, text.chars().count() as u64);
    Ok(())
}

/// Pieces are within the size, in order, not blank, and hold every character that must be in one.
fn check_cover(text: &str, cut: &Cut, settings: ChunkSettings) -> Result<(), TestCaseError> {
    let front = cut.front_matter.as_ref().map_or(0, |front| front.byte_end);
    let mut covered = front.max(if text.starts_with('\u{feff}') { 3 } else { 0 });
    let mut start = None;
    for piece in &cut.pieces {
        let bytes = span(piece);
        prop_assert!(text[bytes.clone()].chars().count() <= settings.size());
        prop_assert!(!text[bytes.clone()].trim().is_empty());
        prop_assert!(start < Some(bytes.start) && covered < bytes.end);
        prop_assert!(text[covered.min(bytes.start)..bytes.start].trim().is_empty());
        prop_assert!(bytes.start >= front);
        start = Some(bytes.start);
        covered = bytes.end;
    }
    prop_assert!(text[covered..].trim().is_empty());
    Ok(())
}

/// Only a grapheme longer than a window is cut.
fn check_graphemes(text: &str, cut: &Cut, settings: ChunkSettings) -> Result<(), TestCaseError> {
    let ends: Vec<usize> = cut.pieces.iter().flat_map(|piece| [span(piece).start, span(piece).end]).collect();
    for (at, grapheme) in text.grapheme_indices(true) {
        let is_split = ends.iter().any(|end| at < *end && *end < at + grapheme.len());
        prop_assert!(!is_split || grapheme.chars().count() > settings.size(), "{:?} at {}", grapheme, at);
    }
    Ok(())
}

/// The pieces are those before the first heading and then each section's own.
fn check_sections(cut: &Cut) -> Result<(), TestCaseError> {
    let mut next = cut.sections.first().map_or(0, |section| section.chunks.0);
    prop_assert!(cut.pieces[..next as usize].iter().all(|piece| piece.section_path.is_empty()));
    for section in &cut.sections {
        let (first, end) = section.chunks;
        prop_assert!(first == next && first < end);
        prop_assert!(cut.pieces[first as usize..end as usize].iter().all(|piece| piece.section_path == section.path));
        next = end;
    }
    prop_assert!(cut.sections.is_empty() || next as usize == cut.pieces.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_text_is_covered_exactly(text in texts(), settings in settings()) {
        let whole = cut(&text, settings);
        check_places(&text, &whole)?;
        check_cover(&text, &whole, settings)?;
        check_graphemes(&text, &whole, settings)?;
        check_sections(&whole)?;
        prop_assert_eq!(&whole, &cut(&text, settings));
    }
}
