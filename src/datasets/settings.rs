//! What an operator can set about datasets, and the defaults.

use crate::config::number;
use crate::error::Error;

/// What datasets and the calculations over them may use.
#[derive(Clone, Debug)]
pub struct DatasetSettings {
    /// The most datasets that are made of one file: `LOOM_DATASETS_MAX`, default 200.
    pub per_file_max: usize,
    /// The most rows that the datasets of one query may have together: `LOOM_QUERY_MAX_ROWS`, default 20 million.
    pub rows_max: u64,
    /// The most memory that one query may take, in bytes: `LOOM_QUERY_MEMORY_BYTES`, default 512 MiB for the columns it
    /// reads and as much for its work.
    pub memory_bytes: usize,
    /// The most memory for columns that queries read lately, in bytes: `LOOM_QUERY_CACHE_BYTES`, default 128 MiB.
    pub cache_bytes: usize,
    /// How many threads work on queries: `LOOM_QUERY_THREADS`, default 2.
    pub threads: usize,
    /// The most rows that a query returns: `LOOM_QUERY_MAX_RESULT_ROWS`, default 10,000.
    pub result_rows_max: u32,
}

impl Default for DatasetSettings {
    fn default() -> Self {
        Self {
            per_file_max: 200,
            rows_max: 20_000_000,
            memory_bytes: 512 << 20,
            cache_bytes: 128 << 20,
            threads: 2,
            result_rows_max: 10_000,
        }
    }
}

impl DatasetSettings {
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        number(lookup, "LOOM_DATASETS_MAX", &mut self.per_file_max, 0)?;
        number(lookup, "LOOM_QUERY_MAX_ROWS", &mut self.rows_max, 1)?;
        number(lookup, "LOOM_QUERY_MEMORY_BYTES", &mut self.memory_bytes, 1)?;
        number(lookup, "LOOM_QUERY_CACHE_BYTES", &mut self.cache_bytes, 0)?;
        number(lookup, "LOOM_QUERY_THREADS", &mut self.threads, 1)?;
        number(lookup, "LOOM_QUERY_MAX_RESULT_ROWS", &mut self.result_rows_max, 1)
    }
}
