//! Fusion: one score for each candidate from what the legs say of it.

use crate::view::Candidate;

/// How much the first ranks are levelled: with 60, the first of a list counts as much as the second and a sixtieth.
const RANK_CONSTANT: f64 = 60.0;
/// Up to so many chunks that hold a name, it tells all it can.
const NAME_HOLDERS_FEW: f64 = 10.0;

/// How deep in a leg's list a candidate may stand for its scores to count as the leg's.
pub const SCALE_RANKS: u32 = 100;
/// Scores less far apart than this are the same.
const SPREAD_MIN: f64 = 1e-6;
/// What a name in other capitals tells of what it tells in the query's.
const OTHER_CAPITALS: f64 = 0.5;

/// How the legs' lists become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fusion {
    /// The sum of the legs' scores, each divided by how far apart the scores of its leg are among what the legs returned,
    /// and both by the same number, so that being best in both legs is worth 1.
    Convex {
        /// The vector leg's share, 0 to 1, of what scores that are equally far apart are worth; the lexical leg has the
        /// rest. It belongs to the model.
        vector_share: f64,
        /// How far apart the model's cosines are where it can tell texts apart, or 0: closer ones count as if they were
        /// this far apart, so that the leg has little to say in a language that the model does not know.
        spread_min: f64,
    },
    /// The sum of `weight / (60 + rank)` over the legs that returned the candidate, ranks counted from 1.
    ReciprocalRank,
}

/// The scores of the legs over all namespaces that a search reads, which a convex fusion measures each one by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// BM25.
    pub lexical: Scale,
    /// The cosine.
    pub similarity: Scale,
}

/// How good the best score is, and how far apart they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    /// The highest score, at least 0.
    pub best: f32,
    count: f64,
    sum: f64,
    squares: f64,
}

impl Scale {
    fn add(&mut self, score: f32) {
        let exact = f64::from(score);
        self.best = self.best.max(score);
        self.count += 1.0;
        self.sum += exact;
        self.squares += exact * exact;
    }

    /// The standard deviation.
    fn spread(&self) -> f64 {
        let count = self.count.max(1.0);
        (self.squares / count - (self.sum / count).powi(2)).max(0.0).sqrt()
    }
}

impl Scores {
    /// The scores of these and of what was seen before. Only candidates among the first [`SCALE_RANKS`] of a leg count, so
    /// that what a score is worth does not depend on how many hits are asked for.
    #[must_use]
    pub fn with(mut self, candidates: &[Candidate]) -> Self {
        let is_first = |rank: Option<u32>| rank.is_some_and(|rank| rank <= SCALE_RANKS);
        for candidate in candidates {
            if is_first(candidate.lexical_rank) || is_first(candidate.vector_rank) {
                self.lexical.add(candidate.lexical_score);
                self.similarity.add(candidate.similarity.unwrap_or(0.0));
            }
        }
        self
    }

