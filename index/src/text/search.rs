//! From a query's text to the best chunks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use loom_storage::ChunkId;
use tantivy::Term;
use tantivy::postings::TermInfo;

use super::analyze::analyze_query;
use super::base::Base;
use super::cursor::Cursor;
use super::error::Failure;
use super::evaluate::{Posted, Window, best_of};
use super::lexical::LexicalIndex;
use super::score::{Best, LexicalHit, Points, Similarity};
use super::segment::Segment;
use crate::{Error, Selection};

/// How many different terms of a query count, from its beginning; each is looked up in every segment.
pub const QUERY_TERMS_MAX: usize = 1024;

/// The words of a query. A clone is the same ones.
#[derive(Clone, Debug)]
pub struct QueryWords(Arc<[QueryWord]>);

#[derive(Debug)]
struct QueryWord {
    text: Box<[u8]>,
    /// How much it counts, as [`analyze_query`] has it.
    share: f32,
}

/// How common the words of a query are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordStatistics {
    /// Live chunks.
    chunks: u64,
    /// Their length together, in words.
    words: u64,
    /// How many of them hold each word, in the query's order.
    holders: Vec<u64>,
}

impl WordStatistics {
    /// Adds those of another namespace for the same query.
    pub fn add(&mut self, other: &Self) {
        self.chunks += other.chunks;
        self.words += other.words;
        self.holders.resize(self.holders.len().max(other.holders.len()), 0);
        for (sum, holders) in self.holders.iter_mut().zip(&other.holders) {
            *sum += holders;
        }
    }
}

/// The words of a query, looked up once in one index, however often they are then asked for.
#[derive(Clone)]
pub struct Lookup {
    /// The files they were looked up in.
    base: Arc<Base>,
    words: QueryWords,
    /// What the files have of each.
    found: Vec<OnDisk>,
}

/// What the files have of a word.
#[derive(Clone)]
struct OnDisk {
    /// Where each segment has it.
    terms: Vec<Option<TermInfo>>,
    /// How many live chunks hold it.
    holders: u64,
}

/// A word of a query that some live chunk holds.
struct QueryTerm<'l> {
    text: &'l [u8],
    found: &'l [Option<TermInfo>],
    weight: f32,
}

impl LexicalIndex {
    /// Looks up the words of a query. What is found is to be asked for in this index alone, and soon.
    pub fn look_up(&self, words: &QueryWords) -> Result<Lookup, Error> {
        Ok(self.look_up_words(words)?)
    }

    fn look_up_words(&self, words: &QueryWords) -> Result<Lookup, Failure> {
        let mut found = Vec::with_capacity(words.0.len());
        for QueryWord { text, .. } in words.0.iter() {
            let term = Term::from_field_text(self.fields.text, std::str::from_utf8(text).expect("terms are UTF-8"));
            let terms = self.base.term(&term)?;
            found.push(OnDisk { holders: self.base.holders(&terms)?, terms });
        }
        Ok(Lookup { base: Arc::clone(&self.base), words: words.clone(), found })
    }

