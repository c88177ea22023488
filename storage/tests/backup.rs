//! A store in one file: taken while it is written to, the same when restored, refused when any bit of it is another.

use std::fs;
use std::io::{Error as IoError, ErrorKind, Read as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use loom_storage::contract::{sample, view};
use loom_storage::{
    BlobRow, Error, Hash, MemoryStore, RedbOptions, RedbStore, Scope, Store, Timestamp, Write as BatchWrite,
    check_backup,
};

const MODELS: [&str; 2] = ["m", "n"];

fn open(folder: &Path) -> RedbStore {
    RedbStore::open(folder, &RedbOptions::default()).expect("it opens")
}

fn restore(folder: &Path, backup: &[u8]) -> Result<loom_storage::BackupSummary, Error> {
    RedbStore::restore_backup(folder, &RedbOptions::default(), &mut |_| Ok(()), &mut &*backup)
}

fn taken(store: &dyn Store) -> Vec<u8> {
    let mut backup = Vec::new();
    let summary = store.backup(&mut backup).expect("a backup");
    assert_eq!(summary.bytes, backup.len() as u64);
    assert_eq!(check_backup(&mut backup.as_slice()).expect("it is whole"), summary);
    backup
}

fn scopes() -> [Scope; 2] {
    [sample::scope(), Scope::new("org.2", "n-1")]
}

fn blobs() -> [Vec<u8>; 3] {
    [Vec::new(), b"small".to_vec(), (0..1_100_000_u32).map(|at| at.to_le_bytes()[1]).collect()]
}

/// Something of everything that a store can hold.
fn fill(store: &dyn Store) {
    for scope in &scopes() {
        let lines: Vec<_> = (0..30).map(|line| format!("line {line}\n")).collect();
        let lines = lines.concat();
        let puts = ["a", "b/1", "c"].map(|uri| sample::put(scope, uri, &lines, 5));
        // More than one block of them, whose inputs do not sort as they were stored.
        let names: Vec<String> = (0..20).map(|number| format!("wide {number}")).collect();
        let wide = vec![0.5; 1000];
        let wide: Vec<(&str, &[f32])> = names.iter().map(|name| (name.as_str(), wide.as_slice())).collect();
        store.commit(sample::batch([sample::vectors(scope, "w", &wide)])).expect("it commits");
        store.commit(sample::batch(puts)).expect("it commits");
        store
            .commit(sample::batch([
                sample::put(scope, "a", "a\nb\n", 9),
                sample::delete(scope, "c", 10),
                sample::vectors(scope, "m", &[("a\n", &[1.0, 2.0]), ("b\n", &[0.5, -1.0])]),
                sample::vectors(scope, "n", &[("a\n", &[1.0])]),
                sample::record(&format!("k/{scope}"), Some(b"value")),
            ]))
            .expect("it commits");
        store
            .commit(sample::batch([
                sample::edit(scope, "b/1", "edited"),
                sample::restore(scope, "c", "restored"),
                BatchWrite::SwitchModel { scope: scope.clone(), model: "n".into() },
                sample::put(scope, "empty", "", 11),
            ]))
            .expect("it commits");
        // One content in three versions of an address, and then another.
        for at in 12..15 {
            store.commit(sample::batch([sample::put(scope, "b/1", "a\nb\n", at)])).expect("it commits");
        }
        store.commit(sample::batch([sample::delete(scope, "c", 15)])).expect("it commits");
        let again = [sample::put(scope, "c", &lines, 16), sample::put(scope, "b/1", "c\n", 16)];
        store.commit(sample::batch(again)).expect("it commits");
        for bytes in blobs() {
            let mut writer = store.write_blob(scope).expect("a writer");
            writer.write(&bytes).expect("it is written");
            let (hash, size) = writer.finish().expect("it is stored");
            let row = BlobRow { hash, size, stored_at: Timestamp(3) };
            store.commit(sample::batch([BatchWrite::PutBlob { scope: scope.clone(), row }])).expect("it commits");
        }
    }
}

fn whole(store: &dyn Store) -> Vec<String> {
    let hashes = blobs().map(|bytes| Hash::of(&bytes));
    let mut lines = view(&*store.snapshot().expect("a snapshot"), &scopes(), &MODELS, &hashes);
    for scope in &scopes() {
        for hash in &hashes {
            let mut bytes = Vec::new();
            store.read_blob(scope, hash).expect("its bytes").read_to_end(&mut bytes).expect("its bytes");
            lines.push(Hash::of(&bytes).hex());
        }
    }
    lines
}

fn assert_sound(store: &RedbStore) {
    let mut faults = Vec::new();
    store.verify(true, &mut |fault| faults.push(fault)).expect("it is verified");
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_backup_of_either_backend_restores_the_same_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (redb, memory) = (open(folder.path()), MemoryStore::default());
    fill(&redb);
    fill(&memory);
    let backup = taken(&redb);
    for (backup, pieces_differ) in [(&backup, false), (&taken(&memory), true)] {
        let other = tempfile::tempdir().expect("a temporary folder");
        let summary = restore(&other.path().join("made"), backup).expect("it is restored");
        assert_eq!((summary.versions, summary.blobs, summary.seq.0), (20, 6, 24));
        let restored = open(&other.path().join("made"));
        assert_eq!(whole(&restored), whole(&redb));
        assert_sound(&restored);
        assert!(pieces_differ || taken(&restored) == *backup, "a backup of the restored store is another");
        restored.commit(sample::batch([sample::put(&scopes()[0], "a", "later\n", 20)])).expect("it goes on");
        assert_sound(&restored);
    }
}

#[test]
fn an_empty_store_has_a_backup_too() {
    let folders = [tempfile::tempdir().expect("a temporary folder"), tempfile::tempdir().expect("a temporary folder")];
    let backup = taken(&open(folders[0].path()));
    restore(folders[1].path(), &backup).expect("it is restored");
    assert_eq!(open(folders[1].path()).snapshot().expect("a snapshot").seq().0, 0);
}

#[test]
fn a_store_that_holds_something_is_not_restored_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    let empty = taken(&store);
    let refused = restore(folder.path(), &empty).expect_err("it is held");
    assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    fill(&store);
    let backup = taken(&store);
    let before = whole(&store);
    drop(store);
    let refused = restore(folder.path(), &backup).expect_err("it holds something");
    assert!(matches!(refused, Error::Occupied { .. }), "{refused}");
    assert_eq!(whole(&open(folder.path())), before);
}

