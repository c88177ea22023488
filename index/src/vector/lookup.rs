//! From a chunk to its row.

use std::collections::BTreeMap;
use std::ops::Range;

/// How many chunks may arrive out of order before they are sorted in, at least.
const STRAYS_MIN: usize = 1024;

/// The newest row of each chunk. Chunks mostly arrive in ascending order, so most of it is a sorted list that costs 16
/// bytes a chunk and nothing to keep; the strays are sorted in once they are a sixteenth of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    sorted: Vec<(u64, u32)>,
    /// Chunks that are not in `sorted` and that came after a larger one.
    strays: BTreeMap<u64, u32>,
}

impl Lookup {
    /// The newest row of chunk `id`.
    pub fn row(&self, id: u64) -> Option<u32> {
        match self.sorted.binary_search_by_key(&id, |entry| entry.0) {
            Ok(at) => Some(self.sorted[at].1),
            Err(_) => self.strays.get(&id).copied(),
        }
    }

    /// Makes `row` the newest of chunk `id`.
    pub fn set(&mut self, id: u64, row: u32) {
        if self.sorted.last().is_none_or(|last| last.0 < id) {
            self.sorted.push((id, row));
            return;
        }
        if let Ok(at) = self.sorted.binary_search_by_key(&id, |entry| entry.0) {
            self.sorted[at].1 = row;
            return;
        }
        self.strays.insert(id, row);
        if self.strays.len() > STRAYS_MIN.max(self.sorted.len() / 16) {
            self.sorted.extend(std::mem::take(&mut self.strays));
            // The stable sort merges the two ascending runs in linear time.
            self.sorted.sort_by_key(|entry| entry.0);
        }
    }

    /// Calls `visit` with the newest row of every known chunk in `ranges`, which ascend. The cost depends on how many
    /// chunks are known and how many ranges are asked for, never on how long the ranges are.
    pub fn visit(&self, ranges: impl Iterator<Item = Range<u64>>, mut visit: impl FnMut(u32)) {
        let mut at = 0;
        for range in ranges {
            at = first_at_least(&self.sorted, at, range.start);
            while let Some(&(id, row)) = self.sorted.get(at)
                && id < range.end
            {
                visit(row);
                at += 1;
            }
            if !self.strays.is_empty() && range.start < range.end {
                self.strays.range(range).for_each(|(_, &row)| visit(row));
            }
        }
    }
}

/// The position of the first entry from `at` on whose id is at least `id`, searched outwards from `at`.
fn first_at_least(sorted: &[(u64, u32)], at: usize, id: u64) -> usize {
    let mut low = at;
    let mut step = 1;
    while sorted.get(low + step).is_some_and(|entry| entry.0 < id) {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(sorted.len());
    low + sorted[low..high].partition_point(|entry| entry.0 < id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_map(ids in prop::collection::vec(0..4_000_u64, 0..6_000), starts in prop::collection::vec((0..4_100_u64, 0..90_u64), 0..20)) {
            let mut lookup = Lookup::default();
            let mut model = BTreeMap::new();
            for (row, &id) in (0..).zip(&ids) {
                lookup.set(id, row);
                model.insert(id, row);
            }
            for id in 0..4_100 {
                prop_assert_eq!(lookup.row(id), model.get(&id).copied());
            }
            let mut ranges: Vec<Range<u64>> = Vec::new();
            let mut sorted = starts;
            sorted.sort_unstable();
            for (start, length) in sorted {
                let start = start.max(ranges.last().map_or(0, |last| last.end));
                ranges.push(start..start + length);
            }
            let mut found = Vec::new();
            lookup.visit(ranges.iter().cloned(), |row| found.push(row));
            found.sort_unstable();
            let mut expected: Vec<u32> = ranges.into_iter().flat_map(|range| model.range(range).map(|entry| *entry.1)).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
