//! Batches: whole or not at all, their preconditions, their rules, and the writes that are not of versions.

use super::sample::{batch, delete, edit, head_is, input, put, record, record_is, scope, vectors};
use super::view::view;
use super::{Case, Place};
use crate::batch::{Batch, Write};
use crate::change::Change;
use crate::error::Error;
use crate::id::{Hash, Scope, Seq};
use crate::record::{BlobRow, Record, Timestamp};
use crate::store::Store;

pub(super) const CASES: &[Case] = &[
    ("a batch is stored whole or not at all", a_batch_is_stored_whole_or_not_at_all),
    ("preconditions on heads guard a batch", preconditions_on_heads_guard_a_batch),
    ("preconditions on records guard a batch", preconditions_on_records_guard_a_batch),
    ("batches that break a rule are refused", batches_that_break_a_rule_are_refused),
    ("records are written, overwritten and deleted", records_are_written_overwritten_and_deleted),
    ("vectors are kept once", vectors_are_kept_once),
    ("a switch of models is logged", a_switch_of_models_is_logged),
    ("a snapshot does not move", a_snapshot_does_not_move),
    ("everything is there after reopening", everything_is_there_after_reopening),
];

fn whole_view(store: &dyn Store) -> Vec<String> {
    view(&*store.snapshot().expect("a snapshot"), &[scope()], &["m"], &[])
}

fn a_batch_is_stored_whole_or_not_at_all(place: &Place) {
    let store = place();
    store.commit(batch([put(&scope(), "a", "1\n", 1)])).expect("it commits");
    let before = whole_view(&*store);
    let spoiled = [put(&scope(), "b", "2\n", 2), record("k", Some(b"v")), delete(&scope(), "not there", 2)];
    assert!(matches!(store.commit(batch(spoiled)), Err(Error::Invalid(_))));
    let gone = BlobRow { hash: Hash::of(b"no such blob"), size: 12, stored_at: Timestamp(1) };
    let spoiled = [edit(&scope(), "a", "x"), Write::PutBlob { scope: scope(), row: gone }];
    assert!(matches!(store.commit(batch(spoiled)), Err(Error::BlobGone { .. })));
    assert_eq!(whole_view(&*store), before);
    let next = store.commit(batch([put(&scope(), "b", "2\n", 2), record("k", Some(b"v"))])).expect("it commits");
    assert_eq!(next.seq, Seq(2), "a refused batch takes no number");
    assert_eq!(store.commit(Batch::default()).expect("an empty batch commits").seq, Seq(3));
}

fn preconditions_on_heads_guard_a_batch(place: &Place) {
    let store = place();
    let mut revision = 0;
    let mut attempt = |changed: Option<u64>| {
        revision += 1;
        let text = format!("{revision}\n");
        store.commit(Batch {
            preconditions: vec![head_is(&scope(), "a", changed)],
            writes: vec![put(&scope(), "a", &text, 1)],
        })
    };
    let conflict = |result: Result<_, Error>| match result {
        Err(Error::Conflict { what }) => assert_eq!(what, "a"),
        other => panic!("{other:?}"),
    };
    conflict(attempt(Some(1)));
    assert_eq!(attempt(None).expect("nothing was there").seq, Seq(1));
    conflict(attempt(None));
    conflict(attempt(Some(2)));
    assert_eq!(attempt(Some(1)).expect("it is what was read").seq, Seq(2));
    store.commit(batch([edit(&scope(), "a", "x")])).expect("it commits");
    conflict(attempt(Some(2)));
    assert_eq!(attempt(Some(3)).expect("it is what was read").seq, Seq(4));
    store.commit(batch([delete(&scope(), "a", 1)])).expect("it commits");
    conflict(attempt(Some(4)));
    conflict(attempt(None));
    assert_eq!(attempt(Some(5)).expect("a deleted head is a head").seq, Seq(6));
    let elsewhere = Batch {
        preconditions: vec![head_is(&Scope::new("org", "other"), "a", None), head_is(&scope(), "b", None)],
        writes: Vec::new(),
    };
    assert_eq!(store.commit(elsewhere).expect("both hold").seq, Seq(7));
}

