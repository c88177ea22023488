//! Writing a backup, block by block.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::{About, BLOCK_BYTES, BLOCK_HEADER_BYTES, BackupSummary, End, Kind, MAGIC, Part, VERSION, checksum};
use crate::error::Error;
use crate::id::Seq;

/// Packed vectors and texts gain little from more.
const ZSTD_LEVEL: i32 = 1;

/// Takes the rows of a store, in the order of sections and keys, and writes them out; holds one block at a time.
pub(crate) struct Writer<'w> {
    to: &'w mut dyn Write,
    hasher: Sha256,
    part: Part,
    block: Vec<u8>,
    end: End,
    summary: BackupSummary,
}

impl<'w> Writer<'w> {
    /// Begins the backup of a store whose last commit is `seq` and whose records are of format version `records`.
    pub(crate) fn new(to: &'w mut dyn Write, seq: Seq, records: u32) -> Result<Self, Error> {
        let mut writer = Self {
            to,
            hasher: Sha256::new(),
            part: Part::Namespaces,
            block: Vec::new(),
            end: End::default(),
            summary: BackupSummary { seq, ..BackupSummary::default() },
        };
        writer.put(&MAGIC)?;
        writer.put(&VERSION.to_le_bytes())?;
        let about = serde_json::to_vec(&About { seq: seq.0, records }).expect("numbers are JSON");
        writer.write_block(Kind::About, &about)?;
        Ok(writer)
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, part: Part, key: &[u8], value: &[u8]) -> Result<(), Error> {
        if part != self.part || self.block.len() >= BLOCK_BYTES {
            self.flush()?;
            self.part = part;
        }
        if self.block.is_empty() {
            self.block.push(part as u8);
        }
        for part in [key, value] {
            let len = u32::try_from(part.len()).map_err(|_| Error::Invalid("a row of over 4 GiB".into()))?;
            self.block.extend_from_slice(&len.to_le_bytes());
        }
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(value);
        *self.end.rows.entry(part as u8).or_default() += 1;
        self.summary.count(part);
        Ok(())
    }

    /// Writes what is left, the counts and the hash of everything.
    pub(crate) fn finish(mut self) -> Result<BackupSummary, Error> {
        self.flush()?;
        let end = serde_json::to_vec(&self.end).expect("a map of numbers is JSON");
        self.write_block(Kind::End, &end)?;
        let digest = std::mem::take(&mut self.hasher).finalize();
        self.put(&digest)?;
        self.to.flush().map_err(|error| failed(&error))?;
        Ok(self.summary)
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.block.is_empty() {
            return Ok(());
        }
        let mut block = std::mem::take(&mut self.block);
        self.write_block(Kind::Rows, &block)?;
        block.clear();
        self.block = block;
        Ok(())
    }

    fn write_block(&mut self, kind: Kind, raw: &[u8]) -> Result<(), Error> {
        let stored =
            zstd::bulk::compress(raw, ZSTD_LEVEL).map_err(|error| Error::from_io(&error, "compressing a block"))?;
        let lengths = (u32::try_from(raw.len()), u32::try_from(stored.len()));
        let (Ok(raw_len), Ok(stored_len)) = lengths else {
            return Err(Error::Invalid("a block of over 4 GiB".into()));
        };
        let mut header = Vec::with_capacity(BLOCK_HEADER_BYTES);
        header.push(kind as u8);
        header.extend_from_slice(&raw_len.to_le_bytes());
        header.extend_from_slice(&stored_len.to_le_bytes());
        let checksum = checksum(&header, &stored);
        header.extend_from_slice(&checksum.to_le_bytes());
        self.put(&header)?;
        self.put(&stored)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.hasher.update(bytes);
        self.summary.bytes += bytes.len() as u64;
        self.to.write_all(bytes).map_err(|error| failed(&error))
    }
}

fn failed(error: &io::Error) -> Error {
    Error::Transfer { message: format!("the backup could not be written: {error}") }
}
