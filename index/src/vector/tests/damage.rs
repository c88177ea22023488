//! Files that are missing, cut, changed or of something else.

use std::fs;
use std::path::Path;

use super::*;
use crate::Error;

type Files = BTreeMap<String, Vec<u8>>;

fn read_files(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            (entry.file_name().into_string().expect("plain names"), fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

fn write_files(folder: &Path, files: &Files) {
    fs::remove_dir_all(folder).expect("removed");
    fs::create_dir(folder).expect("created");
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).expect("written");
    }
}

/// A folder with two segments, removed rows and a graph, and the vectors it holds.
fn written(folder: &Path) -> (Files, BTreeMap<u64, Vec<f32>>) {
    let mut index = VectorIndex::open(folder, MODEL, DIM).expect("opened").0;
    index.configure(EAGER);
    let mut live = BTreeMap::new();
    for id in 0..40 {
        // Some vectors repeat, in the graph and after it.
        index.add(ChunkId(id), &pattern(id % 25)).expect("it has a direction");
        live.insert(id, pattern(id % 25));
        if id == 30 {
            upkeep(&mut index);
            flush(&mut index, 1);
        }
    }
    index.remove(range(3, 4));
    live.retain(|id, _| !(3..7).contains(id));
    flush(&mut index, 2);
    let files = read_files(folder);
    let names: Vec<&str> = files.keys().map(|name| name.trim_end_matches(|c: char| c.is_ascii_digit())).collect();
    assert_eq!(names, ["graph-", "manifest", "rows-", "rows-"]);
    (files, live)
}

/// Whether the damaged folder is refused; if it is not, it must answer as before the damage.
fn refused(folder: &Path, live: &BTreeMap<u64, Vec<f32>>) -> bool {
    let (mut index, watermark) = match VectorIndex::open(folder, MODEL, DIM) {
        Ok(opened) => opened,
        Err(Error::Rebuild { what: "vector", .. }) => return true,
        Err(other) => panic!("{other}"),
    };
    assert_eq!(watermark, Seq(2));
    index.configure(EAGER);
    upkeep(&mut index);
    assert_eq!(index.statistics().rows - index.statistics().removed, live.len() as u64);
    let query = pattern(20);
    let hits = index.search(&query, 40, None).expect("searched");
    let hits: Vec<(u64, f64)> = hits.iter().map(|hit| (hit.chunk.0, f64::from(hit.similarity))).collect();
    assert_eq!(hits, expected(live, &query, 40, None));
    false
}

