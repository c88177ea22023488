//! From a query's text to the best chunks.

use std::collections::HashSet;

use loom_storage::ChunkId;
use tantivy::Term;
use tantivy::postings::TermInfo;

use super::analyze::{TermKind, analyze};
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

/// A term of a query.
struct QueryTerm {
    text: Box<[u8]>,
    /// Where each segment has it.
    found: Vec<Option<TermInfo>>,
    weight: f32,
    holders: u64,
}

impl LexicalIndex {
    /// The best `k` chunks for `query`, best first, equals by chunk id.
    ///
    /// The query is text: its terms are those that [`analyze`](super::analyze()) finds, any of them suffices, and one
    /// without terms finds nothing. Only chunks in `selection` are considered, or all without one; chunks of removed
    /// versions never are. Scores depend on the live chunks of this index and on nothing else, the selection included.
    pub fn search(&self, query: &str, k: usize, selection: Option<&Selection>) -> Result<Vec<LexicalHit>, Error> {
        if k == 0 || selection.is_some_and(Selection::is_empty) {
            return Ok(Vec::new());
        }
        let similarity = Similarity::new(self.live_chunks(), self.live_words());
        let terms = self.weigh(query_terms(query), &similarity)?;
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let mut best = Best::new(k);
        self.search_memory(&terms, &similarity, selection, &mut best);
        self.search_segments(&terms, &similarity, selection, &mut best)?;
        Ok(best.into_hits())
    }

    /// The terms that some live chunk holds, and what they are worth.
    fn weigh(&self, texts: Vec<Box<[u8]>>, similarity: &Similarity) -> Result<Vec<QueryTerm>, Failure> {
        let mut terms = Vec::with_capacity(texts.len());
        for text in texts {
            let term = Term::from_field_text(self.fields.text, std::str::from_utf8(&text).expect("terms are UTF-8"));
            let found = self.base.term(&term)?;
            let holders =
                self.balance(self.base.holders(&found)?, |part| part.holders(&text), |part| part.holders(&text));
            if holders > 0 {
                terms.push(QueryTerm { weight: similarity.weight(holders), text, found, holders });
            }
        }
        Ok(terms)
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
        let is_kept = |chunk: ChunkId| {
            !self.removed.contains_chunk(chunk)
                && self.frozen.as_ref().is_none_or(|frozen| !frozen.removed.contains_chunk(chunk))
        };
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

/// The different terms of a query, in order.
fn query_terms(query: &str) -> Vec<Box<[u8]>> {
    let mut seen: HashSet<Box<[u8]>> = HashSet::new();
    let mut terms = Vec::new();
    analyze(query, |term, kind| {
        if kind == TermKind::Word && terms.len() < QUERY_TERMS_MAX && !seen.contains(term) {
            seen.insert(term.into());
            terms.push(term.into());
        }
    });
    terms
}
