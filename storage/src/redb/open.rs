//! Opening a folder: the lock, the files, the format version and the upgrades to it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, Durability, ReadableTable, WriteTransaction};

use super::backend::Source;
use super::blob::{self, BlobFile};
use super::commit::{Queue, no_seq};
use super::file::{Access, Mend, RedbFile, Settings};
use super::lock::FolderLock;
use super::tables::{Definition, ReadTables, Table};
use super::upgrade;
use super::wal::{self, Wal};
use super::{Inner, RedbOptions, RedbStore, failed};
use crate::codec;
use crate::error::Error;
use crate::id::Seq;

pub(super) const MAIN_FILE: &str = "loom.redb";
pub(super) const BLOB_FILE: &str = "blobs.redb";
pub(super) const WAL_FILE: &str = "loom.wal";

/// The format version that this build writes.
const NEWEST: u32 = 3;
/// The upgrades: the first leads from version [`OLDEST`] to the next, and so on up to [`NEWEST`].
const UPGRADES: &[Upgrade] = &[upgrade::vectors_into_blocks, upgrade::mark_for_the_log];
const OLDEST: u32 = 1;
const _: () = assert!(OLDEST as usize + UPGRADES.len() == NEWEST as usize, "an upgrade for each older version");

/// One step from a format version to the next, inside the transaction that also records the new version.
type Upgrade = fn(&WriteTransaction) -> Result<(), Error>;

/// The key of the format version (a bare big-endian `u32`, which every build can read) in a file's `meta` table.
const FORMAT_KEY: &[u8] = b"format";
/// The key of the last commit's number.
pub(super) const SEQ_KEY: &[u8] = b"seq";
/// The key of the row in `meta` that is there from an erasure until the files were written anew; it is empty.
pub(super) const ERASED_KEY: &[u8] = b"\0erased";

pub(super) fn folder(folder: &Path, options: &RedbOptions) -> Result<RedbStore, Error> {
    let lock = take(folder, options)?;
    remove_unpublished(folder)?;
    create_missing(folder, MAIN_FILE, prepare_main)?;
    create_missing(folder, BLOB_FILE, prepare_blobs)?;
    let sources = Sources::files([MAIN_FILE, WAL_FILE, BLOB_FILE].map(|name| folder.join(name)))?;
    store(folder, options, lock, sources)
}

/// What the files of a store are on.
pub(super) struct Sources {
    pub(super) main: Source,
    pub(super) wal: Source,
    pub(super) blobs: Source,
}

impl Sources {
    /// Files; the log is made when it is missing.
    pub(super) fn files([main, wal, blobs]: [PathBuf; 3]) -> Result<Self, Error> {
        make_wal(&wal)?;
        Ok(Self { main: Source::file(main), wal: Source::plain(wal), blobs: Source::file(blobs) })
    }
}

fn make_wal(path: &Path) -> Result<(), Error> {
    if exists(path)? {
        return Ok(());
    }
    File::create_new(path).map_err(|error| Error::from_io(&error, &format!("making {}", path.display())))?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Makes a file under another name and renames it once it is whole: redb refuses a file that a crash left half made.
fn create_missing(
    folder: &Path,
    name: &str,
    prepare: impl FnOnce(&Database) -> Result<(), Error>,
) -> Result<(), Error> {
    let path = folder.join(name);
    if exists(&path)? {
        return Ok(());
    }
    let database = create_fresh(folder, name)?;
    prepare(&database)?;
    database.close().map_err(failed)?;
    publish(folder, name)
}

/// Removes the copy of a file that a crash kept from taking its place; it may hold what is to be gone.
fn remove_unpublished(folder: &Path) -> Result<(), Error> {
    for name in [MAIN_FILE, BLOB_FILE] {
        let fresh = fresh_name(folder, name);
        if exists(&folder.join(name))? && exists(&fresh)? {
            fs::remove_file(&fresh)
                .map_err(|error| Error::from_io(&error, &format!("removing {}", fresh.display())))?;
        }
    }
    Ok(())
}

/// A new file under the name that it has until [`publish`]; one that a crash left there is removed.
pub(super) fn create_fresh(folder: &Path, name: &str) -> Result<Database, Error> {
    let fresh = fresh_name(folder, name);
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::from_io(&error, &format!("making {}", fresh.display())));
        }
        _ => {}
    }
    Database::create(&fresh).map_err(failed)
}

/// Gives a file of [`create_fresh`], which is closed, its name.
pub(super) fn publish(folder: &Path, name: &str) -> Result<(), Error> {
    let path = folder.join(name);
    fs::rename(fresh_name(folder, name), &path)
        .map_err(|error| Error::from_io(&error, &format!("making {}", path.display())))?;
    sync_folder(folder)
}

