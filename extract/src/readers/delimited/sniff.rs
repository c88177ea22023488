//! How a file of records is written.

use std::collections::HashMap;

use super::records::Records;
use crate::contract::{Cell, Column, Row, Table};
use crate::readers::cells::type_cells;

/// How much of a file is looked at.
const SAMPLE_BYTES: usize = 64 * 1024;
/// How many records are looked at.
const SAMPLE_RECORDS: usize = 200;

/// What stands between fields, most usual first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How a file of records is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// What stands between fields.
    pub delimiter: u8,
    /// What is around a field that holds delimiters or line ends.
    pub quote: u8,
    /// Whether a backslash before a quote makes it a character.
    pub has_backslashes: bool,
    /// Where the records start: after a line `sep=`.
    pub start: usize,
}

/// How `text` is written: by its line `sep=`; else with the delimiter that cuts most records into equally many fields; else with
/// commas. `prefers` wins wherever it occurs.
pub fn sniff(text: &str, prefers: Option<u8>) -> Dialect {
    let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    let mut dialect = Dialect { delimiter: b',', quote: b'"', has_backslashes: false, start: 0 };
    let line = sample.split(['\n', '\r']).next().unwrap_or_default();
    let named = line.trim().trim_matches('"').strip_prefix("sep=").or_else(|| line.trim().strip_prefix("SEP="));
    let is_line = |delimiter: &&str| delimiter.len() == 1 || delimiter.is_empty();
    if let Some(delimiter) = named.filter(is_line) {
        // The blanks around the line were trimmed, and a tab with them.
        dialect.delimiter = delimiter.bytes().next().filter(|byte| *byte != b'"').unwrap_or(b'\t');
        dialect.start = line.len();
    }
    let body = &sample[dialect.start..];
    dialect.quote = quote(body);
    dialect.has_backslashes =
        dialect.quote == b'"' && body.contains("\\\"") && !body.contains("\"\"\"") && !body.contains("\\\"\"");
    if dialect.start > 0 {
        return dialect;
    }
    if let Some(delimiter) = prefers.filter(|delimiter| body.as_bytes().contains(delimiter)) {
        return Dialect { delimiter, ..dialect };
    }
    let scored =
        DELIMITERS.iter().map(|delimiter| (score(body, Dialect { delimiter: *delimiter, ..dialect }), *delimiter));
    let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    Dialect { delimiter: best.filter(|(score, _)| score.0 > 0).map_or(b',', |(_, delimiter)| delimiter), ..dialect }
}

/// Single quotes where fields begin and end with them and no double quote is there.
fn quote(sample: &str) -> u8 {
    if sample.contains('"') {
        return b'"';
    }
    let bytes = sample.as_bytes();
    let is_border =
        |byte: Option<&u8>| byte.is_none_or(|byte| DELIMITERS.contains(byte) || matches!(byte, b'\n' | b'\r'));
    let opens = |at: &usize| is_border(at.checked_sub(1).and_then(|before| bytes.get(before)));
    let closes = |at: &usize| is_border(bytes.get(at + 1));
    let (opening, closing) = (
        memchr::memchr_iter(b'\'', bytes).filter(opens).count(),
        memchr::memchr_iter(b'\'', bytes).filter(closes).count(),
    );
    if opening >= 2 && opening == closing { b'\'' } else { b'"' }
}

/// How well a delimiter fits: the share of records with the commonest number of fields, in tenths, and that number. Zero where
/// it cuts nothing.
fn score(sample: &str, dialect: Dialect) -> (usize, usize) {
    let mut widths: HashMap<usize, usize> = HashMap::new();
    let mut records = Records::new(sample, dialect);
    let mut fields = Vec::new();
    let mut count = 0;
    while count < SAMPLE_RECORDS && records.next_into(&mut fields) {
        // The last record of a sample may be cut.
        if records.position() >= sample.len() && sample.len() >= SAMPLE_BYTES - 4 && count > 0 {
            break;
        }
        count += 1;
        *widths.entry(fields.len()).or_default() += 1;
    }
    let commonest = widths.iter().filter(|(width, _)| **width > 1).max_by_key(|(width, times)| (**times, **width));
    commonest.map_or((0, 0), |(width, times)| ((times * 10).div_ceil(count.max(1)), *width))
}

/// Whether the first record names the columns. It does, unless values of the types that its columns have stand in it beside words
/// and no word stands over values of another type: a row of numbers alone may be years.
pub fn has_header(records: &[(u64, Vec<String>)]) -> bool {
    let Some(((_, first), below)) = records.split_first().filter(|(_, below)| !below.is_empty()) else { return true };
    let cell = |text: &String| if text.is_empty() { Cell::Empty } else { Cell::Text(text.clone()) };
    let mut table = Table { columns: vec![Column::default(); first.len()], ..Table::default() };
    table.rows = std::iter::once(&(0, first.clone()))
        .chain(below.iter().take(SAMPLE_RECORDS))
        .map(|(number, fields)| {
            let mut cells: Vec<Cell> = fields.iter().take(first.len()).map(cell).collect();
            cells.resize(first.len(), Cell::Empty);
            Row(*number, cells)
        })
        .collect();
    type_cells(&mut table, false);
    let (mut values, mut words) = (0, 0);
    for (at, name) in first.iter().enumerate() {
        let mut types = table.rows[1..].iter().filter_map(|row| row.1[at].cell_type());
        let Some(kind) = types.next().filter(|kind| types.all(|other| other == *kind)) else { continue };
        let is_word = matches!(table.rows[0].1[at], Cell::Text(_));
        if is_word && kind != crate::contract::CellType::String {
            return true;
        }
        words += usize::from(is_word);
        let is_year = name.trim().len() == 4 && name.trim().bytes().all(|byte| byte.is_ascii_digit());
        values += usize::from(!is_word && !is_year && table.rows[0].1[at].cell_type() == Some(kind));
    }
    values == 0 || words == 0
}
