//! A disk that fails at the n-th write or sync, for every n: what was acknowledged is there after reopening, and what
//! was not is whole or absent.

use std::io::{Error as IoError, ErrorKind, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom_storage::contract::sample;
use loom_storage::{Error, Hash, RedbOptions, RedbStore, Scope, StorageBackend, Store};
use parking_lot::Mutex;

/// A file as it is, as it was last synced, and the writes between.
#[derive(Clone, Debug, Default)]
struct File {
    now: Vec<u8>,
    synced: Vec<u8>,
    since: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Len(usize),
    Write(usize, Vec<u8>),
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Len(len) => bytes.resize(*len, 0),
        Change::Write(at, data) => {
            let end = at + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at..end].copy_from_slice(data);
        }
    }
}

/// Which of the writes since the last sync reach the disk before the power goes.
#[derive(Clone, Copy, Debug)]
enum Lost {
    Nothing,
    Everything,
    EveryOther,
}

impl File {
    fn after_power_loss(&self, lost: Lost) -> Self {
        let mut bytes = self.synced.clone();
        for (index, change) in self.since.iter().enumerate() {
            let kept = match lost {
                Lost::Nothing => true,
                Lost::Everything => false,
                Lost::EveryOther => index % 2 == 1,
            };
            // A file's length is not lost while later bytes of it are kept.
            if kept || matches!((lost, change), (Lost::EveryOther, Change::Len(_))) {
                apply(&mut bytes, change);
            }
        }
        Self { now: bytes.clone(), synced: bytes, since: Vec::new() }
    }
}

/// A backend over a [`File`] that works until the operations it shares with others are used up.
#[derive(Debug)]
struct Disk {
    file: Arc<Mutex<File>>,
    operations_left: Arc<AtomicU64>,
    error: ErrorKind,
}

impl Disk {
    fn spend(&self) -> Result<(), IoError> {
        let spent = self.operations_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        spent.map(|_| ()).map_err(|_| self.error.into())
    }

