//! The nearest rows of one index or of several, of which only the likely ones are scored: those whose signs differ from
//! the query's in the fewest places.
//!
//! How many are likely is not known before: rows are scored in the order of their signs, twice as many each time, until
//! what is new among them is hardly ever among the best. Where signs tell nothing, that is so when all are scored.

use super::VectorIndex;
use super::rows::Rows;
use super::scan::{Best, scan_list};
use super::search::VectorHit;
use super::signs::{push_distances, push_signs};

/// So many rows are scored first for each hit wanted, and no fewer than [`FIRST_MIN`].
const FIRST_PER_HIT: u64 = 8;
const FIRST_MIN: u64 = 512;
/// No further rows are scored once the last half of them brought one in so many of the best, or fewer.
const NEW_SHARE: usize = 10;

/// The distance of a removed row.
const REMOVED: u16 = u16::MAX;

/// The rows of one index beside a query. They stay as they are while the index moves on.
#[derive(Clone, Debug)]
pub struct Unscored {
    rows: Rows,
    query: Vec<i16>,
    /// In how many signs each row differs from the query.
    distances: Vec<u16>,
    /// How many rows there are at each distance.
    rows_at: Vec<u64>,
}

impl VectorIndex {
    pub(super) fn unscored(&self, query: Vec<i16>) -> Unscored {
        let rows = self.table.rows().clone();
        let (mut signs, mut distances) = (Vec::new(), Vec::with_capacity(rows.len() as usize));
        push_signs(&query, &mut signs);
        for rows in rows.signs() {
            push_distances(&signs, rows, &mut distances);
        }
        for row in self.table.removed() {
            distances[row as usize] = REMOVED;
        }
        let mut rows_at = vec![0; rows.dim() + 1];
        for distance in &distances {
            if let Some(rows) = rows_at.get_mut(usize::from(*distance)) {
                *rows += 1;
            }
        }
        Unscored { rows, query, distances, rows_at }
    }
}

/// About the best `k` of the rows of all of `of` together, of each the hits that are among them, the best first. Equals
/// are in the order of `of`, then of their ids.
pub fn nearest(of: &[&Unscored], k: usize) -> Vec<Vec<VectorHit>> {
    let live: u64 = of.iter().flat_map(|unscored| &unscored.rows_at).sum();
    let mut best = Best::new(k);
    let (mut wanted, mut next) = ((k as u64).saturating_mul(FIRST_PER_HIT).max(FIRST_MIN), 0);
    loop {
        // What is left of them would take as long to tell apart.
        let all = wanted.saturating_mul(2) >= live;
        let (furthest, scored) = if all { (REMOVED - 1, live) } else { furthest(of, wanted) };
        let before = best.ranked();
        for (place, unscored) in of.iter().enumerate() {
            best = scan_list(&unscored.rows, &unscored.at(next, furthest), &unscored.query, place, best);
        }
        let new = best.len() - before.iter().filter(|earlier| best.holds(earlier)).count();
        if all || (next > 0 && new.saturating_mul(NEW_SHARE) <= k) {
            return best.into_hits_of(of.len());
        }
        (wanted, next) = (scored.saturating_mul(2), furthest + 1);
    }
}

/// The smallest distance that at least `count` of the rows do not exceed, of which there are as many, and how many do not
/// exceed it.
fn furthest(of: &[&Unscored], count: u64) -> (u16, u64) {
    let mut rows = 0;
    for distance in 0..REMOVED {
        rows += of.iter().filter_map(|unscored| unscored.rows_at.get(usize::from(distance))).sum::<u64>();
        if rows >= count {
            return (distance, rows);
        }
    }
    (REMOVED - 1, rows)
}

impl Unscored {
    /// The rows at a distance from `first` to `last`, ascending.
    fn at(&self, first: u16, last: u16) -> Vec<u32> {
        let is_meant = |(_, distance): &(u32, &u16)| (first..=last).contains(*distance);
        (0..).zip(&self.distances).filter(is_meant).map(|(row, _)| row).collect()
    }
}
