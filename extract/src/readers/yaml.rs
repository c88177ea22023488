//! YAML: its values with the paths to them. Aliases stay names: nothing is expanded.

use saphyr_parser::{Event, Parser};

use super::decode::{Decoded, Guess, decode};
use super::keyed::{self, Tree, segment};
use super::spans::lines;
use super::{Bounds, Context, no_text, parser};
use crate::contract::{Artifact, BlockKind, Coverage, CoverageUnit, Refusal, RefusalCode, Request, lost};

/// How many events are read between two looks at the clock.
const EVENTS_PER_LOOK: usize = 10_000;

/// Reads YAML, of one document or more.
///
/// # Errors
/// Those of decoding, [`RefusalCode::Corrupt`] with the line, and [`RefusalCode::NoText`] for a file without a value.
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, .. } = decode(bytes, &request.options, None, Guess::Never)?;
    context.bounds.check_text(text.len())?;
    let tree = tree(&text, &context.bounds)?;
    let blocks = keyed::blocks(&text, &tree, BlockKind::Field, Some('#'));
    if blocks.is_empty() {
        return Err(no_text());
    }
    let mut coverage = Coverage::complete(CoverageUnit::Lines, lines(&text));
    if tree.is_cut() {
        coverage.lose(lost::EXACT_KEYS);
    }
    Ok(Artifact { parser: parser("loom-yaml"), coverage, blocks, text: Some(text.into_owned()), ..Artifact::default() })
}

/// What an open collection waits for.
enum Open {
    Key,
    /// The value of a key, and where the key starts.
    Value(Box<str>, usize),
    Item(usize),
}

fn tree(text: &str, bounds: &Bounds) -> Result<Tree, Refusal> {
    let mut tree = Tree::default();
    let mut open: Vec<Open> = Vec::new();
    let mut bytes = Bytes { text, at: 0, chars: 0 };
    let mut end = 0;
    for (count, event) in Parser::new_from_str(text).enumerate() {
        if count.is_multiple_of(EVENTS_PER_LOOK) {
            bounds.check_time()?;
        }
        let (event, span) = event.map_err(|error| {
            let message = format!("the file is no valid YAML: line {}: {}", error.marker().line(), error.info());
            Refusal::new(RefusalCode::Corrupt, message)
        })?;
        let start = bytes.at(span.start.index());
        match event {
            Event::Scalar(ref value, ..) => {
                end = bytes.at(span.end.index()).max(end);
                if let Some(Open::Key) = open.last() {
                    replace(&mut open, Open::Value(segment(value), start));
                } else {
                    let (name, start) = named(&mut open, start);
                    tree.open(name, start);
                    tree.close(end);
                }
            }
            Event::Alias(_) => {
                end = bytes.at(span.end.index()).max(end);
                if let Some(Open::Key) = open.last() {
                    replace(&mut open, Open::Value("*".into(), start));
                } else {
                    let (name, start) = named(&mut open, start);
                    tree.open(name, start);
                    tree.close(end);
                }
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_mapping = matches!(event, Event::MappingStart(..));
                if let Some(Open::Key) = open.last() {
                    replace(&mut open, Open::Value("?".into(), start));
                    // A collection as a key has a place of its own, which has no name.
                    tree.open("?", start);
                } else {
                    let (name, start) = named(&mut open, start);
                    tree.open(name, start);
                }
                open.push(if is_mapping { Open::Key } else { Open::Item(0) });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                tree.close(end);
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {}
        }
    }
    Ok(tree)
}

fn replace(open: &mut [Open], with: Open) {
    if let Some(last) = open.last_mut() {
        *last = with;
    }
}

/// The name of the value that comes, and where it starts with its key.
fn named(open: &mut [Open], start: usize) -> (Box<str>, usize) {
    match open.last_mut() {
        Some(last @ Open::Value(..)) => match std::mem::replace(last, Open::Key) {
            Open::Value(name, start) => (name, start),
            Open::Key | Open::Item(_) => (Box::default(), start),
        },
        Some(Open::Item(next)) => {
            *next += 1;
            (format!("[{}]", *next - 1).into(), start)
        }
        Some(Open::Key) | None => (Box::default(), start),
    }
}

/// From places in characters to places in bytes, both nearly ascending.
struct Bytes<'a> {
    text: &'a str,
    at: usize,
    chars: usize,
}

impl Bytes<'_> {
    fn at(&mut self, chars: usize) -> usize {
        while self.chars < chars {
            let Some(c) = self.text[self.at..].chars().next() else { break };
            self.at += c.len_utf8();
            self.chars += 1;
        }
        while self.chars > chars {
            self.at = self.text.floor_char_boundary(self.at - 1);
            self.chars -= 1;
        }
        self.at
    }
}

#[cfg(test)]
mod tests;
