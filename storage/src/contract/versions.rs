//! Versions: written, replaced, deleted, restored, edited.

use super::sample::{batch, delete, document, edit, input, put, restore, scope, version};
use super::{Case, Place};
use crate::batch::{CommittedVersion, NewVersion, Write};
use crate::change::Change;
use crate::error::Error;
use crate::id::{ChunkId, Hash, Revision, Scope, Seq, VersionId};
use crate::record::{Cause, Head, NamespaceRow, Section, Supersession, Timestamp, VersionState};
use crate::store::Store;

pub(super) const CASES: &[Case] = &[
    ("a version is stored with everything it has", a_version_is_stored_with_everything_it_has),
    ("a version without chunks is stored", a_version_without_chunks_is_stored),
    ("each version keeps its own outline", each_version_keeps_its_own_outline),
    ("a write retires the earlier version", a_write_retires_the_earlier_version),
    ("a deleted version can be restored", a_deleted_version_can_be_restored),
    ("only a deleted head is restored", only_a_deleted_head_is_restored),
    ("an edit changes the fields alone", an_edit_changes_the_fields_alone),
    ("a write after a delete goes on counting", a_write_after_a_delete_goes_on_counting),
    ("content is found among live versions", content_is_found_among_live_versions),
    ("namespaces do not see each other", namespaces_do_not_see_each_other),
];

fn totals(store: &dyn Store) -> (u64, u64, u64, u64) {
    let row = store.snapshot().expect("a snapshot").namespace(&scope()).expect("a row").expect("a namespace");
    (row.documents, row.chunks, row.versions, row.last_seq.0)
}

fn head(store: &dyn Store, source_uri: &str) -> Head {
    store.snapshot().expect("a snapshot").head(&scope(), source_uri).expect("a head").expect("an address")
}

fn a_version_is_stored_with_everything_it_has(place: &Place) {
    let store = place();
    let new = version(&scope(), "é:/\u{10ffff}?", "one\ntwo é\n", -5);
    let committed = store.commit(batch([Write::PutVersion(Box::new(new.clone()))])).expect("it commits");
    assert_eq!(committed.seq, Seq(1));
    let (id, first_chunk) = (VersionId::new(Seq(1), 0), ChunkId::new(Seq(1), 0));
    let expected = CommittedVersion { version: id, revision: Revision(1), first_chunk, chunks_retired: 0 };
    assert_eq!(committed.versions, [expected]);

    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!(snapshot.seq(), Seq(1));
    let stored = snapshot.version(&scope(), id).expect("a version").expect("it is there");
    assert_eq!(stored.document, new.document);
    assert_eq!((stored.doc_id, &stored.source_uri), (new.doc_id, &new.source_uri));
    assert_eq!((stored.ingested_at, stored.state), (Timestamp(-5), VersionState::Live));
    assert_eq!((stored.content_hash, stored.chars), (Hash::of(new.text.as_bytes()), 10));
    assert_eq!((stored.first_chunk, stored.chunk_count), (first_chunk, 2));
    assert_eq!(snapshot.sections(&scope(), id).expect("sections"), new.sections);
    assert_eq!(snapshot.text(&scope(), id).expect("a text").as_ref(), Some(&new.text));
    let chunks = snapshot.chunks(&scope(), first_chunk, 9).expect("chunks");
    assert_eq!(chunks.len(), 2);
    for ((chunk, given), idx) in chunks.into_iter().zip(new.chunks).zip(0..) {
        assert_eq!((chunk.id.0, chunk.version, chunk.idx), (first_chunk.0 + u64::from(idx), id, idx));
        let as_given = crate::Chunk { id: given.0.id, version: given.0.version, idx: given.0.idx, ..chunk };
        assert_eq!(as_given, given.0);
    }
    let row = snapshot.namespace(&scope()).expect("a row").expect("a namespace");
    let (documents, chunks, versions) = (1, 2, 1);
    let created_at = Timestamp(-5);
    assert_eq!(row, NamespaceRow { scope: scope(), created_at, last_seq: Seq(1), documents, chunks, versions });
    let head = snapshot.head(&scope(), &new.source_uri).expect("a head");
    assert_eq!(head, Some(Head { version: id, revision: Revision(1), live: true, changed: Seq(1) }));
}

