//! Filters: the best ten of what is selected, however little that is.

use loom_index::text::{LexicalHit, LexicalIndex, QueryWords};
use loom_index::{ChunkRange, Selection};
use loom_storage::ChunkId;
use tempfile::TempDir;

use crate::corpus::{Numbers, Version, flush, seqs};
use crate::model::Model;

/// 4,000 chunks in four segments and in memory, a tenth of them removed again.
fn corpus(folder: &TempDir) -> (LexicalIndex, Model) {
    let (mut index, _) = LexicalIndex::open(folder.path()).expect("a new folder opens");
    let mut model = Model::default();
    let mut numbers = Numbers::new(7);
    for seq in 1..=2000 {
        let (first, second) = (30 + numbers.below(60), numbers.below(40));
        let version = Version::new(seq, &[&numbers.prose(first), &numbers.prose(second)]);
        version.add_to(&mut index);
        model.live.insert(version.id, version);
        if seq % 10 == 0 {
            let at = usize::try_from(numbers.below(model.live.len() as u64)).expect("a small number");
            let id = *model.live.keys().nth(at).expect("the place is inside");
            model.live.remove(&id).expect("it is live").remove_from(&mut index);
        }
        if seq % 450 == 0 {
            flush(&mut index, seq);
        }
    }
    let statistics = index.statistics();
    assert_eq!(statistics.segments, 4);
    assert!(statistics.pending_chunks > 0);
    (index, model)
}

fn selection(ids: impl Iterator<Item = ChunkId>) -> Selection {
    Selection::new(ids.map(|first| ChunkRange { first, count: 1 }).collect())
}

#[test]
fn every_share_of_the_chunks_gives_its_exact_best_ten() {
    let folder = TempDir::new().expect("a folder for the test");
    let (index, model) = corpus(&folder);
    let live: Vec<ChunkId> = model.live.values().flat_map(|version| &version.chunks).map(|chunk| chunk.0).collect();
    let counted = model.count();
    let queries = ["w0x", "w3x w5x w300x", "w1x w2x w3x w4x w8x w200x w400x", "w600x", "w799x w798x absent"];
    for query in queries {
        for k in [1, 10, 5000] {
            counted.check(&index, query, k, None);
        }
        // From 0.1% to all of them, and scattered as well as in one piece.
        for step in [1000, 300, 40, 7, 2, 1] {
            let scattered = selection(live.iter().step_by(step).copied());
            counted.check(&index, query, 10, Some(&scattered));
            let piece = selection(live[live.len() / 3..].iter().take(live.len() / step / 2).copied());
            counted.check(&index, query, 10, Some(&piece));
        }
    }
}

#[test]
fn removed_chunks_are_not_found_even_when_selected() {
    let folder = TempDir::new().expect("a folder for the test");
    let (mut index, _) = LexicalIndex::open(folder.path()).expect("a new folder opens");
    let versions: Vec<Version> = (1..=5).map(|seq| Version::new(seq, &["one word"])).collect();
    let all = selection(versions.iter().map(|version| version.chunks[0].0));
    for (version, flushed) in versions.iter().zip([true, true, false, false, false]) {
        version.add_to(&mut index);
        if flushed {
            flush(&mut index, version.id.seq().0);
        }
    }
    versions[0].remove_from(&mut index);
    versions[3].remove_from(&mut index);
    for selected in [None, Some(&all)] {
        assert_eq!(seqs(&index.search("word", 10, selected).expect("a search works")), [2, 3, 5]);
    }
    flush(&mut index, 6);
    for selected in [None, Some(&all)] {
        assert_eq!(seqs(&index.search("word", 10, selected).expect("a search works")), [2, 3, 5]);
    }
    let none = selection(std::iter::empty());
    assert!(index.search("word", 10, Some(&none)).expect("a search works").is_empty());
}

#[test]
fn hits_below_a_least_score_may_be_missing_and_no_others() {
    let folder = TempDir::new().expect("a folder for the test");
    let (index, _) = corpus(&folder);
    let mut missing = 0;
    for query in ["w0x", "w3x w5x w300x", "w1x w2x w3x w4x w8x w200x w400x", "w799x w798x absent"] {
        let words = index.look_up(&QueryWords::of(query)).expect("it is looked up");
        let search = |least| index.search_words(&words, None, 100, None, least).expect("a search works");
        let all = search(0.0);
        for place in [0, 9, 60].into_iter().filter(|place| *place < all.len()) {
            let least = all[place].score;
            let wanted: Vec<LexicalHit> = all.iter().copied().filter(|hit| hit.score >= least).collect();
            let found = search(least);
            assert_eq!(found[..wanted.len()], wanted, "{query}, {least}");
            missing += all.len() - found.len();
        }
    }
    assert!(missing > 0, "nothing was passed over");
}