fn preconditions_on_records_guard_a_batch(place: &Place) {
    let store = place();
    let attempt = |changed: Option<u64>, value: Option<&[u8]>| {
        let result = store.commit(Batch {
            preconditions: vec![record_is("k", changed)],
            writes: vec![record("k", value), put(&scope(), "a", "1\n", 1)],
        });
        match result {
            Ok(committed) => Some(committed.seq.0),
            Err(Error::RecordConflict { key }) => {
                assert_eq!(key, "k");
                None
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(attempt(Some(1), Some(b"x")), None);
    assert_eq!(attempt(None, Some(b"x")), Some(1));
    assert_eq!(attempt(None, Some(b"y")), None);
    assert_eq!(attempt(Some(1), Some(b"y")), Some(2));
    assert_eq!(attempt(Some(1), None), None);
    assert_eq!(attempt(Some(2), None), Some(3));
    assert_eq!(attempt(Some(2), None), None);
    assert_eq!(attempt(None, None), Some(4));
}

fn batches_that_break_a_rule_are_refused(place: &Place) {
    let store = place();
    store.commit(batch([vectors(&scope(), "m", &[("a", &[1.0, 2.0])])])).expect("it commits");
    let s = scope();
    let long = "x".repeat(2049);
    let bad_scopes = [("", "n"), ("o", ""), ("o", "a\0b"), ("o/p", "n"), ("o", "é"), ("o", &long[..129])];
    let mut bad: Vec<Vec<Write>> =
        bad_scopes.iter().map(|(org, ns)| vec![put(&Scope::new(*org, *ns), "a", "1\n", 1)]).collect();
    bad.extend([
        vec![put(&s, "a", "1\n", 1), put(&s, "a", "2\n", 1)],
        vec![put(&s, "a", "1\n", 1), delete(&s, "a", 1)],
        vec![put(&s, "", "1\n", 1)],
        vec![put(&s, "a\nb", "1\n", 1)],
        vec![put(&s, "a\0b", "1\n", 1)],
        vec![put(&s, &long, "1\n", 1)],
        vec![record("", Some(b"v"))],
        vec![vectors(&s, "", &[("a", &[1.0])])],
        vec![vectors(&s, "m\0", &[("a", &[1.0])])],
        vec![vectors(&s, "n", &[("a", &[])])],
        vec![vectors(&s, "n", &[("a", &[1.0]), ("b", &[1.0, 2.0])])],
        vec![vectors(&s, "n", &[("a", &[1.0])]), vectors(&s, "n", &[("b", &[1.0, 2.0])])],
        vec![vectors(&s, "m", &[("b", &[1.0])])],
    ]);
    for writes in bad {
        let refused = store.commit(batch(writes.clone()));
        assert!(matches!(refused, Err(Error::Invalid(_))), "{writes:?}: {refused:?}");
    }
    assert_eq!(store.snapshot().expect("a snapshot").seq(), Seq(1));
    let longest = "é".repeat(2048);
    let fine = [put(&s, &longest, "1\n", 1), put(&Scope::new("org", "other"), &longest, "1\n", 1)];
    store.commit(batch(fine)).expect("the longest address, in two namespaces");
}

fn records_are_written_overwritten_and_deleted(place: &Place) {
    let store = place();
    store.commit(batch([record("a/1", Some(b"x")), record("a/2", Some(b""))])).expect("it commits");
    store.commit(batch([record("a/1", Some(b"y")), record("a/1", Some(b"z"))])).expect("the last one wins");
    let large = vec![7; 1 << 20];
    store.commit(batch([record("large", Some(&large)), record("a/2", None), record("a/3", None)])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let stored = |key: &str| snapshot.record(key).expect("a record");
    assert_eq!(stored("a/1"), Some(Record { key: "a/1".into(), changed: Seq(2), value: b"z".into() }));
    assert_eq!(stored("a/2"), None);
    assert_eq!(stored("a/"), None);
    assert_eq!(stored("large").map(|record| record.value), Some(large));
    assert_eq!(snapshot.namespaces(None).expect("namespaces"), [], "records make no namespace");
}

fn vectors_are_kept_once(place: &Place) {
    let store = place();
    let s = scope();
    store.commit(batch([vectors(&s, "m", &[("a", &[1.0, -0.5]), ("b", &[0.0, 3.5])])])).expect("it commits");
    store.commit(batch([vectors(&s, "m", &[("a", &[9.0, 9.0]), ("c", &[2.0, 2.0])])])).expect("it commits");
    store.commit(batch([vectors(&s, "mm", &[("a", &[4.0])]), vectors(&s, "m", &[])])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let kept = snapshot.vectors(&s, "m", &["c", "never", "a", "b", "a"].map(input)).expect("vectors");
    let (a, b, c) = (vec![1.0, -0.5], vec![0.0, 3.5], vec![2.0, 2.0]);
    assert_eq!(kept, [Some(c), None, Some(a.clone()), Some(b), Some(a)]);
    assert_eq!(snapshot.namespace(&s).expect("a row"), None, "vectors make no namespace");
    let dropped = Write::DropVectors { scope: s.clone(), model: "m".into() };
    store.commit(batch([dropped.clone(), vectors(&s, "m", &[("a", &[7.0])])])).expect("it commits");
    let kept = |model: &str, text: &str| {
        store.snapshot().expect("a snapshot").vector(&s, model, &input(text)).expect("a vector")
    };
    assert_eq!((kept("m", "a"), kept("m", "b"), kept("mm", "a")), (Some(vec![7.0]), None, Some(vec![4.0])));
    store.commit(batch([vectors(&s, "m", &[("x", &[1.0])]), dropped])).expect("it commits");
    assert_eq!((kept("m", "a"), kept("m", "x"), kept("mm", "a")), (None, None, Some(vec![4.0])));
}

fn a_switch_of_models_is_logged(place: &Place) {
    let store = place();
    let s = scope();
    let put = store.commit(batch([put(&s, "a", "1\n", 1)])).expect("it commits").versions[0];
    store.commit(batch([Write::SwitchModel { scope: s.clone(), model: "m".into() }])).expect("it commits");
    store.commit(batch([vectors(&s, "m", &[("a", &[1.0])])])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let changes = snapshot.changes(&s, Seq(0), 9).expect("changes").items;
    let changes: Vec<_> = changes.into_iter().map(|entry| (entry.seq.0, entry.changes)).collect();
    let expected = [(1, vec![Change::Added(put.version)]), (2, vec![Change::ModelSwitched("m".into())])];
    assert_eq!(changes, expected);
    let row = snapshot.namespace(&s).expect("a row").expect("a namespace");
    assert_eq!(row.last_seq, Seq(3), "vectors touch the namespace, though its projections need not follow");
}

fn a_snapshot_does_not_move(place: &Place) {
    let store = place();
    store.commit(batch([put(&scope(), "a", "a\nb\n", 1), record("k", Some(b"1"))])).expect("it commits");
    let snapshot = store.snapshot().expect("a snapshot");
    let before = view(&*snapshot, &[scope()], &["m"], &[]);
    let later = [
        put(&scope(), "a", "a\nc\n", 2),
        put(&scope(), "b", "a\n", 2),
        record("k", None),
        vectors(&scope(), "m", &[("a\n", &[1.0])]),
    ];
    store.commit(batch(later)).expect("it commits");
    store.commit(batch([delete(&scope(), "a", 3)])).expect("it commits");
    assert_eq!(view(&*snapshot, &[scope()], &["m"], &[]), before);
    assert_eq!(snapshot.seq(), Seq(1));
    assert_ne!(whole_view(&*store), before);
}

fn everything_is_there_after_reopening(place: &Place) {
    let store = place();
    let s = scope();
    store.commit(batch([put(&s, "a", "a\nb\n", 1), put(&s, "b", &"long ".repeat(5000), 1)])).expect("it commits");
    store.commit(batch([put(&s, "a", "c\n", 2), vectors(&s, "m", &[("a\n", &[0.5])])])).expect("it commits");
    store.commit(batch([delete(&s, "b", 3), record("k", Some(b"v"))])).expect("it commits");
    let before = whole_view(&*store);
    drop(store);
    let store = place();
    assert_eq!(whole_view(&*store), before);
    assert_eq!(store.commit(batch([put(&s, "c", "d\n", 4)])).expect("it commits").seq, Seq(4));
}
