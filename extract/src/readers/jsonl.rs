//! JSON lines: a table where each is a flat object, values with their paths otherwise.

use std::collections::HashMap;

use super::decode::{Decoded, Guess, decode};
use super::delimited::block;
use super::json::corrupt;
use super::json_scan::{Piece, Scanner, unquoted};
use super::keyed::{self, Tree, segment};
use super::{Bounds, Context, no_text, parser};
use crate::contract::{
    Artifact, BlockKind, Cell, Column, Coverage, CoverageUnit, Refusal, Request, Row, Table, Value, lost,
};

/// The most names that the objects of a table have together.
const COLUMNS_MAX: usize = 1000;

/// Reads JSON lines. Blank lines are no records.
///
/// # Errors
/// Those of decoding, [`crate::contract::RefusalCode::Corrupt`] with the line, and
/// [`crate::contract::RefusalCode::NoText`].
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, .. } = decode(bytes, &request.options, None, Guess::Never)?;
    context.bounds.check_text(text.len())?;
    let records: Vec<Record<'_>> = records(&text).collect();
    if records.is_empty() {
        return Err(no_text());
    }
    let mut coverage = Coverage::complete(CoverageUnit::Rows, records.len() as u64);
    let parser = parser("loom-jsonl");
    if let Some(table) = table(&records, &context.bounds)? {
        let kept = table.rows.len() as u64;
        let mut warnings = Vec::new();
        if kept < coverage.total {
            coverage = Coverage { extracted: kept, failed: coverage.total - kept, ..coverage };
            coverage.lose(lost::TABLES);
            warnings.push(format!("the table was cut after {kept} of {} records", coverage.total));
        }
        let blocks = vec![block(&table)];
        return Ok(Artifact { parser, coverage, blocks, tables: vec![table], warnings, ..Artifact::default() });
    }
    let mut tree = Tree::default();
    for (number, record) in records.iter().enumerate() {
        tree.open(format!("[{number}]"), record.start);
        names(&mut tree, record)?;
        tree.close(record.start + record.text.len());
        context.bounds.check_time()?;
    }
    if tree.is_cut() {
        coverage.lose(lost::EXACT_KEYS);
    }
    let blocks = keyed::blocks(&text, &tree, BlockKind::Field, None);
    Ok(Artifact { parser, coverage, blocks, text: Some(text.into_owned()), ..Artifact::default() })
}

struct Record<'a> {
    line: usize,
    start: usize,
    text: &'a str,
}

fn records(text: &str) -> impl Iterator<Item = Record<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').enumerate().filter_map(move |(at, line)| {
        let record = Record { line: at + 1, start, text: line.trim_end() };
        start += line.len();
        (!record.text.trim().is_empty()).then_some(record)
    })
}

/// Notes the names of a record's own values.
fn names(tree: &mut Tree, record: &Record<'_>) -> Result<(), Refusal> {
    let mut scanner = Scanner::new(record.text);
    let mut depth = 0_usize;
    let mut name: Option<(Box<str>, usize)> = None;
    while let Some(piece) = scanner.next_piece().map_err(|fault| corrupt(record.line, &fault))? {
        let end = match piece {
            Piece::Key(range) => {
                if depth == 1 {
                    name = Some((segment(&unquoted(&record.text[range.clone()])), range.start));
                }
                continue;
            }
            Piece::Open { .. } => {
                depth += 1;
                continue;
            }
            Piece::Close { at } => {
                depth = depth.saturating_sub(1);
                at
            }
            Piece::Scalar(range) => range.end,
        };
        if depth == 1
            && let Some((name, start)) = name.take()
        {
            tree.open(name, record.start + start);
            tree.close(record.start + end);
        }
    }
    Ok(())
}

/// The table that the records are; `None` where one is no object, holds others, or their names are too many.
fn table(records: &[Record<'_>], bounds: &Bounds) -> Result<Option<Table>, Refusal> {
    let mut columns: HashMap<String, usize> = HashMap::new();
    let mut names: Vec<String> = Vec::new();
    let mut rows: Vec<(u64, Vec<(usize, Cell)>)> = Vec::new();
    for (number, record) in records.iter().enumerate() {
        bounds.check_time()?;
        let mut scanner = Scanner::new(record.text);
        let mut row: Vec<(usize, Cell)> = Vec::new();
        let (mut column, mut is_first) = (None, true);
        while let Some(piece) = scanner.next_piece().map_err(|fault| corrupt(record.line, &fault))? {
            match piece {
                Piece::Open { is_object: true, .. } if is_first => {}
                Piece::Open { .. } => return Ok(None),
                Piece::Scalar(_) if is_first => return Ok(None),
                Piece::Key(range) => {
                    let name = unquoted(&record.text[range]);
                    let count = columns.len();
                    let at = *columns.entry(name.clone()).or_insert(count);
                    if at == count {
                        names.push(name);
                    }
                    column = Some(at);
                }
                Piece::Scalar(range) => row.extend(column.take().map(|at| (at, cell(&record.text[range])))),
                Piece::Close { .. } => {}
            }
            is_first = false;
        }
        if names.len() > COLUMNS_MAX {
            return Ok(None);
        }
        let cells = names.len().saturating_mul(rows.len() + 1);
        if cells <= bounds.cells {
            rows.push((number as u64 + 1, row));
        }
    }
    // A row has a cell for every name, also for those that came later.
    let most = bounds.cells / names.len().max(1);
    let width = names.len();
    let rows = rows.into_iter().take(most).map(|(number, values)| {
        let mut cells = vec![Cell::Empty; width];
        for (at, value) in values {
            cells[at] = value;
        }
        Row(number, cells)
    });
    let mut table = Table {
        columns: names.into_iter().map(|name| Column { name, ..Column::default() }).collect(),
        rows: rows.collect(),
        total_rows: records.len() as u64,
        numbered: true,
        ..Table::default()
    };
    table.infer_types();
    Ok(Some(table))
}

/// A plain value as a cell: a string is text whatever it looks like.
fn cell(text: &str) -> Cell {
    match text {
        "null" => Cell::Empty,
        "true" | "false" => Cell::typed(Value::Bool(text == "true"), text),
        "NaN" | "Infinity" | "-Infinity" => Cell::typed(Value::Error(text.to_owned()), text),
        _ if text.starts_with('"') => Cell::Text(unquoted(text)),
        _ => number(text),
    }
}

/// A number with its digits, or text where it is none.
fn number(text: &str) -> Cell {
    let is_number = serde_json::from_str::<serde_json::Number>(text).is_ok() || {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'))
    };
    if is_number { Cell::typed(Value::Number(text.to_owned()), text) } else { Cell::Text(text.to_owned()) }
}

#[cfg(test)]
mod tests;
