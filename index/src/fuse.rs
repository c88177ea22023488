//! Fusion: one score for each candidate from what the legs say of it.

use crate::view::Candidate;

/// How much the first ranks are levelled: with 60, the first of a list counts as much as the second and a sixtieth.
const RANK_CONSTANT: f64 = 60.0;
/// What a candidate that holds every exact name of the query gains in a convex fusion, whose other parts sum to 1 at most.
const NAMES_SHARE: f64 = 1.0;

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
    /// What the legs add for a candidate of a query of `names_asked` exact names. A `lexical_weight` that is zero,
    /// negative or not finite leaves the lexical leg out.
    pub fn parts(&self, candidate: &Candidate, best: Best, lexical_weight: f64, names_asked: usize) -> Parts {
        let lexical_weight = if lexical_weight.is_finite() { lexical_weight.max(0.0) } else { 0.0 };
        match *self {
            Self::Convex { vector_share } => {
                let share = |score: f32, best: f32| if best > 0.0 { f64::from((score / best).max(0.0)) } else { 0.0 };
                let held = f64::from(candidate.names.count_ones());
                Parts {
                    lexical: lexical_weight * (1.0 - vector_share) * share(candidate.lexical_score, best.lexical),
                    vector: vector_share * share(candidate.similarity.unwrap_or(0.0), best.similarity),
                    #[expect(clippy::cast_precision_loss, reason = "a query has few names")]
                    names: NAMES_SHARE * held / names_asked.max(1) as f64,
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

    #[test]
    fn reciprocal_ranks_are_added_by_weight() {
        let both = candidate(Some((2, 1.0)), Some(1), 0.5, 0);
        let score = |weight| Fusion::ReciprocalRank.parts(&both, Best::default(), weight, 0).score();
        near(score(0.5), 0.5 / 62.0 + 1.0 / 61.0);
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            near(score(weight), 1.0 / 61.0);
        }
        let named = Fusion::ReciprocalRank.parts(&candidate(None, None, 0.1, 0b1), Best::default(), 1.0, 2);
        near(named.score(), 1.0 / 61.0);
    }

    #[test]
    fn convex_scores_are_shares_of_the_best() {
        let fusion = Fusion::Convex { vector_share: 0.4 };
        let candidates = [candidate(Some((1, 8.0)), None, 0.2, 0), candidate(Some((2, 4.0)), Some(1), 0.8, 0b11)];
        let best = Best::default().with(&candidates);
        assert_eq!(best, Best { lexical: 8.0, similarity: 0.8 });
        near(fusion.parts(&candidates[0], best, 1.0, 0).score(), 0.6 + 0.4 * 0.25);
        near(fusion.parts(&candidates[1], best, 1.0, 4).score(), 0.3 + 0.4 + 0.5);
        near(fusion.parts(&candidates[0], best, 0.0, 0).score(), 0.4 * 0.25);
    }

    #[test]
    fn what_points_away_from_the_query_adds_nothing() {
        let fusion = Fusion::Convex { vector_share: 1.0 };
        let away = candidate(None, Some(1), -0.3, 0);
        near(fusion.parts(&away, Best::default().with(&[away]), 1.0, 0).score(), 0.0);
    }
}
