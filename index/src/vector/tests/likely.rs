//! Scans of the rows whose signs are like the query's, of one index and of several together.

use super::*;
use crate::vector::{Begun, nearest};

const WIDE: usize = 256;
const ROWS: u64 = 3000;

/// A vector near one of 150 centres, moved by `shift` in every dimension.
fn near(seed: u64, shift: f32) -> Vec<f32> {
    let (mut centre, mut own) = (Numbers(seed % 150 + 10_000), Numbers(seed));
    (0..WIDE).map(|_| shift + centre.signed() + own.signed()).collect()
}

fn filled(ids: impl Iterator<Item = u64>, shift: f32) -> (VectorIndex, BTreeMap<u64, Vec<f32>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = VectorIndex::open(folder.path(), "wide", WIDE).expect("opened").0;
    let mut live = BTreeMap::new();
    for id in ids {
        let vector = near(id, shift);
        index.add(ChunkId(id), &vector).expect("it has a direction");
        live.insert(id, vector);
    }
    (index, live)
}

/// How many of the best ten of twenty queries are found.
fn found(index: &VectorIndex, live: &BTreeMap<u64, Vec<f32>>, shift: f32) -> usize {
    let one = |seed| {
        let query = near(ROWS + seed, shift);
        let hits = chunks(&index.search(&query, 10, None).expect("searched"));
        assert!(hits.len() == 10 && hits.iter().all(|id| live.contains_key(id)), "{hits:?}");
        expected(live, &query, 10, None).iter().filter(|(id, _)| hits.contains(id)).count()
    };
    (0..20).map(one).sum()
}

#[test]
fn rows_with_like_signs_hold_the_best() {
    let (mut index, mut live) = filled(0..ROWS, 0.0);
    assert!(found(&index, &live, 0.0) >= 198);
    for id in (0..ROWS).filter(|id| id % 7 == 3) {
        index.remove(range(id, 1));
        live.remove(&id);
    }
    assert!(found(&index, &live, 0.0) >= 198);
    // Too few are left to choose from.
    index.remove(range(0, 2500));
    live.retain(|id, _| *id >= 2500);
    assert_eq!(found(&index, &live, 0.0), 200);
}

#[test]
fn signs_that_are_all_the_same_hide_nothing() {
    let (index, live) = filled(0..ROWS, 4.0);
    assert_eq!(found(&index, &live, 4.0), 200);
}

#[test]
fn signs_that_tell_nothing_hide_little() {
    // What tells these apart is one value that outweighs all others, whose signs are noise.
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = VectorIndex::open(folder.path(), "wide", WIDE).expect("opened").0;
    let vector = |seed: u64| {
        let mut numbers = Numbers(seed);
        let mut vector: Vec<f32> = (0..WIDE).map(|_| 0.01 * numbers.signed()).collect();
        vector[0] = numbers.signed();
        vector[1] = 1.0;
        vector
    };
    let live: BTreeMap<u64, Vec<f32>> = (0..ROWS).map(|id| (id, vector(id))).collect();
    for (id, vector) in &live {
        index.add(ChunkId(*id), vector).expect("it has a direction");
    }
    let one = |seed| {
        let query = vector(ROWS + seed);
        let hits = chunks(&index.search(&query, 50, None).expect("searched"));
        expected(&live, &query, 50, None).iter().filter(|(id, _)| hits.contains(id)).count()
    };
    let found: usize = (0..20).map(one).sum();
    assert!(found >= 985, "{found} of 1000");
}

#[test]
fn several_indexes_are_searched_as_one() {
    let (whole, _) = filled(0..ROWS, 0.0);
    // Of unequal size, one of them empty; ids ascend from part to part, as ties do.
    let ends = [0, 40, 40, 900, 2100, ROWS];
    let parts: Vec<VectorIndex> = ends.windows(2).map(|ends| filled(ends[0]..ends[1], 0.0).0).collect();
    for seed in 0..20 {
        for k in [1, 10, 100, 4000] {
            let query = near(ROWS + seed, 0.0);
            let begun = parts.iter().map(|part| part.begin(&query, k, None).expect("begun"));
            let rows = begun.filter_map(|begun| match begun {
                Begun::Rows(rows) => Some(rows),
                Begun::Hits(hits) => {
                    assert!(hits.is_empty(), "an index without rows is done");
                    None
                }
            });
            let rows: Vec<_> = rows.collect();
            let hits = nearest(&rows.iter().collect::<Vec<_>>(), k);
            assert!(hits.iter().all(|hits| hits.is_sorted_by(|left, right| left.similarity >= right.similarity)));
            let mut together: Vec<VectorHit> = hits.into_iter().flatten().collect();
            together
                .sort_by(|left, right| right.similarity.total_cmp(&left.similarity).then(left.chunk.cmp(&right.chunk)));
            assert_eq!(together, whole.search(&query, k, None).expect("searched"));
        }
    }
    assert!(nearest(&[], 10).is_empty());
}
