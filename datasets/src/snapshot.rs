//! A dataset's rows as a Parquet file: one column for the rows' numbers, one for those that state totals, one for each stored column.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::error::Error;
use crate::typing::Dataset;

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
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(damaged)?;
        Ok(Self { file, metadata })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// A column, in batches.
    pub(crate) fn column(&self, name: &str) -> Result<impl Iterator<Item = Result<ArrayRef, Error>> + use<>, Error> {
        let builder = self.reader();
        let mask = ProjectionMask::columns(builder.parquet_schema(), [name]);
        let reader = builder.with_projection(mask).build().map_err(damaged)?;
        Ok(reader.map(|batch| batch.map(|batch| Arc::clone(batch.column(0))).map_err(damaged)))
    }

    /// The first rows, in batches.
    pub(crate) fn first_rows(&self, rows: usize) -> Result<Vec<RecordBatch>, Error> {
        let reader = self.reader().with_limit(rows).build().map_err(damaged)?;
        reader.map(|batch| batch.map_err(damaged)).collect()
    }

    fn reader(&self) -> ParquetRecordBatchReaderBuilder<Bytes> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
            .with_batch_size(BATCH_ROWS)
    }
}

fn damaged(error: impl std::fmt::Display) -> Error {
    Error::Damaged(error.to_string())
}
