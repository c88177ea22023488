//! Writing a backup from a snapshot of both files.

use std::io::Write;
use std::sync::Arc;

use super::Inner;
use super::blob::BlobView;
use super::snapshot::{RedbSnapshot, misplaced};
use super::tables::Table;
use crate::backup::{BackupSummary, Part, Writer};
use crate::change::ChangeEntry;
use crate::codec::{self, Outline, ROWS_VERSION, Stored, StoredRecord, Vector, VectorBlock, VectorPlace};
use crate::error::Error;
use crate::id::Hash;
use crate::keys;
use crate::record::{BlobRow, Chunk, Head, NamespaceRow, Version};
use crate::store::Snapshot as _;

pub(super) fn run(inner: &Arc<Inner>, to: &mut dyn Write) -> Result<BackupSummary, Error> {
    let snapshot = RedbSnapshot::new(inner)?;
    // After the snapshot, so that it has every blob that the snapshot names.
    let blobs = inner.blobs.view()?;
    let mut writer = Writer::new(to, snapshot.seq(), ROWS_VERSION)?;
    for part in Part::ALL {
        snapshot.tables.walk(table(part), &[], None, &mut |key, value| {
            match part {
                Part::BlobBytes => bytes(&blobs, key, &mut writer)?,
                Part::Vectors => vector(&snapshot, key, value, &mut writer)?,
                Part::Namespaces
                | Part::Heads
                | Part::Versions
                | Part::Texts
                | Part::Outlines
                | Part::Chunks
                | Part::Changes
                | Part::Blobs
                | Part::Records => {
                    check(part, key, value)?;
                    writer.row(part, key, value)?;
                }
            }
            Ok(true)
        })?;
    }
    writer.finish()
}

/// Writes the vector that has its place under `key`.
fn vector(snapshot: &RedbSnapshot, key: &[u8], place: &[u8], writer: &mut Writer<'_>) -> Result<(), Error> {
    let place: VectorPlace = codec::decode(key, place)?;
    let model = &key[..key.len().saturating_sub(size_of::<Hash>())];
    let block_key = [model, &place.block.to_be_bytes()].concat();
    let block: Option<VectorBlock> = snapshot.tables.get(Table::VectorBlocks, &block_key)?;
    let found = block.and_then(|block| block.get(place.at)).filter(|(input, _)| key.ends_with(&input.0));
    let (_, vector) = found.ok_or_else(|| misplaced(key))?;
    writer.row(Part::Vectors, key, &codec::encode(key, &Vector(vector))?)
}

/// Writes the pieces of a blob; one that is empty has one empty piece.
fn bytes(blobs: &BlobView, key: &[u8], writer: &mut Writer<'_>) -> Result<(), Error> {
    let Some(stored) = blobs.find(key)? else {
        return Err(Error::Corrupt { what: "blob", key: keys::printable(key), detail: "it is not stored".into() });
    };
    let mut index = 0_u64;
    let mut row = |piece: &[u8]| {
        let key = [key, &index.to_be_bytes()].concat();
        index += 1;
        writer.row(Part::BlobBytes, &key, piece)
    };
    if stored.size == 0 {
        return row(&[]);
    }
    blobs.each_piece(stored, &mut row)
}

/// The table whose rows a part holds; of vectors the one that says where they are, of the bytes of blobs the one that
/// names them.
pub(super) fn table(part: Part) -> Table {
    match part {
        Part::Namespaces => Table::Namespaces,
        Part::Heads => Table::Heads,
        Part::Versions => Table::Versions,
        Part::Texts => Table::Texts,
        Part::Outlines => Table::Outlines,
        Part::Chunks => Table::Chunks,
        Part::Vectors => Table::VectorPlaces,
        Part::Changes => Table::Changes,
        Part::Blobs | Part::BlobBytes => Table::Blobs,
        Part::Records => Table::Records,
    }
}

/// Refuses a row that does not decode.
pub(super) fn check(part: Part, key: &[u8], value: &[u8]) -> Result<(), Error> {
    fn of<T: Stored>(key: &[u8], value: &[u8]) -> Result<(), Error> {
        codec::decode::<T>(key, value).map(|_| ())
    }
    match part {
        Part::Namespaces => of::<NamespaceRow>(key, value),
        Part::Heads => of::<Head>(key, value),
        Part::Versions => of::<Version>(key, value),
        Part::Texts => of::<String>(key, value),
        Part::Outlines => of::<Outline>(key, value),
        Part::Chunks => of::<Chunk>(key, value),
        Part::Vectors => of::<Vector>(key, value),
        Part::Changes => of::<ChangeEntry>(key, value),
        Part::Blobs => of::<BlobRow>(key, value),
        Part::Records => of::<StoredRecord>(key, value),
        Part::BlobBytes => Ok(()),
    }
}
