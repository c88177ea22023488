//! A script that uses each kind of write, and what a store must show of as much of it as was done.

use std::io::Read as _;
use std::thread;

use loom_storage::contract::{sample, view};
use loom_storage::{
    Batch, BlobRow, Error, Hash, MemoryStore, RedbOptions, RedbStore, Scope, Seq, Store, Timestamp, VersionId, Write,
};

use crate::disk::Disk;

/// How many batches are committed at the same time.
const GROUP: usize = 4;

pub enum Step {
    Commit(Batch),
    /// The bytes of a blob, of two pieces.
    Blob,
    /// A few batches at the same time, each with a document of its own.
    Group,
}

pub fn scope() -> Scope {
    sample::scope()
}

pub fn blob() -> Vec<u8> {
    vec![7; 1_100_000]
}

fn text(line: &str) -> String {
    format!("{line}\n").repeat(40)
}

/// The steps and their names.
pub fn script() -> Vec<(&'static str, Step)> {
    let scope = scope();
    let commit = |writes: Vec<Write>| Step::Commit(sample::batch(writes));
    let put = |uri: &str, line: &str, at| sample::put(&scope, uri, &text(line), at);
    let row = BlobRow { hash: Hash::of(&blob()), size: blob().len() as u64, stored_at: Timestamp(8) };
    let dropped = row.clone();
    vec![
        ("put", commit(vec![put("a", "one", 1), put("b", "one", 1)])),
        ("replace", commit(vec![put("a", "two", 2)])),
        ("retire", commit(vec![sample::delete(&scope, "a", 3)])),
        ("restore", commit(vec![sample::restore(&scope, "a", "again")])),
        ("edit", commit(vec![sample::edit(&scope, "b", "edited")])),
        ("put vectors", commit(vec![sample::vectors(&scope, "m", &[("one\n", &[1.0, 2.0]), ("two\n", &[0.5, 1.0])])])),
        ("drop vectors", commit(vec![Write::DropVectors { scope: scope.clone(), model: "m".into() }])),
        ("switch model", commit(vec![Write::SwitchModel { scope: scope.clone(), model: "n".into() }])),
        ("blob", Step::Blob),
        ("catalogue blob", commit(vec![Write::PutBlob { scope: scope.clone(), row }])),
        ("drop blob", commit(vec![Write::DropBlob { scope: scope.clone(), row: dropped }])),
        ("record", commit(vec![sample::record("k", Some(b"value"))])),
        (
            "vectors again",
            commit(vec![sample::vectors(&scope, "m", &[("one\n", &[1.0, 2.0]), ("none\n", &[0.5, 1.0])])]),
        ),
        ("drop unused vectors", commit(vec![Write::DropUnusedVectors { scope: scope.clone() }])),
        ("erase versions", commit(vec![erased(&scope, "a", [VersionId::new(Seq(1), 0), VersionId::new(Seq(2), 0)])])),
        ("replace again", commit(vec![put("b", "three", 9)])),
        ("erase an earlier version", commit(vec![erased(&scope, "b", [VersionId::new(Seq(1), 1); 2])])),
        ("erase namespace", commit(vec![Write::EraseNamespace { scope: scope.clone() }])),
        ("group", Step::Group),
    ]
}

fn erased(scope: &Scope, source_uri: &str, versions: [VersionId; 2]) -> Write {
    Write::EraseVersions {
        scope: scope.clone(),
        source_uri: source_uri.into(),
        versions: versions.into(),
        at: Timestamp(9),
    }
}

fn group_uri(member: usize) -> String {
    format!("group/{member}")
}

fn group_batch(member: usize) -> Batch {
    sample::batch([sample::put(&scope(), &group_uri(member), &text("group"), 9)])
}

/// What became of a write, as its caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Stored,
    Refused,
    Unsettled,
}

fn told<T: std::fmt::Debug>(result: &Result<T, Error>) -> Told {
    match result {
        Ok(_) => Told::Stored,
        Err(Error::Unsettled { .. }) => Told::Unsettled,
        Err(Error::Backend { .. } | Error::Halted | Error::Reopened) => Told::Refused,
        Err(other) => panic!("{other}"),
    }
}

/// Whether an error says that the disk is full, or that nothing is written since it was.
pub fn is_clear_of_a_full_disk(error: &Error) -> bool {
    matches!(error, Error::Backend { disk_full: true, .. } | Error::Unsettled { disk_full: true, .. } | Error::Halted)
}

/// What was asked of a store so far, and what its callers were told.
#[derive(Default)]
pub struct Done {
    model: MemoryStore,
    /// A batch whose caller does not know, by what it would make of the model.
    perhaps: Option<Batch>,
    /// Of the batches of a group, in the order of their documents.
    group: Option<Vec<Told>>,
}

pub fn store_blob(store: &dyn Store) -> Result<(Hash, u64), Error> {
    let mut writer = store.write_blob(&scope())?;
    writer.write(&blob())?;
    writer.finish()
}

