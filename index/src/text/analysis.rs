//! Chunks as the index counts them, before it is known under which ids: the work of adding that needs no index.

use super::analyze::analyze;
use super::dictionary::Dictionary;
use super::names;

/// The terms of consecutive chunks and how often each chunk holds them.
#[derive(Default)]
pub struct Analysis {
    pub(super) terms: Dictionary,
    /// Term and number of occurrences, chunk after chunk.
    pub(super) forward: Vec<(u32, u32)>,
    pub(super) chunks: Vec<AnalysedChunk>,
}

/// How many terms there is room for at first: those of a few pages.
const TERMS_USUAL: usize = 448;

/// One chunk.
pub(super) struct AnalysedChunk {
    /// Its length.
    pub(super) words: u32,
    /// Where its terms end in `forward`; they start where those of the chunk before end.
    pub(super) forward_end: usize,
}

impl Analysis {
    /// The analysis of chunks, each given as context, text and names.
    pub fn of<'a>(chunks: impl IntoIterator<Item = (&'a str, &'a str, &'a [String])>) -> Self {
        let mut analysis = Self { terms: Dictionary::with_room(TERMS_USUAL), ..Self::default() };
        // Where the term was counted last.
        let mut places: Vec<usize> = Vec::new();
        for (context, text, names) in chunks {
            let Self { terms, forward, .. } = &mut analysis;
            let first = forward.len();
            let mut count = |term: &[u8]| {
                let (number, new) = terms.intern(term);
                if new {
                    places.push(usize::MAX);
                }
                let place = &mut places[number as usize];
                if *place != usize::MAX && *place >= first {
                    forward[*place].1 += 1;
                } else {
                    *place = forward.len();
                    forward.push((number, 1));
                }
            };
            let words = analyze(context, |term, _| count(term)) + analyze(text, |term, _| count(term));
            for name in names {
                for term in names::terms_of(name) {
                    count(term.as_bytes());
                }
            }
            analysis.chunks.push(AnalysedChunk { words, forward_end: analysis.forward.len() });
        }
        analysis
    }

    /// How many chunks it is of.
    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// The terms of the chunk `at` and how often it holds them, by their numbers here.
    pub(super) fn terms_of(&self, at: usize) -> &[(u32, u32)] {
        let start = if at == 0 { 0 } else { self.chunks[at - 1].forward_end };
        &self.forward[start..self.chunks[at].forward_end]
    }
}