fn a_version_without_chunks_is_stored(place: &Place) {
    let store = place();
    let committed = store
        .commit(batch([put(&scope(), "a", "", 1), put(&scope(), "b", "1\n2\n", 1), put(&scope(), "c", "3\n", 1)]))
        .expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let counts: Vec<_> = committed
        .versions
        .iter()
        .map(|put| {
            let version = snapshot.version(&scope(), put.version).expect("a version").expect("it is there");
            let first = snapshot.chunk(&scope(), version.first_chunk).expect("a chunk");
            (version.chunk_count, first.filter(|_| version.chunk_count > 0).map(|chunk| chunk.text))
        })
        .collect();
    assert_eq!(counts, [(0, None), (2, Some("1\n".into())), (1, Some("3\n".into()))]);
    assert_eq!(totals(&*store), (3, 3, 3, 1));
    store.commit(batch([delete(&scope(), "a", 2)])).expect("it commits");
    assert_eq!(totals(&*store), (2, 3, 3, 2));
}

fn each_version_keeps_its_own_outline(place: &Place) {
    let store = place();
    let with = |title: &str, chunks: &[(u32, u32)]| {
        let path = vec!["Top".to_owned(), title.to_owned()];
        let section = |&chunks| Section { path: path.clone(), depth: 2, chunks, chars: 4 };
        NewVersion { sections: chunks.iter().map(section).collect(), ..version(&scope(), "a", "1\n2\n", 1) }
    };
    let news = [with("one", &[(0, 1), (1, 2), (2, 2)]), with("none", &[]), with("long", &vec![(0, 2); 5000])];
    let commit = |new: &NewVersion| store.commit(batch([Write::PutVersion(Box::new(new.clone()))]));
    let put = news.each_ref().map(|new| commit(new).expect("it commits").versions[0].version);
    store.commit(batch([edit(&scope(), "a", "edited")])).expect("it commits");
    store.commit(batch([delete(&scope(), "a", 2)])).expect("it commits");
    store.commit(batch([restore(&scope(), "a", "again")])).expect("it commits");
    for beyond in [(0, 3), (2, 1), (3, 3), (0, u32::MAX)] {
        let refused = commit(&with("beyond", &[(0, 1), beyond]));
        assert!(matches!(refused, Err(Error::Invalid(_))), "{beyond:?}: {refused:?}");
    }
    let snapshot = store.snapshot().expect("a snapshot");
    let sections = |scope: &Scope, id| snapshot.sections(scope, id).expect("sections");
    assert_eq!(put.map(|id| sections(&scope(), id)), news.map(|new| new.sections));
    assert_eq!(sections(&scope(), VersionId::new(Seq(9), 0)), [], "there is no such version");
    assert_eq!(sections(&Scope::new("org", "other"), put[0]), [], "it is another namespace's");
}

fn a_write_retires_the_earlier_version(place: &Place) {
    let store = place();
    let first = store.commit(batch([put(&scope(), "a", "1\n2\n3\n", 10)])).expect("it commits").versions[0];
    let second = store.commit(batch([put(&scope(), "a", "4\n", 20)])).expect("it commits").versions[0];
    assert_eq!((second.revision, second.chunks_retired), (Revision(2), 3));
    let snapshot = store.snapshot().expect("a snapshot");
    let old = snapshot.version(&scope(), first.version).expect("a version").expect("history stays");
    let by_write = Supersession { at: Timestamp(20), cause: Cause::Replace, chunks: 3 };
    assert_eq!(old.state, VersionState::Superseded(by_write));
    assert_eq!(snapshot.text(&scope(), old.id).expect("a text").as_deref(), Some("1\n2\n3\n"));
    assert_eq!(snapshot.chunks(&scope(), old.first_chunk, 3).expect("chunks").len(), 3);
    assert_eq!(totals(&*store), (1, 1, 2, 2));
    for (revision, expected) in [(0, None), (1, Some(first.version)), (2, Some(second.version)), (3, None)] {
        let found = snapshot.revision(&scope(), "a", Revision(revision)).expect("a revision");
        assert_eq!(found.map(|version| version.id), expected);
    }
    let changes = snapshot.changes(&scope(), Seq(1), 9).expect("changes").items;
    assert_eq!(changes[0].changes, [Change::Retired(first.version), Change::Added(second.version)]);
}

