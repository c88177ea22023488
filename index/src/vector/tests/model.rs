//! Random histories, each step compared with the map.

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::vector::{Graph, Statistics, VectorFlushed};

#[derive(Clone, Debug)]
enum Step {
    Add(u64, u64),
    /// A vector without direction: the chunk is left without one.
    AddZero(u64),
    Remove(u64, u32),
    /// Freezes and writes; the next `InstallFlush` installs.
    Flush,
    InstallFlush,
    /// Plans and builds; the next `InstallGraph` installs.
    Build,
    InstallGraph,
    /// Opens the folder again: what was not written is lost.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..120_u64, 0..50_u64).prop_map(|(id, seed)| Step::Add(id, seed)),
        1 => (0..120_u64).prop_map(Step::AddZero),
        4 => (0..130_u64, 0..12_u32).prop_map(|(first, count)| Step::Remove(first, count)),
        2 => Just(Step::Flush),
        2 => Just(Step::InstallFlush),
        2 => Just(Step::Build),
        2 => Just(Step::InstallGraph),
        1 => Just(Step::Reopen),
    ]
}

/// An index, the map it must agree with, and the map that the files must agree with.
struct Run {
    folder: TempDir,
    index: VectorIndex,
    settings: Settings,
    live: BTreeMap<u64, Vec<f32>>,
    written: (u64, BTreeMap<u64, Vec<f32>>),
    watermark: u64,
    flushed: Option<VectorFlushed>,
    graph: Option<Graph>,
}

impl Run {
    fn new(settings: Settings) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut index = VectorIndex::open(folder.path(), MODEL, DIM).expect("opened").0;
        index.configure(settings);
        Self {
            folder,
            index,
            settings,
            live: BTreeMap::new(),
            written: (0, BTreeMap::new()),
            watermark: 0,
            flushed: None,
            graph: None,
        }
    }

    fn take(&mut self, step: &Step) {
        self.watermark += 1;
        match *step {
            Step::Add(id, seed) => {
                self.index.add(ChunkId(id), &pattern(seed)).expect("it has a direction");
                self.live.insert(id, pattern(seed));
            }
            Step::AddZero(id) => {
                self.index.add(ChunkId(id), &[0.0; DIM]).expect_err("it has no direction");
                self.live.remove(&id);
            }
            Step::Remove(first, count) => {
                self.index.remove(range(first, count));
                self.live.retain(|id, _| !(first..first + u64::from(count)).contains(id));
            }
            Step::Flush => {
                if let Some(flush) = self.index.freeze(Seq(self.watermark)) {
                    self.written = (self.watermark, self.live.clone());
                    self.flushed = Some(flush.run().expect("written"));
                }
            }
            Step::InstallFlush => {
                if let Some(flushed) = self.flushed.take() {
                    self.index.install(flushed);
                }
            }
            Step::Build => {
                if let Some(job) = self.index.plan_graph() {
                    self.graph = job.run(&AtomicBool::new(false)).expect("built");
                }
            }
            Step::InstallGraph => {
                if let Some(graph) = self.graph.take() {
                    self.index.install_graph(graph);
                }
            }
            Step::Reopen => {
                (self.flushed, self.graph) = (None, None);
                let (index, watermark) =
                    VectorIndex::open(self.folder.path(), MODEL, DIM).expect("what was written can be read");
                self.index = index;
                self.index.configure(self.settings);
                assert_eq!(watermark.0, self.written.0);
                self.live.clone_from(&self.written.1);
            }
        }
    }

    fn check_membership(&self) {
        for id in 0..130 {
            assert_eq!(self.index.contains(ChunkId(id)), self.live.contains_key(&id), "chunk {id}");
        }
        let Statistics { rows, removed, in_graph, pending } = self.index.statistics();
        assert_eq!(rows - removed, self.live.len() as u64);
        assert_eq!(in_graph + pending, rows);
    }
}

/// Every third chunk or so, and ids that are no chunk.
fn some_selection(seed: u64) -> Selection {
    let mut numbers = Numbers(seed);
    let ranges = (0..20).map(|part| range(part * 8, u32::try_from(numbers.next() % 6).expect("below 6")));
    Selection::new(ranges.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn scans_agree_exactly_with_the_map(steps in prop::collection::vec(step(), 1..120), seed in 0..50_u64, k in 1..20_usize) {
        let mut run = Run::new(Settings { graph_rows_min: u32::MAX, ..EAGER });
        let selection = some_selection(seed);
        for step in &steps {
            run.take(step);
            run.check_membership();
            for selection in [None, Some(&selection)] {
                let hits = run.index.search(&pattern(seed), k, selection).expect("searched");
                let hits: Vec<(u64, f64)> = hits.iter().map(|hit| (hit.chunk.0, f64::from(hit.similarity))).collect();
                prop_assert_eq!(hits, expected(&run.live, &pattern(seed), k, selection));
            }
        }
    }

    #[test]
    fn a_graph_returns_no_ghosts_and_true_similarities(steps in prop::collection::vec(step(), 1..200), seed in 0..50_u64, k in 1..20_usize) {
        let mut run = Run::new(EAGER);
        let selection = some_selection(seed);
        for step in &steps {
            run.take(step);
            run.check_membership();
            for selection in [None, Some(&selection)] {
                let all: BTreeMap<u64, u64> = expected(&run.live, &pattern(seed), usize::MAX, selection)
                    .into_iter()
                    .map(|(id, cosine)| (id, cosine.to_bits()))
                    .collect();
                let hits = run.index.search(&pattern(seed), k, selection).expect("searched");
                prop_assert_eq!(hits.len(), k.min(all.len()));
                for hit in hits {
                    prop_assert_eq!(all.get(&hit.chunk.0), Some(&f64::from(hit.similarity).to_bits()));
                }
            }
        }
    }
}

#[test]
fn a_caught_up_index_answers_like_a_rebuilt_one() {
    let mut caught_up = Run::new(Settings { graph_rows_min: u32::MAX, ..EAGER });
    let mut numbers = Numbers(1);
    for _ in 0..400 {
        let (id, seed) = (numbers.next() % 100, numbers.next() % 9);
        caught_up.take(&Step::Add(id, seed));
        caught_up.take(&Step::Remove(numbers.next() % 100, 2));
    }
    let mut rebuilt = Run::new(caught_up.settings);
    for (id, vector) in &caught_up.live {
        rebuilt.index.add(ChunkId(*id), vector).expect("it has a direction");
    }
    for k in 1..60 {
        let query = pattern(k as u64);
        let hits = caught_up.index.search(&query, k, None).expect("searched");
        assert_eq!(hits, rebuilt.index.search(&query, k, None).expect("searched"));
    }
}
