//! Giving back disk space.

use std::time::Duration;

use redb::Durability;

use super::Inner;
use super::blob::BlobFile;
use super::file::Anew;
use super::open::ERASED_KEY;
use super::tables::{ReadTables, Table, WriteTables};
use crate::error::Error;
use crate::store::Compacted;

/// How long the last readers are waited for.
const WAIT: Duration = Duration::from_secs(5);

pub(super) fn run(inner: &Inner) -> Result<Compacted, Error> {
    let bytes_before = bytes(inner)?;
    let blobs_removed = remove_unnamed(inner)?;
    // After an erasure, what was there is not to be found in pages that nobody uses either.
    let erased = ReadTables::new(inner.main.begin_read()?).contains(Table::Meta, ERASED_KEY)?;
    let anew = |tables, keep| erased.then_some(Anew { tables, keep });
    inner.blobs.file.compact(WAIT, anew(&BlobFile::TABLES, &|_| true))?;
    let is_kept = |key: &[u8]| key != ERASED_KEY;
    inner.main.compact(WAIT, anew(&Table::ALL.map(Table::definition), &is_kept))?;
    Ok(Compacted { bytes_before, bytes_after: bytes(inner)?, blobs_removed })
}

fn bytes(inner: &Inner) -> Result<u64, Error> {
    let len = |file: &super::file::RedbFile| file.source().len();
    let all = len(&inner.main).and_then(|main| Ok(main + inner.wal.len()? + len(&inner.blobs.file)?));
    all.map_err(|error| Error::from_io(&error, "looking for the size of the files"))
}

/// Removes the blobs that no commit names, while no commit can come to name one.
fn remove_unnamed(inner: &Inner) -> Result<u64, Error> {
    let writing = inner.main.begin_write(Durability::None, false)?;
    let mut tables = WriteTables::new(&writing.transaction);
    let removed = inner.blobs.remove_unnamed(&mut |key| tables.contains(Table::Blobs, key))?;
    drop(tables);
    writing.abort()?;
    Ok(removed)
}
