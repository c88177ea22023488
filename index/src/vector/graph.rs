//! The HNSW graph, kept by usearch: it proposes rows; the caller scores them.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use roaring::RoaringBitmap;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind, VectorType};

use super::file::{Folder, Kind, Reader};
use super::fixed::{coarse_distance, coarse_len, push_coarse};
use super::links;
use super::manifest::SavedGraph;
use super::rows::Rows;
use super::{damaged, failed};
use crate::Error;

/// How many searches one graph serves at a time; the library fails the next, and the caller scans instead.
const SEARCHES_MAX: usize = 32;
/// How many neighbours a row has in the graph, and how many candidates are weighed to choose them.
const NEIGHBOURS: usize = 24;
const BUILD_CANDIDATES: usize = 200;
/// The size of the parts in which a graph is written and checked, in bytes.
const PART_BYTES: usize = 1 << 20;
/// How many bytes the library writes before the vectors: how many there are, and of how many bytes each.
const MATRIX_HEAD_BYTES: usize = 8;

/// A graph over the first rows of the table, the removed ones included. It does not change once it is built.
///
/// Of rows with the same vector only the first is in it: texts repeat (templates, notices), and equal points link to
/// each other alone, so that they could not be reached, and fill a search's candidates when they are.
///
/// The library is given coarse vectors, a quarter of the size of floats, and our measure of them: so it needs a third of
/// the time to build and to search, and what it finds is as good once it is scored from the rows.
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
        Ok(Self { index: measured(unmeasured(dim)?, dim)?, dim, rows: 0, twins: HashMap::new() })
    }

    /// The graph in `folder` that `saved` describes, over the first of `rows`. [`Error::Rebuild`] when it is missing or
    /// not that one.
    pub fn read(folder: &Folder, saved: &SavedGraph, rows: &Rows) -> Result<Self, Error> {
        let reader = Reader::open(folder, Kind::Graph, saved.number)?
            .filter(|reader| reader.identity() == saved.identity)
            .ok_or_else(|| damaged("the graph is missing or another"))?;
        let mut links = Vec::with_capacity(reader.lengths().skip(1).sum());
        let mut part = Vec::new();
        for number in 1..reader.lengths().len() {
            reader.part(number, &mut part)?;
            links.extend_from_slice(&part);
        }
        reader.part(0, &mut part)?;
        Self::from_links(&links, decode_twins(&part), rows, saved.rows)
    }

    /// How many rows, from the first on, it connects.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// A copy of its own, to be extended while this one is searched.
    pub fn copy(&self) -> Result<Self, Error> {
        let mut index = unmeasured(self.dim)?;
        load(&mut index, &self.bytes()?, self.rows)?;
        Ok(Self { index: measured(index, self.dim)?, dim: self.dim, rows: self.rows, twins: self.twins.clone() })
    }

    /// Connects the rows of `rows` that are still missing. `false` when `stop` was set before all were: the graph is
    /// then of no use.
    pub fn extend(&mut self, rows: &Rows, stop: &AtomicBool) -> Result<bool, Error> {
        if self.rows >= rows.len() {
            return Ok(true);
        }
        reserve(&self.index, rows.len())?;
        let mut firsts = HashMap::new();
        let mut coarse = Vec::new();
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
                coarse.clear();
                push_coarse(vector, &mut coarse);
                self.index.add(u64::from(row), &coarse).map_err(library)?;
            }
        }
        self.rows = rows.len();
        Ok(true)
    }

    /// The rows most similar to `query`: about `count` different vectors, and every row that has one of them. With
    /// `accepts` only the rows that it allows, and as many of them. It must not panic: the panic would have to cross the
    /// library and ends the process.
    pub fn search(
        &self,
        query: &[i16],
        count: usize,
        accepts: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<u32>, Error> {
        let mut coarse = Vec::with_capacity(coarse_len(self.dim));
        push_coarse(query, &mut coarse);
        let matches = match accepts {
            None => self.index.search(&coarse, count),
            Some(accepts) => self.index.filtered_search(&coarse, count, |key| {
                u32::try_from(key).is_ok_and(|row| accepts(row) || self.twins(row).iter().any(|&twin| accepts(twin)))
            }),
        };
        let firsts = matches.map_err(library)?.keys.into_iter().filter_map(|key| u32::try_from(key).ok());
        let rows = firsts.flat_map(|row| std::iter::once(row).chain(self.twins(row).iter().copied()));
        Ok(rows.filter(|&row| accepts.is_none_or(|accepts| accepts(row))).collect())
    }

    /// Its bytes, in parts to be written: the twins, then what the library writes less the vectors, which follow from
    /// the rows.
    pub fn parts(&self) -> Result<impl Iterator<Item = Vec<u8>>, Error> {
        let bytes = self.bytes()?;
        let links = MATRIX_HEAD_BYTES + self.index.size() * coarse_len(self.dim);
        let starts = (links..bytes.len()).step_by(PART_BYTES);
        let pieces = starts.map(move |start| bytes[start..bytes.len().min(start + PART_BYTES)].to_vec());
        Ok(std::iter::once(encode_twins(&self.twins)).chain(pieces))
    }

    fn twins(&self, row: u32) -> &[u32] {
        self.twins.get(&row).map_or(&[], Vec::as_slice)
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        serialised(&self.index)
    }

    /// The graph over the first `count` of `rows` that `links` and `twins` describe; whatever they are, the library is
    /// given nothing that harms it.
    pub fn from_links(links: &[u8], twins: HashMap<u32, Vec<u32>>, rows: &Rows, count: u32) -> Result<Self, Error> {
        let dim = rows.dim();
        let mut index = unmeasured(dim)?;
        let empty = serialised(&index)?;
        let keys = empty.get(MATRIX_HEAD_BYTES..).and_then(|empty| links::keys(links, empty, NEIGHBOURS));
        let keys = keys.ok_or_else(|| damaged("the graph is not one that this version writes"))?;
        if !covers(&keys, &twins, count.min(rows.len())) || count > rows.len() {
            return Err(damaged("the graph does not hold the rows it should"));
        }
        let sizes = [keys.len(), coarse_len(dim)].map(|size| u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
        let mut bytes = Vec::with_capacity(MATRIX_HEAD_BYTES + keys.len() * coarse_len(dim) + links.len());
        bytes.extend(sizes.as_flattened());
        let mut coarse = Vec::new();
        for &key in &keys {
            let row = u32::try_from(key).ok().and_then(|row| rows.vector(row));
            coarse.clear();
            push_coarse(row.ok_or_else(|| damaged("the graph has a row that is none"))?, &mut coarse);
            bytes.extend(coarse.iter().map(|value| value.cast_unsigned()));
        }
        bytes.extend(links);
        load(&mut index, &bytes, count)?;
        Ok(Self { index: measured(index, dim)?, dim, rows: count, twins })
    }
}

impl fmt::Debug for Hnsw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hnsw").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// An index of the library without a measure of ours, which a load would replace.
fn unmeasured(dim: usize) -> Result<Index, Error> {
    let options = IndexOptions {
        dimensions: coarse_len(dim),
        metric: MetricKind::IP,
        quantization: ScalarKind::I8,
        connectivity: NEIGHBOURS,
        expansion_add: BUILD_CANDIDATES,
        expansion_search: 0,
        multi: false,
    };
    Index::new(&options).map_err(library)
}

/// `index`, which holds vectors of `dim` values, with our measure.
fn measured(mut index: Index, dim: usize) -> Result<Index, Error> {
    let length = coarse_len(dim);
    let distance = move |left: *const i8, right: *const i8| {
        #[expect(unsafe_code, reason = "the library calls it with two of its vectors, all of which have this length")]
        let (left, right) =
            unsafe { (std::slice::from_raw_parts(left, length), std::slice::from_raw_parts(right, length)) };
        coarse_distance(left, right, dim)
    };
    <i8 as VectorType>::change_metric(&mut index, Box::new(distance)).map_err(library)?;
    Ok(index)
}

fn serialised(index: &Index) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; index.serialized_length()];
    index.save_to_buffer(&mut bytes).map_err(library)?;
    Ok(bytes)
}

