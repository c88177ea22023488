//! Parquet: one table, its rows numbered from 1.

mod columns;
mod kinds;
mod nested;
#[cfg(test)]
mod tests;
mod thrift;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use self::columns::Root;
use super::{Bounds, Context};
use crate::contract::{
    Artifact, Block, BlockKind, Cell, Column, Coverage, CoverageUnit, Locator, Parser, Refusal, RefusalCode, Request,
    Row, Table, lost,
};

/// Rows are put together so many at a time.
const BATCH_ROWS: usize = 1024;
/// The most columns, those within nested ones counted each.
const LEAVES_MAX: usize = 16_384;
/// The most that a column of one row group may unpack to before it is left out, as a share of all that may be unpacked.
const COLUMN_SHARE: u64 = 4;

/// Reads a Parquet file.
///
/// # Errors
/// `format_mismatch`, `corrupt` for damage and encryption, `resource_limit`, `timeout`, and `no_text` where it has no column.
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    check_ends(bytes)?;
    // The parser is not ours; should it fail on a file in a way that nobody foresaw, then that file is damaged.
    catch_unwind(AssertUnwindSafe(|| read_file(bytes, &context.bounds)))
        .unwrap_or_else(|_| Err(corrupt("the file is damaged in a way that its parser fails on")))
}

fn corrupt(message: &str) -> Refusal {
    Refusal::new(RefusalCode::Corrupt, message)
}

/// What the parser says of damage may quote the file: only the kind of failure is passed on.
fn damaged(_: &ParquetError) -> Refusal {
    corrupt("the file is damaged: its parser cannot read it")
}

const ENCRYPTED: &str = "the file is encrypted, in whole or in part: save it without encryption";

fn check_ends(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.is_empty() {
        return Err(corrupt("the file is empty"));
    }
    if bytes.starts_with(b"PARE") {
        return Err(corrupt(ENCRYPTED));
    }
    if !bytes.starts_with(b"PAR1") {
        return Err(Refusal::new(RefusalCode::FormatMismatch, "the file is no Parquet file: it does not begin as one"));
    }
    if bytes.len() < 12 || !bytes.ends_with(b"PAR1") {
        return Err(corrupt("the file is damaged: it ends before its footer"));
    }
    Ok(())
}

fn read_file(bytes: &[u8], bounds: &Bounds) -> Result<Artifact, Refusal> {
    if thrift::is_encrypted(bytes) {
        return Err(corrupt(ENCRYPTED));
    }
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(|error| damaged(&error))?;
    let metadata = file.metadata();
    let schema = metadata.file_metadata().schema_descr();
    if schema.num_columns() > LEAVES_MAX {
        let message = format!("the file has more than {LEAVES_MAX} columns");
        return Err(Refusal::new(RefusalCode::ResourceLimit, message));
    }
    let mut roots = columns::roots(schema, bounds.depth)?;
    if roots.is_empty() {
        return Err(Refusal::new(RefusalCode::NoText, "the file has no columns"));
    }
    let total: u64 = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum();
    let names = roots.iter().map(|root| Column { name: root.name().to_owned(), ..Column::default() });
    let mut taken = Taken {
        bytes,
        table: Table { columns: names.collect(), total_rows: total, numbered: true, ..Table::default() },
        cells: 0,
        text_bytes: 0,
        unpacked: 0,
    };
    let mut full = false;
    for group in 0..metadata.num_row_groups() {
        full = taken.group(&file, group, &mut roots, bounds)?;
        if full {
            break;
        }
    }
    Ok(taken.finish(&roots, total, full))
}

/// What was read so far.
struct Taken<'a> {
    bytes: &'a [u8],
    table: Table,
    cells: usize,
    text_bytes: usize,
    unpacked: u64,
}

