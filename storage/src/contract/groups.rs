//! Many threads at once.

use std::collections::BTreeSet;
use std::thread;

use super::sample::{batch, head_is, put, record, record_is, restore, scope};
use super::{Case, Place};
use crate::batch::Batch;
use crate::error::Error;
use crate::id::Seq;
use crate::lease::{Acquired, Lease};
use crate::record::Timestamp;

pub(super) const CASES: &[Case] = &[
    ("concurrent commits are numbered without gaps", concurrent_commits_are_numbered_without_gaps),
    ("of racing writes one wins", of_racing_writes_one_wins),
    ("a counter under guard counts every step", a_counter_under_guard_counts_every_step),
    ("a lease has one holder", a_lease_has_one_holder),
];

const THREADS: u64 = 8;
const ROUNDS: u64 = 12;

fn concurrent_commits_are_numbered_without_gaps(place: &Place) {
    let store = place();
    let numbers: BTreeSet<u64> = thread::scope(|threads| {
        let running: Vec<_> = (0..THREADS)
            .map(|thread| {
                let store = &*store;
                threads.spawn(move || {
                    (0..ROUNDS)
                        .filter_map(|round| {
                            let uri = format!("{thread}/{round}");
                            if round % 3 == 2 {
                                // Refused, without harm to those it shares a group with.
                                let refused = store.commit(batch([restore(&scope(), &uri, "x")]));
                                assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
                                return None;
                            }
                            let committed =
                                store.commit(batch([put(&scope(), &uri, "1\n2\n", 1)])).expect("it commits");
                            let snapshot = store.snapshot().expect("a snapshot");
                            assert!(snapshot.seq() >= committed.seq, "a commit is visible once it returns");
                            let head = snapshot.head(&scope(), &uri).expect("a head").expect("it is there");
                            assert_eq!(head.version, committed.versions[0].version);
                            assert_eq!(head.changed, committed.seq);
                            Some(committed.seq.0)
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let count = THREADS * ROUNDS / 3 * 2;
    assert_eq!(numbers, (1..=count).collect());
    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!(snapshot.seq(), Seq(count));
    let row = snapshot.namespace(&scope()).expect("a row").expect("a namespace");
    assert_eq!((row.documents, row.chunks, row.versions, row.last_seq), (count, 2 * count, count, Seq(count)));
    let changes = snapshot.changes(&scope(), Seq(0), usize::MAX).expect("changes").items;
    assert_eq!(changes.iter().map(|entry| entry.seq.0).collect::<BTreeSet<_>>(), numbers);
}

fn of_racing_writes_one_wins(place: &Place) {
    let store = place();
    let wins = thread::scope(|threads| {
        let race = |thread: u64| {
            let store = &*store;
            threads.spawn(move || {
                let text = format!("{thread}\n");
                let committed = store.commit(Batch {
                    preconditions: vec![head_is(&scope(), "a", None)],
                    writes: vec![put(&scope(), "a", &text, 1)],
                });
                match committed {
                    Ok(_) => 1,
                    Err(Error::Conflict { .. }) => 0,
                    Err(other) => panic!("{other}"),
                }
            })
        };
        let running: Vec<_> = (0..THREADS).map(race).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).sum::<u64>()
    });
    assert_eq!(wins, 1);
    assert_eq!(store.snapshot().expect("a snapshot").seq(), Seq(1));
}

fn a_counter_under_guard_counts_every_step(place: &Place) {
    let store = place();
    let step = || {
        loop {
            let current = store.snapshot().expect("a snapshot").record("n").expect("a record");
            let count = current.as_ref().map_or(0, |record| record.value[0]);
            let step = store.commit(Batch {
                preconditions: vec![record_is("n", current.map(|record| record.changed.0))],
                writes: vec![record("n", Some(&[count + 1]))],
            });
            match step {
                Ok(_) => return,
                Err(Error::RecordConflict { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    };
    thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| (0..ROUNDS).for_each(|_| step()));
        }
    });
    let counted = store.snapshot().expect("a snapshot").record("n").expect("a record").expect("it is there");
    assert_eq!((u64::from(counted.value[0]), counted.changed), (THREADS * ROUNDS, Seq(THREADS * ROUNDS)));
}

fn a_lease_has_one_holder(place: &Place) {
    let store = place();
    let acquire = |owner: &str, now| Lease::acquire(&*store, "lease/x", owner, Timestamp(now), 100).expect("a lease");
    let held = |acquired| match acquired {
        Acquired::Held(lease) => lease,
        Acquired::Taken { owner, .. } => panic!("{owner} has it"),
    };
    let taken = Acquired::Taken { owner: "one".into(), expires_at: Timestamp(110) };
    let mut one = held(acquire("one", 10));
    assert_eq!(one.expires_at(), Timestamp(110));
    assert_eq!(acquire("two", 109), taken);
    assert!(one.renew(&*store, Timestamp(50), 100).expect("a renewal"));
    assert_eq!(one.expires_at(), Timestamp(150));
    let mut again = held(acquire("one", 60));
    assert!(!one.renew(&*store, Timestamp(61), 100).expect("the other handle has it now"));
    assert!(again.renew(&*store, Timestamp(62), 0).expect("a renewal"));
    let two = held(acquire("two", 62));
    assert!(!again.clone().release(&*store).expect("it was taken over"));
    let fenced = Batch { preconditions: vec![again.precondition()], writes: vec![put(&scope(), "a", "1\n", 1)] };
    assert!(matches!(store.commit(fenced), Err(Error::RecordConflict { .. })));
    let guarded = Batch { preconditions: vec![two.precondition()], writes: vec![put(&scope(), "a", "1\n", 1)] };
    store.commit(guarded).expect("the holder's work is stored");
    assert!(two.release(&*store).expect("it was held"));
    assert!(matches!(acquire("three", 63), Acquired::Held(_)));

    let winners = thread::scope(|threads| {
        let running: Vec<_> = (0..THREADS)
            .map(|thread| {
                let store = &*store;
                threads.spawn(move || {
                    let owner = format!("owner {thread}");
                    let acquired = Lease::acquire(store, "lease/y", &owner, Timestamp(1), 100).expect("a lease");
                    u64::from(matches!(acquired, Acquired::Held(_)))
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).sum::<u64>()
    });
    assert_eq!(winners, 1);
}