fn load(index: &mut Index, bytes: &[u8], rows: u32) -> Result<(), Error> {
    index.load_from_buffer(bytes).map_err(library)?;
    index.change_expansion_add(BUILD_CANDIDATES);
    reserve(index, rows)
}

/// Makes room, since the library neither adds nor searches without: also for the searches at a time.
fn reserve(index: &Index, rows: u32) -> Result<(), Error> {
    index.reserve_capacity_and_threads(rows as usize, SEARCHES_MAX).map_err(library)?;
    if index.capacity() < rows as usize {
        return Err(failed(format!("no memory for a graph of {rows} rows")));
    }
    Ok(())
}

/// Whether `keys`, which ascend, and the later ones of `twins` are the first `count` rows, each once, and every twin
/// comes after a row among `keys`.
fn covers(keys: &[u64], twins: &HashMap<u32, Vec<u32>>, count: u32) -> bool {
    let behind_a_key = |(first, rows): (&u32, &Vec<u32>)| {
        keys.binary_search(&u64::from(*first)).is_ok() && rows.iter().all(|row| row > first)
    };
    let mut all: RoaringBitmap = twins.values().flatten().copied().collect();
    let twin_count = twins.values().map(Vec::len).sum::<usize>();
    all.extend(keys.iter().filter_map(|&key| u32::try_from(key).ok()));
    twins.iter().all(behind_a_key)
        && keys.len() + twin_count == count as usize
        && all.len() == u64::from(count)
        && all.max() == count.checked_sub(1)
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

fn hash(vector: &[i16]) -> u64 {
    let mut hasher = DefaultHasher::new();
    vector.hash(&mut hasher);
    hasher.finish()
}

fn library(error: impl fmt::Display) -> Error {
    failed(error.to_string())
}
