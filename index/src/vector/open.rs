//! Reading an index back.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use super::file::{Folder, Kind, Reader};
use super::flush::Saved;
use super::manifest::{Manifest, Segment};
use super::rows::{Block, Rows};
use super::table::Table;
use super::{damaged, failed, io_failed};
use crate::Error;
use crate::cores;

/// The dimensions a model's vectors may have.
pub const DIMENSIONS: std::ops::RangeInclusive<usize> = 32..=4096;

/// See [`super::VectorIndex::open`].
pub(super) fn open(path: &Path, model: &str, dim: usize) -> Result<(Folder, Table, Saved), Error> {
    if !DIMENSIONS.contains(&dim) {
        return Err(failed(format!("vectors have 32 to 4096 dimensions, not {dim}")));
    }
    fs::create_dir_all(path).map_err(|error| io_failed(path, &error))?;
    let folder = Folder { path: path.to_owned(), model: model.to_owned(), dim };
    let (manifest, removed) = Manifest::read(&folder)?.unwrap_or_default();
    let rows = read_rows(&folder, &manifest)?;
    folder.sweep(|kind, number| manifest.names(kind, number));
    let table = Table::new(rows, removed);
    let saved = Saved { manifest, changes: table.changes() };
    Ok((folder, table, saved))
}

/// The bytes of consecutive rows of one block, as a part of a file: the ids, then the values, little endian.
pub(super) fn encode_part(ids: &[u64], values: &[i16]) -> Vec<u8> {
    let mut bytes = vec![0; size_of_val(ids) + size_of_val(values)];
    let (ids_bytes, values_bytes) = bytes.split_at_mut(size_of_val(ids));
    for (bytes, id) in ids_bytes.as_chunks_mut().0.iter_mut().zip(ids) {
        *bytes = id.to_le_bytes();
    }
    for (bytes, value) in values_bytes.as_chunks_mut().0.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
    bytes
}

fn decode_part(bytes: &[u8], dim: usize) -> Option<Block> {
    let row_bytes = size_of::<u64>() + dim * size_of::<i16>();
    if !bytes.len().is_multiple_of(row_bytes) {
        return None;
    }
    let (ids, values) = bytes.split_at(bytes.len() / row_bytes * size_of::<u64>());
    let ids = ids.as_chunks().0.iter().map(|&id| u64::from_le_bytes(id)).collect();
    let values = values.as_chunks().0.iter().map(|&value| i16::from_le_bytes(value)).collect();
    Some(Block { ids, values, signs: Vec::new() })
}

fn read_rows(folder: &Folder, manifest: &Manifest) -> Result<Rows, Error> {
    let mut rows = Rows::new(folder.dim);
    for segment in &manifest.segments {
        for part in read_segment(folder, segment)? {
            if !rows.push_part(part) {
                return Err(damaged(format!("the rows of segment {} do not fit", segment.number)));
            }
        }
    }
    if rows.len() != manifest.rows() {
        return Err(damaged("the segments do not hold the rows they should"));
    }
    Ok(rows)
}

fn read_segment(folder: &Folder, segment: &Segment) -> Result<Vec<Block>, Error> {
    let reader = Reader::open(folder, Kind::Rows, segment.number)?
        .filter(|reader| reader.identity() == segment.identity)
        .ok_or_else(|| damaged(format!("segment {} is missing or another", segment.number)))?;
    let count = reader.lengths().len();
    let read = |buffer: &mut Vec<u8>, number| {
        reader.part(number, buffer)?;
        decode_part(buffer, folder.dim).ok_or_else(|| damaged("a part of a segment has half a row"))
    };
    cores::share(|| (0..count).into_par_iter().map_init(Vec::new, read).collect())
}