/// A folder in which an attempt to restore failed is as empty as before.
fn assert_nothing_visible(folder: &Path) {
    for file in ["loom.redb", "blobs.redb"] {
        assert!(!folder.join(file).exists(), "{file} is there");
    }
}

#[test]
fn a_damaged_backup_is_refused_and_leaves_nothing_visible() {
    let source = tempfile::tempdir().expect("a temporary folder");
    let store = open(source.path());
    fill(&store);
    let good = taken(&store);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let refuse = |bad: &[u8], what: &str| {
        let checked = check_backup(&mut &*bad).expect_err(what);
        assert!(matches!(checked, Error::Corrupt { what: "backup", .. } | Error::Format { .. }), "{what}: {checked}");
        checked.to_string()
    };
    let refuse_both = |bad: &[u8], what: &str| {
        let refused = restore(folder.path(), bad).expect_err(what);
        assert_eq!(refused.to_string(), refuse(bad, what), "{what}");
        assert_nothing_visible(folder.path());
    };
    for at in [good.len() / 3, good.len() / 2, good.len() - 1] {
        let mut flipped = good.clone();
        flipped[at] ^= 1;
        refuse_both(&flipped, &format!("flipped at {at}"));
        refuse_both(&good[..at], &format!("cut at {at}"));
    }
    for cut in (0..40).map(|step| good.len() * step / 40).chain(good.len() - 40..good.len()) {
        refuse(&good[..cut], &format!("cut at {cut}"));
    }
    let mut flipped = good.clone();
    for at in (0..40).chain((1..60).map(|step| good.len() * step / 60)).chain(good.len() - 40..good.len()) {
        flipped[at] ^= 1 << (at % 8);
        refuse(&flipped, &format!("flipped at {at}"));
        flipped[at] = good[at];
    }
    refuse(&[&good[..], b"more"].concat(), "followed by more");
    refuse(b"loombak\n", "a mere beginning");
    refuse(b"\x28\xb5\x2f\xfd and so on", "another file");

    restore(folder.path(), &good).expect("what the attempts left is made anew");
    assert_eq!(whole(&open(folder.path())), whole(&store));
}

