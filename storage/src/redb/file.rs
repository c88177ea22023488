//! A redb file that outlives its failures.
//!
//! After a read or write that failed redb answers nothing more from that file. It is opened again, by whoever needs it
//! next, for writing; where that fails too for reading alone, and then for writing again at intervals. Transactions of
//! before end with an error. redb also panics on some pages that something else has changed: that is an error here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock};
use redb::{
    Builder, CompactionError, Database, DatabaseError, Durability, ReadTransaction, ReadableDatabase as _,
    StorageBackend, WriteTransaction,
};

use super::backend::Source;
use super::failed;
use super::lock::locked;
use super::open::publish;
use super::rewrite;
use super::tables::Definition;
use crate::error::Error;

/// How often a compaction looks whether the last reader is gone.
const COMPACT_POLL: Duration = Duration::from_millis(5);

/// How a file is opened, and opened again.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) cache_bytes: usize,
    pub(super) retry_after: Duration,
}

/// What a file was opened for.
pub(super) enum Access<'a> {
    /// The flag is set when storage that belongs to the file fails.
    Write(&'a Arc<AtomicBool>),
    /// To be read alone; what is written to it stays in memory.
    Read,
}

/// What is done with a file each time after it was opened.
pub(super) type Mend = Box<dyn Fn(&Database, &Access<'_>) -> Result<(), Error> + Send + Sync>;

/// What a file that is written anew is made of.
#[derive(Clone, Copy)]
pub(super) struct Anew<'a> {
    /// Its tables.
    pub(super) tables: &'a [Definition],
    /// Whether a row is kept.
    pub(super) keep: &'a dyn Fn(&[u8]) -> bool,
}

/// An open file; closing it does not panic either.
pub(super) struct RedbFile {
    source: Source,
    /// The folder that is said to be in use when the file is.
    folder: PathBuf,
    cache_bytes: usize,
    /// How long a file that could not be opened for writing is left alone.
    retry_after: Duration,
    mend: Mend,
    /// Held by the one who writes, reopens or compacts.
    turn: Mutex<()>,
    current: RwLock<Current>,
}

struct Current {
    /// `None` when it could be opened in no way.
    database: Option<Database>,
    /// Whether it is open for writing.
    takes_writes: bool,
    /// Set when its storage failed.
    failed: Arc<AtomicBool>,
    /// How often it was opened.
    generation: u64,
    /// When it may be opened for writing again.
    retry_at: Option<Instant>,
}

impl Current {
    fn is_sound(&self) -> bool {
        self.takes_writes && !self.failed.load(Ordering::Acquire)
    }
}

/// A write transaction and the turn to write.
pub(super) struct Writing<'f> {
    // Before the turn, so that it has ended when the next one begins.
    pub(super) transaction: WriteTransaction,
    /// Of the file when it began.
    pub(super) generation: u64,
    turn: MutexGuard<'f, ()>,
}

impl Writing<'_> {
    pub(super) fn commit(self) -> Result<(), Error> {
        self.transaction.commit().map_err(failed)
    }

    /// As [`commit`](Self::commit), and lets whoever waits longest write next.
    pub(super) fn commit_and_yield(self) -> Result<(), Error> {
        let Self { transaction, turn, .. } = self;
        transaction.commit().map_err(failed)?;
        MutexGuard::unlock_fair(turn);
        Ok(())
    }

    /// Makes it visible alone; the next commit that is durable takes it along.
    pub(super) fn commit_in_memory(mut self) -> Result<(), Error> {
        self.transaction.set_durability(Durability::None).map_err(failed)?;
        self.commit()
    }

    pub(super) fn abort(self) -> Result<(), Error> {
        self.transaction.abort().map_err(failed)
    }
}

