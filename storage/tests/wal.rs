//! The write-ahead log: what only it holds survives a crash, damage to it is noticed, and no other store's is applied.

use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use loom_storage::contract::sample;
use loom_storage::{Batch, Error, RedbOptions, RedbStore, Store};

const COMMITS: u64 = 12;
const BLOCK: usize = 4096;

fn open(folder: &Path) -> Result<RedbStore, Error> {
    RedbStore::open(folder, &RedbOptions::default())
}

fn commit(number: u64) -> Batch {
    let lines: Vec<_> = (0..number * 20).map(|line| format!("{number} line {line}\n")).collect();
    sample::batch([sample::put(&sample::scope(), &format!("doc/{number}"), &lines.concat(), 1)])
}

/// A folder of a process that was killed after [`COMMITS`] commits, all of them in the log alone.
fn killed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(open(folder.path()).expect("it is made"));
    let store = open(folder.path()).expect("it opens");
    let main = fs::read(folder.path().join("loom.redb")).expect("the main file");
    for number in 1..=COMMITS {
        store.commit(commit(number)).expect("it commits");
    }
    let copy = tempfile::tempdir().expect("a temporary folder");
    fs::write(copy.path().join("loom.redb"), main).expect("it is written");
    for file in ["loom.wal", "blobs.redb"] {
        fs::copy(folder.path().join(file), copy.path().join(file)).expect("it is copied");
    }
    copy
}

/// The last commit, when the store holds exactly what was committed until then.
fn last_whole(store: &RedbStore) -> u64 {
    let mut faults = Vec::new();
    store.verify(false, &mut |fault| faults.push(fault)).expect("it is verified");
    assert_eq!(faults, Vec::<String>::new());
    let snapshot = store.snapshot().expect("a snapshot");
    let heads = snapshot.heads(&sample::scope(), "", None, 99).expect("heads").items;
    assert_eq!(heads.len() as u64, snapshot.seq().0);
    for number in 1..=snapshot.seq().0 {
        assert!(heads.iter().any(|(uri, _)| *uri == format!("doc/{number}")));
    }
    snapshot.seq().0
}

#[test]
fn what_only_the_log_holds_is_there_after_a_crash() {
    let folder = killed();
    let wal = folder.path().join("loom.wal");
    let log = fs::read(&wal).expect("the log");
    fs::write(&wal, []).expect("it is emptied");
    assert_eq!(last_whole(&open(folder.path()).expect("it opens")), 0, "the main file has none of it");
    fs::write(&wal, &log).expect("it is put back");
    let store = open(folder.path()).expect("it opens");
    assert_eq!(last_whole(&store), COMMITS);
    store.commit(commit(COMMITS + 1)).expect("it commits");
    drop(store);
    fs::write(&wal, &log).expect("an older log is put back");
    assert_eq!(last_whole(&open(folder.path()).expect("it opens")), COMMITS + 1, "old records do not count");
}

#[test]
fn a_store_that_a_panic_drops_loses_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path()).expect("it is made");
    let unwound = thread::spawn(move || {
        for number in 1..=COMMITS {
            store.commit(commit(number)).expect("it commits");
        }
        resume_unwind(Box::new("whatever the thread was at"));
    });
    unwound.join().expect_err("it unwinds");
    assert_eq!(last_whole(&open(folder.path()).expect("it opens")), COMMITS);
}

#[test]
fn a_log_that_breaks_off_holds_what_came_before() {
    let folder = killed();
    let wal = folder.path().join("loom.wal");
    let main = fs::read(folder.path().join("loom.redb")).expect("the main file");
    let log = fs::read(&wal).expect("the log");
    let mut seen = Vec::new();
    for len in (0..log.len()).step_by(BLOCK) {
        fs::write(folder.path().join("loom.redb"), &main).expect("it is written");
        fs::write(&wal, &log[..len]).expect("it is cut off");
        seen.push(last_whole(&open(folder.path()).expect("it opens")));
    }
    assert!(seen.is_sorted());
    seen.dedup();
    assert_eq!(seen, (0..=COMMITS).collect::<Vec<_>>());
}

#[test]
fn damage_inside_the_log_is_named_and_never_applied() {
    let folder = killed();
    let wal = folder.path().join("loom.wal");
    let main = fs::read(folder.path().join("loom.redb")).expect("the main file");
    let log = fs::read(&wal).expect("the log");
    let used = log.iter().rposition(|byte| *byte != 0).expect("it holds something") + 1;
    let (mut refused, mut last_missing, mut harmless) = (0, 0, 0);
    for at in (0..used).step_by(used / 300) {
        let mut damaged = log.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(folder.path().join("loom.redb"), &main).expect("it is written");
        fs::write(&wal, &damaged).expect("it is damaged");
        match open(folder.path()) {
            Err(Error::Corrupt { what, detail, .. }) => {
                assert_eq!(what, "write-ahead log");
                assert!(detail.contains("missing or damaged"), "{detail}");
                refused += 1;
            }
            Err(other) => panic!("byte {at}: {other}"),
            Ok(store) => match last_whole(&store) {
                COMMITS => harmless += 1,
                // Nothing tells the newest record, damaged, from one whose write was cut off.
                last => {
                    assert_eq!(last, COMMITS - 1, "byte {at}");
                    last_missing += 1;
                }
            },
        }
    }
    assert!(refused > 100, "{refused} refused, {last_missing} without the last, {harmless} in padding");
}

#[test]
fn a_log_of_another_store_is_passed_over() {
    let (one, other) = (killed(), tempfile::tempdir().expect("a temporary folder"));
    drop(open(other.path()).expect("it is made"));
    fs::copy(one.path().join("loom.wal"), other.path().join("loom.wal")).expect("it is copied");
    let store = open(other.path()).expect("it opens");
    assert_eq!(last_whole(&store), 0);
    store.commit(commit(1)).expect("it commits");
    assert_eq!(last_whole(&store), 1);
}

#[test]
fn a_backup_is_not_restored_over_commits_that_only_the_log_holds() {
    let folder = killed();
    let mut backup = Vec::new();
    open(killed().path()).expect("it opens").backup(&mut backup).expect("it is backed up");
    let options = RedbOptions::default();
    let restored = RedbStore::restore_backup(folder.path(), &options, &mut |_| Ok(()), &mut &*backup);
    assert!(matches!(restored, Err(Error::Occupied { .. })), "{restored:?}");
    assert_eq!(last_whole(&open(folder.path()).expect("it opens")), COMMITS);
}

#[test]
fn what_does_not_fit_goes_to_the_main_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = RedbOptions { wal_bytes: 64 << 10, ..RedbOptions::default() };
    let store = RedbStore::open(folder.path(), &options).expect("it opens");
    let large = "all of this is one line\n".repeat(60_000);
    for number in 1..=40 {
        store.commit(commit(number)).expect("it commits");
        if number == 20 {
            store.commit(sample::batch([sample::put(&sample::scope(), "large", &large, 1)])).expect("it commits");
            store.commit(sample::batch([sample::delete(&sample::scope(), "large", 2)])).expect("it commits");
        }
    }
    let wal = fs::metadata(folder.path().join("loom.wal")).expect("the log").len();
    assert!(wal <= 512 << 10, "{wal} bytes of log");
    let copy = tempfile::tempdir().expect("a temporary folder");
    for file in ["loom.redb", "loom.wal", "blobs.redb"] {
        fs::copy(folder.path().join(file), copy.path().join(file)).expect("it is copied");
    }
    let again = open(copy.path()).expect("it opens");
    assert_eq!(again.snapshot().expect("a snapshot").seq().0, 42);
}
