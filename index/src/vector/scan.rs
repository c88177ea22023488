//! The exact scan, and the best few of what it meets.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use loom_storage::ChunkId;
use rayon::prelude::*;

use super::fixed::cosine;
use super::rows::Rows;
use super::search::VectorHit;
use crate::cores;

/// How many values are compared before a second core pays: about two milliseconds of one.
const PARALLEL_VALUES_MIN: usize = 1 << 23;
/// How many listed rows one core takes at a time.
const PIECE_ROWS: usize = 4096;

/// The best `k` of the hits offered: by similarity, then by the place of their index among those that are searched
/// together, then by the smaller chunk id, at the `k`-th place too.
pub(super) struct Best {
    k: usize,
    /// The worst on top.
    heap: BinaryHeap<Ranked>,
}

impl Best {
    pub fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new() }
    }

    /// Whether a hit of `similarity` could be among the best; a tie with the last needs its id to tell.
    pub fn wants(&self, similarity: f32) -> bool {
        if self.heap.len() < self.k {
            return true;
        }
        self.heap.peek().is_some_and(|worst| similarity >= worst.hit.similarity)
    }

    pub fn offer(&mut self, ranked: Ranked) {
        if self.heap.len() < self.k {
            self.heap.push(ranked);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && ranked < *worst
        {
            *worst = ranked;
        }
    }

    /// The hits so far, in any order.
    pub fn ranked(&self) -> Vec<Ranked> {
        self.heap.as_slice().to_vec()
    }

    /// Whether a hit that was offered is still among the best.
    pub fn holds(&self, offered: &Ranked) -> bool {
        self.heap.peek().is_some_and(|worst| offered <= worst)
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The best first.
    pub fn into_hits(self) -> Vec<VectorHit> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| ranked.hit).collect()
    }

    /// The best first, of each of so many indexes.
    pub fn into_hits_of(self, indexes: usize) -> Vec<Vec<VectorHit>> {
        let mut hits = vec![Vec::new(); indexes];
        for Ranked { index, hit } in self.heap.into_sorted_vec() {
            hits[index].push(hit);
        }
        hits
    }

    fn merge(mut self, other: Self) -> Self {
        other.heap.into_iter().for_each(|ranked| self.offer(ranked));
        self
    }
}

/// Scans the rows from `first` on, asking `accepts` only of rows that are similar enough.
pub(super) fn scan_from(
    rows: &Rows,
    first: u32,
    query: &[i16],
    best: Best,
    accepts: impl Fn(u32) -> bool + Sync,
) -> Best {
    let scan = |mut best: Best, (start, ids, values): (u32, &[u64], &[i16])| {
        for ((row, &id), vector) in (start..).zip(ids).zip(values.chunks_exact(rows.dim())) {
            let similarity = cosine(query, vector);
            if best.wants(similarity) && accepts(row) {
                best.offer(Ranked { index: 0, hit: VectorHit { chunk: ChunkId(id), similarity } });
            }
        }
        best
    };
    if parallel(rows, rows.len().saturating_sub(first) as usize) {
        let k = best.k;
        let runs: Vec<_> = rows.runs(first).collect();
        let merged = || runs.into_par_iter().fold(|| Best::new(k), scan).reduce(|| Best::new(k), Best::merge);
        cores::share(merged).merge(best)
    } else {
        rows.runs(first).fold(best, scan)
    }
}

/// Scans the rows of `list` of the index at the place `index`; a number that is no row is passed over.
pub(super) fn scan_list(rows: &Rows, list: &[u32], query: &[i16], index: usize, best: Best) -> Best {
    let scan = |mut best: Best, piece: &[u32]| {
        for &row in piece {
            if let (Some(vector), Some(chunk)) = (rows.vector(row), rows.chunk(row)) {
                let similarity = cosine(query, vector);
                if best.wants(similarity) {
                    best.offer(Ranked { index, hit: VectorHit { chunk, similarity } });
                }
            }
        }
        best
    };
    if parallel(rows, list.len()) {
        let k = best.k;
        let merged = || list.par_chunks(PIECE_ROWS).fold(|| Best::new(k), scan).reduce(|| Best::new(k), Best::merge);
        cores::share(merged).merge(best)
    } else {
        scan(best, list)
    }
}

fn parallel(rows: &Rows, count: usize) -> bool {
    count.saturating_mul(rows.dim()) >= PARALLEL_VALUES_MIN
}

/// A hit of the index at a place, the better one less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    index: usize,
    hit: VectorHit,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let similarity = other.hit.similarity.total_cmp(&self.hit.similarity);
        similarity.then_with(|| (self.index, self.hit.chunk).cmp(&(other.index, other.hit.chunk)))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}