pub(super) fn fresh_name(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.new"))
}

pub(super) fn exists(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(|error| Error::from_io(&error, &format!("looking for {}", path.display())))
}

pub(super) fn backends(folder: &Path, options: &RedbOptions, sources: Sources) -> Result<RedbStore, Error> {
    store(folder, options, take(folder, options)?, sources)
}

pub(super) fn take(folder: &Path, options: &RedbOptions) -> Result<Arc<FolderLock>, Error> {
    fs::create_dir_all(folder).map_err(|error| Error::from_io(&error, &format!("making {}", folder.display())))?;
    FolderLock::take(folder, &options.program).map(Arc::new)
}

/// Opens the files of a store.
pub(super) fn store(
    folder: &Path,
    options: &RedbOptions,
    lock: Arc<FolderLock>,
    sources: Sources,
) -> Result<RedbStore, Error> {
    let (main, wal) = main(folder, options, sources.main, sources.wal)?;
    let mend: Mend = Box::new(|database, access| match access {
        Access::Read => Ok(()),
        Access::Write(_) => {
            prepare_blobs(database)?;
            blob::remove_unfinished(database)
        }
    });
    let blobs = RedbFile::open(sources.blobs, folder, settings(options.blob_cache_bytes, options), mend)?;
    let quick_repair_from_bytes = options.quick_repair_from_bytes;
    let blobs = Arc::new(BlobFile::new(blobs, quick_repair_from_bytes)?);
    Ok(RedbStore {
        inner: Arc::new(Inner { main, wal, quick_repair_from_bytes, queue: Queue::default(), blobs, lock }),
    })
}

/// Opens the main file, up to the last commit in its log.
fn main(folder: &Path, options: &RedbOptions, main: Source, wal: Source) -> Result<(RedbFile, Arc<Wal>), Error> {
    let wal = Arc::new(Wal::new(wal, options.wal_bytes));
    let log = Arc::clone(&wal);
    let mend: Mend = Box::new(move |database, access| {
        if let Access::Write(_) = access {
            prepare_main(database)?;
        }
        log.recover(database, access)
    });
    let main = RedbFile::open(main, folder, settings(options.cache_bytes, options), mend)?;
    Ok((main, wal))
}

fn settings(cache_bytes: usize, options: &RedbOptions) -> Settings {
    Settings { cache_bytes, retry_after: options.retry_after }
}

/// The last commit of the folder's main file; `None` when there is no such file.
pub(super) fn last_commit(folder: &Path, options: &RedbOptions) -> Result<Option<Seq>, Error> {
    let path = folder.join(MAIN_FILE);
    if !exists(&path)? {
        return Ok(None);
    }
    let wal = folder.join(WAL_FILE);
    make_wal(&wal)?;
    let (main, _) = main(folder, options, Source::file(path), Source::plain(wal))?;
    let tables = ReadTables::new(main.begin_read()?);
    tables.get(Table::Meta, SEQ_KEY)?.ok_or_else(no_seq).map(Some)
}

/// Makes the names of new files durable; their contents are redb's business.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    if cfg!(unix) {
        File::open(folder)
            .and_then(|open| open.sync_all())
            .map_err(|error| Error::from_io(&error, &format!("syncing {}", folder.display())))?;
    }
    Ok(())
}

/// A durable transaction; after a `quick` one a crash needs no walk over the whole file, at the price of a sync.
pub(super) fn begin_durable(database: &Database, quick: bool) -> Result<WriteTransaction, Error> {
    let mut transaction = database.begin_write().map_err(failed)?;
    transaction.set_durability(Durability::Immediate).map_err(failed)?;
    transaction.set_quick_repair(quick);
    Ok(transaction)
}

pub(super) fn prepare_main(database: &Database) -> Result<(), Error> {
    prepare(database, &Table::ALL.map(Table::definition), &|transaction| {
        let mut meta = transaction.open_table(Table::Meta.definition()).map_err(failed)?;
        meta.insert(SEQ_KEY, codec::encode(SEQ_KEY, &Seq(0))?.as_slice()).map_err(failed)?;
        drop(meta);
        wal::mark(transaction)
    })
}

pub(super) fn prepare_blobs(database: &Database) -> Result<(), Error> {
    prepare(database, &BlobFile::TABLES, &|_| Ok(()))
}

