//! Scans of the rows whose signs are like the query's.

use super::*;

const WIDE: usize = 256;
const ROWS: u64 = 3000;

/// Vectors near one of `centres` centres, all of them moved by `shift` in every dimension.
fn filled(shift: f32) -> (VectorIndex, BTreeMap<u64, Vec<f32>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = VectorIndex::open(folder.path(), "wide", WIDE).expect("opened").0;
    let mut live = BTreeMap::new();
    for id in 0..ROWS {
        let vector = near(id, shift);
        index.add(ChunkId(id), &vector).expect("it has a direction");
        live.insert(id, vector);
    }
    (index, live)
}

fn near(seed: u64, shift: f32) -> Vec<f32> {
    let (mut centre, mut own) = (Numbers(seed % 150 + 10_000), Numbers(seed));
    (0..WIDE).map(|_| shift + centre.signed() + own.signed()).collect()
}

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
    let (mut index, mut live) = filled(0.0);
    assert!(index.scan_likely(&unit(&near(7, 0.0)), 10).is_none(), "not yet");
    assert!(found(&index, &live, 0.0) >= 198);
    assert!(index.scan_likely(&unit(&near(7, 0.0)), 10).is_some(), "signs are trusted");
    assert!(found(&index, &live, 0.0) >= 198);
    for id in (0..ROWS).filter(|id| id % 7 == 3) {
        index.remove(range(id, 1));
        live.remove(&id);
    }
    assert!(found(&index, &live, 0.0) >= 198);
    // Too few are left to choose from.
    index.remove(range(0, 1500));
    live.retain(|id, _| *id >= 1500);
    assert!(index.scan_likely(&unit(&near(7, 0.0)), 10).is_none());
    assert_eq!(found(&index, &live, 0.0), 200);
}

#[test]
fn signs_that_are_all_the_same_are_not_trusted() {
    let (index, live) = filled(4.0);
    assert_eq!(found(&index, &live, 4.0), 200);
    assert!(index.scan_likely(&unit(&near(7, 4.0)), 10).is_none());
    assert_eq!(found(&index, &live, 4.0), 200);
}

fn unit(vector: &[f32]) -> Vec<i16> {
    crate::vector::fixed::unit(vector).expect("it has a direction")
}