impl Done {
    /// Does a step; the first error when not all of it was stored.
    pub fn step(&mut self, store: &RedbStore, step: &Step) -> Result<(), Error> {
        match step {
            Step::Commit(batch) => {
                let result = store.commit(batch.clone());
                match told(&result) {
                    Told::Stored => {
                        let same = self.model.commit(batch.clone()).expect("the model takes what the store took");
                        assert_eq!(result.as_ref().ok(), Some(&same));
                    }
                    Told::Refused => {}
                    Told::Unsettled => self.perhaps = Some(batch.clone()),
                }
                result.map(|_| ())
            }
            Step::Blob => {
                let result = store_blob(store);
                assert_ne!(told(&result), Told::Unsettled, "no blob is visible before its row");
                result?;
                store_blob(&self.model).map(|_| ())
            }
            Step::Group => {
                let results: Vec<_> = thread::scope(|threads| {
                    let running: Vec<_> =
                        (0..GROUP).map(|member| threads.spawn(move || store.commit(group_batch(member)))).collect();
                    running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
                });
                self.group = Some(results.iter().map(told).collect());
                results.into_iter().try_for_each(|result| result.map(|_| ()))
            }
        }
    }

    /// The process was killed in a step: nobody knows.
    pub fn killed_in(&mut self, step: &Step) {
        match step {
            Step::Commit(batch) => self.perhaps = Some(batch.clone()),
            Step::Blob => {}
            Step::Group => self.group = Some(vec![Told::Unsettled; GROUP]),
        }
    }

    /// Panics unless the store answers reads, and with no commit that was refused.
    pub fn check_readable(&self, store: &RedbStore, place: &str) {
        let model = self.expected(store, place);
        assert!(whole(store) == whole(&model), "{place}: reads show other things than were acknowledged");
    }

    /// Whether the last caller knows what became of its write.
    pub fn is_settled(&self) -> bool {
        self.perhaps.is_none()
    }

    /// From now on what the store has counts as acknowledged.
    pub fn settle(&mut self, store: &RedbStore) {
        self.model = self.expected(store, "settling");
        self.perhaps = None;
        self.group = None;
    }

    /// Panics unless the store shows exactly what its callers were told, with what nobody knows whole or absent.
    pub fn check(&self, store: &RedbStore, place: &str, deep: bool) {
        let model = self.expected(store, place);
        assert!(whole(store) == whole(&model), "{place}: the store shows other things than were acknowledged");
        let mut faults = Vec::new();
        store.verify(deep, &mut |fault| faults.push(fault)).expect("it is verified");
        assert_eq!(faults, Vec::<String>::new(), "{place}");
    }

    /// The model, with as much of what nobody knows as the store has.
    fn expected(&self, store: &RedbStore, place: &str) -> MemoryStore {
        let snapshot = store.snapshot().expect("a snapshot");
        let model = self.model.fork();
        let seq = |store: &dyn Store| store.snapshot().expect("a snapshot").seq();
        if let Some(batch) = self.perhaps.clone().filter(|_| seq(store) > seq(&model)) {
            model.commit(batch).expect("the model takes it");
        }
        let told = self.group.clone().unwrap_or_default();
        let mut members: Vec<_> = (0..told.len())
            .filter_map(|member| {
                let head = snapshot.head(&scope(), &group_uri(member)).expect("a head");
                match (head, told[member]) {
                    (Some(head), Told::Stored | Told::Unsettled) => Some((head.version, member)),
                    (None, Told::Refused | Told::Unsettled) => None,
                    (head, told) => panic!("{place}: {told:?} and yet {head:?}"),
                }
            })
            .collect();
        members.sort_unstable();
        for (_, member) in members {
            model.commit(group_batch(member)).expect("the model takes it");
        }
        model
    }
}

/// All that a store shows, the bytes of its blobs included.
fn whole(store: &dyn Store) -> Vec<String> {
    let hash = Hash::of(&blob());
    let snapshot = store.snapshot().expect("a snapshot");
    let mut lines = view(&*snapshot, &[scope()], &["m", "n"], &[hash]);
    if snapshot.blob(&scope(), &hash).expect("a row").is_some() {
        let mut bytes = Vec::new();
        store.read_blob(&scope(), &hash).expect("it is named").read_to_end(&mut bytes).expect("its bytes");
        lines.push(Hash::of(&bytes).hex());
    }
    lines
}

/// How a store makes its commits durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// In the write-ahead log.
    Logged,
    /// In a log that is full after a few, so that every few commits one is durable in the main file.
    LogFull,
    /// In the main file.
    Unlogged,
    /// In the main file, with what spares a walk over it after a crash.
    QuicklyRepaired,
}

/// A store on a disk, and the folder that it locks.
pub struct Machine {
    pub disk: Disk,
    folder: tempfile::TempDir,
}

impl Machine {
    pub fn on(disk: Disk) -> Self {
        Self { disk, folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn open(&self, commits: Commits) -> Result<RedbStore, Error> {
        let wal_bytes = match commits {
            Commits::Logged => RedbOptions::default().wal_bytes,
            Commits::LogFull => 16 << 10,
            Commits::Unlogged | Commits::QuicklyRepaired => 0,
        };
        let options = RedbOptions {
            wal_bytes,
            quick_repair_from_bytes: if commits == Commits::QuicklyRepaired { 0 } else { u64::MAX },
            retry_after: std::time::Duration::ZERO,
            cache_bytes: 4 << 20,
            blob_cache_bytes: 4 << 20,
            ..RedbOptions::default()
        };
        let [main, wal, blobs] = [0, 1, 2].map(|file| self.disk.opener(file));
        RedbStore::open_with_backends(self.folder.path(), &options, main, wal, blobs)
    }
}
