use std::time::Duration;

use loom_storage::MemoryStore;
use loom_storage::contract::sample::{batch, put, scope};

use super::*;

#[test]
fn whoever_must_wait_too_long_for_a_turn_or_for_others_commits_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = MemoryStore::default();
    let write = |uri: &str| store.commit(batch([put(&scope(), uri, "alpha\n", 1)])).expect("it commits");
    write("a");
    let snapshot = || store.snapshot().expect("a snapshot");
    let model = Model { name: "m".into(), dim: 32 };
    let progress = Progress::default();
    let opened = Projection::open(folder.path(), &scope(), snapshot().as_ref(), &model, Arc::default(), &progress);
    let projection = opened.expect("it opens");
    let in_an_hour = Instant::now() + Duration::from_hours(1);
    let turn = projection.following.lock();
    // What was followed is shown whoever has the turn.
    assert_eq!(projection.view(&store, Instant::now()).expect("it has followed").totals().versions, 1);
    write("b");
    write("c");
    let versions = |until| projection.view(&store, until).map(|view| view.totals().versions);
    assert!(matches!(versions(Instant::now()), Err(Error::Behind)), "another has the turn");
    assert!(matches!(projection.catch_up(snapshot().as_ref(), Instant::now()), Err(Error::Behind)));
    drop(turn);
    let past = Instant::now().checked_sub(Duration::from_nanos(1)).expect("the clock has run");
    assert!(matches!(versions(past), Err(Error::Behind)), "there is no time to follow both");
    assert_eq!(versions(past).expect("the one that is left is followed all the same"), 3);
    write("d");
    assert_eq!(versions(in_an_hour).expect("it follows"), 4);
    assert_eq!(versions(past).expect("there is nothing left to follow"), 4);
}
