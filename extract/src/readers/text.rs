//! Plain text: its paragraphs.

use super::decode::{Decoded, Guess, decode};
use super::spans::{Places, lines, trimmed};
use super::{Context, no_text, parser};
use crate::contract::{Artifact, Block, Coverage, CoverageUnit, Refusal, Request};

/// Reads plain text. What is not a blank line is a paragraph's; the text itself stays as it is.
///
/// # Errors
/// Those of decoding, and [`crate::contract::RefusalCode::NoText`] where nothing but blanks is left.
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, warning } = decode(bytes, &request.options, None, Guess::Allowed)?;
    context.bounds.check_text(text.len())?;
    let mut places = Places::new(&text);
    let blocks: Vec<Block> =
        paragraphs(&text).map(|range| Block { span: Some(places.span(range)), ..Block::default() }).collect();
    if blocks.is_empty() {
        return Err(no_text());
    }
    Ok(Artifact {
        parser: parser("loom-text"),
        coverage: Coverage::complete(CoverageUnit::Lines, lines(&text)),
        blocks,
        warnings: warning.into_iter().collect(),
        text: Some(text.into_owned()),
        ..Artifact::default()
    })
}

/// The ranges of bytes between blank lines, without blanks at their ends.
pub fn paragraphs(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut start = 0;
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |length| at + length + 1);
            let is_blank = text[at..end].trim().is_empty();
            at = end;
            if is_blank {
                let paragraph = trimmed(text, start..end);
                start = end;
                if paragraph.is_some() {
                    return paragraph;
                }
            }
        }
        let last = trimmed(text, start..at);
        start = at;
        last
    })
}

#[cfg(test)]
mod tests;
