//! From a query's text to the best chunks.

use std::collections::HashMap;

use loom_storage::ChunkId;
use tantivy::Term;
use tantivy::postings::TermInfo;

use super::analyze::analyze_query;
use super::cursor::Cursor;
use super::error::Failure;
use super::evaluate::{Posted, Window, dense, sparse};
use super::lexical::LexicalIndex;
use super::score::{Best, LexicalHit, Similarity};
use super::segment::Segment;
use crate::{Error, Selection};

/// How many different terms of a query count, from its beginning; each is looked up in every segment.
pub const QUERY_TERMS_MAX: usize = 1024;
/// A selection of so many chunks is always gone through chunk by chunk.
const SMALL_SELECTION: usize = 256;
/// A seek to a chunk takes about as long as reading so many postings.
const SEEK_COST: u64 = 8;

/// How common the words of a query are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordStatistics {
    /// Live chunks.
    chunks: u64,
    /// Their length together, in words.
    words: u64,
    /// How many of them hold each word.
    holders: HashMap<Box<[u8]>, u64>,
}

impl WordStatistics {
    /// Adds those of another namespace for the same query.
    pub fn add(&mut self, other: Self) {
        self.chunks += other.chunks;
        self.words += other.words;
        for (word, holders) in other.holders {
            *self.holders.entry(word).or_default() += holders;
        }
    }
}

/// A term of a query.
struct QueryTerm {
    text: Box<[u8]>,
    /// Where each segment has it.
    found: Vec<Option<TermInfo>>,
    weight: f32,
    holders: u64,
}

impl LexicalIndex {
    /// How common the words of a query are among the live chunks.
    pub fn word_statistics(&self, query: &str) -> Result<WordStatistics, Error> {
        let mut statistics =
            WordStatistics { chunks: self.live_chunks(), words: self.live_words(), holders: HashMap::new() };
        for (text, _) in query_terms(query) {
            let (holders, _) = self.holders(&text)?;
            statistics.holders.insert(text, holders);
        }
        Ok(statistics)
    }

    /// As [`search_among`](Self::search_among), by the statistics of this index.
    pub fn search(&self, query: &str, k: usize, selection: Option<&Selection>) -> Result<Vec<LexicalHit>, Error> {
        self.search_among(query, None, k, selection)
    }

    /// The best `k` chunks for `query`, best first, equals by chunk id.
    ///
    /// The query is text: its terms are those that [`analyze_query`](super::analyze_query) finds, any of them suffices, and one
    /// without terms finds nothing. Only chunks in `selection` are considered, or all without one; chunks of removed
    /// versions never are. Scores depend on the live chunks of this index, or on `statistics` of several, and on nothing
    /// else, the selection included.
    pub fn search_among(
        &self,
        query: &str,
        statistics: Option<&WordStatistics>,
        k: usize,
        selection: Option<&Selection>,
    ) -> Result<Vec<LexicalHit>, Error> {
        if k == 0 || selection.is_some_and(Selection::is_empty) {
            return Ok(Vec::new());
        }
        let (chunks, words) =
            statistics.map_or_else(|| (self.live_chunks(), self.live_words()), |all| (all.chunks, all.words));
        let similarity = Similarity::new(chunks, words);
        let terms = self.weigh(query_terms(query), statistics, &similarity)?;
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let mut best = Best::new(k);
        self.search_memory(&terms, &similarity, selection, &mut best);
        self.search_segments(&terms, &similarity, selection, &mut best)?;
        Ok(best.into_hits())
    }

    /// The terms that some live chunk holds, and what they are worth.
    fn weigh(
        &self,
        texts: Vec<(Box<[u8]>, f32)>,
        statistics: Option<&WordStatistics>,
        similarity: &Similarity,
    ) -> Result<Vec<QueryTerm>, Failure> {
        let mut terms = Vec::with_capacity(texts.len());
        for (text, share) in texts {
            let (holders, found) = self.holders(&text)?;
            if holders > 0 {
                // A word written since the statistics were taken is in none of them.
                let everywhere = statistics.and_then(|all| all.holders.get(&text)).copied().unwrap_or(0).max(holders);
                terms.push(QueryTerm { weight: share * similarity.weight(everywhere), text, found, holders });
            }
        }
        Ok(terms)
    }

