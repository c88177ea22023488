//! BM25 as the textbook has it, over a plain list of live chunks.

use std::collections::{BTreeMap, HashMap};

use loom_index::Selection;
use loom_index::text::{LexicalHit, LexicalIndex, analyze, analyze_query};
use loom_storage::{ChunkId, VersionId};
use tantivy::fieldnorm::FieldNormReader;

use crate::corpus::Version;

/// The live versions.
#[derive(Default)]
pub struct Model {
    pub live: BTreeMap<VersionId, Version>,
}

/// The live chunks with their terms counted.
pub struct Counted {
    chunks: Vec<(ChunkId, HashMap<Vec<u8>, f64>, u32)>,
}

impl Model {
    pub fn count(&self) -> Counted {
        let chunks = self.live.values().flat_map(|version| &version.chunks).map(|(id, context, text)| {
            let mut counts = HashMap::new();
            let mut words = 0;
            for part in [context, text] {
                words += analyze(part, |term, _| *counts.entry(term.to_vec()).or_insert(0.0) += 1.0);
            }
            (*id, counts, words)
        });
        Counted { chunks: chunks.collect() }
    }
}

impl Counted {
    /// Every live and selected chunk that holds a term of `query`, with its score, best first.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn ranked(&self, query: &str, selection: Option<&Selection>) -> Vec<(ChunkId, f64)> {
        let total = self.chunks.len() as f64;
        let average = self.chunks.iter().map(|chunk| f64::from(chunk.2)).sum::<f64>().max(1.0) / total;
        let mut terms: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
        analyze_query(query, |term, kind| {
            if let Some(share) = kind.query_weight() {
                let holders = self.chunks.iter().filter(|chunk| chunk.1.contains_key(term)).count() as f64;
                let weight = f64::from(share) * (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln();
                let known = terms.entry(term.to_vec()).or_insert(weight);
                *known = known.max(weight);
            }
        });
        let mut ranked = Vec::new();
        for (id, counts, words) in &self.chunks {
            let length = f64::from(FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(*words)));
            let norm = 1.1 * (0.35 + 0.65 * length / average);
            let worth =
                |(term, idf): (&Vec<u8>, &f64)| counts.get(term).map(|count| idf * count * 2.1 / (count + norm));
            let score: f64 = terms.iter().filter_map(worth).sum();
            if score > 0.0 && selection.is_none_or(|selection| selection.contains(*id)) {
                ranked.push((*id, score));
            }
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// Searches `index` and compares with the model; returns the hits.
    pub fn check(&self, index: &LexicalIndex, query: &str, k: usize, selection: Option<&Selection>) -> Vec<LexicalHit> {
        let hits = index.search(query, k, selection).expect("a search works");
        let ranked = self.ranked(query, selection);
        let scores: HashMap<ChunkId, f64> = ranked.iter().copied().collect();
        assert_eq!(hits.len(), ranked.len().min(k), "{query}: {hits:?} {ranked:?}");
        for (hit, (_, expected)) in hits.iter().zip(&ranked) {
            let own = scores.get(&hit.chunk).unwrap_or_else(|| panic!("{query}: {hit:?} must not be found"));
            for score in [f64::from(hit.score), *own] {
                assert!((score - expected).abs() <= 1e-5 * expected, "{query}: {hit:?}, the model says {expected}");
            }
        }
        for pair in hits.windows(2) {
            let ordered = pair[0].score > pair[1].score
                || (pair[0].score.to_bits() == pair[1].score.to_bits() && pair[0].chunk < pair[1].chunk);
            assert!(ordered, "{query}: {pair:?}");
        }
        hits
    }
}
