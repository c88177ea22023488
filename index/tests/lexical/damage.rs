//! Files that are not what was written: a rebuild is asked for, or the answers are right. Nothing panics.

use std::fs;
use std::path::{Path, PathBuf};

use loom_index::Error;
use loom_index::text::{ANALYZER_VERSION, LexicalHit, LexicalIndex};
use loom_storage::Seq;
use tempfile::TempDir;

use crate::corpus::{Numbers, Version, flush};

const QUERIES: [&str; 4] = ["w0x w1x", "w5x", "w40x w600x w2x", "w3x"];

/// A folder with three segments, one of them with deleted chunks, and what it answers.
fn written(folder: &Path) -> Vec<Vec<LexicalHit>> {
    let (mut index, _) = LexicalIndex::open(folder).expect("a new folder opens");
    let mut numbers = Numbers::new(3);
    for seq in 1..=600 {
        let version = Version::new(seq, &[&numbers.prose(20)]);
        version.add_to(&mut index);
        if seq % 200 == 0 {
            flush(&mut index, seq);
            if seq == 200 {
                version.remove_from(&mut index);
            }
        }
    }
    assert_eq!(index.statistics().segments, 3);
    answers(&index)
}

fn answers(index: &LexicalIndex) -> Vec<Vec<LexicalHit>> {
    QUERIES.iter().map(|query| index.search(query, 10, None).expect("a search works")).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(files.len() > 10);
    files
}

/// Opens a copy of `from` in which `damage` was done to the file `name`. Returns whether a rebuild was asked for;
/// otherwise the answers must be `right`.
fn open_damaged(from: &Path, name: &Path, right: &[Vec<LexicalHit>], damage: impl FnOnce(&Path)) -> bool {
    let copy = TempDir::new().expect("a folder for the test");
    for file in files(from) {
        fs::copy(&file, copy.path().join(file.file_name().expect("a name"))).expect("a file can be copied");
    }
    let damaged = copy.path().join(name.file_name().expect("a name"));
    damage(&damaged);
    match LexicalIndex::open(copy.path()) {
        Ok((index, watermark)) => {
            assert_eq!(watermark, Seq(600), "{}", damaged.display());
            assert_eq!(answers(&index), right, "{}", damaged.display());
            false
        }
        Err(Error::Rebuild { what, .. }) => {
            assert_eq!(what, "lexical");
            true
        }
        Err(other) => panic!("{}: {other}", damaged.display()),
    }
}

/// Files that say nothing about the content: tantivy's locks, and the store of a schema that stores nothing.
fn is_idle(file: &Path) -> bool {
    let name = file.file_name().expect("a name").to_string_lossy();
    name.contains(".lock") || name.ends_with(".store") || name.ends_with(".pos") || name.ends_with(".fieldnorm")
}

#[test]
fn a_missing_or_shortened_file_asks_for_a_rebuild() {
    let folder = TempDir::new().expect("a folder for the test");
    let right = written(folder.path());
    for file in files(folder.path()) {
        let bytes = fs::read(&file).expect("a file can be read");
        let gone = open_damaged(folder.path(), &file, &right, |path| fs::remove_file(path).expect("it was there"));
        assert!(gone || is_idle(&file), "{} is missing", file.display());
        for len in [0, 1, bytes.len() / 2, bytes.len().saturating_sub(1)] {
            let shortened = open_damaged(folder.path(), &file, &right, |path| {
                fs::write(path, &bytes[..len.min(bytes.len())]).expect("a file can be written");
            });
            let loses = len + 1 < bytes.len();
            assert!(shortened || is_idle(&file) || !loses, "{} has {len} bytes", file.display());
        }
    }
}

#[test]
fn a_changed_byte_asks_for_a_rebuild_or_changes_nothing() {
    let folder = TempDir::new().expect("a folder for the test");
    let right = written(folder.path());
    let mut numbers = Numbers::new(11);
    for file in files(folder.path()) {
        let bytes = fs::read(&file).expect("a file can be read");
        if bytes.is_empty() {
            continue;
        }
        for _ in 0..8 {
            let at = usize::try_from(numbers.below(bytes.len() as u64)).expect("a small number");
            let bit = 1 << numbers.below(8);
            open_damaged(folder.path(), &file, &right, |path| {
                let mut bytes = bytes.clone();
                bytes[at] ^= bit;
                fs::write(path, bytes).expect("a file can be written");
            });
        }
    }
}

/// The list of segments has no checksum of tantivy's: every byte of it counts.
#[test]
fn every_digit_of_the_commit_is_guarded() {
    let folder = TempDir::new().expect("a folder for the test");
    let right = written(folder.path());
    let meta = folder.path().join("meta.json");
    let text = fs::read(&meta).expect("the commit is there");
    for (at, byte) in text.iter().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric()) {
        let other = if byte.is_ascii_digit() { b'0' + (byte - b'0' + 1) % 10 } else { byte ^ 1 };
        open_damaged(folder.path(), &meta, &right, |path| {
            let mut changed = text.clone();
            changed[at] = other;
            fs::write(path, changed).expect("a file can be written");
        });
    }
}

#[test]
fn another_version_or_something_else_asks_for_a_rebuild() {
    let folder = TempDir::new().expect("a folder for the test");
    fs::write(folder.path().join("notes.txt"), "no index").expect("a file can be written");
    assert!(matches!(LexicalIndex::open(folder.path()), Err(Error::Rebuild { .. })));
    let mut index = LexicalIndex::create(folder.path()).expect("the folder can be replaced");
    Version::new(1, &["word"]).add_to(&mut index);
    flush(&mut index, 1);
    drop(index);
    let meta = folder.path().join("meta.json");
    let text = fs::read_to_string(&meta).expect("the commit is there");
    let analyzer = |version: u32| format!("\\\"analyzer\\\":{version},");
    let other = text.replace(&analyzer(ANALYZER_VERSION), &analyzer(ANALYZER_VERSION - 1));
    assert_ne!(text, other);
    fs::write(&meta, other).expect("a file can be written");
    assert!(matches!(LexicalIndex::open(folder.path()), Err(Error::Rebuild { .. })));
}
