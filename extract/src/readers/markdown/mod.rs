//! Markdown: what each part of the text is.

use std::ops::Range;

use super::decode::{Decoded, Guess, decode};
use super::spans::{Places, lines};
use super::{Context, no_text, parser};
use crate::contract::{Artifact, Block, BlockKind, Coverage, CoverageUnit, Refusal, Request};

mod blocks;
mod front_matter;

pub use blocks::parts;

/// Reads Markdown. The text stays as it is, and each of its lines that is not blank is some block's.
///
/// # Errors
/// Those of decoding, and [`crate::contract::RefusalCode::NoText`] where nothing but blanks is left.
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, warning } = decode(bytes, &request.options, None, Guess::Allowed)?;
    context.bounds.check_text(text.len())?;
    let mut places = Places::new(&text);
    let (front_matter, body) = front_matter::read(&text).unwrap_or_default();
    let mut blocks = Vec::new();
    if let Some(front_matter) = front_matter {
        blocks.push(Block {
            kind: BlockKind::Field,
            span: Some(places.span(front_matter.range)),
            keys: front_matter.keys,
            ..Block::default()
        });
    }
    for part in parts(&text[body..]) {
        let Range { start, end } = part.range;
        let span = Some(places.span(body + start..body + end));
        blocks.push(Block { kind: part.kind, level: part.level, language: part.language, span, ..Block::default() });
    }
    if blocks.is_empty() {
        return Err(no_text());
    }
    Ok(Artifact {
        parser: parser("loom-markdown"),
        coverage: Coverage::complete(CoverageUnit::Lines, lines(&text)),
        blocks,
        warnings: warning.into_iter().collect(),
        text: Some(text.into_owned()),
        ..Artifact::default()
    })
}

#[cfg(test)]
mod tests;
