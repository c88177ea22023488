//! The bytes of blobs: pieces in a file of their own, so that the main file stays small.
//!
//! An upload's pieces are written as they come, without a sync. What makes them a blob is one transaction at the end, durable
//! when the upload is acknowledged; uploads that end at the same time share the sync. Without it the upload is listed as
//! unfinished and its pieces are removed by the next open.

mod restoring;
mod writer;

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use redb::{Database, Durability, ReadOnlyTable, ReadableTable, WriteTransaction};

use super::file::{RedbFile, Writing, guarded};
use super::open::begin_durable;
use super::tables::{Bytes, Definition, Each, Table};
use super::{Inner, failed};
use crate::codec::{self, Piece, StoredBlob};
use crate::error::Error;
use crate::id::{BlobHash, Scope};
use crate::keys;
use crate::store::BlobReader;

pub(super) use restoring::Restoring;
pub(super) use writer::Writer;

/// Bytes of every piece but a blob's last. With its key and headers a piece just fits redb's page of 1 MiB; one of
/// a full MiB would take a page of two.
const PIECE_BYTES: u32 = (1 << 20) - 4096;

const META: Definition = Table::Meta.definition();
const BLOBS: Definition = Definition::new("blobs");
const PIECES: Definition = Definition::new("pieces");
const UNFINISHED: Definition = Definition::new("unfinished");
/// How long it is known that an upload brought a blob's bytes, and how many such are kept before the older are let go.
const BROUGHT_KEPT: Duration = Duration::from_hours(2);
const BROUGHT_MAX: usize = 10_000;
/// The key in `meta` of the number that the next upload gets.
const NEXT_KEY: &[u8] = b"next_upload";

pub(super) struct BlobFile {
    pub(super) file: RedbFile,
    quick_repair_from_bytes: u64,
    /// How many blobs were committed in memory, counted while the file is held for writing.
    committed: AtomicU64,
    synced: Mutex<Synced>,
    /// The number that the first upload since the open gets or got.
    first_upload: u64,
    /// When uploads of this run last brought the bytes under a key; of those older than [`BROUGHT_KEPT`] none.
    brought: Mutex<HashMap<Vec<u8>, Instant>>,
}

/// Up to which of the blobs that were committed in memory, since the file was opened that often, all are durable.
#[derive(Clone, Copy, Default)]
struct Synced {
    generation: u64,
    committed: u64,
}

impl BlobFile {
    pub(super) const TABLES: [Definition; 4] = [META, BLOBS, PIECES, UNFINISHED];

    pub(super) fn new(file: RedbFile, quick_repair_from_bytes: u64) -> Result<Self, Error> {
        let transaction = file.begin_read()?;
        let first_upload = next_upload(&transaction.open_table(META).map_err(failed)?)?;
        Ok(Self {
            file,
            quick_repair_from_bytes,
            committed: AtomicU64::new(0),
            synced: Mutex::default(),
            first_upload,
            brought: Mutex::default(),
        })
    }

    /// Removes the blobs of earlier runs that `is_named` does not know; answers how many.
    ///
    /// Those of this run stay: their commit may be on its way.
    pub(super) fn remove_unnamed(&self, is_named: &mut dyn FnMut(&[u8]) -> Result<bool, Error>) -> Result<u64, Error> {
        let mut unnamed = Vec::new();
        self.each_unnamed(is_named, &mut |key, stored| unnamed.push((key.to_vec(), stored.upload)))?;
        if unnamed.is_empty() {
            return Ok(0);
        }
        let writing = self.begin_durable()?;
        for (key, upload) in &unnamed {
            let mut blobs = writing.transaction.open_table(BLOBS).map_err(failed)?;
            blobs.remove(key.as_slice()).map_err(failed)?;
            drop(blobs);
            remove_upload(&writing.transaction, *upload)?;
        }
        writing.commit()?;
        Ok(unnamed.len() as u64)
    }

    /// Removes the bytes under a key, unless an upload of this run brought them within `idle`. That no row names them is for
    /// the caller to see to.
    pub(super) fn remove(&self, key: &[u8], idle: Duration) -> Result<bool, Error> {
        // Held to the end, so that no upload takes the bytes for stored while they are removed.
        let writing = self.begin_durable()?;
        if self.brought.lock().get(key).is_some_and(|at| at.elapsed() < idle) {
            writing.abort()?;
            return Ok(false);
        }
        let mut blobs = writing.transaction.open_table(BLOBS).map_err(failed)?;
        let removed = blobs.remove(key).map_err(failed)?;
        let stored: Option<StoredBlob> = removed.map(|value| codec::decode(key, value.value())).transpose()?;
        drop(blobs);
        match stored {
            None => writing.abort()?,
            Some(stored) => {
                remove_upload(&writing.transaction, stored.upload)?;
                writing.commit()?;
            }
        }
        Ok(true)
    }

    /// Notes that an upload brought the bytes under a key.
    fn bring(&self, key: &[u8]) {
        let mut brought = self.brought.lock();
        if brought.len() >= BROUGHT_MAX {
            brought.retain(|_, at| at.elapsed() < BROUGHT_KEPT);
        }
        brought.insert(key.to_vec(), Instant::now());
    }

