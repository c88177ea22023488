//! SQL: its statements, and the names that each creates, reads or writes.
//!
//! No grammar of a dialect is followed. Statements are told apart by their quotes, blocks and batch marks, and names by the
//! keywords around them, so that a statement of a dialect nobody has heard of is read as well as any other.

use super::decode::{Decoded, Guess, decode};
use super::spans::{Places, lines, trimmed};
use super::{Context, no_text, parser};
use crate::contract::{Artifact, Block, BlockKind, Coverage, CoverageUnit, Refusal, Request, lost};

mod dialect;
mod lex;
mod names;
mod split;
mod words;

use dialect::Dialect;

/// Reads SQL: a block for each statement, the comments before it included, with the names in it.
///
/// # Errors
/// Those of decoding, [`crate::contract::RefusalCode::InvalidOption`] for an unknown dialect, and
/// [`crate::contract::RefusalCode::NoText`].
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, warning } = decode(bytes, &request.options, None, Guess::Allowed)?;
    context.bounds.check_text(text.len())?;
    let dialect = Dialect::named(&request.options.sql_dialect, &text)?;
    let (statements, is_closed) = split::split(&text, dialect);
    context.bounds.check_time()?;
    let mut coverage = Coverage::complete(CoverageUnit::Lines, lines(&text));
    let mut warnings: Vec<String> = warning.into_iter().collect();
    if !is_closed {
        coverage.lose(lost::SQL_STRUCTURE);
        warnings.push("a quote or a comment is never closed: what follows it was read as one statement".into());
    }
    let mut places = Places::new(&text);
    let mut blocks = Vec::with_capacity(statements.len());
    let mut is_cut = false;
    for statement in statements {
        context.bounds.check_time()?;
        let Some(range) = trimmed(&text, statement.range) else { continue };
        let names = names::of(&text, &statement.pieces, dialect);
        is_cut |= names.is_cut;
        let kind = if statement.pieces.is_empty() { BlockKind::Paragraph } else { BlockKind::SqlStatement };
        blocks.push(Block { kind, span: Some(places.span(range)), keys: names.names, ..Block::default() });
    }
    if blocks.is_empty() {
        return Err(no_text());
    }
    if is_cut {
        coverage.lose(lost::EXACT_KEYS);
        warnings.push(format!("statements name more than {} things; the rest were left out", names::NAMES_MAX));
    }
    Ok(Artifact {
        parser: parser("loom-sql"),
        coverage,
        blocks,
        warnings,
        text: Some(text.into_owned()),
        ..Artifact::default()
    })
}

#[cfg(test)]
mod tests;
