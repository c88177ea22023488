//! One bit of a store's files is another: nobody reads wrong data, and verifying names the damage.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use loom_storage::contract::sample;
use loom_storage::{BlobRow, Error, Hash, RedbOptions, RedbStore, Revision, Seq, Store, Timestamp, Write};

/// How many bits are flipped in each file, each in a copy of its own.
const FLIPS: u64 = 250;
const FILES: [&str; 2] = ["loom.redb", "blobs.redb"];

fn options() -> RedbOptions {
    RedbOptions { cache_bytes: 8 << 20, blob_cache_bytes: 8 << 20, ..RedbOptions::default() }
}

fn blob() -> Vec<u8> {
    (0..300_000_u32).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect()
}

fn fill(folder: &Path) {
    let store = RedbStore::open(folder, &options()).expect("it opens");
    let scope = sample::scope();
    for at in 0..12_i64 {
        let lines: Vec<_> = (0..30).map(|line| format!("{at} line {line}\n")).collect();
        let lines = lines.concat();
        let puts = ["a", "b", "c"].map(|uri| sample::put(&scope, &format!("{uri}/{}", at % 6), &lines, at));
        store.commit(sample::batch(puts)).expect("it commits");
    }
    let vectors = sample::vectors(&scope, "m", &[("1 line 1\n", &[1.0; 64]), ("2 line 2\n", &[0.5; 64])]);
    store.commit(sample::batch([vectors, sample::delete(&scope, "a/1", 50)])).expect("it commits");
    let mut writer = store.write_blob(&scope).expect("a writer");
    writer.write(&blob()).expect("it is written");
    let (hash, size) = writer.finish().expect("it is stored");
    let row = BlobRow { hash, size, stored_at: Timestamp(3) };
    store.commit(sample::batch([Write::PutBlob { scope, row }])).expect("it commits");
}

/// Every fact that a store shows, one a line; an error where it says that something is damaged.
fn read(store: &RedbStore) -> Result<BTreeSet<String>, Error> {
    const ALL: usize = 1_000;
    let (scope, hash) = (sample::scope(), Hash::of(&blob()));
    let snapshot = store.snapshot()?;
    let mut facts = BTreeSet::from([format!("{:?}", snapshot.seq())]);
    facts.extend(snapshot.namespaces(None)?.iter().map(|row| format!("{row:?}")));
    facts.extend(snapshot.records("", None, ALL)?.items.iter().map(|record| format!("{record:?}")));
    facts.extend(snapshot.changes(&scope, Seq(0), ALL)?.items.iter().map(|entry| format!("{entry:?}")));
    facts.extend(snapshot.blob(&scope, &hash)?.iter().map(|row| format!("{row:?}")));
    for (uri, head) in snapshot.heads(&scope, "", None, ALL)?.items {
        facts.insert(format!("{uri} {head:?}"));
        facts.extend(snapshot.head(&scope, &uri)?.iter().map(|head| format!("{uri} {head:?}")));
        for revision in 1..=head.revision.0.min(9) {
            let version = snapshot.revision(&scope, &uri, Revision(revision))?;
            facts.extend(version.iter().map(|version| format!("{uri} {revision} {:?}", version.id)));
        }
    }
    facts.extend(snapshot.live_versions(&scope, None, ALL)?.items.iter().map(|version| format!("live {version:?}")));
    facts.extend(snapshot.timeline(&scope, None, false, ALL)?.items.iter().map(|version| format!("live {version:?}")));
    for version in snapshot.timeline(&scope, None, true, ALL)?.items {
        let id = version.id;
        facts.insert(format!("{version:?}"));
        facts.extend(snapshot.text(&scope, id)?.iter().map(|text| format!("{id:?} {text:?}")));
        facts.extend(snapshot.sections(&scope, id)?.iter().map(|section| format!("{id:?} {section:?}")));
        let same = snapshot.versions_with_content(&scope, &version.content_hash)?;
        facts.extend(same.iter().map(|same| format!("{same:?} has {:?}", version.content_hash)));
        for chunk in snapshot.chunks(&scope, version.first_chunk, version.chunk_count)? {
            let vector = snapshot.vector(&scope, "m", &chunk.input_hash)?;
            facts.extend(vector.iter().map(|vector| format!("{:?} {vector:?}", chunk.input_hash)));
            facts.insert(format!("{chunk:?}"));
        }
    }
    let mut bytes = Vec::new();
    let read = store.read_blob(&scope, &hash)?.read_to_end(&mut bytes);
    read.map_err(|error| Error::from_io(&error, "reading a blob"))?;
    facts.insert(Hash::of(&bytes).hex());
    Ok(facts)
}