    /// Calls `each` with every blob of an earlier run that `is_named` does not know.
    pub(super) fn each_unnamed(
        &self,
        is_named: &mut dyn FnMut(&[u8]) -> Result<bool, Error>,
        each: &mut dyn FnMut(&[u8], StoredBlob),
    ) -> Result<(), Error> {
        self.view()?.each(&mut |key, value| {
            let stored: StoredBlob = codec::decode(key, value)?;
            if stored.upload < self.first_upload && !is_named(key)? {
                each(key, stored);
            }
            Ok(())
        })
    }

    /// The blobs that are stored now.
    pub(super) fn view(&self) -> Result<BlobView, Error> {
        let transaction = self.file.begin_read()?;
        Ok(BlobView {
            blobs: transaction.open_table(BLOBS).map_err(failed)?,
            pieces: transaction.open_table(PIECES).map_err(failed)?,
        })
    }

    /// Makes a blob durable that was committed in memory, and with it all that were committed since the last time: whoever
    /// waits meanwhile shares the sync.
    fn sync(&self, blob: Synced) -> Result<(), Error> {
        let mut synced = self.synced.lock();
        if synced.generation == blob.generation && synced.committed >= blob.committed {
            return Ok(());
        }
        let writing = self.begin_durable()?;
        let (generation, committed) = (writing.generation, self.committed.load(Ordering::Acquire));
        if generation != blob.generation {
            // What was in memory alone is gone.
            writing.abort()?;
            return Err(Error::Reopened);
        }
        writing.commit()?;
        *synced = Synced { generation, committed };
        Ok(())
    }

    fn begin_durable(&self) -> Result<Writing<'_>, Error> {
        self.file.begin_write(Durability::Immediate, self.file.reaches(self.quick_repair_from_bytes))
    }

    /// A transaction that is atomic but not durable until a durable one follows it.
    fn begin_lazy(&self) -> Result<Writing<'_>, Error> {
        self.file.begin_write(Durability::None, false)
    }
}

/// Removes the pieces of uploads that were cut off, before any is begun.
pub(super) fn remove_unfinished(database: &Database) -> Result<(), Error> {
    let transaction = begin_durable(database, true)?;
    let uploads = {
        let unfinished = transaction.open_table(UNFINISHED).map_err(failed)?;
        let rows = unfinished.iter().map_err(failed)?;
        rows.map(|row| row.map(|(key, _)| keys::number(key.value())).map_err(failed)).collect::<Result<Vec<_>, _>>()?
    };
    if uploads.is_empty() {
        return transaction.abort().map_err(failed);
    }
    for upload in uploads.into_iter().flatten() {
        remove_upload(&transaction, upload)?;
    }
    transaction.commit().map_err(failed)
}

/// The blobs of one moment.
pub(super) struct BlobView {
    blobs: ReadOnlyTable<Bytes, Bytes>,
    pieces: ReadOnlyTable<Bytes, Bytes>,
}

impl BlobView {
    /// Where the bytes of the blob under `key` are.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<StoredBlob>, Error> {
        let found = self.blobs.get(key).map_err(failed)?;
        found.map(|value| codec::decode(key, value.value())).transpose()
    }

    /// Calls `each` with the row of every stored blob.
    pub(super) fn each(&self, each: &mut Each<'_, ()>) -> Result<(), Error> {
        for row in self.blobs.iter().map_err(failed)? {
            let (key, value) = row.map_err(failed)?;
            each(key.value(), value.value())?;
        }
        Ok(())
    }

    /// Reads every piece of a blob and calls `each` with its bytes, in order.
    pub(super) fn each_piece(
        &self,
        blob: StoredBlob,
        each: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..blob.pieces()).try_for_each(|index| each(&read_piece(&self.pieces, blob, index)?))
    }
}

impl StoredBlob {
    /// How many pieces it has.
    fn pieces(self) -> u64 {
        self.size.div_ceil(u64::from(self.piece_bytes.max(1)))
    }
}

/// Lists a new upload as unfinished.
fn begin_upload(transaction: &WriteTransaction) -> Result<u64, Error> {
    let mut meta = transaction.open_table(META).map_err(failed)?;
    let upload = next_upload(&meta)?;
    meta.insert(NEXT_KEY, (upload + 1).to_be_bytes().as_slice()).map_err(failed)?;
    let mut unfinished = transaction.open_table(UNFINISHED).map_err(failed)?;
    unfinished.insert(upload.to_be_bytes().as_slice(), [].as_slice()).map_err(failed)?;
    Ok(upload)
}

/// The number that the next upload gets.
fn next_upload(meta: &impl ReadableTable<Bytes, Bytes>) -> Result<u64, Error> {
    match meta.get(NEXT_KEY).map_err(failed)? {
        None => Ok(1),
        Some(value) => keys::number(value.value()).ok_or_else(|| damaged("upload counter", "it is cut short")),
    }
}

