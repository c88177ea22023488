//! The HNSW graph, kept by usearch: it proposes rows; the caller scores them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::file::{Folder, Kind, Reader};
use super::manifest::SavedGraph;
use super::rows::Rows;
use super::{damaged, failed};
use crate::Error;

/// How many searches one graph serves at a time; the library fails the next, and the caller scans instead.
const SEARCHES_MAX: usize = 64;
/// How many neighbours a row has in the graph, and how many candidates are weighed to choose them.
const NEIGHBOURS: usize = 16;
const BUILD_CANDIDATES: usize = 128;
/// The size of the parts in which a graph is written and checked, in bytes.
const PART_BYTES: usize = 1 << 20;

/// A graph over the first rows of the table, the removed ones included. It does not change once it is built.
pub(super) struct Hnsw {
    index: Index,
    dim: usize,
    rows: u32,
}

impl Hnsw {
    /// A graph of no rows.
    pub fn new(dim: usize) -> Result<Self, Error> {
        let options = IndexOptions {
            dimensions: dim,
            // The vectors are unit vectors: the inner product is the cosine.
            metric: MetricKind::IP,
            quantization: ScalarKind::F32,
            connectivity: NEIGHBOURS,
            expansion_add: BUILD_CANDIDATES,
            expansion_search: 0,
            multi: false,
        };
        let index = Index::new(&options).map_err(library)?;
        Ok(Self { index, dim, rows: 0 })
    }

    /// The graph in `folder` that `saved` describes. [`Error::Rebuild`] when it is missing or not that one. The
    /// library may crash on a damaged file, so it sees none that was not checked.
    pub fn read(folder: &Folder, saved: &SavedGraph) -> Result<Self, Error> {
        let reader = Reader::open(folder, Kind::Graph, saved.number)?
            .filter(|reader| reader.identity() == saved.identity)
            .ok_or_else(|| damaged("the graph is missing or another"))?;
        let mut bytes = Vec::with_capacity(reader.lengths().sum());
        let mut part = Vec::new();
        for number in 0..reader.lengths().len() {
            reader.part(number, &mut part)?;
            bytes.extend_from_slice(&part);
        }
        let graph = Self::from_bytes(folder.dim, &bytes)?;
        if graph.rows != saved.rows {
            return Err(damaged("the graph does not hold the rows it should"));
        }
        Ok(graph)
    }

    /// How many rows, from the first on, it connects.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// A copy of its own, to be extended while this one is searched.
    pub fn copy(&self) -> Result<Self, Error> {
        Self::from_bytes(self.dim, &self.bytes()?)
    }

    /// Connects the rows of `rows` that are still missing. `false` when `stop` was set before all were: the graph is
    /// then of no use.
    pub fn extend(&mut self, rows: &Rows, stop: &AtomicBool) -> Result<bool, Error> {
        self.reserve(rows.len())?;
        for row in self.rows..rows.len() {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let vector = rows.vector(row).ok_or_else(|| failed("a row is missing"))?;
            self.index.add(u64::from(row), vector).map_err(library)?;
        }
        self.rows = rows.len();
        Ok(true)
    }

    /// About the `count` rows most similar to `query` among those that `accepts` allows. `accepts` must not panic: the
    /// panic would have to cross the library and ends the process.
    pub fn search(&self, query: &[f32], count: usize, accepts: impl Fn(u32) -> bool) -> Result<Vec<u32>, Error> {
        let accepts_key = |key| u32::try_from(key).is_ok_and(&accepts);
        let matches = self.index.filtered_search(query, count, accepts_key).map_err(library)?;
        Ok(matches.keys.into_iter().filter_map(|key| u32::try_from(key).ok()).collect())
    }

    /// Its bytes, in parts to be written.
    pub fn parts(&self) -> Result<impl Iterator<Item = Vec<u8>>, Error> {
        let bytes = self.bytes()?;
        let starts = (0..bytes.len()).step_by(PART_BYTES);
        Ok(starts.map(move |start| bytes[start..bytes.len().min(start + PART_BYTES)].to_vec()))
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.index.serialized_length()];
        self.index.save_to_buffer(&mut bytes).map_err(library)?;
        Ok(bytes)
    }

    fn from_bytes(dim: usize, bytes: &[u8]) -> Result<Self, Error> {
        let mut graph = Self::new(dim)?;
        graph.index.load_from_buffer(bytes).map_err(library)?;
        if graph.index.dimensions() != dim {
            return Err(damaged("the graph is of another dimension"));
        }
        graph.rows = u32::try_from(graph.index.size()).map_err(|_| damaged("the graph has too many rows"))?;
        graph.index.change_expansion_add(BUILD_CANDIDATES);
        graph.reserve(graph.rows)?;
        Ok(graph)
    }

    /// Makes room, since the library neither adds nor searches without: also for the searches at a time.
    fn reserve(&self, rows: u32) -> Result<(), Error> {
        self.index.reserve_capacity_and_threads(rows as usize, SEARCHES_MAX).map_err(library)?;
        if self.index.capacity() < rows as usize {
            return Err(failed(format!("no memory for a graph of {rows} rows")));
        }
        Ok(())
    }
}

impl fmt::Debug for Hnsw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hnsw").field("rows", &self.rows).finish_non_exhaustive()
    }
}

fn library(error: impl fmt::Display) -> Error {
    failed(error.to_string())
}
