//! Fusion: one score for each candidate from what the legs say of it.

use crate::view::Candidate;

/// How much the first ranks are levelled: with 60, the first of a list counts as much as the second and a sixtieth.
const RANK_CONSTANT: f64 = 60.0;
/// Up to so many chunks that hold a name, it tells all it can.
const NAME_HOLDERS_FEW: f64 = 10.0;

/// How the legs' lists become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fusion {
    /// The sum of the legs' scores, each divided by the best of its leg: what a score is worth depends on how far it is
    /// from the best one.
    Convex {
        /// The vector leg's share, 0 to 1; the lexical leg has the rest. It belongs to the model.
        vector_share: f64,
    },
    /// The sum of `weight / (60 + rank)` over the legs that returned the candidate, ranks counted from 1.
    ReciprocalRank,
}

/// The best scores of the legs, which a convex fusion divides by: over all namespaces that a search reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Best {
    /// The highest BM25 score.
    pub lexical: f32,
    /// The highest cosine.
    pub similarity: f32,
}

impl Best {
    /// The best of these and of what was seen before.
    #[must_use]
    pub fn with(self, candidates: &[Candidate]) -> Self {
        candidates.iter().fold(self, |best, candidate| Self {
            lexical: best.lexical.max(candidate.lexical_score),
            similarity: best.similarity.max(candidate.similarity.unwrap_or(0.0)),
        })
    }
}

/// What a query says of its legs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// The lexical leg's weight; zero, negative or not finite leaves it out.
    pub lexical: f64,
    /// How much of the query its exact names are, 0 to 1: what a convex fusion adds for holding all of them, where few do.
    pub names_share: f64,
    /// How many chunks hold each of the names, in all namespaces that are searched.
    pub name_holders: Vec<u64>,
}

/// What each leg adds to a fused score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// The lexical leg.
    pub lexical: f64,
    /// The vector leg.
    pub vector: f64,
    /// The exact-key leg.
    pub names: f64,
}

impl Parts {
    /// The fused score.
    pub fn score(&self) -> f64 {
        self.lexical + self.vector + self.names
    }
}

impl Fusion {
    /// What the legs add for a candidate.
    pub fn parts(&self, candidate: &Candidate, best: Best, query: &Weights) -> Parts {
        let lexical_weight = if query.lexical.is_finite() { query.lexical.max(0.0) } else { 0.0 };
        match *self {
            Self::Convex { vector_share } => {
                let share = |score: f32, best: f32| if best > 0.0 { f64::from((score / best).max(0.0)) } else { 0.0 };
                Parts {
                    lexical: lexical_weight * (1.0 - vector_share) * share(candidate.lexical_score, best.lexical),
                    vector: vector_share * share(candidate.similarity.unwrap_or(0.0), best.similarity),
                    names: query.names_share * held(candidate.names, &query.name_holders),
                }
            }
            Self::ReciprocalRank => {
                let of = |weight: f64, rank: Option<u32>| {
                    rank.map_or(0.0, |rank| weight / (RANK_CONSTANT + f64::from(rank)))
                };
                Parts {
                    lexical: of(lexical_weight, candidate.lexical_rank),
                    vector: of(1.0, candidate.vector_rank),
                    names: of(1.0, candidate.names_rank),
                }
            }
        }
    }
}

/// The share of the names asked for that a candidate holds, each as much as it tells: one that many chunks hold hardly
/// tells them apart.
#[expect(clippy::cast_precision_loss, reason = "counts of chunks are far below 2^52")]
fn held(names: u64, holders: &[u64]) -> f64 {
    let telling = |holders: u64| (NAME_HOLDERS_FEW / holders.max(1) as f64).min(1.0);
    let of_held = (0..).zip(holders).filter(|(at, _)| names >> at & 1 == 1);
    // A sum of no floats is negative zero.
    of_held.fold(0.0, |sum, (_, holders)| sum + telling(*holders)) / holders.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use loom_storage::ChunkId;

    use super::*;

    fn candidate(lexical: Option<(u32, f32)>, vector: Option<u32>, similarity: f32, names: u64) -> Candidate {
        Candidate {
            chunk: ChunkId(1),
            lexical_rank: lexical.map(|(rank, _)| rank),
            lexical_score: lexical.map_or(0.0, |(_, score)| score),
            vector_rank: vector,
            similarity: Some(similarity),
            names_rank: (names != 0).then_some(1),
            names,
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    fn weights(lexical: f64, name_holders: &[u64]) -> Weights {
        Weights { lexical, names_share: 0.5, name_holders: name_holders.to_vec() }
    }

    #[test]
    fn reciprocal_ranks_are_added_by_weight() {
        let both = candidate(Some((2, 1.0)), Some(1), 0.5, 0);
        let score = |weight| Fusion::ReciprocalRank.parts(&both, Best::default(), &weights(weight, &[])).score();
        near(score(0.5), 0.5 / 62.0 + 1.0 / 61.0);
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            near(score(weight), 1.0 / 61.0);
        }
        let named = candidate(None, None, 0.1, 0b1);
        near(Fusion::ReciprocalRank.parts(&named, Best::default(), &weights(1.0, &[1, 1])).score(), 1.0 / 61.0);
    }

    #[test]
    fn convex_scores_are_shares_of_the_best() {
        let fusion = Fusion::Convex { vector_share: 0.4 };
        let candidates = [candidate(Some((1, 8.0)), None, 0.2, 0), candidate(Some((2, 4.0)), Some(1), 0.8, 0)];
        let best = Best::default().with(&candidates);
        assert_eq!(best, Best { lexical: 8.0, similarity: 0.8 });
        near(fusion.parts(&candidates[0], best, &weights(1.0, &[])).score(), 0.6 + 0.4 * 0.25);
        near(fusion.parts(&candidates[1], best, &weights(1.0, &[])).score(), 0.3 + 0.4);
        near(fusion.parts(&candidates[0], best, &weights(0.0, &[])).score(), 0.4 * 0.25);
    }

    #[test]
    fn a_name_that_many_hold_tells_little() {
        let fusion = Fusion::Convex { vector_share: 0.4 };
        let names = |names, holders: &[u64]| {
            fusion.parts(&candidate(None, None, 0.0, names), Best::default(), &weights(1.0, holders)).names
        };
        near(names(0b1, &[1]), 0.5);
        near(names(0b11, &[1, 10, 3, 4]), 0.25);
        near(names(0b1, &[1000]), 0.005);
        near(names(0b10, &[1, 20]), 0.125);
        assert!(names(0, &[1]).is_sign_positive() && names(0, &[]).is_sign_positive());
    }

    #[test]
    fn what_points_away_from_the_query_adds_nothing() {
        let fusion = Fusion::Convex { vector_share: 1.0 };
        let away = candidate(None, Some(1), -0.3, 0);
        near(fusion.parts(&away, Best::default().with(&[away]), &weights(1.0, &[])).score(), 0.0);
    }
}
