//! The matrix of vectors, in blocks that jobs share instead of copying.

use std::sync::Arc;

use loom_storage::ChunkId;

use super::signs::{push_signs, signs_len};

/// The size that the values of a full block stay under, in bytes.
const BLOCK_BYTES_MAX: usize = 1 << 20;

/// Consecutive rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    /// The chunk of each row.
    pub ids: Vec<u64>,
    /// The vector of each row as [`super::fixed::unit`] makes it, one after the other.
    pub values: Vec<i16>,
    /// The signs of each row's values, as [`super::signs`] packs them, one row after the other.
    pub signs: Vec<u64>,
}

/// All rows. A clone is a snapshot that shares the blocks; only the last, if it is not full, is copied when it grows.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    dim: usize,
    /// A block holds `1 << block_bits` rows.
    block_bits: u32,
    blocks: Vec<Arc<Block>>,
    len: u32,
}

impl Rows {
    /// No rows, of `dim` values each.
    pub fn new(dim: usize) -> Self {
        let block_bits = (BLOCK_BYTES_MAX / (dim * size_of::<i16>())).max(1).ilog2();
        Self { dim, block_bits, blocks: Vec::new(), len: 0 }
    }

    /// How many rows there are, the removed ones included.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// How many values a row has.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many rows a full block has.
    pub fn block_rows(&self) -> u32 {
        1 << self.block_bits
    }

    /// Appends a row. `false`, and nothing happened, when no row number is left.
    pub fn push(&mut self, chunk: ChunkId, unit: &[i16]) -> bool {
        debug_assert_eq!(unit.len(), self.dim);
        let Some(len) = self.len.checked_add(1) else { return false };
        if self.len.is_multiple_of(self.block_rows()) {
            self.blocks.push(Arc::default());
        }
        let block = Arc::make_mut(self.blocks.last_mut().expect("a block was pushed for the first row"));
        block.ids.push(chunk.0);
        block.values.extend_from_slice(unit);
        push_signs(unit, &mut block.signs);
        self.len = len;
        true
    }

    /// Appends the rows of `part`, whose signs are not looked at, and which does not cross the end of a block. `false` when it does, or when its parts
    /// disagree in length.
    pub fn push_part(&mut self, mut part: Block) -> bool {
        let at = self.len & (self.block_rows() - 1);
        let Ok(count) = u32::try_from(part.ids.len()) else { return false };
        let Some(len) = self.len.checked_add(count) else { return false };
        if count > self.block_rows() - at || part.values.len() != part.ids.len() * self.dim {
            return false;
        }
        part.signs = Vec::with_capacity(part.ids.len() * signs_len(self.dim));
        for unit in part.values.chunks_exact(self.dim) {
            push_signs(unit, &mut part.signs);
        }
        if at == 0 && count > 0 {
            self.blocks.push(Arc::new(part));
        } else if let Some(last) = self.blocks.last_mut() {
            let block = Arc::make_mut(last);
            block.ids.extend_from_slice(&part.ids);
            block.values.extend_from_slice(&part.values);
            block.signs.extend_from_slice(&part.signs);
        }
        self.len = len;
        true
    }

    /// The chunk of `row`; `None` when there is no such row.
    pub fn chunk(&self, row: u32) -> Option<ChunkId> {
        let block = self.blocks.get((row >> self.block_bits) as usize)?;
        block.ids.get((row & (self.block_rows() - 1)) as usize).copied().map(ChunkId)
    }

    /// The vector of `row`; `None` when there is no such row.
    pub fn vector(&self, row: u32) -> Option<&[i16]> {
        let block = self.blocks.get((row >> self.block_bits) as usize)?;
        let start = (row & (self.block_rows() - 1)) as usize * self.dim;
        block.values.get(start..start + self.dim)
    }

    /// The signs of every row, in order, in pieces of whole rows.
    pub fn signs(&self) -> impl Iterator<Item = &[u64]> {
        self.blocks.iter().map(|block| block.signs.as_slice())
    }

    /// The chunk of every row, in order.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkId> + '_ {
        self.blocks.iter().flat_map(|block| block.ids.iter().copied().map(ChunkId))
    }

    /// The runs of rows from `first` on that lie in one block each: number of the first row, ids, values.
    pub fn runs(&self, first: u32) -> impl Iterator<Item = (u32, &[u64], &[i16])> {
        let skipped = (first >> self.block_bits) as usize;
        self.blocks.iter().enumerate().skip(skipped).filter_map(move |(number, block)| {
            let start = u32::try_from(number).expect("row numbers are 32 bits") << self.block_bits;
            let offset = first.saturating_sub(start) as usize;
            let ids = block.ids.get(offset..).filter(|ids| !ids.is_empty())?;
            Some((start.max(first), ids, &block.values[offset * self.dim..]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_keeps_its_rows_while_the_original_grows() {
        let mut rows = Rows::new(4096);
        let block = u64::from(rows.block_rows());
        for id in 0..block + 3 {
            assert!(rows.push(ChunkId(id), &vec![500; 4096]));
        }
        let snapshot = rows.clone();
        assert!(rows.push(ChunkId(999), &vec![250; 4096]));
        assert_eq!(u64::from(snapshot.len()), block + 3);
        assert_eq!(snapshot.chunk(snapshot.len()), None);
        assert_eq!(rows.chunk(snapshot.len()), Some(ChunkId(999)));
        assert_eq!(rows.vector(snapshot.len()).map(|vector| vector[0]), Some(250));
        let runs: Vec<(u32, usize)> = rows.runs(2).map(|(first, ids, _)| (first, ids.len())).collect();
        assert_eq!(runs, [(2, rows.block_rows() as usize - 2), (rows.block_rows(), 4)]);
    }
}