/// Brings a file to the newest format: makes its tables and first records when it is new, upgrades it when it is old.
fn prepare(
    database: &Database,
    tables: &[Definition],
    first: &dyn Fn(&WriteTransaction) -> Result<(), Error>,
) -> Result<(), Error> {
    let transaction = begin_durable(database, true)?;
    if transaction.list_tables().map_err(failed)?.next().is_none() {
        for table in tables {
            transaction.open_table(*table).map_err(failed)?;
        }
        first(&transaction)?;
        set_format(&transaction, NEWEST)?;
        return transaction.commit().map_err(failed);
    }
    let found = format(&transaction)?;
    if found == NEWEST {
        return transaction.abort().map_err(failed);
    }
    upgrade(&transaction, found, OLDEST, UPGRADES)?;
    transaction.commit().map_err(failed)
}

/// Takes the steps from version `found` to the newest, which is `oldest` and as many more as there are upgrades.
fn upgrade(transaction: &WriteTransaction, found: u32, oldest: u32, upgrades: &[Upgrade]) -> Result<(), Error> {
    let newest = upgrades.iter().fold(oldest, |version, _| version + 1);
    let refused = |advice| Err(Error::Format { found, oldest, newest, advice });
    if found > newest {
        return refused("it was written by a newer build; open it with that one or a later one");
    }
    let Some(done) = found.checked_sub(oldest) else {
        return refused("it is too old for this build; open it once with an older build that upgrades it");
    };
    for step in upgrades.iter().skip(done as usize) {
        step(transaction)?;
    }
    set_format(transaction, newest)
}

fn format(transaction: &WriteTransaction) -> Result<u32, Error> {
    let meta = transaction.open_table(Table::Meta.definition()).map_err(failed)?;
    let found = meta.get(FORMAT_KEY).map_err(failed)?;
    let bytes = found.and_then(|value| <[u8; 4]>::try_from(value.value()).ok());
    bytes.map(u32::from_be_bytes).ok_or_else(|| Error::Corrupt {
        what: "file",
        key: "format version".into(),
        detail: "it is missing".into(),
    })
}

fn set_format(transaction: &WriteTransaction, version: u32) -> Result<(), Error> {
    let mut meta = transaction.open_table(Table::Meta.definition()).map_err(failed)?;
    meta.insert(FORMAT_KEY, version.to_be_bytes().as_slice()).map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store as _;

    fn store_of_version(version: u32) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary folder");
        drop(RedbStore::open(dir.path(), &RedbOptions::default()).expect("a new store"));
        let file = Database::open(dir.path().join(MAIN_FILE)).expect("the main file");
        let transaction = file.begin_write().expect("a transaction");
        set_format(&transaction, version).expect("the version is written");
        transaction.commit().expect("it commits");
        dir
    }

    fn refusal(version: u32) -> (u32, u32, u32) {
        let dir = store_of_version(version);
        match RedbStore::open(dir.path(), &RedbOptions::default()) {
            Err(Error::Format { found, oldest, newest, .. }) => (found, oldest, newest),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("version {version} was opened"),
        }
    }

    #[test]
    fn other_versions_are_refused() {
        assert_eq!(refusal(99), (99, OLDEST, NEWEST));
        assert_eq!(refusal(0), (0, OLDEST, NEWEST));
    }

    #[test]
    fn the_newest_version_opens() {
        let dir = store_of_version(NEWEST);
        let store = RedbStore::open(dir.path(), &RedbOptions::default()).expect("it opens");
        assert_eq!(store.snapshot().expect("a snapshot").seq(), Seq(0));
    }

    #[test]
    fn every_step_from_the_found_version_on_is_taken() {
        const LOG: Definition = Definition::new("log");
        fn log(transaction: &WriteTransaction, step: &[u8]) -> Result<(), Error> {
            transaction.open_table(LOG).map_err(failed)?.insert(step, [].as_slice()).map_err(failed)?;
            Ok(())
        }
        let steps: [Upgrade; 3] = [|at| log(at, b"1 to 2"), |at| log(at, b"2 to 3"), |at| log(at, b"3 to 4")];
        let dir = store_of_version(2);
        let file = Database::open(dir.path().join(MAIN_FILE)).expect("the main file");
        let transaction = file.begin_write().expect("a transaction");
        upgrade(&transaction, format(&transaction).expect("a version"), 1, &steps).expect("it is upgraded");
        assert_eq!(format(&transaction).expect("a version"), 4);
        let taken = transaction.open_table(LOG).expect("the log");
        let taken: Vec<_> = taken.iter().expect("rows").map(|row| row.expect("a row").0.value().to_vec()).collect();
        assert_eq!(taken, [b"2 to 3".to_vec(), b"3 to 4".to_vec()]);
    }
}
