//! Graphs, compaction, selections and the edges of a search.

use super::*;
use crate::vector::Refused;

/// An index of `count` clustered vectors with ids from 0 on, in a folder that may vanish: nothing is written.
fn filled(count: u64, settings: Settings) -> (VectorIndex, BTreeMap<u64, Vec<f32>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = VectorIndex::open(folder.path(), MODEL, DIM).expect("opened").0;
    index.configure(settings);
    let mut numbers = Numbers(7);
    let mut live = BTreeMap::new();
    for id in 0..count {
        let vector = clustered(&mut numbers, 60);
        index.add(ChunkId(id), &vector).expect("it has a direction");
        live.insert(id, vector);
    }
    (index, live)
}

/// Which share of the best ten is found, over a hundred queries.
fn recall(index: &VectorIndex, live: &BTreeMap<u64, Vec<f32>>, selection: Option<&Selection>) -> f64 {
    let mut numbers = Numbers(99);
    let (mut found, mut all) = (0_u32, 0_u32);
    for _ in 0..100 {
        let query = clustered(&mut numbers, 60);
        let hits = chunks(&index.search(&query, 10, selection).expect("searched"));
        assert_eq!(hits.len(), 10);
        for (id, _) in expected(live, &query, 10, selection) {
            all += 1;
            found += u32::from(hits.contains(&id));
        }
    }
    f64::from(found) / f64::from(all)
}

#[test]
fn a_graph_with_newer_and_removed_rows_keeps_its_recall() {
    let (mut index, mut live) = filled(3_000, EAGER);
    assert_eq!(upkeep(&mut index), 1);
    index.configure(Settings { graph_rows_min: 10_000, ..EAGER });
    let mut numbers = Numbers(3);
    for id in 3_000..3_300 {
        let vector = clustered(&mut numbers, 60);
        index.add(ChunkId(id), &vector).expect("it has a direction");
        live.insert(id, vector);
    }
    for first in (0..3_300).step_by(11) {
        index.remove(range(first, 2));
        live.retain(|id, _| !(first..first + 2).contains(id));
    }
    let statistics = index.statistics();
    assert_eq!((statistics.in_graph, statistics.pending, statistics.removed), (3_000, 300, 600));
    let recall = recall(&index, &live, None);
    assert!(recall >= 0.98, "recall {recall}");
}

#[test]
fn an_extended_graph_and_a_broad_selection_keep_their_recall() {
    let (mut index, live) = filled(2_000, EAGER);
    index.remove(range(1_500, 500));
    assert_eq!(upkeep(&mut index), 1);
    for (id, vector) in live.range(1_500..) {
        index.add(ChunkId(*id), vector).expect("it has a direction");
    }
    assert_eq!(upkeep(&mut index), 1);
    assert_eq!(index.statistics().in_graph, 2_000);
    let half = Selection::new((0..200).map(|part| range(part * 10, 5)).collect());
    for selection in [None, Some(&half)] {
        let recall = recall(&index, &live, selection);
        assert!(recall >= 0.98, "recall {recall}");
    }
}

#[test]
fn a_selection_without_what_is_near_the_query_is_searched_beyond_it() {
    let (mut index, live) = filled(3_000, EAGER);
    upkeep(&mut index);
    let (mut found, mut all) = (0_u32, 0_u32);
    for seed in 0..20 {
        let query = clustered(&mut Numbers(seed), 60);
        let near: Vec<u64> = expected(&live, &query, 700, None).into_iter().map(|hit| hit.0).collect();
        let far = (0..3_000).filter(|id| !near.contains(id)).map(|id| range(id, 1));
        let selection = Selection::new(far.collect());
        let hits = chunks(&index.search(&query, 10, Some(&selection)).expect("searched"));
        assert!(!hits.iter().any(|id| near.contains(id)));
        for (id, _) in expected(&live, &query, 10, Some(&selection)) {
            all += 1;
            found += u32::from(hits.contains(&id));
        }
    }
    assert!(f64::from(found) >= 0.98 * f64::from(all), "{found} of {all}");
}

