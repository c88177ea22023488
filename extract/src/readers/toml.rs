//! TOML: its tables and keys.

use std::ops::Range;

use toml_edit::{Array, Document, InlineTable, Item, Table, Value};

use super::decode::{Decoded, Guess, decode};
use super::keyed::{self, Tree, segment};
use super::spans::lines;
use super::{Context, no_text, parser};
use crate::contract::{
    Artifact, Block, BlockKind, Coverage, CoverageUnit, Locator, Refusal, RefusalCode, Request, Span, lost,
};

/// Reads TOML. What is no valid TOML is refused: a program that reads the file would refuse it too, and its keys would be guesses.
///
/// # Errors
/// Those of decoding, [`RefusalCode::Corrupt`] with the line, and [`RefusalCode::NoText`] for a file without a key.
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, .. } = decode(bytes, &request.options, None, Guess::Never)?;
    context.bounds.check_text(text.len())?;
    let document = Document::parse(&*text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1;
        let reason = error.message().lines().next().unwrap_or("it cannot be read").to_owned();
        Refusal::new(RefusalCode::Corrupt, format!("the file is no valid TOML: line {line}: {reason}"))
    })?;
    let mut found = Found { text: &text, headings: Vec::new(), keys: Vec::new() };
    found.table(document.as_table(), "");
    let tree = found.into_tree(text.len());
    let blocks = parted(&text, keyed::blocks(&text, &tree, BlockKind::TomlKey, Some('#')));
    if blocks.is_empty() {
        return Err(no_text());
    }
    let mut coverage = Coverage::complete(CoverageUnit::Lines, lines(&text));
    if tree.is_cut() {
        coverage.lose(lost::EXACT_KEYS);
    }
    Ok(Artifact { parser: parser("loom-toml"), coverage, blocks, text: Some(text.into_owned()), ..Artifact::default() })
}

/// Parts the headings of tables from the keys below them.
fn parted(text: &str, blocks: Vec<Block>) -> Vec<Block> {
    let mut parted = Vec::with_capacity(blocks.len());
    let (mut chars, mut rest) = (0, text);
    for block in blocks {
        let Some(span) = block.span else { continue };
        rest = after(rest, span.start - chars);
        let tail = after(rest, span.end - span.start);
        let body = &rest[..rest.len() - tail.len()];
        (chars, rest) = (span.end, tail);
        let Some(heading) = heading_end(body) else {
            parted.push(block);
            continue;
        };
        let below = body[heading..].trim_start();
        if below.is_empty() {
            parted.push(Block { kind: BlockKind::TomlTable, ..block });
            continue;
        }
        let (heading, gap) = (body[..heading].trim_end(), &body[..body.len() - below.len()]);
        let ends = |part: &str| part.matches('\n').count() as u64;
        let count = |part: &str| part.chars().count() as u64;
        let (of_heading, of_keys) = match block.locator {
            Some(Locator::Key { path, line_start, line_end }) => {
                let own = block.keys.first().unwrap_or(&path).clone();
                let last = line_start + ends(heading);
                let heading = Locator::Key { path: own, line_start, line_end: last };
                (Some(heading), Some(Locator::Key { path, line_start: line_start + ends(gap), line_end }))
            }
            other => (other.clone(), other),
        };
        parted.push(Block {
            kind: BlockKind::TomlTable,
            span: Some(Span { start: span.start, end: span.start + count(heading) }),
            locator: of_heading,
            keys: block.keys.first().cloned().into_iter().collect(),
            ..Block::default()
        });
        let span = Some(Span { start: span.start + count(gap), end: span.end });
        let keys = block.keys.get(1..).unwrap_or_default().to_vec();
        parted.push(Block { span, locator: of_keys, keys, ..block });
    }
    parted
}

/// What follows the first `chars` characters.
fn after(text: &str, chars: u64) -> &str {
    let chars = usize::try_from(chars).unwrap_or(usize::MAX);
    text.char_indices().nth(chars).map_or("", |(at, _)| &text[at..])
}

/// Where the line of a table's heading ends, when comments alone are above it.
fn heading_end(body: &str) -> Option<usize> {
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        end += line.len();
        match line.trim_start().chars().next() {
            None | Some('#') => {}
            Some('[') => return Some(end),
            Some(_) => return None,
        }
    }
    None
}

