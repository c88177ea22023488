//! PDF.
//!
//! The characters and lines of each page come from the file ([`content`]); all else is this reader's own: words and rows
//! ([`frame`]), tables ([`tables`]), columns and their order ([`order`]), paragraphs ([`paragraphs`]), headings ([`headings`]).

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "places on a page are checked to be finite, and counts of its words are small"
)]

mod bidi;
mod content;
mod fonts;
mod frame;
mod furniture;
mod headings;
mod layout;
mod lines;
mod lists;
mod order;
mod outline;
mod page;
mod paragraphs;
mod quantity;
mod ruled;
mod strokes;
mod tables;
#[cfg(test)]
mod tests;
mod unpacked;
mod unruled;

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_syntax::object::Dict;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use self::layout::Piece;
use self::lines::Line;
use self::outline::Entry;
use self::page::Drawn;
use self::paragraphs::{Passage, TextKind};
use super::{Bounds, Context, OcrFailure};
use crate::contract::{
    Artifact, Block, BlockKind, Coverage, CoverageUnit, Locator, Parser, Refusal, RefusalCode, Request, lost,
};

/// The most pages that are read.
const PAGES_MAX: usize = 20_000;
/// How far into a file its header may stand.
const HEADER_BYTES: usize = 1024;
/// Words that were recognized with a confidence under this, of 100, are warned of.
const CONFIDENCE_MIN: f32 = 60.0;

/// What was found on the pages.
#[derive(Default)]
struct Found {
    pieces: Vec<Piece>,
    outline: Vec<Entry>,
    pages: u32,
    /// Pages with nothing but pictures, or with characters that nobody can name.
    pictures_only: Vec<u32>,
    cut_pages: usize,
    text_bytes: usize,
}

/// Reads a PDF.
///
/// # Errors
/// `format_mismatch`, `corrupt` for damage and passwords, `resource_limit`, `timeout`, and `no_text`.
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    check_header(bytes)?;
    unpacked::check(bytes, &context.bounds)?;
    // The parser is not ours; should it fail on a file in a way that nobody foresaw, then that file is damaged.
    let found = catch_unwind(AssertUnwindSafe(|| find(bytes, &context.bounds)))
        .unwrap_or_else(|_| Err(corrupt("the file is damaged in a way that its parser fails on")))?;
    finish(found, context)
}

fn corrupt(message: &str) -> Refusal {
    Refusal::new(RefusalCode::Corrupt, message)
}

fn check_header(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.is_empty() {
        return Err(corrupt("the file is empty"));
    }
    let start = &bytes[..bytes.len().min(HEADER_BYTES)];
    if memchr::memmem::find(start, b"%PDF-").is_some() {
        return Ok(());
    }
    Err(Refusal::new(RefusalCode::FormatMismatch, "the file is no PDF: it does not begin as one"))
}

fn find(bytes: &[u8], bounds: &Bounds) -> Result<Found, Refusal> {
    let pdf = Pdf::new(bytes.to_vec()).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            corrupt("the file is encrypted with a password: save it without one")
        }
        LoadPdfError::Decryption(_) => corrupt("the file is encrypted in a way that is not read: save it without"),
        LoadPdfError::Invalid => corrupt("the file is damaged: it has no pages that can be found"),
    })?;
    let pages = pdf.pages();
    if pages.is_empty() {
        return Err(corrupt("the file is damaged: it has no pages that can be found"));
    }
    if pages.len() > PAGES_MAX {
        let message = format!("the file has more than {PAGES_MAX} pages");
        return Err(Refusal::new(RefusalCode::ResourceLimit, message));
    }
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let fonts = fonts::Fonts::new(catalog.as_ref());
    let mut found = Found { outline: outline::entries(catalog.as_ref()), ..Found::default() };
    let mut regions = 0;
    for page in pages.iter() {
        bounds.check_time()?;
        found.pages += 1;
        let drawn = content::draw(page, &fonts, bounds)?;
        found.cut_pages += usize::from(drawn.cut);
        found.text_bytes += drawn.text.len();
        bounds.check_text(found.text_bytes)?;
        if is_picture(&drawn) {
            found.pictures_only.push(found.pages);
        } else {
            found.pieces.extend(layout::pieces(&drawn, found.pages, &mut regions));
        }
    }
    Ok(found)
}