#[test]
fn a_selection_of_a_thousandth_finds_its_exact_best_ten() {
    let (mut index, live) = filled(20_000, Settings::default());
    let selection = Selection::new((0..20).map(|part| range(part * 997, 1)).collect());
    let queries: Vec<Vec<f32>> = (0..5).map(|seed| clustered(&mut Numbers(seed), 60)).collect();
    for graphs in [0, 1] {
        if graphs == 1 {
            assert_eq!(upkeep(&mut index), 1, "by default a graph is built from 20,000 rows on");
        }
        for query in &queries {
            let hits = chunks(&index.search(query, 10, Some(&selection)).expect("searched"));
            let best: Vec<u64> = expected(&live, query, 10, Some(&selection)).into_iter().map(|hit| hit.0).collect();
            assert_eq!(hits, best);
        }
    }
    index.configure(EAGER);
    let recall = recall(&index, &live, Some(&selection));
    assert!(recall >= 0.98, "recall {recall} by the graph, were it asked");
}

#[test]
fn half_removed_is_compacted_in_memory_and_on_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = VectorIndex::open(folder.path(), MODEL, DIM).expect("opened").0;
    index.configure(EAGER);
    for id in 0..1_000 {
        index.add(ChunkId(id), &pattern(id)).expect("it has a direction");
    }
    upkeep(&mut index);
    flush(&mut index, 1);
    let size = || -> u64 {
        let entries = std::fs::read_dir(folder.path()).expect("a folder");
        entries.map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len()).sum()
    };
    let full = size();
    index.remove(range(250, 500));
    assert_eq!(upkeep(&mut index), 1);
    flush(&mut index, 2);
    assert!(size() < full * 6 / 10, "{} of {full} bytes are left", size());
    let (mut reopened, watermark) = VectorIndex::open(folder.path(), MODEL, DIM).expect("opened");
    reopened.configure(EAGER);
    assert_eq!(watermark, Seq(2));
    upkeep(&mut reopened);
    for index in [&index, &reopened] {
        let statistics = index.statistics();
        assert_eq!((statistics.rows, statistics.removed, statistics.in_graph), (500, 0, 500));
        assert_eq!(chunks(&index.search(&pattern(900), 1, None).expect("searched")), [900]);
        assert!(!index.contains(ChunkId(300)));
    }
}

#[test]
fn repeated_vectors_hide_nothing_and_are_all_found() {
    let (mut index, mut live) = filled(300, EAGER);
    for id in 300..3_300 {
        index.add(ChunkId(id), &pattern(id % 3)).expect("it has a direction");
        live.insert(id, pattern(id % 3));
    }
    upkeep(&mut index);
    for id in [300, 301, 303] {
        index.remove(range(id, 1));
        live.remove(&id);
    }
    assert_eq!(index.statistics().pending, 0);
    let selection = Selection::new((0..40).map(|part| range(part * 100, 20)).collect());
    for query in (0..3).map(pattern) {
        for selection in [None, Some(&selection)] {
            let hits = chunks(&index.search(&query, 30, selection).expect("searched"));
            let best: Vec<u64> = expected(&live, &query, 30, selection).into_iter().map(|hit| hit.0).collect();
            assert_eq!(hits, best);
        }
    }
    let recall = recall(&index, &live, None);
    assert!(recall >= 0.98, "recall {recall}");
}

#[test]
fn a_stopped_job_changes_nothing_and_is_planned_again() {
    let (mut index, _) = filled(50, EAGER);
    let job = index.plan_graph().expect("there are enough rows");
    assert!(index.plan_graph().is_none(), "one is under way");
    assert!(job.run(&AtomicBool::new(true)).expect("no error").is_none());
    assert_eq!(upkeep(&mut index), 1);
    assert_eq!(index.statistics().in_graph, 50);
}