fn faults(store: &RedbStore) -> Vec<String> {
    let mut faults = Vec::new();
    if let Err(error) = store.verify(true, &mut |fault| faults.push(fault)) {
        faults.push(error.to_string());
    }
    faults
}

/// A fixed sequence of numbers without an order.
fn scattered(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[derive(Default, Debug)]
struct Tally {
    not_opened: u32,
    read_noticed: u32,
    verify_noticed: u32,
    missing_named: u32,
    harmless: u32,
}

fn flip(file: usize, seed: u64) {
    let whole = tempfile::tempdir().expect("a temporary folder");
    fill(whole.path());
    let good = FILES.map(|file| fs::read(whole.path().join(file)).expect("a file"));
    let store = RedbStore::open(whole.path(), &options()).expect("it opens");
    let expected = read(&store).expect("nothing is damaged");
    assert_eq!(faults(&store), Vec::<String>::new());
    drop(store);
    let used = good[file].iter().rposition(|byte| *byte != 0).expect("it holds something") as u64;
    let mut next = scattered(seed);
    let mut tally = Tally::default();
    let folder = tempfile::tempdir().expect("a temporary folder");
    for _ in 0..FLIPS {
        let (at, bit) = (usize::try_from(next(used)).expect("a small file"), next(8));
        for (name, bytes) in FILES.iter().zip(&good) {
            fs::write(folder.path().join(name), bytes).expect("it is written");
        }
        let mut bytes = good[file].clone();
        bytes[at] ^= 1 << bit;
        fs::write(folder.path().join(FILES[file]), bytes).expect("it is written");
        let place = format!("bit {bit} of byte {at} of {}", FILES[file]);
        let opened = RedbStore::open(folder.path(), &options());
        let Ok(store) = opened else {
            let error = opened.err().expect("it is an error");
            let named = matches!(error, Error::Corrupt { .. } | Error::Format { .. } | Error::Backend { .. });
            assert!(named, "{place}: {error:?}");
            tally.not_opened += 1;
            continue;
        };
        match read(&store) {
            Err(_) => {
                tally.read_noticed += 1;
                assert!(!faults(&store).is_empty(), "{place}: a reader noticed it and verifying did not");
            }
            Ok(read) => {
                let same = read == expected;
                let faults = faults(&store);
                // A row that can no longer be found is answered as absent, which only verifying can tell.
                assert!(same || !faults.is_empty(), "{place}: nobody notices that other data is served");
                assert!(same || read.is_subset(&expected), "{place}: wrong data is served: {faults:?}");
                match (same, faults.is_empty()) {
                    (false, _) => tally.missing_named += 1,
                    (true, false) => tally.verify_noticed += 1,
                    (true, true) => tally.harmless += 1,
                }
            }
        }
    }
    eprintln!("{}: {FLIPS} bits flipped: {tally:?}", FILES[file]);
    assert!(tally.read_noticed + tally.not_opened > 0, "{tally:?}");
}

#[test]
fn a_flipped_bit_of_the_main_file() {
    flip(0, 7);
}

#[test]
fn a_flipped_bit_of_the_blob_file() {
    flip(1, 11);
}

#[test]
fn an_empty_file_is_not_taken_for_a_new_one() {
    for file in FILES {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fill(folder.path());
        fs::write(folder.path().join(file), b"").expect("it is written");
        let refused = RedbStore::open(folder.path(), &options()).err().expect("it is damaged");
        assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    }
}
