//! Filling the blob file of a store that is made from a backup.

use redb::WriteTransaction;
use sha2::{Digest as _, Sha256};

use super::{BLOBS, PIECE_BYTES, begin_upload, damaged, end_upload, put_piece};
use crate::codec::{self, StoredBlob};
use crate::error::Error;
use crate::id::Hash;
use crate::keys;
use crate::redb::failed;

/// Puts the blobs of a backup into a new file, inside the one transaction that fills it.
pub(in crate::redb) struct Restoring<'txn> {
    transaction: &'txn WriteTransaction,
    /// The blob whose pieces come.
    current: Option<Upload>,
}

struct Upload {
    key: Vec<u8>,
    number: u64,
    hasher: Sha256,
    size: u64,
    pieces: u64,
    buffer: Vec<u8>,
}

impl<'txn> Restoring<'txn> {
    pub(in crate::redb) fn new(transaction: &'txn WriteTransaction) -> Self {
        Self { transaction, current: None }
    }

    /// Takes the next bytes of the blob under `key`.
    pub(in crate::redb) fn piece(&mut self, key: &[u8], mut bytes: &[u8]) -> Result<(), Error> {
        if self.current.as_ref().is_none_or(|current| current.key != key) {
            self.finish()?;
            let number = begin_upload(self.transaction)?;
            let (key, hasher, buffer) = (key.to_vec(), Sha256::new(), Vec::new());
            self.current = Some(Upload { key, number, hasher, size: 0, pieces: 0, buffer });
        }
        let current = self.current.as_mut().expect("it was set above");
        current.hasher.update(bytes);
        current.size += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES as usize - current.buffer.len()));
            current.buffer.extend_from_slice(now);
            bytes = later;
            if current.buffer.len() == PIECE_BYTES as usize {
                current.flush(self.transaction)?;
            }
        }
        Ok(())
    }

    /// Ends the blob whose pieces came last.
    pub(in crate::redb) fn finish(&mut self) -> Result<(), Error> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        if !current.buffer.is_empty() {
            current.flush(self.transaction)?;
        }
        let hash = Hash(current.hasher.finalize().into());
        if !current.key.ends_with(&hash.0) {
            return Err(damaged(&keys::printable(&current.key), "the blob's bytes do not hash to its name"));
        }
        let stored = StoredBlob { upload: current.number, size: current.size, piece_bytes: PIECE_BYTES };
        let value = codec::encode(&current.key, &stored)?;
        let mut blobs = self.transaction.open_table(BLOBS).map_err(failed)?;
        blobs.insert(current.key.as_slice(), value.as_slice()).map_err(failed)?;
        end_upload(self.transaction, current.number)
    }
}

impl Upload {
    fn flush(&mut self, transaction: &WriteTransaction) -> Result<(), Error> {
        self.buffer = put_piece(transaction, self.number, self.pieces, std::mem::take(&mut self.buffer))?;
        self.buffer.clear();
        self.pieces += 1;
        Ok(())
    }
}
