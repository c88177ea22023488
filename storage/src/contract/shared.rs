//! Versions of one content: they share their chunks, and each reads as if it had its own.

use super::sample::{batch, delete, document, edit, put, restore, scope, version};
use super::{Case, Place};
use crate::batch::{CommittedVersion, NewVersion, Write};
use crate::change::Change;
use crate::error::Error;
use crate::id::{ChunkId, Hash, Scope, Seq, VersionId};
use crate::record::{Section, VersionState};
use crate::store::Store;

pub(super) const CASES: &[Case] = &[
    ("what is added again takes over its chunks", what_is_added_again_takes_over_its_chunks),
    ("a replacement by the same content takes over its chunks", a_replacement_by_the_same_takes_over),
    ("what differs in anything has chunks of its own", what_differs_in_anything_has_its_own),
    ("of the versions of one content the last is restored", of_one_content_the_last_is_restored),
    ("chunks taken over are not counted as created", chunks_taken_over_are_not_counted),
];

const TEXT: &str = "1\n2\n3\n";

fn commit(store: &dyn Store, writes: impl IntoIterator<Item = Write>) -> Vec<CommittedVersion> {
    store.commit(batch(writes)).expect("it commits").versions
}

/// Asserts that version `id` reads as `new` was written, with chunks that start at `first` and name version `last`.
fn reads_as(store: &dyn Store, id: VersionId, new: &NewVersion, first: ChunkId, last: VersionId) {
    let (snapshot, scope) = (store.snapshot().expect("a snapshot"), &new.scope);
    let version = snapshot.version(scope, id).expect("a version").expect("it is there");
    assert_eq!((version.first_chunk, version.chunk_count as usize), (first, new.chunks.len()));
    assert_eq!(snapshot.text(scope, id).expect("a text").as_ref(), Some(&new.text));
    assert_eq!(snapshot.sections(scope, id).expect("sections"), new.sections);
    let chunks = snapshot.chunks(scope, first, version.chunk_count).expect("chunks");
    assert_eq!(chunks.len(), new.chunks.len());
    for ((chunk, given), (idx, id)) in chunks.into_iter().zip(&new.chunks).zip((0..).zip(version.chunk_ids())) {
        assert_eq!(snapshot.chunk(scope, id).expect("a chunk").as_ref(), Some(&chunk));
        assert_eq!(chunk, crate::Chunk { id, version: last, idx, ..given.0.clone() });
    }
}

fn what_is_added_again_takes_over_its_chunks(place: &Place) {
    let new = version(&scope(), "a", TEXT, 1);
    let mut ids = Vec::new();
    for round in 0..4 {
        let store = place();
        let put = commit(&*store, [Write::PutVersion(Box::new(new.clone()))])[0];
        assert_eq!((put.first_chunk, put.chunks_retired), (ChunkId::new(Seq(1), 0), 0));
        assert_eq!(put.revision.0, round + 1);
        ids.push(put.version);
        for id in &ids {
            reads_as(&*store, *id, &new, put.first_chunk, put.version);
        }
        let snapshot = store.snapshot().expect("a snapshot");
        assert_eq!(
            snapshot.versions_with_content(&scope(), &Hash::of(TEXT.as_bytes())).expect("content"),
            [put.version]
        );
        assert!(snapshot.chunk_content_elsewhere(&scope(), &Hash::of(b"1\n"), "b").expect("chunk content"));
        let row = snapshot.namespace(&scope()).expect("a row").expect("a namespace");
        assert_eq!((row.documents, row.chunks, row.versions), (1, 3, round + 1));
        drop(snapshot);
        commit(&*store, [delete(&scope(), "a", 2)]);
        let snapshot = store.snapshot().expect("a snapshot");
        assert!(!snapshot.chunk_content_elsewhere(&scope(), &Hash::of(b"1\n"), "b").expect("chunk content"));
        assert_eq!(snapshot.namespace(&scope()).expect("a row").expect("a namespace").chunks, 0);
    }
    // Another content ends it: the versions before keep what they share.
    let store = place();
    let (other, last) = (version(&scope(), "a", "1\n2\n", 9), ids[3]);
    let put = commit(&*store, [Write::PutVersion(Box::new(other.clone()))])[0];
    reads_as(&*store, put.version, &other, ChunkId::new(Seq(9), 0), put.version);
    for id in ids {
        reads_as(&*store, id, &new, ChunkId::new(Seq(1), 0), last);
    }
}