#[test]
fn a_stopped_job_leaves_out_the_removed_rows_all_the_same() {
    let (mut index, mut live) = filled(60, EAGER);
    upkeep(&mut index);
    assert!(index.plan_compaction().is_none(), "nothing is removed");
    index.remove(range(0, 40));
    live.retain(|id, _| *id >= 40);
    let job = index.plan_compaction().expect("most rows are removed");
    index.install_graph(job.run(&AtomicBool::new(true)).expect("it ran").expect("there is something to install"));
    let statistics = index.statistics();
    assert_eq!((statistics.rows, statistics.removed, statistics.in_graph), (20, 0, 0));
    let query = live[&50].clone();
    let found = index.search(&query, 5, None).expect("searched");
    let wanted: Vec<u64> = expected(&live, &query, 5, None).into_iter().map(|(id, _)| id).collect();
    assert_eq!(chunks(&found), wanted);
    assert_eq!(upkeep(&mut index), 1, "the graph is built later");
}

#[test]
fn one_flush_at_a_time_and_none_without_need() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = VectorIndex::open(folder.path(), MODEL, DIM).expect("opened").0;
    assert!(index.freeze(Seq(0)).is_none(), "nothing happened");
    index.add(ChunkId(1), &pattern(1)).expect("it has a direction");
    let first = index.freeze(Seq(5)).expect("a row");
    assert!(index.freeze(Seq(6)).is_none(), "one is under way");
    drop(first);
    flush(&mut index, 6);
    assert!(index.freeze(Seq(6)).is_none(), "all is written");
    flush(&mut index, 7);
    assert_eq!(VectorIndex::open(folder.path(), MODEL, DIM).expect("opened").1, Seq(7));
}

#[test]
fn many_small_flushes_leave_few_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = VectorIndex::open(folder.path(), MODEL, DIM).expect("opened").0;
    for id in 0..300 {
        index.add(ChunkId(id), &pattern(id)).expect("it has a direction");
        flush(&mut index, id + 1);
    }
    let files = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert!(files <= 12, "{files} files");
    let reopened = VectorIndex::open(folder.path(), MODEL, DIM).expect("opened").0;
    assert_eq!(reopened.statistics().rows, 300);
}

#[test]
fn what_is_similar_to_nothing_is_refused_or_finds_nothing() {
    let (mut index, _) = filled(30, EAGER);
    index.add(ChunkId(5), &pattern(5)).expect("it has a direction");
    let mut broken = pattern(5);
    broken[3] = f32::NAN;
    assert_eq!(index.add(ChunkId(5), &broken), Err(Refused::NoDirection));
    assert!(!index.contains(ChunkId(5)), "the earlier vector is gone");
    assert_eq!(index.add(ChunkId(6), &[1.0; 31]), Err(Refused::Length { found: 31, expected: 32 }));
    for query in [broken, vec![0.0; DIM], vec![f32::INFINITY; DIM]] {
        assert_eq!(index.search(&query, 10, None).expect("no error"), []);
        assert_eq!(index.similarity(&query, &[ChunkId(1)]), [None]);
    }
    assert!(index.search(&[1.0; 31], 10, None).is_err());
    assert_eq!(index.search(&pattern(1), 0, None).expect("no error"), []);
    assert_eq!(index.search(&pattern(1), usize::MAX, None).expect("no error").len(), 28);
    assert_eq!(index.search(&pattern(1), 10, Some(&Selection::new(Vec::new()))).expect("no error"), []);
}

#[test]
fn similarities_of_given_chunks_are_those_of_the_search() {
    let (mut index, _) = filled(100, Settings::default());
    index.remove(range(40, 1));
    let query = clustered(&mut Numbers(5), 60);
    let hits = index.search(&query, 100, None).expect("searched");
    assert_eq!(hits.len(), 99);
    let asked: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk).chain([ChunkId(40), ChunkId(1_000)]).collect();
    let mut answer: Vec<Option<f32>> = hits.iter().map(|hit| Some(hit.similarity)).collect();
    answer.extend([None, None]);
    assert_eq!(index.similarity(&query, &asked), answer);
}
