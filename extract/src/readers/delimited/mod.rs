//! CSV and TSV: a typed table of records.

use super::cells::type_cells;
use super::decode::{Decoded, Guess, decode};
use super::{Bounds, Context, no_text, parser};
use crate::contract::{
    Artifact, Block, BlockKind, Cell, Column, Coverage, CoverageUnit, Locator, Refusal, Request, Row, Table, lost,
};

mod records;
mod sniff;

use records::Records;
use sniff::{Dialect, has_header, sniff};

/// The most columns of a table.
const COLUMNS_MAX: usize = 16_384;
/// The most records before the header that are taken for a title.
const TITLES_MAX: usize = 5;
/// The longest name of a column that is a key too, in bytes.
const KEY_BYTES_MAX: usize = 200;
/// The most names of columns that are keys.
const KEYS_MAX: usize = 500;

/// Reads CSV, whose delimiter, quote and header are found out.
///
/// # Errors
/// Those of decoding, and [`crate::contract::RefusalCode::NoText`] where nothing but delimiters is left.
pub fn read_csv(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    read(bytes, request, context, None)
}

/// Reads TSV: as CSV, with tabs wherever there is one.
///
/// # Errors
/// As [`read_csv`].
pub fn read_tsv(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    read(bytes, request, context, Some(b'\t'))
}

fn read(bytes: &[u8], request: &Request, context: &Context<'_>, prefers: Option<u8>) -> Result<Artifact, Refusal> {
    let Decoded { text, warning } = decode(bytes, &request.options, None, Guess::Allowed)?;
    context.bounds.check_text(text.len())?;
    let dialect = sniff(&text, prefers);
    let kept = Kept::read(&text, dialect, &context.bounds)?;
    if kept.records.iter().all(|(_, fields)| fields.iter().all(|field| field.trim().is_empty())) {
        return Err(no_text());
    }
    let mut coverage = Coverage::complete(CoverageUnit::Rows, kept.total);
    let mut warnings: Vec<String> = warning.into_iter().chain(kept.warnings()).collect();
    if kept.total > kept.records.len() as u64 {
        coverage.extracted = kept.records.len() as u64;
        coverage.failed = kept.total - coverage.extracted;
        coverage.lose(lost::TABLES);
        warnings.push(format!("the table was cut after {} of {} records", kept.records.len(), kept.total));
    }
    let mut blocks = Vec::new();
    let (table, titles) = kept.into_table(dialect);
    for (number, title) in titles {
        let locator = Some(Locator::Rows { sheet: String::new(), start: number, end: number });
        blocks.push(Block { kind: BlockKind::Paragraph, text: title, locator, ..Block::default() });
    }
    blocks.push(block(&table));
    Ok(Artifact { parser: parser("loom-csv"), coverage, blocks, tables: vec![table], warnings, ..Artifact::default() })
}

/// The block of a file's only table.
pub fn block(table: &Table) -> Block {
    let first = table.rows.first().map_or(1, |row| row.0);
    let start = first.saturating_sub(u64::from(table.header_rows)).max(1);
    let end = table.rows.last().map_or(start, |row| row.0);
    let mut keys: Vec<String> = Vec::new();
    for column in table.columns.iter().take(KEYS_MAX) {
        let name = column.name.trim();
        if !name.is_empty() && name.len() <= KEY_BYTES_MAX && !keys.iter().any(|key| key == name) {
            keys.push(name.to_owned());
        }
    }
    let locator = Some(Locator::Rows { sheet: String::new(), start, end });
    Block { kind: BlockKind::Table, locator, keys, table: Some(0), ..Block::default() }
}

/// The records of a file that are not blank, with their numbers.
struct Kept {
    records: Vec<(u64, Vec<String>)>,
    /// How many there are, those past the bound of cells counted.
    total: u64,
    /// The fields of the widest record.
    width: usize,
    /// Records whose quote is never closed.
    is_open: bool,
}

impl Kept {
    fn read(text: &str, dialect: Dialect, bounds: &Bounds) -> Result<Self, Refusal> {
        let mut kept = Self { records: Vec::new(), total: 0, width: 0, is_open: false };
        let mut records = Records::new(text, dialect);
        let mut fields = Vec::new();
        while records.next_into(&mut fields) {
            kept.total += 1;
            if kept.total.is_multiple_of(8192) {
                bounds.check_time()?;
            }
            // A row has as many cells as the widest record.
            let width = kept.width.max(fields.len().min(COLUMNS_MAX));
            let cells = width.saturating_mul(kept.records.len() + 1);
            if cells <= bounds.cells {
                kept.width = width;
                let fields = fields.iter().take(COLUMNS_MAX).map(|field| field.clone().into_owned()).collect();
                kept.records.push((kept.total, fields));
            } else {
                // The rest is counted only.
                kept.total += records.count_rest(bounds)?;
            }
        }
        kept.is_open = records.is_open();
        Ok(kept)
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let header = self.records.first().map_or(0, |record| record.1.len());
        let ragged = self.records.iter().filter(|(_, fields)| fields.len() != header).count();
        if ragged > 0 {
            warnings.push(format!(
                "{ragged} of {} records have more or fewer fields than the first: the missing ones are empty",
                self.records.len()
            ));
        }
        if self.is_open {
            warnings.push("a quote is never closed: from there on quotes were read as plain characters".into());
        }
        warnings
    }

    /// The table, and the titles above it with their records' numbers.
    fn into_table(self, dialect: Dialect) -> (Table, Vec<(u64, String)>) {
        let titles = self.titles();
        let numbered: Vec<(u64, String)> = self.records[..titles]
            .iter()
            .map(|(number, fields)| (*number, fields.iter().map(|field| field.trim()).collect::<String>()))
            .collect();
        let records = &self.records[titles..];
        let header = usize::from(has_header(records));
        let width = records.iter().map(|(_, fields)| fields.len()).max().unwrap_or(0);
        let name =
            |at: usize| records[..header].first().and_then(|(_, fields)| fields.get(at)).map_or("", |name| name.trim());
        let columns = (0..width).map(|at| Column { name: name(at).to_owned(), ..Column::default() }).collect();
        let above = (titles + header) as u64;
        let rows: Vec<Row> =
            self.records.into_iter().skip(titles + header).map(|(number, fields)| row(number, fields, width)).collect();
        let mut table = Table {
            name: numbered.first().map(|(_, title)| title.chars().take(500).collect()).unwrap_or_default(),
            columns,
            header_rows: u32::from(header > 0),
            total_rows: self.total - above,
            rows,
            numbered: true,
        };
        type_cells(&mut table, dialect.delimiter == b';');
        (table, numbered)
    }

    /// How many records at the top are titles: one field with words, while the records below have several.
    fn titles(&self) -> usize {
        let filled = |fields: &Vec<String>| fields.iter().filter(|field| !field.trim().is_empty()).count();
        let is_title = |(_, fields): &&(u64, Vec<String>)| filled(fields) == 1 && !fields[0].trim().is_empty();
        let count = self.records.iter().take(TITLES_MAX + 1).take_while(is_title).count();
        let below = self.records.get(count).is_some_and(|(_, fields)| filled(fields) >= 2);
        if count <= TITLES_MAX && below && self.records.len() > count + 1 { count } else { 0 }
    }
}

fn row(number: u64, fields: Vec<String>, width: usize) -> Row {
    let mut cells: Vec<Cell> =
        fields.into_iter().map(|field| if field.is_empty() { Cell::Empty } else { Cell::Text(field) }).collect();
    cells.resize(width, Cell::Empty);
    Row(number, cells)
}

#[cfg(test)]
mod tests;
