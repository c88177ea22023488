//! The HNSW graph, kept by usearch: it proposes rows; the caller scores them.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::file::{Folder, Kind, Reader};
use super::manifest::SavedGraph;
use super::rows::Rows;
use super::{damaged, failed};
use crate::Error;

/// How many searches one graph serves at a time; the library fails the next, and the caller scans instead.
const SEARCHES_MAX: usize = 32;
/// How many neighbours a row has in the graph, and how many candidates are weighed to choose them.
const NEIGHBOURS: usize = 16;
const BUILD_CANDIDATES: usize = 128;
/// The size of the parts in which a graph is written and checked, in bytes.
const PART_BYTES: usize = 1 << 20;

/// A graph over the first rows of the table, the removed ones included. It does not change once it is built.
///
/// Of rows with the same vector only the first is in it: texts repeat (templates, notices), and equal points link to
/// each other alone, so that they could not be reached, and fill a search's candidates when they are.
pub(super) struct Hnsw {
    index: Index,
    dim: usize,
    rows: u32,
    /// The later rows with the vector of a row that is in the graph, ascending.
    twins: HashMap<u32, Vec<u32>>,
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
        Ok(Self { index, dim, rows: 0, twins: HashMap::new() })
    }

    /// The graph in `folder` that `saved` describes. [`Error::Rebuild`] when it is missing or not that one. The
    /// library may crash on a damaged file, so it sees none that was not checked.
    pub fn read(folder: &Folder, saved: &SavedGraph) -> Result<Self, Error> {
        let reader = Reader::open(folder, Kind::Graph, saved.number)?
            .filter(|reader| reader.identity() == saved.identity)
            .ok_or_else(|| damaged("the graph is missing or another"))?;
        let mut bytes = Vec::with_capacity(reader.lengths().skip(1).sum());
        let mut part = Vec::new();
        for number in 1..reader.lengths().len() {
            reader.part(number, &mut part)?;
            bytes.extend_from_slice(&part);
        }
        reader.part(0, &mut part)?;
        let graph = Self::from_bytes(folder.dim, &bytes, decode_twins(&part))?;
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
        Self::from_bytes(self.dim, &self.bytes()?, self.twins.clone())
    }

    /// Connects the rows of `rows` that are still missing. `false` when `stop` was set before all were: the graph is
    /// then of no use.
    pub fn extend(&mut self, rows: &Rows, stop: &AtomicBool) -> Result<bool, Error> {
        if self.rows >= rows.len() {
            return Ok(true);
        }
        self.reserve(rows.len())?;
        let mut firsts = HashMap::new();
        for row in 0..rows.len() {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let vector = rows.vector(row).ok_or_else(|| failed("a row is missing"))?;
            let first = *firsts.entry(hash(vector)).or_insert(row);
            if row < self.rows {
                continue;
            }
            if first != row && rows.vector(first) == Some(vector) {
                self.twins.entry(first).or_default().push(row);
            } else {
                self.index.add(u64::from(row), vector).map_err(library)?;
            }
        }
        self.rows = rows.len();
        Ok(true)
    }

    /// The rows most similar to `query` among those that `accepts` allows: about `count` different vectors, and every
    /// row that has one of them. `accepts` must not panic: the panic would have to cross the library and ends the
    /// process.
    pub fn search(&self, query: &[f32], count: usize, accepts: impl Fn(u32) -> bool) -> Result<Vec<u32>, Error> {
        let accepts_key =
            |key| u32::try_from(key).is_ok_and(|row| accepts(row) || self.twins(row).iter().any(|&twin| accepts(twin)));
        let matches = self.index.filtered_search(query, count, accepts_key).map_err(library)?;
        let firsts = matches.keys.into_iter().filter_map(|key| u32::try_from(key).ok());
        let rows = firsts.flat_map(|row| std::iter::once(row).chain(self.twins(row).iter().copied()));
        Ok(rows.filter(|&row| accepts(row)).collect())
    }

    /// Its bytes, in parts to be written.
    pub fn parts(&self) -> Result<impl Iterator<Item = Vec<u8>>, Error> {
        let bytes = self.bytes()?;
        let starts = (0..bytes.len()).step_by(PART_BYTES);
        let pieces = starts.map(move |start| bytes[start..bytes.len().min(start + PART_BYTES)].to_vec());
        Ok(std::iter::once(encode_twins(&self.twins)).chain(pieces))
    }

    fn twins(&self, row: u32) -> &[u32] {
        self.twins.get(&row).map_or(&[], Vec::as_slice)
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.index.serialized_length()];
        self.index.save_to_buffer(&mut bytes).map_err(library)?;
        Ok(bytes)
    }

    fn from_bytes(dim: usize, bytes: &[u8], twins: HashMap<u32, Vec<u32>>) -> Result<Self, Error> {
        let mut graph = Self::new(dim)?;
        graph.index.load_from_buffer(bytes).map_err(library)?;
        if graph.index.dimensions() != dim {
            return Err(damaged("the graph is of another dimension"));
        }
        let rows = graph.index.size() + twins.values().map(Vec::len).sum::<usize>();
        graph.rows = u32::try_from(rows).map_err(|_| damaged("the graph has too many rows"))?;
        graph.twins = twins;
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

/// Each twin behind the row whose vector it has, little endian.
fn encode_twins(twins: &HashMap<u32, Vec<u32>>) -> Vec<u8> {
    let pairs = twins.iter().flat_map(|(first, rows)| rows.iter().flat_map(move |row| [*first, *row]));
    pairs.flat_map(u32::to_le_bytes).collect()
}

fn decode_twins(bytes: &[u8]) -> HashMap<u32, Vec<u32>> {
    let mut twins: HashMap<u32, Vec<u32>> = HashMap::new();
    for pair in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
        let [first, row] = pair.map(u32::from_le_bytes);
        twins.entry(first).or_default().push(row);
    }
    twins
}

fn hash(vector: &[f32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for value in vector {
        value.to_bits().hash(&mut hasher);
    }
    hasher.finish()
}

fn library(error: impl fmt::Display) -> Error {
    failed(error.to_string())
}
