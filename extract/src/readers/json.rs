//! JSON: its values with the paths to them.

use super::decode::{Decoded, Guess, decode};
use super::json_scan::{Fault, Piece, Scanner, unquoted};
use super::keyed::{self, Tree, segment};
use super::spans::lines;
use super::{Bounds, Context, no_text, parser};
use crate::contract::{Artifact, BlockKind, Coverage, CoverageUnit, Refusal, RefusalCode, Request, lost};

/// How many pieces are read between two looks at the clock.
const PIECES_PER_LOOK: usize = 100_000;

/// Reads JSON.
///
/// # Errors
/// Those of decoding, [`RefusalCode::Corrupt`] with the line, and [`RefusalCode::NoText`] for an empty file.
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, .. } = decode(bytes, &request.options, None, Guess::Never)?;
    context.bounds.check_text(text.len())?;
    if text.trim().is_empty() {
        return Err(no_text());
    }
    let mut tree = Tree::default();
    add(&mut tree, &text, &context.bounds)?;
    let mut coverage = Coverage::complete(CoverageUnit::Lines, lines(&text));
    if tree.is_cut() {
        coverage.lose(lost::EXACT_KEYS);
    }
    let blocks = keyed::blocks(&text, &tree, BlockKind::Field, None);
    Ok(Artifact { parser: parser("loom-json"), coverage, blocks, text: Some(text.into_owned()), ..Artifact::default() })
}

/// The refusal of a text that is no JSON at `line`.
pub fn corrupt(line: usize, fault: &Fault) -> Refusal {
    Refusal::new(RefusalCode::Corrupt, format!("the file is no valid JSON: line {line}: {}", fault.problem))
}

/// Notes every value of a text. Plain values in arrays are noted with their array alone: they have no names.
fn add(tree: &mut Tree, text: &str, bounds: &Bounds) -> Result<(), Refusal> {
    let mut scanner = Scanner::new(text);
    let mut name: Option<(Box<str>, usize)> = None;
    // For each open bracket, the number of the next item of an array.
    let mut items: Vec<Option<usize>> = Vec::new();
    let mut count = 0_usize;
    loop {
        count += 1;
        if count.is_multiple_of(PIECES_PER_LOOK) {
            bounds.check_time()?;
        }
        let piece = scanner.next_piece().map_err(|fault| {
            let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..fault.at]).count() + 1;
            corrupt(line, &fault)
        })?;
        let mut number = || match items.last_mut() {
            Some(Some(next)) => {
                *next += 1;
                Some(*next - 1)
            }
            Some(None) | None => None,
        };
        match piece {
            None => return Ok(()),
            Some(Piece::Key(range)) => name = Some((segment(&unquoted(&text[range.clone()])), range.start)),
            Some(Piece::Open { at, is_object }) => {
                let index = number();
                let (name, start) =
                    name.take().unwrap_or_else(|| (index.map_or_else(Box::default, |at| format!("[{at}]").into()), at));
                tree.open(name, start);
                items.push((!is_object).then_some(0));
            }
            Some(Piece::Close { at }) => {
                items.pop();
                tree.close(at);
            }
            Some(Piece::Scalar(range)) => {
                let index = number();
                if let Some((name, start)) = name.take() {
                    tree.open(name, start);
                    tree.close(range.end);
                } else if index.is_some_and(|at| at.is_multiple_of(ITEMS_TOLD)) {
                    // Some places to cut a long array at.
                    tree.open(format!("[{}]", index.unwrap_or_default()), range.start);
                    tree.close(range.end);
                } else if items.is_empty() {
                    tree.open("", range.start);
                    tree.close(range.end);
                }
            }
        }
    }
}

/// Of so many plain values in an array one is told.
const ITEMS_TOLD: usize = 16;

#[cfg(test)]
mod tests;
