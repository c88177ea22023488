//! The bytes of blobs and their catalogue.

use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::time::Duration;

use super::sample::{batch, put, scope};
use super::{Case, Place};
use crate::batch::Write;
use crate::error::Error;
use crate::id::{Hash, Scope};
use crate::record::{BlobRow, Timestamp};
use crate::store::Store;

pub(super) const CASES: &[Case] = &[
    ("a blob is read from any position", a_blob_is_read_from_any_position),
    ("small and empty blobs are stored", small_and_empty_blobs_are_stored),
    ("an unfinished blob serves nothing", an_unfinished_blob_serves_nothing),
    ("the same bytes are kept once for each namespace", the_same_bytes_are_kept_once_for_each_namespace),
    ("the catalogue names stored blobs only", the_catalogue_names_stored_blobs_only),
    ("a dropped blob is removed unless an upload wants it", a_dropped_blob_is_removed_unless_an_upload_wants_it),
    ("blobs are written at the same time", blobs_are_written_at_the_same_time),
];

/// Bytes that differ at every position that matters.
fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..count).map(next).collect()
}

fn store_blob(store: &dyn Store, scope: &Scope, bytes: &[u8], step: usize) -> Hash {
    let mut writer = store.write_blob(scope).expect("a writer");
    for part in bytes.chunks(step) {
        writer.write(part).expect("a part is written");
    }
    let (hash, size) = writer.finish().expect("it is finished");
    assert_eq!((hash, size), (Hash::of(bytes), bytes.len() as u64));
    hash
}

fn read_all(store: &dyn Store, scope: &Scope, hash: &Hash) -> Vec<u8> {
    let mut read = Vec::new();
    store.read_blob(scope, hash).expect("a reader").read_to_end(&mut read).expect("its bytes");
    read
}

fn a_blob_is_read_from_any_position(place: &Place) {
    let store = place();
    let whole = bytes((3 << 20) + 77, 1);
    let hash = store_blob(&*store, &scope(), &whole, 100_003);
    drop(store);
    let store = place();
    assert!(read_all(&*store, &scope(), &hash) == whole, "the bytes are others");
    let mut reader = store.read_blob(&scope(), &hash).expect("a reader");
    assert_eq!(reader.size(), whole.len() as u64);
    for start in [0, 1, (1 << 20) - 4097, (1 << 20) - 1, 1 << 20, 2 << 20, whole.len() - 1, 5] {
        let end = whole.len().min(start + 9000);
        let mut part = vec![0; end - start];
        assert_eq!(reader.seek(SeekFrom::Start(start as u64)).expect("a position"), start as u64);
        reader.read_exact(&mut part).expect("a part");
        assert!(part == whole[start..end], "the bytes from {start} are others");
    }
    assert_eq!(reader.seek(SeekFrom::End(-3)).expect("a position"), whole.len() as u64 - 3);
    assert_eq!(reader.seek(SeekFrom::Current(1)).expect("a position"), whole.len() as u64 - 2);
    let mut rest = Vec::new();
    assert_eq!(reader.read_to_end(&mut rest).expect("the rest"), 2);
    assert_eq!(reader.seek(SeekFrom::End(9)).expect("a position past the end"), whole.len() as u64 + 9);
    assert_eq!(reader.read(&mut [0; 4]).expect("nothing"), 0);
    let before_start = reader.seek(SeekFrom::End(-(4 << 20))).expect_err("no such position");
    assert_eq!(before_start.kind(), ErrorKind::InvalidInput);
}

fn small_and_empty_blobs_are_stored(place: &Place) {
    let store = place();
    for size in [0, 1, (1 << 20) - 4096, 1 << 20, 2 * ((1 << 20) - 4096)] {
        let whole = bytes(size, size as u64);
        let hash = store_blob(&*store, &scope(), &whole, 1 << 22);
        assert!(read_all(&*store, &scope(), &hash) == whole, "the bytes of {size} are others");
        assert_eq!(store.read_blob(&scope(), &hash).expect("a reader").size(), size as u64);
    }
}

fn an_unfinished_blob_serves_nothing(place: &Place) {
    let store = place();
    let whole = bytes(3 << 20, 7);
    let mut writer = store.write_blob(&scope()).expect("a writer");
    writer.write(&whole).expect("it is written");
    let gone = |store: &dyn Store| {
        let gone = store.read_blob(&scope(), &Hash::of(&whole)).err();
        assert!(matches!(gone, Some(Error::BlobGone { .. })), "{gone:?}");
    };
    gone(&*store);
    drop(writer);
    gone(&*store);
    drop(store);
    let store = place();
    gone(&*store);
    let hash = store_blob(&*store, &scope(), &whole, 4096);
    assert!(read_all(&*store, &scope(), &hash) == whole, "the bytes are others");
}

