//! What becomes of a store's folder: held by one at a time, copied after a crash, damaged by others.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use loom_storage::contract::{sample, view};
use loom_storage::{Error, Hash, RedbOptions, RedbStore, Store};

fn open(folder: &Path) -> Result<RedbStore, Error> {
    RedbStore::open(folder, &RedbOptions { program: "tester".into(), ..RedbOptions::default() })
}

fn refusal(folder: &Path) -> (String, Option<String>) {
    match open(folder) {
        Err(Error::Locked { holder, note, folder: named }) => {
            assert_eq!(named, folder);
            (holder, note)
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is held already"),
    }
}

#[test]
fn a_second_open_says_who_holds_the_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inner = folder.path().join("made/for it");
    let store = open(&inner).expect("it opens");
    let (holder, note) = refusal(&inner);
    assert!(holder.starts_with(&format!("tester (process {}, since 2", std::process::id())), "{holder}");
    assert_eq!(note, None);
    store.set_holder_note("http://127.0.0.1:8080 \"é\"").expect("a note");
    assert_eq!(refusal(&inner).1.as_deref(), Some("http://127.0.0.1:8080 \"é\""));

    let holder_file = inner.join("loom.holder");
    for nonsense in [&b"not json"[..], b"", b"\xff", "[".repeat(100_000).as_bytes()] {
        fs::write(&holder_file, nonsense).expect("it is written");
        assert_eq!(refusal(&inner), ("another process".into(), None));
    }

    let snapshot = store.snapshot().expect("a snapshot");
    drop(store);
    refusal(&inner);
    drop(snapshot);
    drop(open(&inner).expect("nobody holds it any more"));
    assert!(!holder_file.exists());
}

#[test]
fn a_redb_file_in_use_is_a_locked_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path()).expect("it opens");
    // Somebody replaced the lock file: the lock of the data files still holds.
    fs::remove_file(folder.path().join("loom.lock")).expect("it is removed");
    refusal(folder.path());
    drop(store);
}

#[test]
fn what_a_crash_left_of_making_a_folder_is_made_anew() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in ["loom.redb.new", "blobs.redb.new"] {
        fs::write(folder.path().join(file), [0; 4096]).expect("it is written");
    }
    open(folder.path()).expect("it opens").commit(sample::batch([])).expect("it commits");
    fs::remove_file(folder.path().join("blobs.redb")).expect("it is removed");
    let store = open(folder.path()).expect("it opens");
    assert_eq!(store.snapshot().expect("a snapshot").seq().0, 1);
}

fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().expect("a temporary folder");
    for file in ["loom.redb", "loom.wal", "blobs.redb"] {
        fs::copy(from.join(file), to.path().join(file)).expect("it is copied");
    }
    to
}

#[test]
fn a_folder_copied_from_a_running_store_opens_as_after_a_crash() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path()).expect("it opens");
    let scope = sample::scope();
    store.commit(sample::batch([sample::put(&scope, "a", "a\nb\n", 1)])).expect("it commits");
    let mut writer = store.write_blob(&scope).expect("a writer");
    writer.write(&vec![1; 5 << 20]).expect("it is written");
    let crashed = copy(folder.path());
    let before = view(&*store.snapshot().expect("a snapshot"), std::slice::from_ref(&scope), &[], &[]);

    let again = open(crashed.path()).expect("it opens");
    assert_eq!(view(&*again.snapshot().expect("a snapshot"), std::slice::from_ref(&scope), &[], &[]), before);
    assert!(matches!(again.read_blob(&scope, &Hash::of(&vec![1; 5 << 20])), Err(Error::BlobGone { .. })));
    let mut faults = Vec::new();
    again.verify(true, &mut |fault| faults.push(fault)).expect("it is verified");
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn uploads_that_end_together_are_all_in_the_file_when_they_are_acknowledged() {
    const THREADS: u8 = 8;
    const EACH: u8 = 12;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (scope, store) = (sample::scope(), open(folder.path()).expect("it is made"));
    let upload = |bytes: &[u8]| {
        let mut writer = store.write_blob(&scope).expect("a writer");
        writer.write(bytes).expect("it is taken");
        writer.finish().expect("it is stored").0
    };
    thread::scope(|threads| {
        for thread in 0..THREADS {
            threads.spawn(move || {
                for number in 0..EACH {
                    upload(&[thread, number]);
                }
            });
        }
    });
    // A copy has what is in the file, and nothing that is in memory alone.
    let copy = open(copy(folder.path()).path()).expect("the copy opens");
    for bytes in (0..THREADS).flat_map(|thread| (0..EACH).map(move |number| [thread, number])) {
        assert!(copy.read_blob(&scope, &Hash::of(&bytes)).is_ok(), "{bytes:?}");
    }
    assert_eq!(upload(&[0, 0]), Hash::of(&[0, 0]), "it is known");
}

