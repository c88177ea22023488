//! Writing a document's text from blocks that bring their own.

use loom_extract::contract::{Block, BlockKind, Cell, Locator, Table};

use super::{Laid, LaidRows};

/// A text and where its blocks stand in it.
pub(super) struct Written<'a> {
    pub text: String,
    pub blocks: Vec<Laid<'a>>,
}

/// The most backticks in a row that a fence is made longer than.
const FENCE_MAX: usize = 64;

/// Writes blocks as Markdown, a blank line between them; the items of a list follow each other.
pub(super) fn write<'a>(blocks: &'a [Block], tables: &'a [Table]) -> Written<'a> {
    let mut text = String::new();
    let mut laid: Vec<Laid<'a>> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let table = block.table.and_then(|at| tables.get(usize::try_from(at).ok()?));
        if table.is_none() && block.text.trim().is_empty() {
            continue;
        }
        if let Some(last) = laid.last() {
            let is_list = last.block.kind == BlockKind::ListItem && block.kind == BlockKind::ListItem;
            text.push_str(if is_list { "\n" } else { "\n\n" });
        }
        let start = text.len();
        let rows = table.map(|table| write_table(&mut text, block, table));
        if rows.is_none() {
            write_block(&mut text, block);
        }
        laid.push(Laid { start, end: text.len(), block, rows });
    }
    if !text.is_empty() {
        text.push('\n');
    }
    Written { text, blocks: laid }
}

fn write_block(text: &mut String, block: &Block) {
    match block.kind {
        BlockKind::Heading => {
            text.extend(std::iter::repeat_n('#', usize::from(block.level.clamp(1, 6))));
            text.push(' ');
            push_line(text, &block.text);
        }
        BlockKind::ListItem => {
            text.extend(std::iter::repeat_n("  ", usize::from(block.level.saturating_sub(1))));
            if !has_marker(&block.text) {
                text.push_str("- ");
            }
            text.push_str(block.text.trim());
        }
        BlockKind::Quote => {
            for (at, line) in block.text.trim().lines().enumerate() {
                text.push_str(if at == 0 { "> " } else { "\n> " });
                text.push_str(line);
            }
        }
        BlockKind::Code | BlockKind::SqlStatement => write_fenced(text, block),
        BlockKind::Paragraph
        | BlockKind::Table
        | BlockKind::TomlKey
        | BlockKind::TomlTable
        | BlockKind::Caption
        | BlockKind::Note
        | BlockKind::Margin
        | BlockKind::Image
        | BlockKind::Field => text.push_str(block.text.trim()),
    }
}

fn write_fenced(text: &mut String, block: &Block) {
    let runs = block.text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(runs.clamp(2, FENCE_MAX) + 1);
    text.push_str(&fence);
    text.extend(block.language.chars().filter(|c| c.is_alphanumeric() || matches!(c, '+' | '-' | '#' | '_')));
    text.push('\n');
    text.push_str(block.text.trim_matches(['\n', '\r']));
    text.push('\n');
    text.push_str(&fence);
}

/// Whether a list item's text brings its own number or letter: `1.`, `2)`, `iv.`, `(a)`.
fn has_marker(item: &str) -> bool {
    let Some(first) = item.split_whitespace().next() else { return false };
    let inner = first.strip_prefix('(').unwrap_or(first);
    let Some(number) = inner.strip_suffix(['.', ')']) else { return matches!(first, "-" | "*" | "+" | "•") };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_roman = (1..=6).contains(&number.len()) && number.bytes().all(|byte| b"ivxlcIVXLC".contains(&byte));
    is_letter || is_roman || number.split('.').all(is_number)
}

fn write_table<'a>(text: &mut String, block: &'a Block, table: &'a Table) -> LaidRows<'a> {
    text.push('|');
    for column in &table.columns {
        push_cell(text, &column.name);
    }
    text.push_str("\n|");
    for _ in &table.columns {
        text.push_str(" --- |");
    }
    let mut ends = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        text.push_str("\n|");
        row.1.iter().map(Cell::shown).for_each(|cell| push_cell(text, cell));
        ends.push((text.len(), row.0));
    }
    let sheet = match &block.locator {
        Some(Locator::Rows { sheet, .. }) => Some(sheet.as_str()),
        Some(_) => None,
        None => table.numbered.then_some(table.name.as_str()),
    };
    LaidRows { sheet, ends }
}

fn push_cell(text: &mut String, cell: &str) {
    text.push(' ');
    let start = text.len();
    push_line(text, cell);
    if text[start..].contains('|') {
        let escaped = text[start..].replace('|', "\\|");
        text.truncate(start);
        text.push_str(&escaped);
    }
    text.push_str(" |");
}

/// Adds words on one line: what ends a line becomes a space.
fn push_line(text: &mut String, words: &str) {
    for (at, line) in words.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(line);
    }
}