/// Whether a page has no words to read but may show some.
fn is_picture(drawn: &Drawn) -> bool {
    if drawn.unnamed > drawn.glyphs.len() {
        return true;
    }
    let area: f32 =
        drawn.pictures.iter().map(|picture| (picture.0[2] - picture.0[0]) * (picture.0[3] - picture.0[1])).sum();
    drawn.text.trim().is_empty() && area > drawn.width * drawn.height * 0.02
}

fn finish(mut found: Found, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let mut coverage = Coverage::complete(CoverageUnit::Pages, u64::from(found.pages));
    let mut warnings = Vec::new();
    recognize(&mut found, context, &mut coverage, &mut warnings)?;
    if found.cut_pages > 0 {
        coverage.lose(lost::TEXT);
        warnings.push(format!("{} pages hold more than is read of one page", found.cut_pages));
    }
    if found.pieces.is_empty() && coverage.is_complete() {
        return Err(Refusal::new(RefusalCode::NoText, "the file holds no text"));
    }
    let mut artifact = Artifact {
        parser: Parser { name: "loom-pdf".into(), version: env!("CARGO_PKG_VERSION").into() },
        coverage,
        warnings,
        ..Artifact::default()
    };
    blocks(found, &context.bounds, &mut artifact)?;
    Ok(artifact)
}

