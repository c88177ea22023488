//! Saying why: what each leg made of a hit, and what a search weighed.

use std::collections::HashSet;

use loom_index::Candidate;
use loom_index::fuse::Parts;
use loom_index::text::analyze;
use schemars::JsonSchema;
use serde::Serialize;

/// Why a hit stands where it stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchExplanation")]
pub struct Explanation {
    /// The lexical leg.
    pub lexical: LegPart,
    /// The vector leg.
    pub vector: LegPart,
    /// The exact-key leg.
    pub keys: LegPart,
    /// The words of the query that the passage, its title or its headings hold in some form.
    pub matched_terms: Vec<String>,
    /// Whether it was moved below hits that are close to the query, since its section is noise.
    pub demoted: bool,
    /// The reranker's score, where one ordered the hits.
    pub rerank_score: Option<f64>,
    /// The hits of its section that it stands for: their chunk indexes, best first.
    pub folded: Vec<u32>,
}

/// What one leg made of a hit.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "SearchLegPart")]
pub struct LegPart {
    /// Its rank in the leg's list, from 1; null when the leg did not return it.
    pub rank: Option<u32>,
    /// The leg's own score: BM25, a cosine, or the number of names; null when there is none.
    pub score: Option<f64>,
    /// What the leg adds to the fused score; 0 in the other modes' legs.
    pub part: f64,
}

/// What a search weighed.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "SearchReport")]
pub struct SearchReport {
    /// How the legs' lists became one: `convex`, `reciprocal_rank`, or the one leg that was asked.
    pub fusion: String,
    /// The vector leg's share of the best possible score of a convex fusion, in this search; null otherwise.
    pub vector_share: Option<f64>,
    /// The exact names that were looked up.
    pub keys: Vec<String>,
    /// Chunks that passed the filters, in all namespaces searched.
    pub selected: u64,
    /// Chunks that the lexical leg returned.
    pub lexical_candidates: u64,
    /// Chunks that the vector leg returned.
    pub vector_candidates: u64,
    /// Chunks that the exact-key leg returned.
    pub keys_candidates: u64,
    /// Candidates that were read and ranked as hits.
    pub read: u64,
    /// Whether namespaces that are public were searched too.
    pub public_pass: bool,
    /// Milliseconds by stage.
    pub timings_ms: Vec<StageTime>,
}

/// The time of one stage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchStageTime")]
pub struct StageTime {
    /// The stage.
    pub stage: String,
    /// Milliseconds.
    pub ms: f64,
}

impl Explanation {
    /// What the legs say of a candidate.
    pub(super) fn of(candidate: &Candidate, parts: &Parts) -> Self {
        let named = candidate.names.count_ones();
        Self {
            lexical: LegPart {
                rank: candidate.lexical_rank,
                score: (candidate.lexical_score > 0.0).then(|| f64::from(candidate.lexical_score)),
                part: parts.lexical,
            },
            vector: LegPart {
                rank: candidate.vector_rank,
                score: candidate.similarity.map(f64::from),
                part: parts.vector,
            },
            keys: LegPart {
                rank: candidate.names_rank,
                score: (named > 0).then(|| f64::from(named)),
                part: parts.names,
            },
            matched_terms: Vec::new(),
            demoted: false,
            rerank_score: None,
            folded: Vec::new(),
        }
    }
}

/// The words of `query` of which a term is among those of the texts.
pub fn matched_terms(query: &str, texts: &[&str]) -> Vec<String> {
    let mut held: HashSet<Vec<u8>> = HashSet::new();
    for text in texts {
        analyze(text, |term, _| {
            held.insert(term.to_vec());
        });
    }
    let mut matched = Vec::new();
    for word in query.split_whitespace() {
        let mut is_held = false;
        analyze(word, |term, _| is_held |= held.contains(term));
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        if is_held && !matched.contains(&word) {
            matched.push(word);
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::matched_terms;

    #[test]
    fn matched_terms_are_the_querys_words() {
        let texts = ["Restarting pumps", "The pump was restarted; see orders_daily."];
        assert_eq!(matched_terms("how to restart the pumps?", &texts), ["restart", "pumps"]);
        assert_eq!(matched_terms("orders_daily, orders_daily valve", &texts), ["orders_daily"]);
        assert!(matched_terms("", &texts).is_empty());
    }
}
