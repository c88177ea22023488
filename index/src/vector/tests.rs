//! The index as its callers see it, against a plain map of vectors.

mod damage;
mod graph;
mod likely;
mod links;
mod model;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use loom_storage::{ChunkId, Seq};

use super::{Settings, VectorHit, VectorIndex};
use crate::{ChunkRange, Selection};

const DIM: usize = 32;
const MODEL: &str = "test-32";

/// Settings under which every search that can use the graph does.
const EAGER: Settings =
    Settings { graph_rows_min: 12, removed_share_max: 0.3, listed_rows_max: 0, rows_per_candidate: 0 };

/// A generator of numbers that are the same in every run.
pub(super) struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// In -1..1.
    pub fn signed(&mut self) -> f32 {
        let bits = (self.next() >> 48) as u16;
        f32::from(bits) / 32_768.0 - 1.0
    }
}

/// A vector with sixteen values of the same size. All cosines of such vectors are sixteenths, which floats add without
/// rounding, so that sums agree exactly in every order, and many are equal.
fn pattern(seed: u64) -> Vec<f32> {
    let mut numbers = Numbers(seed);
    let mut vector = vec![0.0; DIM];
    let mut filled = 0;
    while filled < 16 {
        let number = numbers.next();
        let place = usize::try_from(number % 32).expect("below 32");
        if vector[place] == 0.0 {
            vector[place] = if number & 64 == 0 { 3.0 } else { -3.0 };
            filled += 1;
        }
    }
    vector
}

/// A vector near one of `centres` centres.
fn clustered(numbers: &mut Numbers, centres: u64) -> Vec<f32> {
    let mut centre = Numbers(numbers.next() % centres);
    (0..DIM).map(|_| centre.signed() + 0.4 * numbers.signed()).collect()
}

fn range(first: u64, count: u32) -> ChunkRange {
    ChunkRange { first: ChunkId(first), count }
}

fn chunks(hits: &[VectorHit]) -> Vec<u64> {
    hits.iter().map(|hit| hit.chunk.0).collect()
}

/// What a search must find: the cosines computed in double precision, one by one.
fn expected(live: &BTreeMap<u64, Vec<f32>>, query: &[f32], k: usize, selection: Option<&Selection>) -> Vec<(u64, f64)> {
    let dot = |left: &[f32], right: &[f32]| -> f64 {
        left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right)).sum()
    };
    let mut all: Vec<(u64, f64)> = live
        .iter()
        .filter(|(id, _)| selection.is_none_or(|selection| selection.iter().any(|chunk| chunk.0 == **id)))
        .map(|(id, vector)| (*id, dot(query, vector) / (dot(query, query) * dot(vector, vector)).sqrt()))
        .collect();
    all.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    all.truncate(k);
    all
}

fn flush(index: &mut VectorIndex, watermark: u64) {
    let flush = index.freeze(Seq(watermark)).expect("there is something to write");
    index.install(flush.run().expect("written"));
}

/// Does all upkeep there is, and says how many jobs it took.
fn upkeep(index: &mut VectorIndex) -> usize {
    let mut jobs = 0;
    while let Some(job) = index.plan_graph() {
        let graph = job.run(&AtomicBool::new(false)).expect("built").expect("not stopped");
        index.install_graph(graph);
        jobs += 1;
        assert!(jobs < 10, "upkeep does not end");
    }
    jobs
}
