//! Writing a blob: pieces as they come, and one transaction that makes them a blob.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use redb::ReadableTable as _;
use sha2::{Digest as _, Sha256};

use super::{BLOBS, BlobFile, PIECE_BYTES, Synced, begin_upload, end_upload, put_piece, remove_upload};
use crate::codec::{self, StoredBlob};
use crate::error::Error;
use crate::id::{BlobHash, Hash, Scope};
use crate::keys;
use crate::redb::file::{Writing, guarded};
use crate::redb::{Inner, failed};
use crate::store::BlobWriter;

pub(in crate::redb) struct Writer {
    inner: Arc<Inner>,
    scope: Scope,
    /// Known from the first full piece on.
    upload: Option<Begun>,
    hasher: Sha256,
    size: u64,
    pieces: u64,
    buffer: Vec<u8>,
    /// Set while a piece is on its way: after a failure the bytes are not whole and must not be finished.
    broken: bool,
}

/// An upload; its pieces are gone, and its number may be another's, once the file was opened again.
#[derive(Clone, Copy)]
struct Begun {
    upload: u64,
    generation: u64,
}

impl Writer {
    pub(in crate::redb) fn new(inner: Arc<Inner>, scope: &Scope) -> Result<Self, Error> {
        if !keys::is_valid(scope) {
            return Err(Error::Invalid(format!("{scope:?} is no namespace")));
        }
        Ok(Self {
            inner,
            scope: scope.clone(),
            upload: None,
            hasher: Sha256::new(),
            size: 0,
            pieces: 0,
            buffer: Vec::new(),
            broken: false,
        })
    }

    /// Stores the full buffer as a piece.
    fn store_piece(&mut self) -> Result<(), Error> {
        self.broken = true;
        let inner = Arc::clone(&self.inner);
        let writing = inner.blobs.begin_lazy()?;
        let upload = self.flush(&writing)?;
        writing.commit()?;
        self.upload = Some(upload);
        self.pieces += 1;
        self.buffer.clear();
        self.broken = false;
        Ok(())
    }

    /// Writes the buffer as the next piece.
    fn flush(&mut self, writing: &Writing<'_>) -> Result<Begun, Error> {
        let begun = match self.upload {
            Some(begun) if begun.generation == writing.generation => begun,
            Some(_) => return Err(Error::Reopened),
            None => Begun { upload: begin_upload(&writing.transaction)?, generation: writing.generation },
        };
        if !self.buffer.is_empty() {
            let bytes = std::mem::take(&mut self.buffer);
            self.buffer = put_piece(&writing.transaction, begun.upload, self.pieces, bytes)?;
        }
        Ok(begun)
    }

    /// Stores what is left of the bytes and makes the whole a blob.
    fn store_blob(&mut self) -> Result<(BlobHash, u64), Error> {
        let hash = Hash(std::mem::take(&mut self.hasher).finalize().into());
        let key = keys::hash(&self.scope, &hash);
        let inner = Arc::clone(&self.inner);
        let blob = self.commit_blob(&inner.blobs, &key)?;
        inner.blobs.sync(blob)?;
        Ok((hash, self.size))
    }

    /// Makes the whole a blob, which the next sync makes durable.
    fn commit_blob(&mut self, file: &BlobFile, key: &[u8]) -> Result<Synced, Error> {
        let writing = file.begin_lazy()?;
        let generation = writing.generation;
        file.bring(key);
        let known = {
            let blobs = writing.transaction.open_table(BLOBS).map_err(failed)?;
            blobs.get(key).map_err(failed)?.is_some()
        };
        if known {
            // What this upload brought is removed when it is dropped.
            let committed = file.committed.load(Ordering::Acquire);
            writing.abort()?;
            return Ok(Synced { generation, committed });
        }
        let begun = self.flush(&writing)?;
        let stored = StoredBlob { upload: begun.upload, size: self.size, piece_bytes: PIECE_BYTES };
        let value = codec::encode(key, &stored)?;
        let transaction = &writing.transaction;
        transaction.open_table(BLOBS).map_err(failed)?.insert(key, value.as_slice()).map_err(failed)?;
        end_upload(transaction, begun.upload)?;
        // From here on the pieces may be the blob's, even if the commit fails: the next open knows.
        self.upload = None;
        let committed = file.committed.fetch_add(1, Ordering::AcqRel) + 1;
        writing.commit_and_yield()?;
        Ok(Synced { generation, committed })
    }
}

impl BlobWriter for Writer {
    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = PIECE_BYTES as usize - self.buffer.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == PIECE_BYTES as usize {
                guarded(|| self.store_piece())?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(BlobHash, u64), Error> {
        if self.broken {
            return Err(Error::Backend { message: "an earlier piece of the blob failed".into(), disk_full: false });
        }
        guarded(|| self.store_blob())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let Some(begun) = self.upload else { return };
        let removed = guarded(|| {
            let writing = self.inner.blobs.begin_lazy()?;
            if begun.generation != writing.generation {
                return writing.abort();
            }
            remove_upload(&writing.transaction, begun.upload)?;
            writing.commit()
        });
        if let Err(error) = removed {
            tracing::warn!(%error, upload = begun.upload, "an unfinished upload stays until the next open");
        }
    }
}