#[test]
fn a_damaged_file_is_an_error_and_its_data_never_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path()).expect("it opens");
    let scope = sample::scope();
    let lines: Vec<_> = (0..40).map(|line| format!("line {line}\n")).collect();
    let lines = lines.concat();
    for at in 0..4 {
        let writes = ["a", "b"].map(|uri| sample::put(&scope, uri, &lines, at));
        store.commit(sample::batch(writes)).expect("it commits");
    }
    let read = |store: &RedbStore| -> Result<Vec<String>, Error> {
        let snapshot = store.snapshot()?;
        let mut lines = Vec::new();
        for version in snapshot.timeline(&scope, None, true, 99)?.items {
            lines.push(format!("{version:?}"));
        }
        for uri in ["a", "b"] {
            let Some(head) = snapshot.head(&scope, uri)? else { continue };
            lines.push(format!("{:?}", snapshot.text(&scope, head.version)?));
            let Some(version) = snapshot.version(&scope, head.version)? else { continue };
            for chunk in version.chunk_ids() {
                lines.push(format!("{:?}", snapshot.chunk(&scope, chunk)?));
            }
        }
        Ok(lines)
    };
    let good = read(&store).expect("it is whole");
    drop(store);
    let file = folder.path().join("loom.redb");
    let whole = fs::read(&file).expect("the main file");
    let (mut refused, mut served) = (0, 0);
    for at in (0..whole.len()).step_by(whole.len() / 150) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&file, &damaged).expect("it is written");
        match open(folder.path()).and_then(|store| read(&store)) {
            Ok(lines) => {
                served += 1;
                for line in lines {
                    // A damaged page can hide a row; what is served is what was written.
                    assert!(good.contains(&line) || line == "None", "byte {at} changed what is served: {line}");
                }
            }
            Err(_) => refused += 1,
        }
    }
    for len in [0, 1, 100, 4096, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..len]).expect("it is written");
        if let Ok(store) = open(folder.path()) {
            assert!(len == 0, "a file of {len} bytes opens");
            drop(store);
        }
    }
    assert!(refused > 0 && served > 0, "{refused} refused, {served} served");
}

#[test]
fn a_holder_file_that_cannot_be_written_keeps_nobody_out() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("loom.holder.new")).expect("in the way");
    fs::write(folder.path().join("loom.holder"), r#"{"program":"dead","pid":1,"since":0,"note":null}"#).expect("left");
    let _store = open(folder.path()).expect("it opens");
    assert_eq!(refusal(folder.path()), ("another process".into(), None));
}

#[test]
fn a_closed_store_is_free_although_children_are_started_meanwhile() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        // Between its fork and its exec a child holds every open file of its parent, the lock among them.
        for _ in 0..2 {
            threads.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    Command::new("true").status().expect("a child");
                }
            });
        }
        let opened: Vec<Result<(), String>> =
            (0..100).map(|_| open(folder.path()).map(drop).map_err(|error| error.to_string())).collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(opened, vec![Ok(()); 100]);
    });
}