fn a_deleted_version_can_be_restored(place: &Place) {
    let store = place();
    let put = store.commit(batch([put(&scope(), "a", "1\n2\n", 10)])).expect("it commits").versions[0];
    store.commit(batch([delete(&scope(), "a", 20)])).expect("it commits");
    let deleted = Head { version: put.version, revision: Revision(1), live: false, changed: Seq(2) };
    assert_eq!(head(&*store, "a"), deleted);
    assert_eq!(totals(&*store), (0, 0, 1, 2));
    let snapshot = store.snapshot().expect("a snapshot");
    let before = snapshot.version(&scope(), put.version).expect("a version").expect("history stays");
    let by_delete = Supersession { at: Timestamp(20), cause: Cause::Delete, chunks: 2 };
    assert_eq!(before.state, VersionState::Superseded(by_delete));
    assert!(snapshot.versions_with_content(&scope(), &before.content_hash).expect("content").is_empty());

    let store = {
        drop((snapshot, store));
        place()
    };
    store.commit(batch([restore(&scope(), "a", "again")])).expect("it commits");
    assert_eq!(head(&*store, "a"), Head { live: true, changed: Seq(3), ..deleted });
    assert_eq!(totals(&*store), (1, 2, 1, 3));
    let snapshot = store.snapshot().expect("a snapshot");
    let after = snapshot.version(&scope(), put.version).expect("a version").expect("it is there");
    assert_eq!(after, crate::Version { state: VersionState::Live, document: document("again"), ..before });
    assert_eq!(snapshot.versions_with_content(&scope(), &after.content_hash).expect("content"), [put.version]);
    let changes = snapshot.changes(&scope(), Seq(1), 9).expect("changes").items;
    assert_eq!(changes[0].changes, [Change::Retired(put.version)]);
    assert_eq!(changes[1].changes, [Change::Restored(put.version)]);
}

fn only_a_deleted_head_is_restored(place: &Place) {
    let store = place();
    let refused = |uri: &str| {
        let refused = store.commit(batch([restore(&scope(), uri, "x")]));
        assert!(matches!(refused, Err(Error::Invalid(_))), "{uri}: {refused:?}");
    };
    refused("never written");
    store.commit(batch([put(&scope(), "a", "1\n", 1)])).expect("it commits");
    refused("a");
    for cause in [Cause::Replace, Cause::Duplicate, Cause::Erasure] {
        let source_uri = format!("{cause:?}");
        store.commit(batch([put(&scope(), &source_uri, "1\n", 1)])).expect("it commits");
        let retire = Write::Retire { scope: scope(), source_uri: source_uri.clone(), cause, at: Timestamp(2) };
        store.commit(batch([retire.clone()])).expect("it commits");
        assert!(matches!(store.commit(batch([retire])), Err(Error::Invalid(_))), "it is not live any more");
        refused(&source_uri);
    }
    assert_eq!(totals(&*store), (1, 1, 4, 7));
}

