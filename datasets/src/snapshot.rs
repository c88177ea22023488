//! A dataset's rows as a Parquet file: one column for the rows' numbers, one for those that state totals, one for each stored column.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use loom_extract::contract::CellType;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::decimal::{NARROW_DIGITS, SHORT_DIGITS, WIDE_DIGITS};
use crate::error::Error;
use crate::schema::{Column, Description, Held};
use crate::typing::{Dataset, ROW, SCALE, TOTAL, stored_name};

/// Rows are stored in groups of this many.
const GROUP_ROWS: usize = 128 * 1024;
/// Rows are read in batches of this many.
const BATCH_ROWS: usize = 8 * 1024;

impl Dataset {
    /// Its rows as a Parquet file.
    ///
    /// # Errors
    /// [`Error::Defect`].
    pub fn to_parquet(&self) -> Result<Vec<u8>, Error> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), self.rows.schema(), Some(properties)).map_err(Error::defect)?;
        writer.write(&self.rows).map_err(Error::defect)?;
        writer.into_inner().map_err(Error::defect)
    }
}

/// A stored dataset's rows, of which columns are read one by one.
#[derive(Clone, Debug)]
pub struct Snapshot {
    file: Bytes,
    metadata: ArrowReaderMetadata,
}

impl Snapshot {
    /// Opens what [`Dataset::to_parquet`] wrote.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn open(file: Vec<u8>) -> Result<Self, Error> {
        let file = Bytes::from(file);
        let metadata = guarded(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(damaged))?;
        Ok(Self { file, metadata })
    }

    /// Whether the file holds what the description says.
    pub(crate) fn check(&self, description: &Description) -> Result<(), Error> {
        let schema = self.schema();
        let is_of = |name: &str, fits: &dyn Fn(&DataType) -> bool| match schema.field_with_name(name) {
            Ok(field) if fits(field.data_type()) => Ok(()),
            Ok(field) => Err(damaged(format!("the values of {name} are {}", field.data_type()))),
            Err(error) => Err(damaged(error)),
        };
        is_of(ROW, &|of| *of == DataType::Int64)?;
        is_of(TOTAL, &|of| *of == DataType::Boolean)?;
        for (at, column) in description.columns.iter().enumerate().filter(|(_, column)| column.held != Held::Not) {
            is_of(&stored_name(at), &|of| is_type_of(of, column))?;
        }
        if self.rows() as u64 == description.row_count {
            Ok(())
        } else {
            Err(damaged(format!("there are {} rows and not {}", self.rows(), description.row_count)))
        }
    }

    pub(crate) fn rows(&self) -> usize {
        usize::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// A column, in batches.
    pub(crate) fn column(&self, name: &str) -> Result<impl Iterator<Item = Result<ArrayRef, Error>> + use<>, Error> {
        let builder = self.reader();
        let mask = ProjectionMask::columns(builder.parquet_schema(), [name]);
        let batches = Batches::of(builder.with_projection(mask))?;
        Ok(batches.map(|batch| batch.map(|batch| Arc::clone(batch.column(0)))))
    }

    /// The first rows, in batches.
    pub(crate) fn first_rows(&self, rows: usize) -> Result<Vec<RecordBatch>, Error> {
        Batches::of(self.reader().with_limit(rows))?.collect()
    }

    fn reader(&self) -> ParquetRecordBatchReaderBuilder<Bytes> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
            .with_batch_size(BATCH_ROWS)
    }
}

fn is_type_of(stored: &DataType, column: &Column) -> bool {
    match column.column_type {
        CellType::String => *stored == DataType::Utf8,
        CellType::Number | CellType::Duration if column.held == Held::Double => *stored == DataType::Float64,
        CellType::Number | CellType::Duration => matches!(
            stored,
            DataType::Decimal128(SHORT_DIGITS | NARROW_DIGITS, SCALE) | DataType::Decimal256(WIDE_DIGITS, SCALE)
        ),
        CellType::Bool => *stored == DataType::Boolean,
        CellType::Date => *stored == DataType::Date32,
        CellType::Datetime => *stored == DataType::Timestamp(TimeUnit::Microsecond, None),
        CellType::Time => *stored == DataType::Time64(TimeUnit::Microsecond),
    }
}

/// Batches of rows, up to the first that cannot be read.
struct Batches {
    /// `None` once one could not be read.
    reader: Option<ParquetRecordBatchReader>,
}

impl Batches {
    fn of(builder: ParquetRecordBatchReaderBuilder<Bytes>) -> Result<Self, Error> {
        guarded(|| builder.build().map_err(damaged)).map(|reader| Self { reader: Some(reader) })
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        let next = guarded(|| reader.next().transpose().map_err(damaged)).transpose();
        if matches!(next, Some(Ok(_))) {
            self.reader = Some(reader);
        }
        next
    }
}

/// The parser is not ours; should it fail on a file in a way that nobody foresaw, then that file is damaged.
fn guarded<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(damaged("in a way that the parser fails on")))
}

fn damaged(error: impl std::fmt::Display) -> Error {
    Error::Damaged(error.to_string())
}
