//! The default backend: one folder, two redb files and a write-ahead log, no service.

mod backend;
mod backup;
mod blob;
mod commit;
mod compact;
mod file;
mod gather;
mod lock;
mod open;
mod plan;
mod restore;
mod rewrite;
mod snapshot;
mod tables;
mod upgrade;
mod verify;
mod wal;

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::backup::BackupSummary;
use crate::batch::{Batch, Committed};
use crate::error::Error;
use crate::id::{BlobHash, Scope};
use crate::keys;
use crate::store::{BlobReader, BlobWriter, Compacted, Snapshot, Store};

/// What a backend file must do, for a store over other files than the folder's own.
pub use redb::{StorageBackend, backends::FileBackend};

/// How a [`RedbStore`] is opened.
#[derive(Clone, Debug)]
pub struct RedbOptions {
    /// Memory for caching pages of the main file, in bytes. Default: 128 MiB.
    pub cache_bytes: usize,
    /// Memory for caching pages of the blob file, in bytes. Default: 16 MiB.
    pub blob_cache_bytes: usize,
    /// From this size of a file on, a commit to it also writes what spares a walk over the whole file after a crash,
    /// which takes a second sync. Default: 1 GiB; 285 MB were walked in 0.6 s. Other backends than
    /// files count as empty.
    pub quick_repair_from_bytes: u64,
    /// How large the write-ahead log of small commits grows before a commit makes the main file durable, in bytes; 0:
    /// every commit does. Default: 4 MiB.
    pub wal_bytes: u64,
    /// How long storage that failed is left alone before it is opened for writing once more. Default: 1 s.
    pub retry_after: Duration,
    /// The program's name, shown to whoever finds the folder in use.
    pub program: String,
}

impl Default for RedbOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 128 << 20,
            blob_cache_bytes: 16 << 20,
            quick_repair_from_bytes: 1 << 30,
            wal_bytes: 4 << 20,
            retry_after: Duration::from_secs(1),
            program: "loom".into(),
        }
    }
}

/// A store in a folder of its own, held by one process at a time.
///
/// The folder stays held until the store and every snapshot and blob reader or writer of it are dropped.
pub struct RedbStore {
    inner: Arc<Inner>,
}

struct Inner {
    main: file::RedbFile,
    wal: Arc<wal::Wal>,
    /// From this size of a file on, a commit to it also writes what spares a walk over it after a crash.
    quick_repair_from_bytes: u64,
    queue: commit::Queue,
    blobs: Arc<blob::BlobFile>,
    // Last, so that the folder is let go only after the files are closed.
    lock: Arc<lock::FolderLock>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.main.close() {
            self.wal.empty();
        }
    }
}

impl RedbStore {
    /// Opens the store in `folder`, which is made when it is missing.
    ///
    /// [`Error::Locked`] at once when somebody holds it, [`Error::Format`] when this build cannot read it. Opening
    /// after a crash repairs the files and removes the pieces of unfinished uploads.
    pub fn open(folder: &Path, options: &RedbOptions) -> Result<Self, Error> {
        file::guarded(|| open::folder(folder, options))
    }

    /// Opens a store over three backends (main file, write-ahead log and blob file) in place of the folder's own files;
    /// the folder still holds the lock. Each is asked for again after it failed, and must then show what was made durable.
    pub fn open_with_backends<M: StorageBackend, W: StorageBackend, B: StorageBackend>(
        folder: &Path,
        options: &RedbOptions,
        main: impl Fn() -> io::Result<M> + Send + Sync + 'static,
        wal: impl Fn() -> io::Result<W> + Send + Sync + 'static,
        blobs: impl Fn() -> io::Result<B> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let sources = open::Sources {
            main: backend::Source::of(main),
            wal: backend::Source::of(wal),
            blobs: backend::Source::of(blobs),
        };
        file::guarded(|| open::backends(folder, options, sources))
    }

    /// Makes the store in `folder`, which is made when it is missing, from a backup.
    ///
    /// [`Error::Occupied`] when the folder holds a store to which anything was ever written. Nothing stands under the
    /// names of a store's files before all of the backup was read and checked; what an error or a crash leaves is
    /// made anew by the next attempt.
    ///
    /// `ready` is called with the folder just before that, while it is held: the place to remove what was derived from
    /// an earlier store.
    pub fn restore_backup(
        folder: &Path,
        options: &RedbOptions,
        ready: &mut dyn FnMut(&Path) -> Result<(), Error>,
        from: &mut dyn Read,
    ) -> Result<BackupSummary, Error> {
        file::guarded(|| restore::run(folder, options, ready, from))
    }
}

impl Store for RedbStore {
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, Error> {
        Ok(Box::new(file::guarded(|| snapshot::RedbSnapshot::new(&self.inner))?))
    }

    fn commit(&self, batch: Batch) -> Result<Committed, Error> {
        self.inner.commit(batch)
    }

    fn write_blob(&self, scope: &Scope) -> Result<Box<dyn BlobWriter>, Error> {
        Ok(Box::new(blob::Writer::new(Arc::clone(&self.inner), scope)?))
    }

    fn read_blob(&self, scope: &Scope, hash: &BlobHash) -> Result<Box<dyn BlobReader>, Error> {
        Ok(Box::new(file::guarded(|| blob::Reader::new(Arc::clone(&self.inner), scope, hash))?))
    }

    fn set_holder_note(&self, note: &str) -> Result<(), Error> {
        self.inner.lock.set_note(note)
    }

    fn ready(&self) -> Result<(), Error> {
        let takes_writes = [&self.inner.main, &self.inner.blobs.file].map(file::RedbFile::takes_writes);
        if takes_writes == [true; 2] { Ok(()) } else { Err(Error::Halted) }
    }

    fn remove_blob(&self, scope: &Scope, hash: &BlobHash, idle: Duration) -> Result<bool, Error> {
        file::guarded(|| {
            if self.snapshot()?.blob(scope, hash)?.is_some() {
                return Ok(false);
            }
            self.inner.blobs.remove(&keys::hash(scope, hash), idle)
        })
    }

    fn compact(&self) -> Result<Compacted, Error> {
        file::guarded(|| compact::run(&self.inner))
    }

    fn backup(&self, to: &mut dyn Write) -> Result<BackupSummary, Error> {
        file::guarded(|| backup::run(&self.inner, to))
    }

    fn verify(&self, deep: bool, report: &mut dyn FnMut(String)) -> Result<(), Error> {
        file::guarded(|| verify::run(&self.inner, deep, report))
    }
}

/// A redb failure in this crate's words.
fn failed(error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    if let redb::Error::Corrupted(detail) = error {
        return Error::Corrupt { what: "page", key: "of a redb file".into(), detail };
    }
    if let redb::Error::PreviousIo = error {
        return Error::Halted;
    }
    if let redb::Error::DatabaseClosed = error {
        return Error::Reopened;
    }
    let disk_full = matches!(&error, redb::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull);
    Error::Backend { message: error.to_string(), disk_full }
}