    /// `lookup`, or another one of its words when the index has other files by now.
    fn current<'l>(&self, lookup: &'l Lookup) -> Result<Cow<'l, Lookup>, Failure> {
        if Arc::ptr_eq(&lookup.base, &self.base) {
            return Ok(Cow::Borrowed(lookup));
        }
        self.look_up_words(&lookup.words).map(Cow::Owned)
    }

    /// How common the words of a query are among the live chunks.
    pub fn word_statistics(&self, lookup: &Lookup) -> Result<WordStatistics, Error> {
        let lookup = self.current(lookup)?;
        let holders = lookup.words.0.iter().zip(&lookup.found).map(|(word, found)| self.holders(word, found)).collect();
        Ok(WordStatistics { chunks: self.live_chunks(), words: self.live_words(), holders })
    }

    /// As [`search_words`](Self::search_words), with the words of `query` and the statistics of this index.
    pub fn search(&self, query: &str, k: usize, selection: Option<&Selection>) -> Result<Vec<LexicalHit>, Error> {
        self.search_words(&self.look_up(&QueryWords::of(query))?, None, k, selection, 0.0)
    }

    /// The best `k` chunks for the words of a query, best first, equals by chunk id.
    ///
    /// A query is text: its words are those that [`analyze_query`](super::analyze_query) finds, any of them suffices, and one
    /// without words finds nothing. Only chunks in `selection` are considered, or all without one; chunks of removed
    /// versions never are. Scores depend on the live chunks of this index, or on `statistics` of several, and on nothing
    /// else, the selection included. Of those whose score is below `score_min`, which need not be found, some may be missing.
    pub fn search_words(
        &self,
        lookup: &Lookup,
        statistics: Option<&WordStatistics>,
        k: usize,
        selection: Option<&Selection>,
        score_min: f32,
    ) -> Result<Vec<LexicalHit>, Error> {
        if k == 0 || selection.is_some_and(Selection::is_empty) {
            return Ok(Vec::new());
        }
        let (chunks, words) =
            statistics.map_or_else(|| (self.live_chunks(), self.live_words()), |all| (all.chunks, all.words));
        let similarity = Similarity::new(chunks, words);
        let lookup = self.current(lookup)?;
        let terms = self.weigh(&lookup, statistics, &similarity);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let mut best = Best::new(k, score_min);
        self.search_memory(&terms, &similarity, selection, &mut best);
        self.search_segments(&terms, &similarity, selection, &mut best)?;
        Ok(best.into_hits())
    }

    /// The words that some live chunk holds, and what they are worth.
    fn weigh<'l>(
        &self,
        lookup: &'l Lookup,
        statistics: Option<&WordStatistics>,
        similarity: &Similarity,
    ) -> Vec<QueryTerm<'l>> {
        let mut terms = Vec::with_capacity(lookup.found.len());
        for (at, (word, found)) in lookup.words.0.iter().zip(&lookup.found).enumerate() {
            let holders = self.holders(word, found);
            if holders > 0 {
                // A word written since the statistics were taken is in none of them.
                let everywhere = statistics.and_then(|all| all.holders.get(at)).copied().unwrap_or(0).max(holders);
                let weight = word.share * similarity.weight(everywhere);
                terms.push(QueryTerm { text: &word.text, found: &found.terms, weight });
            }
        }
        terms
    }

    /// How many live chunks hold a word.
    fn holders(&self, word: &QueryWord, found: &OnDisk) -> u64 {
        self.balance(found.holders, |part| part.holders(&word.text), |part| part.holders(&word.text))
    }

    fn search_memory(
        &self,
        terms: &[QueryTerm<'_>],
        similarity: &Similarity,
        selection: Option<&Selection>,
        best: &mut Best,
    ) {
        let weights: Vec<(&[u8], f32)> = terms.iter().map(|term| (term.text, term.weight)).collect();
        self.active.search(&weights, similarity, selection, |_| true, best);
        if let Some(frozen) = &self.frozen {
            let accept = |chunk| !self.removed.contains_chunk(chunk);
            frozen.memtable.search(&weights, similarity, selection, accept, best);
        }
    }

    fn search_segments(
        &self,
        terms: &[QueryTerm<'_>],
        similarity: &Similarity,
        selection: Option<&Selection>,
        best: &mut Best,
    ) -> Result<(), Failure> {
        let is_kept = |chunk: ChunkId| self.keeps(chunk);
        let mut window = None;
        for (at, segment) in self.base.segments.iter().enumerate() {
            let held = || terms.iter().filter(|term| term.found[at].is_some());
            let worth = held().map(|term| Similarity::points_max(term.weight)).sum::<Points>();
            if worth == 0 || worth < best.threshold() {
                continue;
            }
            let posted = open_terms(segment, at, terms)?;
            let window = window.get_or_insert_with(Window::new);
            match selection {
                Some(selection) => {
                    let mut selected = selection.cursor();
                    let accept = |chunk| is_kept(chunk) && selected.contains(chunk);
                    best_of(segment, posted, &segment.spans(selection), similarity, window, accept, best);
                }
                None => best_of(segment, posted, &[segment.all()], similarity, window, is_kept, best),
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

/// The postings of the terms that `segment`, the `at`-th, has.
fn open_terms(segment: &Segment, at: usize, terms: &[QueryTerm<'_>]) -> Result<Vec<Posted>, Failure> {
    let mut posted = Vec::new();
    for term in terms {
        if let Some(found) = &term.found[at] {
            posted.push(Posted { cursor: Cursor::new(segment.postings(found)?), weight: term.weight });
        }
    }
    Ok(posted)
}

impl QueryWords {
    /// The different words of `query`, in order, up to [`QUERY_TERMS_MAX`].
    pub fn of(query: &str) -> Self {
        let mut places: HashMap<Box<[u8]>, usize> = HashMap::new();
        let mut words: Vec<QueryWord> = Vec::new();
        analyze_query(query, |term, kind| {
            let Some(share) = kind.query_weight() else { return };
            if let Some(at) = places.get(term) {
                words[*at].share = words[*at].share.max(share);
            } else if words.len() < QUERY_TERMS_MAX {
                places.insert(term.into(), words.len());
                words.push(QueryWord { text: term.into(), share });
            }
        });
        Self(words.into())
    }
}