impl Taken<'_> {
    /// Reads a row group; whether no more may be read.
    fn group(
        &mut self,
        file: &SerializedFileReader<Bytes>,
        number: usize,
        roots: &mut [Root<'_>],
        bounds: &Bounds,
    ) -> Result<bool, Refusal> {
        let group = file.get_row_group(number).map_err(|error| damaged(&error))?;
        let metadata = group.metadata();
        let rows = usize::try_from(metadata.num_rows())
            .map_err(|_| corrupt("the file is damaged: it has a negative count of rows"))?;
        self.leave_out_large(metadata, roots, bounds)?;
        for root in roots.iter_mut() {
            root.open(&*group).map_err(|error| damaged(&error))?;
        }
        let mut left = rows;
        while left > 0 {
            bounds.check_time()?;
            let room = (bounds.cells - self.cells) / roots.len();
            if room == 0 || self.text_bytes > bounds.text_bytes {
                return Ok(true);
            }
            let count = left.min(BATCH_ROWS).min(room);
            let mut columns: Vec<std::vec::IntoIter<Cell>> = Vec::with_capacity(roots.len());
            for root in roots.iter_mut() {
                let cells = root.cells(count)?;
                self.text_bytes += cells.iter().map(|cell| cell.shown().len()).sum::<usize>();
                columns.push(cells.into_iter());
                if self.text_bytes > bounds.text_bytes {
                    return Ok(true);
                }
            }
            for _ in 0..count {
                let number = self.table.rows.len() as u64 + 1;
                let row = columns.iter_mut().map(|column| column.next().unwrap_or_default()).collect();
                self.table.rows.push(Row(number, row));
            }
            self.cells += count * roots.len();
            left -= count;
        }
        Ok(false)
    }

    /// Leaves out the columns that are too large when they are unpacked. All together must stay within bounds.
    fn leave_out_large(
        &mut self,
        group: &RowGroupMetaData,
        roots: &mut [Root<'_>],
        bounds: &Bounds,
    ) -> Result<(), Refusal> {
        let size = |leaf: usize| {
            let column = (leaf < group.num_columns()).then(|| group.column(leaf));
            // Both the footer and the pages say so, and either may lie.
            column.map_or(0, |column| {
                let said = u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX);
                thrift::unpacked(self.bytes, column).map_or(said, |walked| walked.max(said))
            })
        };
        for root in roots.iter_mut() {
            let unpacked = root.leaves().map(size).fold(0, u64::saturating_add);
            if unpacked > bounds.inflated_bytes / COLUMN_SHARE {
                root.leave_out();
                continue;
            }
            self.unpacked = self.unpacked.saturating_add(unpacked);
        }
        if self.unpacked <= bounds.inflated_bytes {
            return Ok(());
        }
        let message = format!("the file unpacks to more than {} bytes", bounds.inflated_bytes);
        Err(Refusal::new(RefusalCode::ResourceLimit, message))
    }

    fn finish(mut self, roots: &[Root<'_>], total: u64, full: bool) -> Artifact {
        self.table.infer_types();
        let rows = self.table.rows.len() as u64;
        let mut coverage = Coverage {
            extracted: rows,
            failed: total - rows.min(total),
            ..Coverage::complete(CoverageUnit::Rows, total)
        };
        let mut warnings = Vec::new();
        if full {
            coverage.lose(lost::TABLES);
            warnings.push(format!("the table was cut after {rows} of {total} rows"));
        }
        let name = |root: &Root<'_>| format!("{:?}", short(root.name()));
        let binary: Vec<String> = roots.iter().filter(|root| root.has_binary()).map(name).collect();
        let large: Vec<String> = roots.iter().filter(|root| root.is_left_out()).map(name).collect();
        if !binary.is_empty() {
            coverage.lose(lost::BINARY_VALUES);
            warnings.push(format!("columns of bytes were left out: {}", listed(&binary)));
        }
        if !large.is_empty() {
            coverage.lose(lost::TABLES);
            warnings.push(format!("columns too large to unpack were left out: {}", listed(&large)));
        }
        let locator = Locator::Rows { sheet: String::new(), start: 1, end: rows.max(1) };
        let block = Block { kind: BlockKind::Table, table: Some(0), locator: Some(locator), ..Block::default() };
        Artifact {
            parser: Parser { name: "loom-parquet".into(), version: env!("CARGO_PKG_VERSION").into() },
            blocks: vec![block],
            tables: vec![self.table],
            coverage,
            warnings,
            ..Artifact::default()
        }
    }
}

fn short(name: &str) -> &str {
    name.char_indices().nth(40).map_or(name, |(end, _)| &name[..end])
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