fn end_upload(transaction: &WriteTransaction, upload: u64) -> Result<(), Error> {
    let mut unfinished = transaction.open_table(UNFINISHED).map_err(failed)?;
    unfinished.remove(upload.to_be_bytes().as_slice()).map_err(failed)?;
    Ok(())
}

fn remove_upload(transaction: &WriteTransaction, upload: u64) -> Result<(), Error> {
    let (first, end) = (piece_key(upload, 0), piece_key(upload + 1, 0));
    let mut pieces = transaction.open_table(PIECES).map_err(failed)?;
    pieces.retain_in(first.as_slice()..end.as_slice(), |_, _| false).map_err(failed)?;
    end_upload(transaction, upload)
}

fn put_piece(transaction: &WriteTransaction, upload: u64, index: u64, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    let key = piece_key(upload, index);
    let piece = Piece(bytes);
    let value = codec::encode(&key, &piece)?;
    let mut pieces = transaction.open_table(PIECES).map_err(failed)?;
    pieces.insert(key.as_slice(), value.as_slice()).map_err(failed)?;
    Ok(piece.0)
}

fn read_piece(pieces: &ReadOnlyTable<Bytes, Bytes>, blob: StoredBlob, index: u64) -> Result<Vec<u8>, Error> {
    let key = piece_key(blob.upload, index);
    let found = pieces.get(key.as_slice()).map_err(failed)?;
    let found = found.ok_or_else(|| damaged(&keys::printable(&key), "it is missing"))?;
    let piece: Piece = codec::decode(&key, found.value())?;
    let start = index * u64::from(blob.piece_bytes);
    if piece.0.len() as u64 != blob.size.saturating_sub(start).min(u64::from(blob.piece_bytes)) {
        return Err(damaged(&keys::printable(&key), "its size is not what the blob's says"));
    }
    Ok(piece.0)
}

fn piece_key(upload: u64, index: u64) -> [u8; 16] {
    (u128::from(upload) << 64 | u128::from(index)).to_be_bytes()
}

fn damaged(key: &str, detail: &str) -> Error {
    Error::Corrupt { what: "blob piece", key: key.into(), detail: detail.into() }
}

pub(super) struct Reader {
    pieces: ReadOnlyTable<Bytes, Bytes>,
    blob: StoredBlob,
    position: u64,
    /// The piece last read.
    current: Option<(u64, Vec<u8>)>,
    _inner: Arc<Inner>,
}

impl Reader {
    pub(super) fn new(inner: Arc<Inner>, scope: &Scope, hash: &BlobHash) -> Result<Self, Error> {
        let view = inner.blobs.view()?;
        let blob = view.find(&keys::hash(scope, hash))?.ok_or_else(|| Error::BlobGone { hash: hash.hex() })?;
        if blob.piece_bytes == 0 {
            return Err(damaged(&hash.hex(), "its pieces have no size"));
        }
        Ok(Self { pieces: view.pieces, blob, position: 0, current: None, _inner: inner })
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.blob.size || out.is_empty() {
            return Ok(0);
        }
        let piece_bytes = u64::from(self.blob.piece_bytes);
        let (index, offset) = (self.position / piece_bytes, self.position % piece_bytes);
        let piece = match self.current.take() {
            Some((current, piece)) if current == index => piece,
            _ => guarded(|| read_piece(&self.pieces, self.blob, index))
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
        };
        let rest = &piece[usize::try_from(offset).expect("an offset in a piece that is in memory")..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        self.current = Some((index, piece));
        Ok(count)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.blob.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

impl BlobReader for Reader {
    fn size(&self) -> u64 {
        self.blob.size
    }
}

#[cfg(test)]
mod tests {
    use redb::ReadableTableMetadata as _;

    use super::*;
    use crate::redb::{RedbOptions, RedbStore};
    use crate::store::Store as _;

    fn pieces(store: &RedbStore) -> u64 {
        let transaction = store.inner.blobs.file.begin_read().expect("a transaction");
        transaction.open_table(PIECES).expect("a table").len().expect("a number")
    }

    #[test]
    fn pieces_that_belong_to_no_blob_are_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = |folder: &std::path::Path| RedbStore::open(folder, &RedbOptions::default()).expect("it opens");
        let store = open(folder.path());
        let scope = Scope::new("org", "notes");
        let writer = |bytes: &[u8]| {
            let mut writer = store.write_blob(&scope).expect("a writer");
            writer.write(bytes).expect("it is written");
            writer
        };
        let unfinished = writer(&vec![1; 3 << 20]);
        writer(&vec![2; 1 << 20]).finish().expect("it is durable, and so is the other up to here");
        assert_eq!(pieces(&store), 3 + 2);
        writer(&vec![2; 1 << 20]).finish().expect("it is stored once");
        assert_eq!(pieces(&store), 3 + 2);

        let crashed = tempfile::tempdir().expect("a temporary folder");
        for file in ["loom.redb", "blobs.redb"] {
            std::fs::copy(folder.path().join(file), crashed.path().join(file)).expect("it is copied");
        }
        assert_eq!(pieces(&open(crashed.path())), 2);
        drop(unfinished);
        assert_eq!(pieces(&store), 2);
    }
}
