//! The rows with what is known of them: which chunk has which, and which are removed.

use loom_storage::ChunkId;
use roaring::RoaringBitmap;

use super::fixed::unit;
use super::lookup::Lookup;
use super::rows::Rows;
use crate::{ChunkRange, Selection};

/// Why a vector was not taken. The chunk then has no vector: an earlier one of it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is zero, as that of a text without a known token, or not finite: it is similar to nothing.
    #[error("the vector has no direction")]
    NoDirection,
    /// Its length is not the model's.
    #[error("the vector has {found} dimensions, the model {expected}")]
    Length {
        /// How many values it has.
        found: usize,
        /// How many a vector of the model has.
        expected: usize,
    },
    /// No row number is left; a compaction may free some.
    #[error("the vector table is full")]
    Full,
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    rows: Rows,
    lookup: Lookup,
    /// Rows that no search returns: their chunk was removed or has a newer row.
    removed: RoaringBitmap,
    /// Counts what happened here, so that a flush knows whether anything did.
    changes: u64,
}

impl Table {
    /// A table of `rows`, of which `removed` are.
    pub fn new(rows: Rows, removed: RoaringBitmap) -> Self {
        let mut lookup = Lookup::default();
        for (row, chunk) in (0..).zip(rows.chunks()) {
            lookup.set(chunk.0, row);
        }
        Self { rows, lookup, removed, changes: 0 }
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn removed(&self) -> &RoaringBitmap {
        &self.removed
    }

    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// How many rows are not removed.
    pub fn live(&self) -> u64 {
        u64::from(self.rows.len()) - self.removed.len()
    }

    /// The row of `chunk` that searches return.
    pub fn live_row(&self, chunk: ChunkId) -> Option<u32> {
        self.lookup.row(chunk.0).filter(|&row| !self.removed.contains(row))
    }

    /// The rows of `selection` that searches return.
    pub fn live_rows(&self, selection: &Selection) -> Vec<u32> {
        let mut rows = Vec::new();
        self.lookup.visit(selection.ranges().iter().map(|range| range.first.0..range.end()), |row| {
            if !self.removed.contains(row) {
                rows.push(row);
            }
        });
        rows
    }

    /// Whether a search may return `row`.
    pub fn accepts(&self, row: u32, selection: Option<&Selection>) -> bool {
        !self.removed.contains(row)
            && selection.is_none_or(|selection| self.rows.chunk(row).is_some_and(|chunk| selection.contains(chunk)))
    }

    /// See [`super::VectorIndex::add`].
    pub fn add(&mut self, chunk: ChunkId, vector: &[f32]) -> Result<(), Refused> {
        let expected = self.rows.dim();
        let scaled = if vector.len() == expected {
            unit(vector).ok_or(Refused::NoDirection)
        } else {
            Err(Refused::Length { found: vector.len(), expected })
        };
        match scaled {
            Ok(scaled) => self.put(chunk, &scaled),
            Err(refused) => {
                self.remove(ChunkRange { first: chunk, count: 1 });
                Err(refused)
            }
        }
    }

    /// Removes the rows of the chunks in `range`, those there are.
    pub fn remove(&mut self, range: ChunkRange) {
        let Self { lookup, removed, changes, .. } = self;
        lookup.visit(std::iter::once(range.first.0..range.end()), |row| {
            *changes += u64::from(removed.insert(row));
        });
    }

    /// What this table becomes when `compact` replaces its first `planned` rows, `kept[n]` being the row that became
    /// row `n`. What happened to the table since then is done again.
    pub fn compacted(&self, compact: Rows, kept: &[u32], planned: u32) -> Self {
        let removed = (0..).zip(kept).filter(|(_, row)| self.removed.contains(**row)).map(|(new, _)| new).collect();
        let mut table = Self::new(compact, removed);
        table.changes = self.changes + 1;
        let kept: RoaringBitmap = kept.iter().copied().collect();
        for row in 0..self.rows.len() {
            if (row < planned && kept.contains(row)) || self.removed.contains(row) {
                continue;
            }
            if let (Some(chunk), Some(vector)) = (self.rows.chunk(row), self.rows.vector(row)) {
                table.put(chunk, vector).expect("it has no more rows than the table it comes from");
            }
        }
        table
    }

    /// Gives `chunk` the unit vector `scaled`: by its row if that holds it, by a new one otherwise.
    fn put(&mut self, chunk: ChunkId, scaled: &[i16]) -> Result<(), Refused> {
        let earlier = self.lookup.row(chunk.0);
        if let Some(row) = earlier {
            if self.rows.vector(row).is_some_and(|held| held == scaled) {
                self.changes += u64::from(self.removed.remove(row));
                return Ok(());
            }
            self.changes += u64::from(self.removed.insert(row));
        }
        let row = self.rows.len();
        if !self.rows.push(chunk, scaled) {
            return Err(Refused::Full);
        }
        self.lookup.set(chunk.0, row);
        self.changes += 1;
        Ok(())
    }
}
