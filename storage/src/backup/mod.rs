//! A store in one file: the logical rows of any backend, as the codec encodes them, in blocks with checksums.
//!
//! What can be derived from the rows (indexes of the live versions, the timeline) is not in it, so that a backup of
//! one backend can be restored into another. `docs/formats.md` has the bytes.

mod read;
mod write;

use std::io::Read;

pub(crate) use read::read;
pub(crate) use write::Writer;

use crate::error::Error;
use crate::id::Seq;

/// The first bytes of every backup.
const MAGIC: [u8; 8] = *b"loombak\n";
/// The version of the container that this build writes, and the newest that it reads.
const VERSION: u32 = 1;
/// A block is written once its rows are this large together; one larger row makes a block of its own.
const BLOCK_BYTES: usize = 1 << 20;
/// The largest block before compression: the largest record, its key and its frame fit.
const BLOCK_BYTES_MAX: usize = crate::codec::BODY_BYTES_MAX + (2 << 20);
/// Bytes of a block's header: kind, length before compression, length, checksum.
const BLOCK_HEADER_BYTES: usize = 13;
/// Bytes of the SHA-256 that ends a backup.
const DIGEST_BYTES: usize = 32;

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    About = 1,
    Rows = 2,
    End = 3,
}

/// What a backup consists of, in this order; the numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Part {
    Namespaces = 1,
    Heads = 2,
    Versions = 3,
    Texts = 4,
    Outlines = 5,
    Chunks = 6,
    Vectors = 7,
    Changes = 8,
    Blobs = 9,
    Records = 10,
    /// The bytes of the blobs that [`Part::Blobs`] names: the key is the blob's and the number of the piece.
    BlobBytes = 11,
}

impl Part {
    pub(crate) const ALL: [Self; 11] = [
        Self::Namespaces,
        Self::Heads,
        Self::Versions,
        Self::Texts,
        Self::Outlines,
        Self::Chunks,
        Self::Vectors,
        Self::Changes,
        Self::Blobs,
        Self::Records,
        Self::BlobBytes,
    ];
}

/// What a backup holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupSummary {
    /// The last commit that it shows.
    pub seq: Seq,
    /// Document versions, superseded ones included.
    pub versions: u64,
    /// Chunks, those of superseded versions included.
    pub chunks: u64,
    /// Blobs.
    pub blobs: u64,
    /// Rows of every kind.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl BackupSummary {
    fn count(&mut self, part: Part) {
        self.rows += 1;
        match part {
            Part::Versions => self.versions += 1,
            Part::Chunks => self.chunks += 1,
            Part::Blobs => self.blobs += 1,
            Part::Namespaces
            | Part::Heads
            | Part::Texts
            | Part::Outlines
            | Part::Vectors
            | Part::Changes
            | Part::Records
            | Part::BlobBytes => {}
        }
    }
}

/// What the first block says.
#[derive(serde::Serialize, serde::Deserialize)]
struct About {
    /// The last commit.
    seq: u64,
    /// The version of the store's format that the records are of.
    records: u32,
}

/// What the last block says: how many rows each part has, by its number.
#[derive(Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct End {
    rows: std::collections::BTreeMap<u8, u64>,
}

/// Reads a backup to its end without keeping it. [`Error::Corrupt`] when any bit of it is not what was written,
/// [`Error::Format`] when a newer build wrote it.
pub fn check_backup(from: &mut dyn Read) -> Result<BackupSummary, Error> {
    read(from, &mut |_, _, _| Ok(()))
}

fn checksum(header: &[u8], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(stored);
    hasher.finalize()
}

fn damaged(place: impl Into<String>, detail: impl Into<String>) -> Error {
    Error::Corrupt { what: "backup", key: place.into(), detail: detail.into() }
}