    fn change(&self, change: Change) -> Result<(), IoError> {
        self.spend()?;
        let mut file = self.file.lock();
        apply(&mut file.now, &change);
        file.since.push(change);
        Ok(())
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("a test's file is small")
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, IoError> {
        Ok(self.file.lock().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), IoError> {
        let file = self.file.lock();
        let bytes = file.now.get(index(offset)..index(offset) + out.len());
        out.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.change(Change::Len(index(len)))
    }

    fn sync_data(&self) -> Result<(), IoError> {
        self.spend()?;
        let mut file = self.file.lock();
        let File { synced, since, .. } = &mut *file;
        for change in since.drain(..) {
            apply(synced, &change);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), IoError> {
        self.change(Change::Write(index(offset), data.to_vec()))
    }
}

struct Machine {
    folder: tempfile::TempDir,
    main: Arc<Mutex<File>>,
    blobs: Arc<Mutex<File>>,
    operations_left: Arc<AtomicU64>,
    error: ErrorKind,
    quick_repair: bool,
}

impl Machine {
    fn new(main: File, blobs: File, operations: u64, error: ErrorKind, quick_repair: bool) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            main: Arc::new(Mutex::new(main)),
            blobs: Arc::new(Mutex::new(blobs)),
            operations_left: Arc::new(AtomicU64::new(operations)),
            error,
            quick_repair,
        }
    }

    fn open(&self) -> Result<RedbStore, Error> {
        let disk = |file: &Arc<Mutex<File>>| Disk {
            file: Arc::clone(file),
            operations_left: Arc::clone(&self.operations_left),
            error: self.error,
        };
        let quick_repair_from_bytes = if self.quick_repair { 0 } else { u64::MAX };
        let options = RedbOptions { quick_repair_from_bytes, ..RedbOptions::default() };
        RedbStore::open_with_backends(self.folder.path(), &options, disk(&self.main), disk(&self.blobs))
    }
}

const ROUNDS: usize = 3;
/// The round that also stores a blob, of two pieces.
const BLOB_ROUND: usize = 1;
/// More operations than a test needs.
const BUDGET: u64 = 1_000_000;

fn scope() -> Scope {
    sample::scope()
}

fn blob() -> Vec<u8> {
    vec![7; 1_100_000]
}

/// What was acknowledged before the disk failed.
#[derive(Debug, Default)]
struct Acknowledged {
    commits: u64,
    blob: bool,
}

fn work(store: &RedbStore, done: &mut Acknowledged) -> Result<(), Error> {
    for round in 0..ROUNDS {
        if round == BLOB_ROUND {
            let mut writer = store.write_blob(&scope())?;
            writer.write(&blob())?;
            writer.finish()?;
            done.blob = true;
        }
        let text = format!("{round}\n").repeat(50);
        store.commit(sample::batch([
            sample::put(&scope(), "same", &text, 1),
            sample::put(&scope(), &format!("own/{round}"), &text, 1),
            sample::record("last", Some(text.as_bytes())),
        ]))?;
        done.commits += 1;
    }
    Ok(())
}

fn check(store: &RedbStore, done: &Acknowledged) {
    let snapshot = store.snapshot().expect("a snapshot");
    let seq = snapshot.seq().0;
    assert!((done.commits..=done.commits + 1).contains(&seq), "{seq} commits of {done:?}");
    for round in 0..seq {
        let head = snapshot.head(&scope(), &format!("own/{round}")).expect("a head").expect("it was acknowledged");
        let text = snapshot.text(&scope(), head.version).expect("a text");
        assert_eq!(text, Some(format!("{round}\n").repeat(50)));
    }
    let row = snapshot.namespace(&scope()).expect("a row");
    assert_eq!(row.map_or(0, |row| row.versions), 2 * seq);
    if done.blob {
        let mut bytes = Vec::new();
        let mut reader = store.read_blob(&scope(), &Hash::of(&blob())).expect("it was acknowledged");
        reader.read_to_end(&mut bytes).expect("its bytes");
        assert!(bytes == blob(), "the bytes of the blob are others");
    }
    let mut faults = Vec::new();
    store.verify(true, &mut |fault| faults.push(fault)).expect("it is verified");
    assert_eq!(faults, Vec::<String>::new());
}

/// Two files that were made before the disk began to fail.
fn made() -> (File, File) {
    let machine = Machine::new(File::default(), File::default(), BUDGET, ErrorKind::Other, true);
    drop(machine.open().expect("it opens"));
    let files = (machine.main.lock().clone(), machine.blobs.lock().clone());
    (files.0.after_power_loss(Lost::Nothing), files.1.after_power_loss(Lost::Nothing))
}

#[test]
fn what_was_acknowledged_survives_a_failure_at_every_operation() {
    fail_at_every_operation(false);
}

#[test]
fn what_was_acknowledged_survives_a_failure_at_every_operation_of_quickly_repaired_commits() {
    fail_at_every_operation(true);
}

fn fail_at_every_operation(quick_repair: bool) {
    let made = made();
    let other = ErrorKind::Other;
    let machine = |operations| Machine::new(made.0.clone(), made.1.clone(), operations, other, quick_repair);
    let healthy = machine(BUDGET);
    work(&healthy.open().expect("it opens"), &mut Acknowledged::default()).expect("nothing fails");
    let operations = BUDGET - healthy.operations_left.load(Ordering::SeqCst);
    assert!(operations > 100, "{operations} operations");

    for failing_at in 0..operations {
        let failing = machine(failing_at);
        let mut done = Acknowledged::default();
        if let Ok(store) = failing.open() {
            let failed = work(&store, &mut done);
            assert!(failed.is_err() || done.commits == ROUNDS as u64, "{failed:?}");
        }
        for lost in [Lost::Nothing, Lost::Everything, Lost::EveryOther] {
            let (main, blobs) = (failing.main.lock().clone(), failing.blobs.lock().clone());
            let (main, blobs) = (main.after_power_loss(lost), blobs.after_power_loss(lost));
            let after = Machine::new(main, blobs, BUDGET, other, quick_repair);
            let store = after.open().unwrap_or_else(|error| panic!("operation {failing_at}, {lost:?}: {error}"));
            check(&store, &done);
        }
    }
}

#[test]
fn a_full_disk_is_named() {
    let machine = Machine::new(File::default(), File::default(), 60, ErrorKind::StorageFull, true);
    let store = machine.open().expect("it opens");
    let error = work(&store, &mut Acknowledged::default()).expect_err("the disk is full");
    assert!(matches!(error, Error::Backend { disk_full: true, .. }), "{error:?}");
    store.snapshot().expect("what is stored can be read");
    let error = store.commit(sample::batch([])).expect_err("it is to be opened again");
    assert!(matches!(error, Error::Halted), "{error:?}");
}
