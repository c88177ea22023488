//! Extracted files to documents: the text that is stored, and the passages cut along the extractor's blocks.
//!
//! A file that is text keeps its text, and its blocks are spans of it; of any other the text is written from the blocks
//! ([`write`]). Either way the windows are those of every document: headings make sections, tables are cut between
//! rows, code and statements are kept whole where they fit. What goes beyond a text's passages is a [`Mark`] for each:
//! what kind of block it is, where it stands in the source, and the names that the source gives it.

mod mark;
mod write;

use loom_extract::contract::{Artifact, Block, BlockKind, Locator, Table};
use loom_storage::Place;

use super::cut::{Cut, cut, cut_outlined};
use super::outline::{HEADING_BYTES_MAX, Heading, Outline, SECTIONS_MAX, Zone, ZoneKind, line_start, next_line};
use super::plain::one_line;
use super::settings::ChunkSettings;

pub use mark::{MIXED, Mark};
use write::{Written, write};

/// The format whose text is cut as a text that was added: its headings are found by the same rules.
const MARKDOWN: &str = "markdown";

/// An extracted file as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted {
    /// The document's text.
    pub text: String,
    /// Its sections and pieces.
    pub cut: Cut,
    /// What each piece is, in the pieces' order.
    pub marks: Vec<Mark>,
}

/// A block where it stands in the document's text.
struct Laid<'a> {
    /// Its first byte.
    start: usize,
    /// One past its last byte.
    end: usize,
    block: &'a Block,
    rows: Option<LaidRows<'a>>,
}

/// The rows of a table in the document's text.
struct LaidRows<'a> {
    /// The sheet they are of; `None` where the source does not number them.
    sheet: Option<&'a str>,
    /// Of each row the byte past its last and its number.
    ends: Vec<(usize, u64)>,
}

/// Makes a document of an artifact that [`loom_extract::contract::check`] has passed, and of its tables.
///
/// A blank artifact has no pieces; it is for the caller to refuse.
pub fn cut_artifact(artifact: Artifact, tables: &[Table], settings: ChunkSettings) -> Extracted {
    let Artifact { text, blocks, format, .. } = artifact;
    let is_markdown = text.is_some() && format == MARKDOWN;
    let (text, laid) = if let Some(text) = text {
        let laid = place(&text, &blocks);
        (text, laid)
    } else {
        let Written { text, blocks } = write(&blocks, tables);
        (text, blocks)
    };
    let cut = if is_markdown { cut(&text, settings) } else { cut_outlined(&text, &outline(&text, &laid), settings) };
    let marks = mark::marks(&text, &cut, &laid);
    Extracted { text, cut, marks }
}

/// Where blocks that are spans stand. Spans ascend, so that the text is counted once.
fn place<'a>(text: &str, blocks: &'a [Block]) -> Vec<Laid<'a>> {
    let mut chars = 0_u64;
    let mut at = 0_usize;
    let mut byte_of = |wanted: u64| {
        let rest = text.get(at..).unwrap_or_default();
        let ahead = usize::try_from(wanted.saturating_sub(chars)).unwrap_or(usize::MAX);
        at += rest.char_indices().nth(ahead).map_or(rest.len(), |(byte, _)| byte);
        chars = wanted;
        at
    };
    let spans = blocks.iter().filter_map(|block| block.span.map(|span| (block, span)));
    spans.map(|(block, span)| Laid { start: byte_of(span.start), end: byte_of(span.end), block, rows: None }).collect()
}

/// The headings and zones that blocks make of a text.
fn outline(text: &str, blocks: &[Laid<'_>]) -> Outline {
    let mut outline = Outline { headings: Vec::new(), zones: Vec::new(), code: Vec::new() };
    for laid in blocks {
        match laid.block.kind {
            BlockKind::Heading => {
                let words = text.get(laid.start..laid.end).unwrap_or_default();
                let words = one_line(words.trim_start_matches('#'), HEADING_BYTES_MAX);
                let start = line_start(text, laid.start);
                // Two headings on one line are one.
                let is_new = outline.headings.last().is_none_or(|last| last.start < start);
                if !words.is_empty() && is_new && outline.headings.len() < SECTIONS_MAX {
                    outline.headings.push(Heading { start, level: laid.block.level.clamp(1, 6), text: words });
                }
            }
            BlockKind::Code => zone(&mut outline, text, laid, ZoneKind::Code),
            BlockKind::SqlStatement | BlockKind::TomlKey | BlockKind::TomlTable | BlockKind::Field => {
                zone(&mut outline, text, laid, ZoneKind::Whole);
            }
            BlockKind::Table => {
                let separator = next_line(text, laid.start);
                zone(&mut outline, text, laid, ZoneKind::Table { body: next_line(text, separator).min(laid.end) });
            }
            BlockKind::Paragraph
            | BlockKind::ListItem
            | BlockKind::Quote
            | BlockKind::Caption
            | BlockKind::Note
            | BlockKind::Margin
            | BlockKind::Image => {}
        }
    }
    outline
}

/// Adds a zone of whole lines, unless an earlier one reaches past it.
fn zone(outline: &mut Outline, text: &str, laid: &Laid<'_>, kind: ZoneKind) {
    let after = outline.zones.last().map_or(0, |zone| zone.end);
    let start = line_start(text, laid.start).max(after);
    let end = match text.as_bytes().get(laid.end.wrapping_sub(1)) {
        Some(b'\n' | b'\r') => laid.end,
        Some(_) | None => next_line(text, laid.end),
    };
    if start < end {
        outline.zones.push(Zone { start, end, kind });
    }
}

/// The locator around chunks that cover `place`, from what is stored with each; `None` where the place in the document's text
/// says more.
pub fn locator_around<'a>(stored: impl IntoIterator<Item = &'a str>, place: Place) -> Option<Locator> {
    mark::around(stored.into_iter().map(|stored| serde_json::from_str(stored).ok()), place)
}

/// What a locator says in words of the contract, as it is stored with a chunk.
pub fn stored_locator(locator: Option<&Locator>) -> String {
    locator.and_then(|locator| serde_json::to_string(locator).ok()).unwrap_or_default()
}
