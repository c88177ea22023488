//! Whether one setting is better than another, query by query.

use serde::Serialize;

use super::measure::{Measures, count};

/// How often the signs are shuffled.
const SHUFFLES: u32 = 10_000;

/// The differences of two settings over the same queries, second less first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The mean difference of the nDCG of the first ten.
    pub difference: f64,
    /// Queries that the second answers better.
    pub better: usize,
    /// Queries that it answers worse.
    pub worse: usize,
    /// Queries that both answer alike.
    pub same: usize,
    /// How often a difference at least as large comes about by chance (paired randomisation, two-sided).
    pub p_value: f64,
}

/// Compares two settings, given the measures of each query in the same order.
pub fn compare(first: &[Measures], second: &[Measures]) -> Comparison {
    let differences: Vec<f64> =
        first.iter().zip(second).map(|(first, second)| second.ndcg_10 - first.ndcg_10).collect();
    let of = |test: fn(f64) -> bool| differences.iter().filter(|difference| test(**difference)).count();
    let sum: f64 = differences.iter().sum();
    let queries = count(differences.len().max(1));
    Comparison {
        difference: sum / queries,
        better: of(|difference| difference > 1e-12),
        worse: of(|difference| difference < -1e-12),
        same: of(|difference| difference.abs() <= 1e-12),
        p_value: by_chance(&differences, sum),
    }
}

/// The share of random sign changes whose sum is at least as far from zero.
fn by_chance(differences: &[f64], sum: f64) -> f64 {
    // Always the same numbers, so that the same rankings give the same answer.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut as_far = 0_u32;
    for _ in 0..SHUFFLES {
        let mut shuffled = 0.0;
        let mut bits = 0;
        for (at, difference) in differences.iter().enumerate() {
            if at % 64 == 0 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                bits = state;
            }
            shuffled += if bits & 1 == 0 { *difference } else { -difference };
            bits >>= 1;
        }
        as_far += u32::from(shuffled.abs() >= sum.abs() - 1e-12);
    }
    f64::from(as_far + 1) / f64::from(SHUFFLES + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(ndcg: &[f64]) -> Vec<Measures> {
        ndcg.iter().map(|ndcg_10| Measures { ndcg_10: *ndcg_10, ..Measures::default() }).collect()
    }

    #[test]
    fn a_clear_difference_is_not_chance() {
        let (low, high) = (vec![0.2; 40], vec![0.6; 40]);
        let found = compare(&measures(&low), &measures(&high));
        assert!((found.difference - 0.4).abs() < 1e-9);
        assert_eq!((found.better, found.worse, found.same), (40, 0, 0));
        assert!(found.p_value < 0.001, "{}", found.p_value);
    }

    #[test]
    fn what_goes_both_ways_is_chance() {
        let first: Vec<f64> = (0..40).map(|at| if at % 2 == 0 { 0.2 } else { 0.6 }).collect();
        let second: Vec<f64> = first.iter().rev().copied().collect();
        let found = compare(&measures(&first), &measures(&second));
        assert_eq!((found.better, found.worse), (20, 20));
        assert!(found.p_value > 0.5, "{}", found.p_value);
        let same = compare(&measures(&first), &measures(&first));
        assert_eq!((same.same, same.p_value), (40, 1.0));
    }
}
