//! Which chunks a search may return, decided before the legs run.

use std::sync::Arc;

use loom_storage::ChunkId;

/// Consecutive chunk ids: the chunks of one version, or a run of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRange {
    /// The first id.
    pub first: ChunkId,
    /// How many follow, itself included; at least 1.
    pub count: u32,
}

impl ChunkRange {
    /// One past the last id.
    pub fn end(&self) -> u64 {
        self.first.0 + u64::from(self.count)
    }
}

/// The chunks that a search may return: ascending, disjoint ranges of ids. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Selection {
    ranges: Arc<[ChunkRange]>,
    len: usize,
}

impl Selection {
    /// A selection of `ranges`, in any order but disjoint.
    pub fn new(mut ranges: Vec<ChunkRange>) -> Self {
        ranges.retain(|range| range.count > 0);
        ranges.sort_unstable_by_key(|range| range.first);
        let len = ranges.iter().map(|range| range.count as usize).sum();
        Self { ranges: ranges.into(), len }
    }

    /// A selection of single chunks, each once and in any order.
    pub fn of(chunks: impl Iterator<Item = ChunkId>) -> Self {
        Self::new(chunks.map(|first| ChunkRange { first, count: 1 }).collect())
    }

    /// How many chunks it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its ranges, ascending and disjoint.
    pub fn ranges(&self) -> &[ChunkRange] {
        &self.ranges
    }

    /// Every id, ascending.
    pub fn iter(&self) -> impl Iterator<Item = ChunkId> + '_ {
        self.ranges.iter().flat_map(|range| (range.first.0..range.end()).map(ChunkId))
    }

    /// Whether it holds `chunk`; logarithmic in the number of ranges.
    pub fn contains(&self, chunk: ChunkId) -> bool {
        let after = self.ranges.partition_point(|range| range.first <= chunk);
        after > 0 && chunk.0 < self.ranges[after - 1].end()
    }

    /// A membership test that is constant in time for ids asked in mostly ascending order.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { ranges: &self.ranges, at: 0 }
    }
}

/// See [`Selection::cursor`].
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    ranges: &'a [ChunkRange],
    at: usize,
}

impl Cursor<'_> {
    /// Whether the selection holds `chunk`.
    pub fn contains(&mut self, chunk: ChunkId) -> bool {
        if let Some(range) = self.ranges.get(self.at)
            && range.first <= chunk
        {
            if chunk.0 < range.end() {
                return true;
            }
            if let Some(next) = self.ranges.get(self.at + 1)
                && next.first <= chunk
                && chunk.0 < next.end()
            {
                self.at += 1;
                return true;
            }
        }
        let after = self.ranges.partition_point(|range| range.first <= chunk);
        self.at = after.saturating_sub(1);
        after > 0 && chunk.0 < self.ranges[self.at].end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_agrees_with_enumeration_in_any_order_of_asking() {
        let selection = Selection::new(vec![
            ChunkRange { first: ChunkId(50), count: 2 },
            ChunkRange { first: ChunkId(10), count: 3 },
            ChunkRange { first: ChunkId(20), count: 0 },
            ChunkRange { first: ChunkId(13), count: 1 },
        ]);
        let ids: Vec<u64> = selection.iter().map(|id| id.0).collect();
        assert_eq!(ids, [10, 11, 12, 13, 50, 51]);
        assert_eq!(selection.len(), ids.len());
        for order in [(0..60).collect::<Vec<u64>>(), (0..60).rev().collect()] {
            let mut cursor = selection.cursor();
            for id in order {
                assert_eq!(selection.contains(ChunkId(id)), ids.contains(&id), "{id}");
                assert_eq!(cursor.contains(ChunkId(id)), ids.contains(&id), "cursor at {id}");
            }
        }
    }
}
