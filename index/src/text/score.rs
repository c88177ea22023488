//! BM25, and the best hits so far.
//!
//! Scores are added up as whole numbers: the sum of a chunk's contributions is then the same in whatever order its
//! terms are met, so that a projection that followed the log and one rebuilt from scratch agree to the last bit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use loom_storage::ChunkId;
use tantivy::fieldnorm::FieldNormReader;

/// Chosen on the odd queries of the thirteen collections of `docs/quality.md`.
const K1: f32 = 1.1;
const B: f32 = 0.65;

/// A score in units of 2^-32.
pub(super) type Points = u64;
const POINTS_PER_ONE: f64 = 4_294_967_296.0;

/// A length in words as one byte, exact to 40 words and within 6% beyond (tantivy's quantisation).
pub(super) fn norm_of(words: u64) -> u8 {
    FieldNormReader::fieldnorm_to_id(u32::try_from(words).unwrap_or(u32::MAX))
}

/// How many chunks there are and how long they are, and from it what a term's occurrences are worth.
pub(super) struct Similarity {
    chunks: u64,
    /// What stands beside the term frequency in BM25's denominator, by length.
    norms: [f32; 256],
}

impl Similarity {
    /// For `chunks` chunks of together `words` words.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "seven digits are enough")]
    pub(super) fn new(chunks: u64, words: u64) -> Self {
        let average = (words.max(1) as f64 / chunks.max(1) as f64) as f32;
        let mut norms = [0.0; 256];
        for (id, norm) in (0..=u8::MAX).zip(&mut norms) {
            *norm = K1 * (1.0 - B + B * FieldNormReader::id_to_fieldnorm(id) as f32 / average);
        }
        Self { chunks, norms }
    }

    /// The weight of a term that `holders` chunks hold.
    #[expect(clippy::cast_precision_loss, reason = "counts of chunks are far below 2^52")]
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm fits an f32")]
    pub(super) fn weight(&self, holders: u64) -> f32 {
        let holders = holders.min(self.chunks) as f64;
        let rarity = (self.chunks as f64 - holders + 0.5) / (holders + 0.5);
        rarity.ln_1p() as f32 * (1.0 + K1)
    }

    /// What `count` occurrences of a term of `weight` are worth in a chunk of length `norm`; at least 1.
    #[expect(clippy::cast_precision_loss, reason = "the score is flat where an f32 cannot tell counts apart")]
    pub(super) fn points(&self, weight: f32, norm: u8, count: u32) -> Points {
        let count = count as f32;
        points_of(weight * (count / (count + self.norms[usize::from(norm)]))).max(1)
    }

    /// What no number of occurrences of a term of `weight` exceeds.
    pub(super) fn points_max(weight: f32) -> Points {
        points_of(weight) + 1
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "weights are positive and below 2^7")]
fn points_of(score: f32) -> Points {
    (f64::from(score) * POINTS_PER_ONE) as Points
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "an f32 is what callers get")]
fn score_of(points: Points) -> f32 {
    (points as f64 / POINTS_PER_ONE) as f32
}

/// The fewest points that may be rounded to `score` or more.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scores are positive and bounded")]
fn reachable(score: f32) -> Points {
    /// Two units in the last place of an f32: rounding to it never lifts a score further than that.
    const SLACK: f64 = 1.0 - 1.0 / 4_194_304.0;
    (f64::from(score) * POINTS_PER_ONE * SLACK) as Points
}

/// A chunk that a query found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LexicalHit {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its BM25 score: positive, and comparable only within one query.
    pub score: f32,
}

/// The best `k` hits so far: the higher score first, among equals the lower chunk id.
pub(super) struct Best {
    k: usize,
    /// The worst on top. The bits of a positive float order like the float.
    heap: BinaryHeap<Reverse<(u32, Reverse<ChunkId>)>>,
    threshold: Points,
}

impl Best {
    /// None so far; those below `score_min` need not be offered.
    pub(super) fn new(k: usize, score_min: f32) -> Self {
        Self { k, heap: BinaryHeap::new(), threshold: reachable(score_min) }
    }

    /// A bound below which no hit can enter any more. A hit at or above it may.
    pub(super) fn threshold(&self) -> Points {
        self.threshold
    }

    pub(super) fn offer(&mut self, chunk: ChunkId, points: Points) {
        let entry = Reverse((score_of(points).to_bits(), Reverse(chunk)));
        if self.heap.len() < self.k {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        } else {
            return;
        }
        if self.heap.len() == self.k
            && let Some(Reverse((worst, _))) = self.heap.peek()
        {
            self.threshold = self.threshold.max(reachable(f32::from_bits(*worst)));
        }
    }

    pub(super) fn into_hits(self) -> Vec<LexicalHit> {
        // Ascending by `Reverse`: the best first.
        let entries = self.heap.into_sorted_vec();
        entries
            .into_iter()
            .map(|Reverse((bits, Reverse(chunk)))| LexicalHit { chunk, score: f32::from_bits(bits) })
            .collect()
    }
}