/// Headings of tables and keys, in the order of the data rather than of the text.
struct Found<'a> {
    text: &'a str,
    headings: Vec<(usize, String)>,
    /// A key's path in the table that it is written in, its bytes, and its value.
    keys: Vec<(String, Range<usize>, Option<&'a Value>)>,
}

impl<'a> Found<'a> {
    /// Notes a table with a heading, or the root.
    fn table(&mut self, table: &'a Table, path: &str) {
        self.entries(table, path, "", 0);
    }

    /// Notes what is in a table: `own` is the dotted path below the heading that its keys stand under.
    fn entries(&mut self, table: &'a Table, path: &str, own: &str, start: usize) {
        for (name, item) in table {
            let key = segment(name);
            // Made for tables alone: a table's path may be as long as the file, and it may have as many keys.
            let full = || joined(path, &key);
            let below = joined(own, &key);
            let key_start =
                table.key(name).and_then(toml_edit::Key::span).map_or(start, |span| self.line_start(span.start));
            match item {
                Item::Value(value) => {
                    let end = value.span().map_or(key_start, |span| span.end);
                    self.keys.push((below, key_start..end.max(key_start), Some(value)));
                }
                Item::Table(inner) if inner.is_dotted() => self.entries(inner, &full(), &below, key_start),
                Item::Table(inner) => {
                    let full = full();
                    if let Some(span) = inner.span().filter(|_| !inner.is_implicit()) {
                        self.headings.push((span.start, full.clone()));
                    }
                    self.table(inner, &full);
                }
                Item::ArrayOfTables(tables) => {
                    for (number, inner) in tables.iter().enumerate() {
                        let full = format!("{}[{number}]", full());
                        if let Some(span) = inner.span() {
                            self.headings.push((span.start, full.clone()));
                        }
                        self.table(inner, &full);
                    }
                }
                Item::None => {}
            }
        }
    }

    /// Where the words of a line start: a dotted key knows only where its last part is.
    fn line_start(&self, at: usize) -> usize {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let indent = self.text[line..at].len() - self.text[line..at].trim_start().len();
        line + indent
    }

    /// The tables in the order of the text, each with its keys.
    fn into_tree(mut self, end: usize) -> Tree {
        self.headings.sort();
        self.keys.sort_by_key(|key| key.1.start);
        let mut tree = Tree::default();
        let mut keys = self.keys.into_iter().peekable();
        let first = self.headings.first().map_or(end, |heading| heading.0);
        while let Some((name, range, value)) = keys.next_if(|key| key.1.start < first) {
            leaf(&mut tree, &name, range, value);
        }
        for (at, (start, path)) in self.headings.iter().enumerate() {
            let next = self.headings.get(at + 1).map_or(end, |heading| heading.0);
            let mut table_end = *start;
            tree.open(path.as_str(), *start);
            while let Some((name, range, value)) = keys.next_if(|key| key.1.start < next) {
                table_end = range.end;
                leaf(&mut tree, &name, range, value);
            }
            tree.close(table_end);
        }
        tree
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Notes a key with what its value holds. The parser bounds the nesting.
fn leaf(tree: &mut Tree, name: &str, range: Range<usize>, value: Option<&Value>) {
    tree.open(name, range.start);
    match value {
        Some(Value::Array(array)) => items(tree, array),
        Some(Value::InlineTable(table)) => inline(tree, table, ""),
        Some(Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_))
        | None => {}
    }
    tree.close(range.end);
}

/// Notes the tables and arrays in an array: plain values in it have no keys.
fn items(tree: &mut Tree, array: &Array) {
    for (number, value) in array.iter().enumerate() {
        if (value.is_inline_table() || value.is_array())
            && let Some(range) = value.span()
        {
            leaf(tree, &format!("[{number}]"), range, Some(value));
        }
    }
}

fn inline(tree: &mut Tree, table: &InlineTable, own: &str) {
    for (name, value) in table {
        let below = joined(own, &segment(name));
        let start = table.key(name).and_then(toml_edit::Key::span).map(|span| span.start);
        match value {
            Value::InlineTable(inner) if inner.is_dotted() => inline(tree, inner, &below),
            Value::InlineTable(_)
            | Value::Array(_)
            | Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_) => {
                if let (Some(start), Some(span)) = (start, value.span()) {
                    leaf(tree, &below, start..span.end.max(start), Some(value));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
