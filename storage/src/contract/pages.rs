//! Scans: their order, their bounds, their pages.

use super::sample::{batch, delete, put, record, scope};
use super::{Case, Place};
use crate::id::{ChunkId, Scope, Seq};
use crate::record::Timestamp;
use crate::store::{Page, TimelineKey, live_versions};

pub(super) const CASES: &[Case] = &[
    ("heads are scanned by prefix in byte order", heads_are_scanned_by_prefix_in_byte_order),
    ("records are scanned by prefix in byte order", records_are_scanned_by_prefix_in_byte_order),
    ("the timeline runs from the newest", the_timeline_runs_from_the_newest),
    ("live versions run in order of id", live_versions_run_in_order_of_id),
    ("live versions are walked past a page", live_versions_are_walked_past_a_page),
    ("changes run in order of commits", changes_run_in_order_of_commits),
    ("chunks are read in ranges", chunks_are_read_in_ranges),
];

fn heads_are_scanned_by_prefix_in_byte_order(place: &Place) {
    let store = place();
    let uris = ["a", "a!", "a/1", "a/2", "a/é", "a0", "b", "\u{10ffff}", "\u{10ffff}x"];
    store.commit(batch(uris.iter().rev().map(|uri| put(&scope(), uri, "1\n", 1)))).expect("it commits");
    store.commit(batch([delete(&scope(), "a/2", 2)])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let page = |prefix, after, limit| {
        let page = snapshot.heads(&scope(), prefix, after, limit).expect("heads");
        (page.items.into_iter().map(|(uri, _)| uri).collect::<Vec<_>>(), page.more)
    };
    let all = |uris: &[&str]| (uris.iter().map(ToString::to_string).collect::<Vec<_>>(), false);
    assert_eq!(page("", None, 99), all(&uris));
    assert_eq!(page("", None, usize::MAX), all(&uris));
    assert_eq!(page("a/", None, 3), all(&["a/1", "a/2", "a/é"]));
    assert_eq!(page("a/", None, 2), (vec!["a/1".into(), "a/2".into()], true));
    assert_eq!(page("a/", Some("a/2"), 2), all(&["a/é"]));
    assert_eq!(page("a/", Some("a"), 1), (vec!["a/1".into()], true));
    assert_eq!(page("a/", Some("a/é"), 9), all(&[]));
    assert_eq!(page("a/", Some("b"), 9), all(&[]));
    assert_eq!(page("\u{10ffff}", None, 9), all(&["\u{10ffff}", "\u{10ffff}x"]));
    assert_eq!(page("c", None, 9), all(&[]));
    assert_eq!(page("", None, 0), (vec![], true));
    let (_, head) = &snapshot.heads(&scope(), "a/2", None, 9).expect("heads").items[0];
    assert!(!head.live, "the heads of what was deleted are listed too");
}

fn records_are_scanned_by_prefix_in_byte_order(place: &Place) {
    let store = place();
    let keys = ["a/1", "a/10", "a/2", "b/é"];
    store.commit(batch(keys.map(|key| record(key, Some(key.as_bytes()))))).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let page = |prefix, after, limit| {
        let page = snapshot.records(prefix, after, limit).expect("records");
        assert!(page.items.iter().all(|record| record.value == record.key.as_bytes() && record.changed == Seq(1)));
        (page.items.into_iter().map(|record| record.key).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(page("", None, 9), (keys.map(String::from).to_vec(), false));
    assert_eq!(page("a/1", None, 9), (vec!["a/1".into(), "a/10".into()], false));
    assert_eq!(page("a/", Some("a/1"), 1), (vec!["a/10".into()], true));
    assert_eq!(page("a/", Some("a/2"), 1), (vec![], false));
    assert_eq!(page("b/é", None, 1), (vec!["b/é".into()], false));
}

fn the_timeline_runs_from_the_newest(place: &Place) {
    let store = place();
    let first = batch([put(&scope(), "old", "1\n", -7), put(&scope(), "x", "1\n", 5), put(&scope(), "y", "1\n", 5)]);
    store.commit(first).expect("it commits");
    store.commit(batch([put(&scope(), "late", "1\n", 5), put(&scope(), "x", "2\n", 4)])).expect("it commits");
    store.commit(batch([delete(&scope(), "y", 9), put(&scope(), "new", "1\n", i64::MAX)])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let page = |after, superseded, limit| snapshot.timeline(&scope(), after, superseded, limit).expect("a timeline");
    let names = |page: &Page<crate::Version>| {
        page.items.iter().map(|at| format!("{}{}", at.source_uri, at.revision.0)).collect::<Vec<_>>()
    };
    assert_eq!(names(&page(None, true, 9)), ["new1", "late1", "y1", "x1", "x2", "old1"]);
    assert_eq!(names(&page(None, false, 9)), ["new1", "late1", "x2", "old1"]);
    let two = page(None, false, 2);
    assert_eq!((names(&two), two.more), (vec!["new1".into(), "late1".into()], true));
    let after = TimelineKey { ingested_at: Timestamp(5), version: two.items[1].id };
    let rest = page(Some(after), false, 2);
    assert_eq!((names(&rest), rest.more), (vec!["x2".into(), "old1".into()], false));
    assert_eq!(names(&page(Some(after), true, 9)), ["y1", "x1", "x2", "old1"]);
}

fn live_versions_run_in_order_of_id(place: &Place) {
    let store = place();
    let writes = |text: &str| ["a", "b", "c"].map(|uri| put(&scope(), uri, text, 1));
    let first = store.commit(batch(writes("1\n"))).expect("it commits").versions;
    store.commit(batch([put(&scope(), "a", "2\n", 0), delete(&scope(), "b", 2)])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let page = |after, limit| {
        let page = snapshot.live_versions(&scope(), after, limit).expect("live versions");
        (page.items.iter().map(|version| version.source_uri.clone()).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(page(None, 9), (vec!["c".into(), "a".into()], false));
    assert_eq!(page(None, 1), (vec!["c".into()], true));
    assert_eq!(page(Some(first[1].version), 1), (vec!["c".into()], true));
    assert_eq!(page(Some(first[2].version), 1), (vec!["a".into()], false));
}

fn changes_run_in_order_of_commits(place: &Place) {
    let store = place();
    for at in 1..=4 {
        store.commit(batch([put(&scope(), "a", &format!("{at}\n"), at)])).expect("it commits");
        store.commit(batch([record("k", Some(b"v"))])).expect("it commits");
    }
    let snapshot = store.snapshot().expect("a snapshot");
    let page = |after, limit| {
        let page = snapshot.changes(&scope(), Seq(after), limit).expect("changes");
        (page.items.iter().map(|entry| entry.seq.0).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(page(0, 9), (vec![1, 3, 5, 7], false));
    assert_eq!(page(0, 2), (vec![1, 3], true));
    assert_eq!(page(3, 2), (vec![5, 7], false));
    assert_eq!(page(4, 1), (vec![5], true));
    assert_eq!(page(7, 1), (vec![], false));
    assert_eq!(page(u64::MAX, 1), (vec![], false));
}

fn chunks_are_read_in_ranges(place: &Place) {
    let store = place();
    let committed =
        store.commit(batch([put(&scope(), "a", "1\n2\n3\n", 1), put(&scope(), "b", "4\n5\n", 1)])).expect("it commits");
    store.commit(batch([put(&scope(), "c", "6\n", 1), delete(&scope(), "a", 2)])).expect("it commits");
    let first = committed.versions[0].first_chunk;
    let snapshot = store.snapshot().expect("a snapshot");
    let texts = |skip: u64, count| {
        let chunks = snapshot.chunks(&scope(), ChunkId(first.0 + skip), count).expect("chunks");
        chunks.into_iter().map(|chunk| chunk.text.trim().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(texts(0, 3), "1 2 3");
    assert_eq!(texts(1, 3), "2 3 4");
    assert_eq!(texts(3, 9), "4 5");
    assert_eq!(texts(2, 0), "");
    assert_eq!(texts(5, 9), "");
    assert_eq!(texts(0, u32::MAX), "1 2 3 4 5 6");
    assert_eq!(snapshot.chunk(&scope(), ChunkId(first.0 + 5)).expect("a chunk"), None);
    assert!(snapshot.chunks(&scope(), ChunkId(u64::MAX), u32::MAX).expect("chunks").is_empty());
}

fn live_versions_are_walked_past_a_page(place: &Place) {
    let store = place();
    // Two pages and a part of one; none at all, one page exactly.
    for (namespace, count) in [("none", 0), ("page", 256), ("many", 600)] {
        let scope = Scope::new("org", namespace);
        if count > 0 {
            let puts = (0..count).map(|at| put(&scope, &format!("doc/{at}"), "text\n", at));
            store.commit(batch(puts)).expect("it commits");
        }
        let snapshot = store.snapshot().expect("a snapshot");
        let walked: Vec<String> =
            live_versions(snapshot.as_ref(), &scope).map(|version| version.expect("a version").source_uri).collect();
        assert_eq!(walked, (0..count).map(|at| format!("doc/{at}")).collect::<Vec<_>>());
    }
}