#[test]
fn a_backup_shows_one_moment_while_writers_go_on() {
    struct Slow<'a>(&'a mut dyn FnMut(), Vec<u8>);
    impl Write for Slow<'_> {
        fn write(&mut self, bytes: &[u8]) -> Result<usize, IoError> {
            (self.0)();
            self.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> Result<(), IoError> {
            Ok(())
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    fill(&store);
    let before = whole(&store);
    // Each write of the backup lets a whole commit pass, made by another thread: it would hang if it had to wait.
    let mut commits = 0;
    let mut step = || {
        commits += 1;
        let write = sample::put(&scopes()[0], "a", &format!("{commits}\n"), commits);
        thread::scope(|threads| {
            threads.spawn(|| store.commit(sample::batch([write])).expect("it commits")).join().expect("no panic");
        });
    };
    let mut slow = Slow(&mut step, Vec::new());
    store.backup(&mut slow).expect("a backup");
    let backup = slow.1;
    assert!(commits > 5, "{commits} commits");
    let other = tempfile::tempdir().expect("a temporary folder");
    restore(other.path(), &backup).expect("it is restored");
    assert_eq!(whole(&open(other.path())), before);
}

#[test]
fn backups_under_load_are_each_sound() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Arc::new(open(folder.path()));
    let stop = AtomicBool::new(false);
    let scope = sample::scope();
    thread::scope(|threads| {
        threads.spawn(|| {
            for at in 0_i64.. {
                if stop.load(Ordering::Acquire) {
                    break;
                }
                let mut writer = store.write_blob(&scope).expect("a writer");
                writer.write(format!("blob {at}").as_bytes()).expect("it is written");
                let (hash, size) = writer.finish().expect("it is stored");
                let row = BlobRow { hash, size, stored_at: Timestamp(at) };
                let blob = BatchWrite::PutBlob { scope: scope.clone(), row };
                let text = format!("{at}\n").repeat(20);
                store.commit(sample::batch([sample::put(&scope, "a", &text, at), blob])).expect("it commits");
            }
        });
        let mut last = 0;
        while last < 20 {
            let backup = taken(&*store);
            let other = tempfile::tempdir().expect("a temporary folder");
            last = restore(other.path(), &backup).expect("it is restored").seq.0;
            assert_sound(&open(other.path()));
        }
        stop.store(true, Ordering::Release);
    });
}

#[test]
fn a_writer_that_fails_is_no_fault_of_the_store() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> Result<usize, IoError> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> Result<(), IoError> {
            Ok(())
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    fill(&store);
    for room in [0, 20, 5_000] {
        let failed = store.backup(&mut Full(room)).expect_err("it takes no more");
        assert!(matches!(failed, Error::Transfer { .. }), "{failed}");
    }
    store.commit(sample::batch([sample::put(&scopes()[0], "a", "later\n", 20)])).expect("it goes on");
}

#[test]
fn a_damaged_record_is_not_backed_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    fill(&store);
    drop(store);
    let file = folder.path().join("loom.redb");
    let mut bytes = fs::read(&file).expect("the main file");
    let needle = b"line 17\n";
    let places: Vec<_> = (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect();
    assert!(!places.is_empty(), "the texts are in the file");
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(&file, bytes).expect("it is written");
    let refused = open(folder.path()).backup(&mut Vec::new()).expect_err("a damaged record");
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
}
