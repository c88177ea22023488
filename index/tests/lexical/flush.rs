//! Changes during a flush, and flushes that fail.

use std::fs;

use loom_index::Error;
use loom_index::text::LexicalIndex;
use loom_storage::Seq;
use tempfile::TempDir;

use crate::corpus::{Version, flush, found, index_of};

#[test]
fn changes_go_on_while_a_flush_runs() {
    let folder = TempDir::new().expect("a folder for the test");
    let mut index = index_of(folder.path(), &["word one", "word two", "word three"]);
    let versions: Vec<Version> = ["word one", "word two", "word three", "word four"]
        .iter()
        .zip(1..)
        .map(|(text, seq)| Version::new(seq, &[text]))
        .collect();
    flush(&mut index, 3);
    versions[0].remove_from(&mut index);
    versions[3].add_to(&mut index);
    let job = index.freeze(Seq(5)).expect("there is something to write");
    assert_eq!(found(&index, "word"), [2, 3, 4]);
    // Removed in the frozen part, restored there, removed below, restored where the flush is about to delete it.
    versions[3].remove_from(&mut index);
    assert_eq!(found(&index, "word"), [2, 3]);
    versions[3].add_to(&mut index);
    versions[1].remove_from(&mut index);
    versions[0].add_to(&mut index);
    assert_eq!(found(&index, "word"), [1, 3, 4]);
    let flushed = job.run().expect("a flush works");
    assert_eq!(found(&index, "word"), [1, 3, 4]);
    index.install(flushed);
    assert_eq!(found(&index, "word"), [1, 3, 4]);
    flush(&mut index, 9);
    assert_eq!(found(&index, "word"), [1, 3, 4]);
    let (index, watermark) = LexicalIndex::open(folder.path()).expect("what was written opens");
    assert_eq!((found(&index, "word"), watermark), (vec![1, 3, 4], Seq(9)));
}

#[test]
fn removals_taken_back_leave_no_trace() {
    let folder = TempDir::new().expect("a folder for the test");
    let mut index = index_of(folder.path(), &["word one word", "word two", "three"]);
    flush(&mut index, 3);
    let (before, statistics) = (index.search("word three", 10, None).expect("a search works"), index.statistics());
    let versions = [Version::new(1, &["word one word"]), Version::new(3, &["three"])];
    for _ in 0..3 {
        for version in &versions {
            version.remove_from(&mut index);
        }
        assert_eq!(found(&index, "word three"), [2]);
        for version in &versions {
            version.add_to(&mut index);
        }
        assert_eq!(index.search("word three", 10, None).expect("a search works"), before);
    }
    assert_eq!(index.statistics().chunks, statistics.chunks);
    assert!(index.freeze(Seq(9)).is_none(), "nothing changed in the end");
}

#[test]
fn a_flush_can_run_on_another_thread() {
    let folder = TempDir::new().expect("a folder for the test");
    let mut index = index_of(folder.path(), &["word one", "word two"]);
    let job = index.freeze(Seq(2)).expect("there is something to write");
    let flushed = std::thread::scope(|scope| {
        let job = scope.spawn(|| job.run().expect("a flush works"));
        let search = scope.spawn(|| found(&index, "word"));
        assert_eq!(search.join().expect("no panic"), [1, 2]);
        job.join().expect("no panic")
    });
    index.install(flushed);
    assert_eq!(found(&index, "word"), [1, 2]);
}

#[test]
fn the_same_change_twice_counts_once() {
    let folder = TempDir::new().expect("a folder for the test");
    let mut index = index_of(folder.path(), &["word one", "word two"]);
    let again = Version::new(1, &["word one"]);
    for seq in 2..5 {
        let before = index.search("word", 10, None).expect("a search works");
        again.add_to(&mut index);
        assert_eq!(index.search("word", 10, None).expect("a search works"), before);
        flush(&mut index, seq);
    }
    again.remove_from(&mut index);
    again.remove_from(&mut index);
    Version::new(77, &["word"]).remove_from(&mut index);
    assert_eq!(index.statistics().chunks, 1);
    assert_eq!(found(&index, "word"), [2]);
}

#[test]
fn many_small_flushes_leave_few_segments() {
    let folder = TempDir::new().expect("a folder for the test");
    let (mut index, _) = LexicalIndex::open(folder.path()).expect("a new folder opens");
    for seq in 1..=40 {
        Version::new(seq, &["word"]).add_to(&mut index);
        if seq > 20 {
            Version::new(seq - 20, &["word"]).remove_from(&mut index);
        }
        flush(&mut index, seq);
        assert!(index.statistics().segments <= 6);
    }
    assert_eq!(found(&index, "word"), (21..=30).collect::<Vec<u64>>());
    assert_eq!(index.statistics().chunks, 20);
    assert!(fs::read_dir(folder.path()).expect("the folder is there").count() < 80, "old files go");
}

#[test]
fn a_flush_that_fails_loses_nothing_and_can_be_repeated() {
    let folder = TempDir::new().expect("a folder for the test");
    let place = folder.path().join("index");
    let mut index = index_of(&place, &["word one"]);
    fs::write(&place, "in the way").expect("a file can be written");
    let job = index.freeze(Seq(1)).expect("there is something to write");
    assert!(matches!(job.run(), Err(Error::Backend { .. } | Error::Rebuild { .. })));
    Version::new(2, &["word two"]).add_to(&mut index);
    assert_eq!(found(&index, "word"), [1, 2]);
    fs::remove_file(&place).expect("a file can be removed");
    flush(&mut index, 2);
    assert_eq!(found(&index, "word"), [1, 2]);
    let (reopened, watermark) = LexicalIndex::open(&place).expect("what was written opens");
    assert_eq!((found(&reopened, "word"), watermark), (vec![1], Seq(1)), "the first part has its own watermark");
    flush(&mut index, 2);
    let (reopened, watermark) = LexicalIndex::open(&place).expect("what was written opens");
    assert_eq!((found(&reopened, "word"), watermark), (vec![1, 2], Seq(2)));
}

#[test]
fn creating_replaces_what_was_there() {
    let folder = TempDir::new().expect("a folder for the test");
    let mut index = index_of(folder.path(), &["word one"]);
    flush(&mut index, 1);
    let mut index = LexicalIndex::create(folder.path()).expect("the folder can be replaced");
    assert_eq!(found(&index, "word"), [0; 0]);
    Version::new(1, &["other"]).add_to(&mut index);
    flush(&mut index, 1);
    assert_eq!(found(&index, "word other"), [1]);
}