fn a_replacement_by_the_same_takes_over(place: &Place) {
    let store = place();
    let new = version(&scope(), "a", TEXT, 1);
    let first = commit(&*store, [Write::PutVersion(Box::new(new.clone()))])[0];
    // The fields are the version's own.
    let again = NewVersion { document: document("another title"), ..new.clone() };
    let second = commit(&*store, [Write::PutVersion(Box::new(again))])[0];
    assert_eq!((second.first_chunk, second.chunks_retired), (first.first_chunk, 3));
    for id in [first.version, second.version] {
        reads_as(&*store, id, &new, first.first_chunk, second.version);
    }
    let snapshot = store.snapshot().expect("a snapshot");
    let titles = [first, second].map(|put| {
        let version = snapshot.version(&scope(), put.version).expect("a version").expect("it is there");
        (version.document.title, version.state == VersionState::Live)
    });
    assert_eq!(titles, [("a".into(), false), ("another title".into(), true)]);
    let changes = snapshot.changes(&scope(), Seq(1), 9).expect("changes").items;
    assert_eq!(changes[0].changes, [Change::Retired(first.version), Change::Added(second.version)]);
}

fn what_differs_in_anything_has_its_own(place: &Place) {
    let store = place();
    let new = version(&scope(), "a", TEXT, 1);
    let with = |change: &dyn Fn(&mut NewVersion)| {
        let mut changed = new.clone();
        change(&mut changed);
        changed
    };
    let section = |depth| Section { path: Vec::new(), depth, chunks: (0, 1), chars: 1 };
    let others = [
        with(&|new| new.text.push('x')),
        with(&|new| new.chunks[2].0.context.push('x')),
        with(&|new| new.chunks[0].0.place.line_end += 1),
        with(&|new| new.chunks[1].0.keys.clear()),
        with(&|new| new.chunks.truncate(2)),
        with(&|new| new.sections.clear()),
        with(&|new| new.sections[0].chunks = (0, 0)),
        with(&|new| new.sections.push(section(2))),
        with(&|new| new.chunks.clear()),
    ];
    for (at, mut other) in others.into_iter().enumerate() {
        let uri = format!("a/{at}");
        // A text that has changed and is no longer that of its chunks is no text write.
        other.document.format = "txt".into();
        let before = NewVersion { source_uri: uri.clone(), ..new.clone() };
        let after = NewVersion { source_uri: uri, sections: kept_sections(&other), ..other };
        let first = commit(&*store, [Write::PutVersion(Box::new(before.clone()))])[0];
        let second = commit(&*store, [Write::PutVersion(Box::new(after.clone()))])[0];
        let own = ChunkId::new(second.version.seq(), 0);
        assert_eq!(second.first_chunk, own, "{at}");
        reads_as(&*store, first.version, &before, first.first_chunk, first.version);
        reads_as(&*store, second.version, &after, own, second.version);
    }
    let elsewhere = NewVersion { scope: Scope::new("org", "other"), ..new.clone() };
    for new in [new, elsewhere] {
        let put = commit(&*store, [Write::PutVersion(Box::new(new))])[0];
        assert_eq!(put.first_chunk.seq(), put.version.seq(), "another address shares nothing");
    }
}

/// The sections of `new` whose chunks it has.
fn kept_sections(new: &NewVersion) -> Vec<Section> {
    new.sections.iter().filter(|section| section.is_within(new.chunks.len() as u64)).cloned().collect()
}

fn of_one_content_the_last_is_restored(place: &Place) {
    let store = place();
    let new = version(&scope(), "a", TEXT, 1);
    let put = || commit(&*store, [Write::PutVersion(Box::new(new.clone()))])[0];
    let first = put();
    commit(&*store, [delete(&scope(), "a", 2)]);
    let second = put();
    let live = store.commit(batch([restore(&scope(), "a", "x")]));
    assert!(matches!(live, Err(Error::Invalid(_))), "what was added again is live");
    commit(&*store, [edit(&scope(), "a", "edited")]);
    commit(&*store, [delete(&scope(), "a", 3)]);
    commit(&*store, [restore(&scope(), "a", "again")]);
    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!(
        snapshot.versions_with_content(&scope(), &Hash::of(TEXT.as_bytes())).expect("content"),
        [second.version]
    );
    for id in [first.version, second.version] {
        reads_as(&*store, id, &new, first.first_chunk, second.version);
    }
}

fn chunks_taken_over_are_not_counted(place: &Place) {
    let store = place();
    commit(&*store, [put(&scope(), "a", TEXT, 1), put(&scope(), "b", TEXT, 1)]);
    let puts =
        commit(&*store, [put(&scope(), "new", "4\n5\n", 2), put(&scope(), "b", TEXT, 2), put(&scope(), "a", "6\n", 2)]);
    let first_chunks: Vec<_> = puts.iter().map(|put| put.first_chunk).collect();
    assert_eq!(first_chunks, [ChunkId::new(Seq(2), 0), ChunkId::new(Seq(1), 3), ChunkId::new(Seq(2), 2)]);
}