    /// The vector leg's share of scores that are shares of the best ones, when it has `share` of scores that are equally far
    /// apart, cosines at least `spread_min`. Where the scores of a leg are all the same, distance tells nothing, and it is
    /// `share` itself.
    pub fn vector_share(&self, share: f64, spread_min: f64) -> f64 {
        let lexical = (f64::from(self.lexical.best), self.lexical.spread());
        let vector = (f64::from(self.similarity.best), self.similarity.spread());
        if lexical.1 <= SPREAD_MIN || vector.1 <= SPREAD_MIN {
            return share;
        }
        let lexical = (1.0 - share) * lexical.0 / lexical.1;
        let vector = share * vector.0 / vector.1.max(spread_min);
        if lexical + vector > 0.0 { vector / (lexical + vector) } else { share }
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
    pub fn parts(&self, candidate: &Candidate, scores: &Scores, query: &Weights) -> Parts {
        let lexical_weight = if query.lexical.is_finite() { query.lexical.max(0.0) } else { 0.0 };
        match *self {
            Self::Convex { vector_share, spread_min } => {
                let share = |score: f32, best: f32| if best > 0.0 { f64::from((score / best).max(0.0)) } else { 0.0 };
                let vector_share = scores.vector_share(vector_share, spread_min);
                Parts {
                    lexical: lexical_weight
                        * (1.0 - vector_share)
                        * share(candidate.lexical_score, scores.lexical.best),
                    vector: vector_share * share(candidate.similarity.unwrap_or(0.0), scores.similarity.best),
                    names: query.names_share * held(candidate, query),
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
/// tells them apart, unless the query is nothing but names; and one in other capitals tells half.
#[expect(clippy::cast_precision_loss, reason = "counts of chunks are far below 2^52")]
fn held(candidate: &Candidate, query: &Weights) -> f64 {
    let holders = &query.name_holders;
    let is_in = |names: u64, at: usize| names >> at & 1 == 1;
    let is_only_names = query.names_share >= 1.0;
    let telling = |holders: u64| if is_only_names { 1.0 } else { (NAME_HOLDERS_FEW / holders.max(1) as f64).min(1.0) };
    let of_held = holders.iter().enumerate().filter(|(at, _)| is_in(candidate.names, *at));
    // A sum of no floats is negative zero.
    let sum = of_held.fold(0.0, |sum, (at, holders)| {
        sum + telling(*holders) * if is_in(candidate.spelled, at) { 1.0 } else { OTHER_CAPITALS }
    });
    sum / holders.len().max(1) as f64
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
            spelled: names,
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
        let score = |weight| Fusion::ReciprocalRank.parts(&both, &Scores::default(), &weights(weight, &[])).score();
        near(score(0.5), 0.5 / 62.0 + 1.0 / 61.0);
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            near(score(weight), 1.0 / 61.0);
        }
        let named = candidate(None, None, 0.1, 0b1);
        near(Fusion::ReciprocalRank.parts(&named, &Scores::default(), &weights(1.0, &[1, 1])).score(), 1.0 / 61.0);
    }

    #[test]
    fn scores_that_are_equally_far_apart_count_by_the_share() {
        let fusion = Fusion::Convex { vector_share: 0.4, spread_min: 0.0 };
        let candidates = [candidate(Some((1, 8.0)), None, 0.2, 0), candidate(Some((2, 4.0)), Some(1), 0.8, 0)];
        let scores = Scores::default().with(&candidates);
        // Spreads of 2 and 0.3: what 4 of BM25 are worth is 0.6 / 0.4 of what 0.6 of the cosine are.
        let [first, second] = candidates.map(|one| fusion.parts(&one, &scores, &weights(1.0, &[])));
        near((first.lexical - second.lexical) / (second.vector - first.vector), 0.6 / 0.4);
        near(first.lexical + second.vector, 1.0);
        near(fusion.parts(&candidates[0], &scores, &weights(0.0, &[])).lexical, 0.0);
    }

    #[test]
    fn a_share_stays_where_scores_tell_nothing_apart() {
        let same = [candidate(Some((1, 8.0)), Some(1), 0.2, 0), candidate(Some((2, 8.0)), Some(2), 0.8, 0)];
        for candidates in [&same[..1], &same[..], &[]] {
            near(Scores::default().with(candidates).vector_share(0.4, 0.0), 0.4);
        }
    }

    #[test]
    fn cosines_that_are_all_alike_say_little() {
        let flat =
            [candidate(Some((1, 8.0)), Some(2), 0.984_375, 0), candidate(Some((2, 4.0)), Some(1), 0.992_187_5, 0)];
        let scores = Scores::default().with(&flat);
        let apart = |spread_min| {
            let fusion = Fusion::Convex { vector_share: 0.5, spread_min };
            let [first, second] = flat.map(|one| fusion.parts(&one, &scores, &weights(1.0, &[])));
            (second.vector - first.vector) / (first.lexical - second.lexical)
        };
        // Their own spread is a 256th.
        assert!((apart(0.0) - 1.0).abs() < 1e-5);
        assert!((apart(10.0 / 256.0) - 0.1).abs() < 1e-5);
    }

    #[test]
    fn what_no_leg_ranks_high_changes_no_scale() {
        let first = [candidate(Some((1, 8.0)), Some(1), 0.8, 0), candidate(Some((2, 2.0)), Some(2), 0.3, 0)];
        let deep = candidate(Some((SCALE_RANKS + 1, 1.0)), Some(SCALE_RANKS + 1), 0.1, 0b1);
        assert_eq!(Scores::default().with(&first), Scores::default().with(&first).with(&[deep]));
    }

    #[test]
    fn a_name_that_many_hold_tells_little() {
        let fusion = Fusion::Convex { vector_share: 0.4, spread_min: 0.0 };
        let names = |names, holders: &[u64]| {
            fusion.parts(&candidate(None, None, 0.0, names), &Scores::default(), &weights(1.0, holders)).names
        };
        near(names(0b1, &[1]), 0.5);
        near(names(0b11, &[1, 10, 3, 4]), 0.25);
        near(names(0b1, &[1000]), 0.005);
        near(names(0b10, &[1, 20]), 0.125);
        assert!(names(0, &[1]).is_sign_positive() && names(0, &[]).is_sign_positive());
    }

    #[test]
    fn a_query_that_is_a_name_is_about_it_however_many_hold_it() {
        let fusion = Fusion::Convex { vector_share: 0.4, spread_min: 0.0 };
        let query = Weights { names_share: 1.0, ..weights(1.0, &[1000]) };
        let spelled = candidate(None, None, 0.0, 0b1);
        let otherwise = Candidate { spelled: 0, ..spelled };
        near(fusion.parts(&spelled, &Scores::default(), &query).names, 1.0);
        near(fusion.parts(&otherwise, &Scores::default(), &query).names, 0.5);
    }

    #[test]
    fn what_points_away_from_the_query_adds_nothing() {
        let fusion = Fusion::Convex { vector_share: 1.0, spread_min: 0.0 };
        let away = candidate(None, Some(1), -0.3, 0);
        near(fusion.parts(&away, &Scores::default().with(&[away]), &weights(1.0, &[])).score(), 0.0);
    }
}
