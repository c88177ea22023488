//! Cutting, as its caller sees it.

mod blocks;
mod documents;
mod extracted;
mod properties;
mod windows;

use super::{ChunkSettings, Cut, cut};

fn settings(size: usize, stride: usize) -> ChunkSettings {
    ChunkSettings::new(size, stride).expect("the tests' sizes are in bounds")
}

fn cut_default(text: &str) -> Cut {
    cut(text, ChunkSettings::default())
}

/// The passages of a document.
fn texts<'a>(text: &'a str, cut: &Cut) -> Vec<&'a str> {
    cut.pieces.iter().map(|piece| &text[span(piece)]).collect()
}

fn span(piece: &super::Piece) -> std::ops::Range<usize> {
    let byte = |at| usize::try_from(at).expect("offsets into a text in memory");
    byte(piece.place.byte_start)..byte(piece.place.byte_end)
}

/// The outline as lines such as `2 A > B [1, 2) 14`: level, path, pieces, characters.
fn outline(text: &str) -> Vec<String> {
    let line = |section: &loom_storage::Section| {
        let (first, end) = section.chunks;
        format!("{} {} [{first}, {end}) {}", section.depth, section.path.join(" > "), section.chars)
    };
    cut_default(text).sections.iter().map(line).collect()
}

/// The titles of the sections, with their levels.
fn titles(text: &str) -> Vec<(u8, String)> {
    let title = |section: &loom_storage::Section| section.path.last().cloned().unwrap_or_default();
    cut_default(text).sections.iter().map(|section| (section.depth, title(section))).collect()
}

fn titled(expected: &[(u8, &str)]) -> Vec<(u8, String)> {
    expected.iter().map(|(level, title)| (*level, (*title).to_owned())).collect()
}