fn an_edit_changes_the_fields_alone(place: &Place) {
    let store = place();
    let put = store.commit(batch([put(&scope(), "a", "1\n", 10)])).expect("it commits").versions[0];
    let before = store.snapshot().expect("a snapshot").version(&scope(), put.version).expect("a version");
    store.commit(batch([edit(&scope(), "a", "edited")])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let after = snapshot.version(&scope(), put.version).expect("a version");
    assert_eq!(after, before.map(|before| crate::Version { document: document("edited"), ..before }));
    assert_eq!(head(&*store, "a").changed, Seq(2));
    assert_eq!(snapshot.changes(&scope(), Seq(1), 9).expect("changes").items[0].changes, [Change::Edited(put.version)]);
    assert_eq!(totals(&*store), (1, 1, 1, 2));
    store.commit(batch([delete(&scope(), "a", 20)])).expect("it commits");
    for uri in ["a", "never written"] {
        assert!(matches!(store.commit(batch([edit(&scope(), uri, "x")])), Err(Error::Invalid(_))), "{uri}");
        assert!(matches!(store.commit(batch([delete(&scope(), uri, 30)])), Err(Error::Invalid(_))), "{uri}");
    }
}

fn a_write_after_a_delete_goes_on_counting(place: &Place) {
    let store = place();
    let first = store.commit(batch([put(&scope(), "a", "1\n", 10)])).expect("it commits").versions[0];
    store.commit(batch([delete(&scope(), "a", 20)])).expect("it commits");
    let second = store.commit(batch([put(&scope(), "a", "2\n", 30)])).expect("it commits").versions[0];
    assert_eq!((second.revision, second.chunks_retired), (Revision(2), 0));
    let snapshot = store.snapshot().expect("a snapshot");
    let old = snapshot.version(&scope(), first.version).expect("a version").expect("history stays");
    assert!(matches!(old.state, VersionState::Superseded(Supersession { cause: Cause::Delete, .. })));
    assert!(matches!(store.commit(batch([restore(&scope(), "a", "x")])), Err(Error::Invalid(_))));
    assert_eq!(totals(&*store), (1, 1, 2, 3));
}

fn content_is_found_among_live_versions(place: &Place) {
    let store = place();
    let put_at = |uri: &str, text: &str| store.commit(batch([put(&scope(), uri, text, 1)])).expect("it commits");
    let a = put_at("a", "same\nsame\n").versions[0].version;
    let content = Hash::of(b"same\nsame\n");
    let line = Hash::of(b"same\n");
    let found = || {
        let snapshot = store.snapshot().expect("a snapshot");
        let elsewhere = |uri| snapshot.chunk_content_elsewhere(&scope(), &line, uri).expect("chunk content");
        let versions = snapshot.versions_with_content(&scope(), &content).expect("content");
        (versions, elsewhere("a"), elsewhere("b"), elsewhere("c"))
    };
    assert_eq!(found(), (vec![a], false, true, true), "a holds the line twice, but nobody else does");
    let b = put_at("b", "same\nsame\n").versions[0].version;
    assert_eq!(found(), (vec![a, b], true, true, true));
    let a = put_at("a", "same\nother\n").versions[0].version;
    assert_eq!(found(), (vec![b], true, true, true));
    store.commit(batch([delete(&scope(), "b", 2)])).expect("it commits");
    assert_eq!(found(), (vec![], false, true, true));
    store.commit(batch([restore(&scope(), "b", "x"), delete(&scope(), "a", 2)])).expect("it commits");
    assert_eq!(found(), (vec![b], true, false, true));
    assert!(store.snapshot().expect("a snapshot").version(&scope(), a).expect("a version").is_some());
}

fn namespaces_do_not_see_each_other(place: &Place) {
    let store = place();
    let scopes = [Scope::new("org", "notes"), Scope::new("org", "notes2"), Scope::new("org2", "notes")];
    for (scope, text) in scopes.iter().zip(["1\n", "2\n", "1\n"]) {
        store.commit(batch([put(scope, "a", text, 1)])).expect("it commits");
    }
    let snapshot = store.snapshot().expect("a snapshot");
    let names = |org| {
        let rows = snapshot.namespaces(org).expect("namespaces");
        rows.into_iter().map(|row| row.scope.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(None), ["org/notes", "org/notes2", "org2/notes"]);
    assert_eq!(names(Some("org")), ["org/notes", "org/notes2"]);
    for nobody in ["or", "", "org\0notes"] {
        assert_eq!(names(Some(nobody)), Vec::<String>::new());
    }
    for (scope, seq) in scopes.iter().zip(1..) {
        let timeline = snapshot.timeline(scope, None, true, 9).expect("a timeline").items;
        assert_eq!(timeline.iter().map(|version| version.id.seq()).collect::<Vec<_>>(), [Seq(seq)]);
        assert_eq!(snapshot.changes(scope, Seq(0), 9).expect("changes").items.len(), 1);
        assert!(!snapshot.chunk_content_elsewhere(scope, &Hash::of(b"1\n"), "a").expect("chunk content"));
        assert_eq!(snapshot.chunks(scope, ChunkId(0), u32::MAX).expect("chunks").len(), 1);
        assert_eq!(snapshot.vector(scope, "m", &input("1\n")).expect("a vector"), None);
    }
    assert_eq!(snapshot.version(&scopes[0], VersionId::new(Seq(2), 0)).expect("a version"), None);
    let nowhere = Scope::new("org", "none");
    assert_eq!(snapshot.namespace(&nowhere).expect("a row"), None);
    assert!(snapshot.heads(&nowhere, "", None, 9).expect("heads").items.is_empty());
}
