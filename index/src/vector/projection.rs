//! The index as its callers hold it.

use std::path::Path;
use std::sync::Arc;

use loom_storage::{ChunkId, Seq};

use super::file::Folder;
use super::flush::Saved;
use super::graph::Hnsw;
use super::table::{Refused, Table};
use crate::{ChunkRange, Error};

/// When the index reorganises itself, and when a search uses the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// From how many live rows on a graph is built. Default 20,000, where a scan takes about a millisecond.
    pub graph_rows_min: u32,
    /// From which share of removed rows on, in 0..=1, the rows are compacted. Default 0.3.
    pub removed_share_max: f64,
    /// Up to how many selected chunks a search scans just those: exact, in about a millisecond. Default 10,000.
    pub listed_rows_max: u64,
    /// How many rows are scanned in the time in which the graph weighs one candidate. Default 40.
    pub rows_per_candidate: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { graph_rows_min: 20_000, removed_share_max: 0.3, listed_rows_max: 10_000, rows_per_candidate: 40 }
    }
}

/// How many rows an index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// All rows, the removed ones included.
    pub rows: u64,
    /// Rows that no search returns and that a compaction will drop.
    pub removed: u64,
    /// Rows in the graph, the removed ones included; 0 without a graph.
    pub in_graph: u64,
    /// Rows newer than the graph, which searches scan; all rows without a graph.
    pub pending: u64,
}

/// The vectors of one namespace under one embedding model.
///
/// The caller serialises writers against readers (a read-write lock does). What takes long is a job that needs no
/// access while it runs: [`VectorIndex::freeze`] and [`VectorIndex::plan_graph`].
#[derive(Debug)]
pub struct VectorIndex {
    pub(super) folder: Folder,
    pub(super) settings: Settings,
    pub(super) table: Table,
    pub(super) graph: Option<Arc<Hnsw>>,
    pub(super) saved: Saved,
    /// Counts the compactions: row numbers of before one mean nothing after it.
    pub(super) numbering: u64,
    /// Shared with the flush that is under way, if one is.
    pub(super) flushing: Arc<()>,
    /// Shared with the graph job that is under way, if one is.
    pub(super) building: Arc<()>,
}

impl VectorIndex {
    /// Opens the index kept in the folder `path` for vectors of `dim` dimensions (32 to 4096) of `model`, and says up to which
    /// commit it has followed the log. Where there is none it is empty and the answer is `Seq(0)`; nothing is written
    /// before the first flush. No other index may use the folder meanwhile.
    ///
    /// [`Error::Rebuild`] when a file is missing, damaged, of another version, model or dimension: delete the folder
    /// and start from `Seq(0)`. A damaged graph is no error: it is built again.
    pub fn open(path: &Path, model: &str, dim: usize) -> Result<(Self, Seq), Error> {
        let (folder, table, saved) = super::open::open(path, model, dim)?;
        let watermark = saved.manifest.watermark;
        let index = Self {
            folder,
            settings: Settings::default(),
            table,
            graph: None,
            saved,
            numbering: 0,
            flushing: Arc::default(),
            building: Arc::default(),
        };
        Ok((index, watermark))
    }

    /// Replaces the settings, from the next search and the next [`VectorIndex::plan_graph`] on.
    pub fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Gives `chunk` its vector, of any length but zero. Adding a chunk again is allowed, with the same vector or
    /// another, removed meanwhile or not: the last call counts.
    ///
    /// A refused vector leaves the chunk without one, so that no search returns it; the index stays usable.
    pub fn add(&mut self, chunk: ChunkId, vector: &[f32]) -> Result<(), Refused> {
        self.table.add(chunk, vector)
    }

    /// Removes the chunks of `range`; those that are not there are passed over.
    pub fn remove(&mut self, range: ChunkRange) {
        self.table.remove(range);
    }

    /// Whether `chunk` has a vector here and is not removed.
    pub fn contains(&self, chunk: ChunkId) -> bool {
        self.table.live_row(chunk).is_some()
    }

    /// How many rows there are, of which kind.
    pub fn statistics(&self) -> Statistics {
        let rows = u64::from(self.table.rows().len());
        let in_graph = self.graph.as_ref().map_or(0, |graph| u64::from(graph.rows()));
        Statistics { rows, removed: self.table.removed().len(), in_graph, pending: rows - in_graph }
    }

    /// How many changes (rows added or removed) are in memory alone.
    pub fn unsaved(&self) -> usize {
        usize::try_from(self.table.changes() - self.saved.changes).unwrap_or(usize::MAX)
    }
}