/// Reads the pages that are pictures.
fn recognize(
    found: &mut Found,
    context: &Context<'_>,
    coverage: &mut Coverage,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal> {
    let (mut unread, mut failed, mut unsure) = (0_u64, 0_u64, Vec::new());
    for page in std::mem::take(&mut found.pictures_only) {
        context.bounds.check_time()?;
        let text = match context.ocr.page(page) {
            Ok(text) => text,
            Err(failure) => {
                unread += u64::from(failure == OcrFailure::Unavailable);
                failed += u64::from(failure != OcrFailure::Unavailable);
                continue;
            }
        };
        if !text.paragraphs.is_empty() && text.confidence < CONFIDENCE_MIN {
            unsure.push(page);
        }
        let at = found.pieces.partition_point(|piece| piece_page(piece) < page);
        let pieces = text.paragraphs.into_iter().map(|paragraph| {
            found.text_bytes += paragraph.text.len();
            Piece::Read { text: paragraph.text, page, bbox: paragraph.bbox }
        });
        let pieces: Vec<Piece> = pieces.collect();
        found.pieces.splice(at..at, pieces);
    }
    context.bounds.check_text(found.text_bytes)?;
    if unread + failed > 0 {
        coverage.failed = unread + failed;
        coverage.extracted = coverage.total - coverage.failed;
        coverage.lose(lost::OCR_TEXT);
    }
    if unread > 0 {
        warnings.push(format!("{unread} pages are pictures, and no OCR program is installed to read them"));
    }
    if failed > 0 {
        warnings.push(format!("OCR failed on {failed} pages that are pictures"));
    }
    if let Some(first) = unsure.first() {
        let count = unsure.len();
        warnings.push(format!(
            "the words of {count} pages, the first of them {first}, were read off pictures with little confidence"
        ));
    }
    Ok(())
}

fn piece_page(piece: &Piece) -> u32 {
    match piece {
        Piece::Line(line) => line.page,
        Piece::Table { page, .. } | Piece::Read { page, .. } => *page,
    }
}

fn blocks(found: Found, bounds: &Bounds, artifact: &mut Artifact) -> Result<(), Refusal> {
    let Found { mut pieces, outline, pages, .. } = found;
    drop_furniture(&mut pieces, pages);
    let lines = || {
        pieces.iter().filter_map(|piece| match piece {
            Piece::Line(line) => Some(line),
            Piece::Table { .. } | Piece::Read { .. } => None,
        })
    };
    let vocabulary = lines::vocabulary(lines());
    let count = |of: fn(&Line) -> bool| lines().filter(|line| of(line)).map(|line| line.text.len()).sum::<usize>();
    let mono_is_code = count(|line| line.look.mono) * 2 < count(|_| true);
    let passages = paragraphs::passages(pieces, &vocabulary, mono_is_code);
    let levels = headings::levels(&passages, &outline);
    let mut cells = 0;
    for (at, passage) in passages.into_iter().enumerate() {
        bounds.check_time()?;
        match passage {
            Passage::Text(text) => {
                let bbox = (text.pages.0 == text.pages.1).then_some(text.bbox);
                let locator = Locator::Pages { start: text.pages.0.into(), end: text.pages.1.into(), bbox };
                artifact.blocks.push(block(text, levels.get(&at).copied(), locator));
            }
            Passage::Table { draft, page, bbox } => {
                cells += draft.rows.iter().map(Vec::len).sum::<usize>();
                if cells > bounds.cells {
                    artifact.coverage.lose(lost::TABLES);
                    continue;
                }
                let table = u32::try_from(artifact.tables.len()).ok();
                artifact.tables.push(draft.table());
                let locator = Some(Locator::Pages { start: page.into(), end: page.into(), bbox: Some(bbox) });
                artifact.blocks.push(Block { kind: BlockKind::Table, table, locator, ..Block::default() });
            }
        }
    }
    Ok(())
}

fn block(text: paragraphs::Text, heading: Option<u8>, locator: Locator) -> Block {
    let (kind, level) = match (heading, text.kind) {
        (Some(level), _) => (BlockKind::Heading, level),
        (None, TextKind::Code) => (BlockKind::Code, 0),
        (None, TextKind::Item) => (BlockKind::ListItem, 1),
        (None, TextKind::Paragraph) if is_caption(&text.words) => (BlockKind::Caption, 0),
        (None, TextKind::Paragraph) => (BlockKind::Paragraph, 0),
    };
    let mut words = text.words;
    if let (BlockKind::ListItem, Some(lists::Marker::Bullet(length))) = (kind, lists::marker(&words)) {
        words.drain(..length);
    }
    Block { kind, level, text: words, locator: Some(locator), ..Block::default() }
}

/// `Figure 3:`, `Table 2.`, and the like at the start of a short paragraph.
fn is_caption(text: &str) -> bool {
    const WORDS: [&str; 8] = ["Figure", "Fig.", "Table", "Listing", "Abbildung", "Abb.", "Tabelle", "Tableau"];
    let numbered = |rest: &str| {
        let rest = rest.trim_start();
        let digits =
            rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, '.' | '-')).len();
        let after = rest[digits..].chars().next();
        digits > 0 && (rest[..digits].ends_with('.') || matches!(after, Some(':' | '|' | '—' | '–')))
    };
    text.len() < 600 && WORDS.iter().any(|word| text.strip_prefix(word).is_some_and(numbered))
}

fn drop_furniture(pieces: &mut Vec<Piece>, pages: u32) {
    let lines: Vec<(usize, &Line)> = pieces
        .iter()
        .enumerate()
        .filter_map(|(at, piece)| match piece {
            Piece::Line(line) => Some((at, line)),
            Piece::Table { .. } | Piece::Read { .. } => None,
        })
        .collect();
    let only: Vec<&Line> = lines.iter().map(|(_, line)| *line).collect();
    let dropped: std::collections::HashSet<usize> =
        furniture::repeated(&only, pages).into_iter().map(|at| lines[at].0).collect();
    let mut at = 0;
    pieces.retain(|_| {
        at += 1;
        !dropped.contains(&(at - 1))
    });
}