impl RedbFile {
    /// Opens the file, which storage that is empty becomes.
    pub(super) fn open(source: Source, folder: &Path, settings: Settings, mend: Mend) -> Result<Self, Error> {
        let Settings { cache_bytes, retry_after } = settings;
        let failed = Arc::default();
        let database = for_writing(&source, folder, cache_bytes, &mend, &failed)?;
        let current = Current { database: Some(database), takes_writes: true, failed, generation: 0, retry_at: None };
        let folder = folder.to_path_buf();
        Ok(Self {
            source,
            folder,
            cache_bytes,
            retry_after,
            mend,
            turn: Mutex::default(),
            current: RwLock::new(current),
        })
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// The file as it is now.
    pub(super) fn begin_read(&self) -> Result<ReadTransaction, Error> {
        {
            let current = self.current.read();
            if let Some(database) = &current.database
                && !current.failed.load(Ordering::Acquire)
            {
                return database.begin_read().map_err(failed);
            }
        }
        self.reopen();
        let current = self.current.read();
        let database = current.database.as_ref().ok_or(Error::Halted)?;
        database.begin_read().map_err(failed)
    }

    /// Whether the file has grown so large that a commit should spare a crash the walk over it, at the price of a sync.
    pub(super) fn reaches(&self, bytes: u64) -> bool {
        let size = self.source.path().and_then(|path| path.metadata().ok()).map_or(0, |metadata| metadata.len());
        size >= bytes
    }

    /// Begins to write; [`Error::Halted`] while the file cannot be written to.
    pub(super) fn begin_write(&self, durability: Durability, quick_repair: bool) -> Result<Writing<'_>, Error> {
        let turn = self.turn.lock();
        if !self.current.read().is_sound() {
            self.reopen_in_turn();
        }
        let current = self.current.read();
        let database = current.database.as_ref().filter(|_| current.is_sound()).ok_or(Error::Halted)?;
        let mut transaction = database.begin_write().map_err(failed)?;
        transaction.set_durability(durability).map_err(failed)?;
        transaction.set_quick_repair(quick_repair);
        Ok(Writing { transaction, generation: current.generation, turn })
    }

    /// Whether the file takes writes; one that does not is opened again when it is time.
    pub(super) fn takes_writes(&self) -> bool {
        let sound = self.current.read().is_sound();
        sound || {
            self.reopen();
            self.current.read().is_sound()
        }
    }

    /// Has the file opened again by whoever needs it next.
    pub(super) fn distrust(&self) {
        self.current.read().failed.store(true, Ordering::Release);
    }

    /// Opens the file again when it failed.
    pub(super) fn reopen(&self) {
        let _turn = self.turn.lock();
        self.reopen_in_turn();
    }

    fn reopen_in_turn(&self) {
        let mut current = self.current.write();
        if current.is_sound() || current.retry_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        close(current.database.take());
        self.open_again(&mut current);
        if current.takes_writes {
            tracing::warn!(folder = %self.folder.display(), "a file that failed was opened again and takes writes");
        }
    }

    /// Opens the file, which is closed.
    fn open_again(&self, current: &mut Current) {
        current.generation += 1;
        self.source.forget_cached();
        current.failed = Arc::default();
        let opened = for_writing(&self.source, &self.folder, self.cache_bytes, &self.mend, &current.failed);
        current.takes_writes = opened.is_ok();
        current.retry_at = (!current.takes_writes).then(|| Instant::now() + self.retry_after);
        current.database = match opened {
            Ok(database) => Some(database),
            Err(error) => {
                tracing::error!(%error, "a file that failed cannot be written to yet; it is only read");
                current.failed = Arc::default();
                let opened = self.for_reading(&current.failed);
                opened.inspect_err(|error| tracing::error!(%error, "a file that failed cannot be read either")).ok()
            }
        };
    }

    /// Moves what is in the file to its front and cuts off the rest; with `anew`, has a file written from these tables
    /// take its place. [`Error::Busy`] when somebody still reads from it after `wait`; no reader or writer can begin
    /// meanwhile.
    pub(super) fn compact(&self, wait: Duration, anew: Option<Anew<'_>>) -> Result<(), Error> {
        let deadline = Instant::now() + wait;
        let _turn = self.turn.lock();
        let mut current = self.current.write();
        if !current.is_sound() {
            return Err(Error::Halted);
        }
        let database = current.database.as_mut().ok_or(Error::Halted)?;
        loop {
            match database.compact() {
                Ok(_) => break,
                Err(CompactionError::TransactionInProgress) if Instant::now() < deadline => thread::sleep(COMPACT_POLL),
                Err(CompactionError::TransactionInProgress) => return Err(Error::Busy),
                Err(error) => return Err(failed(error)),
            }
        }
        match anew {
            Some(anew) => guarded(|| self.write_anew(&mut current, &anew)),
            None => Ok(()),
        }
    }

