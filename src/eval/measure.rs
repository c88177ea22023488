//! The measures of one ranking.

use serde::Serialize;

use super::judged::Judgements;

/// How many of a ranking the measures at the top look at.
pub const CUTOFF: usize = 10;
/// How many the measures of depth look at.
pub const DEEP_CUTOFF: usize = 100;

/// What a ranking, or many on average, is worth; each is 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Normalised discounted cumulative gain of the first ten, the gain being the grade.
    pub ndcg_10: f64,
    /// The share of the relevant documents among the first ten.
    pub recall_10: f64,
    /// The share of the relevant documents among the first hundred.
    pub recall_100: f64,
    /// One divided by the rank of the first relevant document among the first hundred.
    pub mrr: f64,
    /// Whether the first document is relevant.
    pub success_1: f64,
}

/// The measures of the documents found, best first; one that is named again counts where it was named first.
pub fn of_ranking<'a>(found: impl IntoIterator<Item = &'a str>, judgements: &Judgements) -> Measures {
    let mut seen = std::collections::HashSet::new();
    let found = found.into_iter().filter(|document| seen.insert(*document)).take(DEEP_CUTOFF);
    let grades: Vec<u32> = found.map(|document| judgements.get(document).copied().unwrap_or(0)).collect();
    let mut ideal: Vec<u32> = judgements.values().copied().filter(|grade| *grade > 0).collect();
    ideal.sort_unstable_by(|left, right| right.cmp(left));
    if ideal.is_empty() {
        return Measures::default();
    }
    let relevant = |among: usize| count(grades.iter().take(among).filter(|grade| **grade > 0).count());
    let first = grades.iter().position(|grade| *grade > 0);
    Measures {
        ndcg_10: gain(&grades) / gain(&ideal),
        recall_10: relevant(CUTOFF) / count(ideal.len()),
        recall_100: relevant(DEEP_CUTOFF) / count(ideal.len()),
        mrr: first.map_or(0.0, |at| 1.0 / count(at + 1)),
        success_1: if first == Some(0) { 1.0 } else { 0.0 },
    }
}

fn gain(grades: &[u32]) -> f64 {
    let discounted = |(at, grade): (usize, &u32)| f64::from(*grade) / count(at + 2).log2();
    grades.iter().take(CUTOFF).enumerate().map(discounted).sum()
}

#[expect(clippy::cast_precision_loss, reason = "counts of documents and queries are far below 2^52")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}

impl Measures {
    /// The means of many; zeros of none.
    pub fn mean(all: &[Self]) -> Self {
        let of = |one: fn(&Self) -> f64| all.iter().map(one).sum::<f64>() / count(all.len().max(1));
        Self {
            ndcg_10: of(|one| one.ndcg_10),
            recall_10: of(|one| one.recall_10),
            recall_100: of(|one| one.recall_100),
            mrr: of(|one| one.mrr),
            success_1: of(|one| one.success_1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgements(grades: &[(&str, u32)]) -> Judgements {
        grades.iter().map(|(id, grade)| ((*id).to_owned(), *grade)).collect()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn measures_are_those_of_the_books() {
        let judged = judgements(&[("a", 3), ("b", 2), ("c", 0), ("d", 1)]);
        let found = of_ranking(["c", "b", "b", "a"], &judged);
        let ideal = 3.0 + 2.0 / 3_f64.log2() + 1.0 / 2.0;
        near(found.ndcg_10, (2.0 / 3_f64.log2() + 3.0 / 2.0) / ideal);
        near(found.recall_10, 2.0 / 3.0);
        near(found.mrr, 0.5);
        near(found.success_1, 0.0);
        near(of_ranking(["a", "b", "d"], &judged).ndcg_10, 1.0);
        assert_eq!(of_ranking([], &judged), Measures::default());
        assert_eq!(of_ranking(["a"], &Judgements::new()), Measures::default());
    }

    #[test]
    fn a_document_past_a_cutoff_does_not_count() {
        let names: Vec<String> = (0..101).map(|at| format!("x{at}")).collect();
        let found = |at: usize| of_ranking(names.iter().map(String::as_str), &judgements(&[(&format!("x{at}"), 1)]));
        near(found(9).recall_10, 1.0);
        near(found(10).recall_10, 0.0);
        near(found(10).ndcg_10, 0.0);
        near(found(99).recall_100, 1.0);
        near(found(100).recall_100, 0.0);
        near(found(100).mrr, 0.0);
    }
}