fn the_same_bytes_are_kept_once_for_each_namespace(place: &Place) {
    let store = place();
    let whole = bytes((2 << 20) + 5, 3);
    let other = Scope::new("org", "other");
    let hash = store_blob(&*store, &scope(), &whole, 1 << 20);
    assert!(matches!(store.read_blob(&other, &hash), Err(Error::BlobGone { .. })), "it is another namespace's");
    assert_eq!(store_blob(&*store, &scope(), &whole, 777), hash);
    store_blob(&*store, &other, &whole, 1 << 20);
    for scope in [scope(), other] {
        assert!(read_all(&*store, &scope, &hash) == whole, "the bytes are others");
    }
    let nowhere = store.write_blob(&Scope::new("or\0g", "other")).err();
    assert!(matches!(nowhere, Some(Error::Invalid(_))), "{nowhere:?}");
}

fn the_catalogue_names_stored_blobs_only(place: &Place) {
    let store = place();
    let row = |hash, size, at| BlobRow { hash, size, stored_at: Timestamp(at) };
    let catalogue = |scope: Scope, row| store.commit(batch([Write::PutBlob { scope, row }]));
    let missing = Hash::of(b"missing");
    assert!(matches!(catalogue(scope(), row(missing, 7, 1)), Err(Error::BlobGone { .. })));
    let hash = store_blob(&*store, &scope(), b"some bytes", 3);
    assert!(matches!(catalogue(Scope::new("org", "other"), row(hash, 10, 1)), Err(Error::BlobGone { .. })));
    assert!(matches!(catalogue(scope(), row(hash, 11, 1)), Err(Error::Invalid(_))), "its size is 10");
    catalogue(scope(), row(hash, 10, 1)).expect("it is stored");
    store
        .commit(batch([Write::PutBlob { scope: scope(), row: row(hash, 10, 2) }, put(&scope(), "a", "1\n", 1)]))
        .expect("it is stored");
    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!(snapshot.blob(&scope(), &hash).expect("a row"), Some(row(hash, 10, 2)));
    assert_eq!(snapshot.blob(&scope(), &missing).expect("a row"), None);
    assert_eq!(snapshot.blob(&Scope::new("org", "other"), &hash).expect("a row"), None);
}

fn a_dropped_blob_is_removed_unless_an_upload_wants_it(place: &Place) {
    let store = place();
    let row = |hash, at| BlobRow { hash, size: 10, stored_at: Timestamp(at) };
    let commit = |write: Write| store.commit(batch([write])).expect("it commits");
    let hash = store_blob(&*store, &scope(), b"some bytes", 3);
    commit(Write::PutBlob { scope: scope(), row: row(hash, 1) });
    let listed = |after: Option<&Hash>| {
        let of = scope();
        let after = after.map(|hash| (&of, hash));
        store.snapshot().expect("a snapshot").blobs(after, 10).expect("a page").items
    };
    assert_eq!(listed(None), [(scope(), row(hash, 1))]);
    assert_eq!(listed(Some(&hash)), []);
    assert!(!store.remove_blob(&scope(), &hash, Duration::ZERO).expect("no error"), "a row names it");
    commit(Write::PutBlob { scope: scope(), row: row(hash, 2) });
    commit(Write::DropBlob { scope: scope(), row: row(hash, 1) });
    assert_eq!(listed(None), [(scope(), row(hash, 2))], "it was stored again since");
    commit(Write::DropBlob { scope: scope(), row: row(hash, 2) });
    assert_eq!(listed(None), []);
    assert!(!store.remove_blob(&scope(), &hash, Duration::from_hours(1)).expect("no error"), "it was just brought");
    assert_eq!(store_blob(&*store, &scope(), b"some bytes", 3), hash);
    commit(Write::PutBlob { scope: scope(), row: row(hash, 3) });
    commit(Write::DropBlob { scope: scope(), row: row(hash, 3) });
    assert!(store.remove_blob(&scope(), &hash, Duration::ZERO).expect("no error"));
    assert!(matches!(store.read_blob(&scope(), &hash), Err(Error::BlobGone { .. })));
    let refused = store.commit(batch([Write::PutBlob { scope: scope(), row: row(hash, 4) }]));
    assert!(matches!(refused, Err(Error::BlobGone { .. })), "{refused:?}");
    assert_eq!(store_blob(&*store, &scope(), b"some bytes", 3), hash);
    assert_eq!(read_all(&*store, &scope(), &hash), b"some bytes");
}

fn blobs_are_written_at_the_same_time(place: &Place) {
    let store = place();
    let write = |seed: u64| {
        let store = &*store;
        move || store_blob(store, &scope(), &bytes((2 << 20) + 1, seed % 2), 300_000)
    };
    let hashes = std::thread::scope(|threads| {
        let running: Vec<_> = (0..4).map(|seed| threads.spawn(write(seed))).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    for (hash, seed) in hashes.iter().zip(0..) {
        assert!(read_all(&*store, &scope(), hash) == bytes((2 << 20) + 1, seed % 2), "the bytes are others");
    }
}