    /// Puts a copy of the file in its place. Storage that is no file of a folder stays as it is.
    fn write_anew(&self, current: &mut Current, anew: &Anew<'_>) -> Result<(), Error> {
        let path = self.source.path().and_then(|path| Some((path.parent()?, path.file_name()?.to_str()?)));
        let (Some((folder, name)), Some(database)) = (path, &current.database) else { return Ok(()) };
        rewrite::beside(database, folder, name, anew.tables, anew.keep)?;
        close(current.database.take());
        let published = publish(folder, name);
        self.open_again(current);
        published
    }

    fn for_reading(&self, failed: &Arc<AtomicBool>) -> Result<Database, Error> {
        guarded(|| {
            let database = untouched(&self.source, self.cache_bytes, failed)?;
            (self.mend)(&database, &Access::Read)?;
            Ok(database)
        })
    }

    /// Reads every page from the storage and compares it with its checksum, while nobody writes. What is read from the
    /// file otherwise is not compared, except after a crash.
    pub(super) fn check_pages(&self, look: impl FnOnce(&Database) -> Result<(), Error>) -> Result<(), Error> {
        let _turn = self.turn.lock();
        let mut database = untouched(&self.source, self.cache_bytes, &Arc::default())?;
        if !database.check_integrity().map_err(failed)? {
            return Err(Error::Corrupt {
                what: "page",
                key: self.source.path().map_or_else(String::new, |path| format!("of {}", path.display())),
                detail: "the file is not as it was written".into(),
            });
        }
        (self.mend)(&database, &Access::Read)?;
        look(&database)
    }
}

impl RedbFile {
    /// Closes the file; answers whether every commit is durable in it.
    pub(super) fn close(&mut self) -> bool {
        let current = self.current.get_mut();
        let sound = current.is_sound();
        close(current.database.take()) && sound
    }
}

impl Drop for RedbFile {
    fn drop(&mut self) {
        self.close();
    }
}

/// Closes a file; answers whether every commit is durable in it. While a panic unwinds, redb leaves out those that were not
/// yet and calls it no error.
fn close(database: Option<Database>) -> bool {
    let unwinding = std::thread::panicking();
    let closed = guarded(|| database.map_or(Ok(()), |database| database.close().map_err(failed)));
    closed
        .inspect_err(|error| tracing::error!(%error, "a file was not closed cleanly; the next open repairs it"))
        .is_ok()
        && !unwinding
}

fn for_writing(
    source: &Source,
    folder: &Path,
    cache_bytes: usize,
    mend: &Mend,
    failed: &Arc<AtomicBool>,
) -> Result<Database, Error> {
    guarded(|| {
        let storage = source.watched(failed).map_err(|error| unopened(&error, source))?;
        let database = database(storage, cache_bytes).map_err(|error| {
            if matches!(error, DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch) {
                locked(folder)
            } else {
                super::failed(error)
            }
        })?;
        mend(&database, &Access::Write(failed))?;
        Ok(database)
    })
}

fn untouched(source: &Source, cache_bytes: usize, failed: &Arc<AtomicBool>) -> Result<Database, Error> {
    let storage = source.untouched(failed).map_err(|error| unopened(&error, source))?;
    database(storage, cache_bytes).map_err(super::failed)
}

fn database(storage: impl StorageBackend, cache_bytes: usize) -> Result<Database, DatabaseError> {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    builder.create_with_backend(storage)
}

fn unopened(error: &std::io::Error, source: &Source) -> Error {
    let name = source.path().map_or_else(|| "a file".into(), |path| path.display().to_string());
    if error.kind() == std::io::ErrorKind::InvalidData {
        return Error::Corrupt { what: "file", key: name, detail: error.to_string() };
    }
    Error::from_io(error, &format!("opening {name}"))
}

/// Runs `work` on a file. A panic in it is [`Error::Corrupt`]: what it was at is dropped and not relied on again.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        Err(Error::Corrupt {
            what: "page",
            key: "of a redb file".into(),
            detail: words.unwrap_or("it makes no sense").into(),
        })
    })
}