    /// How many live chunks hold a term, and where each segment has it.
    fn holders(&self, text: &[u8]) -> Result<(u64, Vec<Option<TermInfo>>), Failure> {
        let term = Term::from_field_text(self.fields.text, std::str::from_utf8(text).expect("terms are UTF-8"));
        let found = self.base.term(&term)?;
        let holders = self.balance(self.base.holders(&found)?, |part| part.holders(text), |part| part.holders(text));
        Ok((holders, found))
    }

    fn search_memory(
        &self,
        terms: &[QueryTerm],
        similarity: &Similarity,
        selection: Option<&Selection>,
        best: &mut Best,
    ) {
        let weights: Vec<(&[u8], f32)> = terms.iter().map(|term| (&*term.text, term.weight)).collect();
        let is_selected = |chunk| selection.is_none_or(|selection| selection.contains(chunk));
        self.active.search(&weights, similarity, is_selected, best);
        if let Some(frozen) = &self.frozen {
            let accept = |chunk| !self.removed.contains_chunk(chunk) && is_selected(chunk);
            frozen.memtable.search(&weights, similarity, accept, best);
        }
    }

    fn search_segments(
        &self,
        terms: &[QueryTerm],
        similarity: &Similarity,
        selection: Option<&Selection>,
        best: &mut Best,
    ) -> Result<(), Failure> {
        let is_kept = |chunk: ChunkId| self.keeps(chunk);
        let mut window = None;
        for (at, segment) in self.base.segments.iter().enumerate() {
            let mut posted = open_terms(segment, at, terms)?;
            if posted.is_empty() {
                continue;
            }
            match selection {
                Some(selection) if is_small(selection, terms) => {
                    sparse(segment, &mut posted, &segment.selected(selection), similarity, is_kept, best);
                }
                Some(selection) => {
                    let mut selected = selection.cursor();
                    let accept = |chunk| is_kept(chunk) && selected.contains(chunk);
                    dense(segment, posted, similarity, window.get_or_insert_with(Window::new), accept, best);
                }
                None => dense(segment, posted, similarity, window.get_or_insert_with(Window::new), is_kept, best),
            }
        }
        Ok(())
    }
}

impl LexicalIndex {
    /// Whether a chunk on disk was not removed since.
    pub(super) fn keeps(&self, chunk: ChunkId) -> bool {
        !self.removed.contains_chunk(chunk)
            && self.frozen.as_ref().is_none_or(|frozen| !frozen.removed.contains_chunk(chunk))
    }
}

/// Whether seeking each selected chunk costs less than reading the postings.
fn is_small(selection: &Selection, terms: &[QueryTerm]) -> bool {
    let postings: u64 = terms.iter().map(|term| term.holders).sum();
    let seeks = selection.len() as u64 * terms.len() as u64;
    selection.len() <= SMALL_SELECTION || seeks.saturating_mul(SEEK_COST) <= postings
}

/// The postings of the terms that `segment`, the `at`-th, has.
fn open_terms(segment: &Segment, at: usize, terms: &[QueryTerm]) -> Result<Vec<Posted>, Failure> {
    let mut posted = Vec::new();
    for term in terms {
        if let Some(found) = &term.found[at] {
            posted.push(Posted { cursor: Cursor::new(segment.postings(found)?), weight: term.weight });
        }
    }
    Ok(posted)
}

/// The different terms of a query, in order, and what share of its weight each counts.
fn query_terms(query: &str) -> Vec<(Box<[u8]>, f32)> {
    let mut places: HashMap<Box<[u8]>, usize> = HashMap::new();
    let mut terms: Vec<(Box<[u8]>, f32)> = Vec::new();
    analyze_query(query, |term, kind| {
        let Some(share) = kind.query_weight() else { return };
        if let Some(at) = places.get(term) {
            terms[*at].1 = terms[*at].1.max(share);
        } else if terms.len() < QUERY_TERMS_MAX {
            places.insert(term.into(), terms.len());
            terms.push((term.into(), share));
        }
    });
    terms
}
