//! A scan of the likely rows alone: those whose signs differ from the query's in the fewest places.

use parking_lot::Mutex;

use super::VectorIndex;
use super::fixed::cosine;
use super::rows::Rows;
use super::scan::{Best, scan_list};
use super::signs::{push_distances, push_signs};

/// With fewer live rows, all of them are scanned.
const ROWS_MIN: u64 = 2048;
/// One in so many rows is likely, and no fewer than [`LIKELY_MIN`] or [`LIKELY_PER_HIT`] for each hit wanted.
const LIKELY_SHARE: u64 = 16;
const LIKELY_MIN: u64 = 512;
const LIKELY_PER_HIT: u64 = 4;

/// Whether signs are worth anything is tried with so many rows as queries, among so many rows: whether the likely ones
/// among these hold nearly all of the best.
const TRIAL_QUERIES: usize = 8;
const TRIAL_ROWS: usize = 4096;
const TRIAL_BEST: usize = 10;
const TRIAL_FOUND_MIN: usize = TRIAL_QUERIES * TRIAL_BEST - 1;

/// So many times the rows that are wanted may be as likely, for signs to be worth anything.
const LIKELY_TIES_MAX: u64 = 4;

/// So many scans go through all rows before the trial, which takes as long as a few of them: most programs open an index
/// for one search.
const TRIAL_AFTER: u32 = 16;

/// What is known of the signs.
#[derive(Debug, Default)]
pub(super) struct Trust(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Scans before the first trial.
    scans: u32,
    /// How many rows there were at the last trial, and whether their signs tell which are near.
    tried: Option<(u32, bool)>,
}

impl Trust {
    /// Whether the signs of these rows are known to tell which are near; tried again when there are twice as many rows,
    /// or fewer.
    fn holds(&self, index: &VectorIndex) -> bool {
        let rows = index.table.rows().len();
        let mut known = self.0.lock();
        match known.tried {
            None if known.scans < TRIAL_AFTER => {
                known.scans += 1;
                false
            }
            Some((tried, holds)) if (tried..tried.saturating_mul(2)).contains(&rows) => holds,
            _ => {
                let holds = trial(index);
                known.tried = Some((rows, holds));
                holds
            }
        }
    }
}

impl VectorIndex {
    /// About the best `k` of all rows, of which only the likely ones are scored; `None` when it takes a scan of all to
    /// find them.
    pub(super) fn scan_likely(&self, query: &[i16], k: usize) -> Option<Best> {
        let live = self.table.live();
        let count = (live / LIKELY_SHARE).max(LIKELY_MIN).max((k as u64).saturating_mul(LIKELY_PER_HIT));
        if live < ROWS_MIN || count > live / 2 || !self.trust.holds(self) {
            return None;
        }
        let rows = self.table.rows();
        let mut distances = distances(rows, query);
        for row in self.table.removed() {
            distances[row as usize] = u16::MAX;
        }
        let furthest = furthest(&distances, count);
        let likely: Vec<u32> =
            (0..).zip(&distances).filter(|(_, distance)| **distance <= furthest).map(|(row, _)| row).collect();
        Some(scan_list(rows, &likely, query, Best::new(k)))
    }
}

/// In how many signs each row differs from `query`.
fn distances(rows: &Rows, query: &[i16]) -> Vec<u16> {
    let (mut signs, mut distances) = (Vec::new(), Vec::with_capacity(rows.len() as usize));
    push_signs(query, &mut signs);
    for rows in rows.signs() {
        push_distances(&signs, rows, &mut distances);
    }
    distances
}

/// The smallest distance that at least `count` of the rows do not exceed; those at `u16::MAX` are none.
fn furthest(distances: &[u16], count: u64) -> u16 {
    let live = || distances.iter().copied().filter(|distance| *distance < u16::MAX);
    let mut rows_at = vec![0_u64; 1 + usize::from(live().max().unwrap_or(0))];
    for distance in live() {
        rows_at[usize::from(distance)] += 1;
    }
    let mut rows = 0;
    let reached = rows_at.iter().position(|at| {
        rows += at;
        rows >= count
    });
    reached.and_then(|at| u16::try_from(at).ok()).unwrap_or(u16::MAX - 1)
}

fn trial(index: &VectorIndex) -> bool {
    let rows = index.table.rows();
    let step = (rows.len() as usize).div_ceil(TRIAL_ROWS).max(1);
    let sample: Vec<u32> = (0..rows.len()).step_by(step).filter(|row| !index.table.removed().contains(*row)).collect();
    let mut found = 0;
    for query in sample.iter().step_by((sample.len() / TRIAL_QUERIES).max(1)).take(TRIAL_QUERIES) {
        let Some(query) = rows.vector(*query) else { continue };
        let all = distances(rows, query);
        let sampled: Vec<u16> = sample.iter().map(|row| all[*row as usize]).collect();
        let furthest = furthest(&sampled, sample.len() as u64 / LIKELY_SHARE);
        // Where signs are much alike, the likely rows are most of all, and choosing them gains nothing.
        let likely = sampled.iter().filter(|distance| **distance <= furthest).count();
        if likely as u64 > sample.len() as u64 * LIKELY_TIES_MAX / LIKELY_SHARE {
            return false;
        }
        let cosine = |row: u32| rows.vector(row).map_or(f32::NEG_INFINITY, |vector| cosine(query, vector));
        let mut best: Vec<(f32, u16)> = sample.iter().zip(&sampled).map(|(row, at)| (cosine(*row), *at)).collect();
        best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0));
        found += best.iter().take(TRIAL_BEST).filter(|(_, distance)| *distance <= furthest).count();
    }
    found >= TRIAL_FOUND_MIN
}