/// Damages each file in each way of `ways` (a number of its bytes to a damaged copy) and checks what comes of it.
fn check_damage(ways: impl Fn(&[u8]) -> Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (files, live) = written(folder);
    assert!(!refused(folder, &live));
    for (name, bytes) in &files {
        for (number, damaged) in ways(bytes).into_iter().enumerate() {
            write_files(folder, &files);
            fs::write(folder.join(name), damaged).expect("written");
            // A graph is only a faster way to the same answers.
            let is_graph = name.starts_with("graph");
            assert_eq!(refused(folder, &live), !is_graph, "{name}, damage {number}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    check_damage(|bytes| {
        let near_an_end = |&length: &usize| length < 80 || bytes.len() - length < 80 || length % 61 == 0;
        (0..bytes.len()).filter(near_an_end).map(|length| bytes[..length].to_vec()).collect()
    });
}

#[test]
fn a_file_with_a_flipped_bit_is_refused() {
    check_damage(|bytes| {
        let near_an_end = |&at: &usize| at < 80 || bytes.len() - at < 80 || at % 31 == 0;
        let flipped = |at: usize| {
            let mut copy = bytes.to_vec();
            copy[at] ^= 1 << (at % 8);
            copy
        };
        (0..bytes.len()).filter(near_an_end).map(flipped).collect()
    });
}

/// 1,000 flipped bits and 200 cuts, one at a time, anywhere in the files of a folder of 200 rows.
#[test]
fn damage_at_random_places_is_healed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut index = VectorIndex::open(folder, MODEL, DIM).expect("opened").0;
    index.configure(EAGER);
    let live: BTreeMap<u64, Vec<f32>> = (0..200).map(|id| (id, pattern(id % 150))).collect();
    let fill = |index: &mut VectorIndex, ids: std::ops::Range<u64>| {
        live.range(ids).for_each(|(id, vector)| index.add(ChunkId(*id), vector).expect("it has a direction"));
    };
    fill(&mut index, 0..180);
    upkeep(&mut index);
    flush(&mut index, 1);
    fill(&mut index, 180..200);
    flush(&mut index, 2);
    let files = read_files(folder);
    let total: usize = files.values().map(Vec::len).sum();
    let mut numbers = Numbers(11);
    let (mut refusals, mut whole) = (0, 0);
    for round in 0..1_200 {
        let mut at = usize::try_from(numbers.next()).expect("64 bits") % total;
        let (name, bytes) = files
            .iter()
            .find(|(_, bytes)| {
                at < bytes.len() || {
                    at -= bytes.len();
                    false
                }
            })
            .expect("it is in one of the files");
        let mut damaged = bytes.clone();
        if round < 1_000 {
            damaged[at] ^= 1 << (numbers.next() % 8);
        } else {
            damaged.truncate(at);
        }
        fs::write(folder.join(name), damaged).expect("written");
        if refused(folder, &live) {
            refusals += 1;
        } else {
            assert!(name.starts_with("graph"), "{name}, round {round}");
            whole += 1;
        }
        write_files(folder, &files);
    }
    assert!(refusals > 100 && whole > 100, "{refusals} refused, {whole} healed alone");
    fs::remove_dir_all(folder).expect("removed");
    let mut rebuilt = VectorIndex::open(folder, MODEL, DIM).expect("opened").0;
    fill(&mut rebuilt, 0..200);
    flush(&mut rebuilt, 2);
    assert!(!refused(folder, &live));
}

#[test]
fn a_file_with_something_added_is_refused() {
    check_damage(|bytes| vec![[bytes, &[0]].concat(), [&[0], bytes].concat(), [bytes, bytes].concat()]);
}

#[test]
fn a_missing_file_is_refused_or_starts_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (files, live) = written(folder);
    for name in files.keys() {
        write_files(folder, &files);
        fs::remove_file(folder.join(name)).expect("removed");
        if name == "manifest" {
            let (index, watermark) = VectorIndex::open(folder, MODEL, DIM).expect("an empty index");
            assert_eq!((watermark, index.statistics().rows), (Seq(0), 0));
            assert_eq!(read_files(folder), Files::new(), "what nothing names is deleted");
        } else {
            assert_eq!(refused(folder, &live), name.starts_with("rows"), "{name}");
        }
    }
}

#[test]
fn files_of_another_kind_model_or_dimension_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (files, live) = written(folder);
    let rows: Vec<&String> = files.keys().filter(|name| name.starts_with("rows")).collect();
    let mut swapped = files.clone();
    swapped.insert(rows[0].clone(), files[rows[1]].clone());
    write_files(folder, &swapped);
    assert!(refused(folder, &live), "a whole file, but not the one that the manifest names");
    write_files(folder, &files);
    for (model, dim) in [("test-33", DIM), ("test", DIM), (MODEL, 64)] {
        assert!(matches!(VectorIndex::open(folder, model, dim), Err(Error::Rebuild { .. })), "{model} {dim}");
    }
    for dim in [0, 31, 4097] {
        assert!(matches!(VectorIndex::open(folder, MODEL, dim), Err(Error::Backend { .. })), "{dim}");
    }
    assert!(!refused(folder, &live));
}

#[test]
fn what_an_interrupted_flush_left_is_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (files, live) = written(folder);
    for name in ["manifest.new", "rows-77", "rows-78.new", "graph-79", "notes.txt"] {
        fs::write(folder.join(name), b"half").expect("written");
    }
    assert!(!refused(folder, &live));
    let mut left = files;
    left.insert("notes.txt".to_owned(), b"half".to_vec());
    assert_eq!(read_files(folder), left);
}
