//! What a vector index holds, chunk by chunk, to be compared with what it should hold.

use loom_storage::ChunkId;
use roaring::RoaringBitmap;

use super::fixed::unit;
use super::projection::VectorIndex;
use super::table::Table;
use crate::inventory::Difference;

/// The rows of a vector index at one moment. Shares them with the index; takes 16 bytes a chunk beside.
pub(crate) struct VectorInventory {
    table: Table,
    /// Rows that were asked for.
    asked: RoaringBitmap,
}

impl VectorIndex {
    /// What searches find.
    pub(crate) fn inventory(&self) -> VectorInventory {
        VectorInventory { table: self.table.clone(), asked: RoaringBitmap::new() }
    }
}

impl VectorInventory {
    /// How what is held of a chunk differs from its vector as stored.
    pub(crate) fn compare(&mut self, chunk: ChunkId, stored: Option<&[f32]>) -> Option<Difference> {
        let stored = stored.filter(|vector| vector.len() == self.table.rows().dim()).and_then(unit);
        let row = self.table.live_row(chunk);
        if let Some(row) = row {
            self.asked.insert(row);
        }
        match (stored, row) {
            (None, None) => None,
            (Some(_), None) => Some(Difference::Missing),
            (Some(vector), Some(row)) if self.table.rows().vector(row) == Some(&vector) => None,
            (_, Some(_)) => Some(Difference::Altered),
        }
    }

    /// The chunks of the rows that searches return and that were not asked for.
    pub(crate) fn left_over(&self) -> impl Iterator<Item = ChunkId> + '_ {
        let rows = (0..).zip(self.table.rows().chunks());
        let is_left = |row: &u32| !self.asked.contains(*row) && !self.table.removed().contains(*row);
        rows.filter(move |(row, _)| is_left(row)).map(|(_, chunk)| chunk)
    }
}
