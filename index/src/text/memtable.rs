//! The newest chunks: an inverted index in memory.

use std::collections::HashMap;

use loom_storage::{ChunkId, VersionId};

use super::analysis::Analysis;
use super::dictionary::Dictionary;
use super::score::{Best, Similarity, norm_of};
use crate::Selection;

/// An inverted index that only grows; removed chunks stay as dead entries until it is written out.
#[derive(Default)]
pub(super) struct Memtable {
    terms: Dictionary,
    /// Of each term.
    holders: Vec<Holders>,
    docs: Vec<Doc>,
    /// Whether a chunk came before one with a smaller id, as restored ones do.
    disordered: bool,
    /// The terms of each document and how often it holds them, one document after the other.
    forward: Vec<(u32, u32)>,
    /// The live versions and where their documents are.
    versions: HashMap<VersionId, (u32, u32)>,
    live_chunks: u64,
    live_words: u64,
}

/// The documents that hold a term.
#[derive(Default)]
struct Holders {
    /// Document and number of occurrences, ascending by document.
    postings: Vec<(u32, u32)>,
    /// How many of the documents live.
    live: u32,
}

/// One chunk.
pub(super) struct Doc {
    pub(super) chunk: ChunkId,
    pub(super) version: VersionId,
    pub(super) words: u32,
    norm: u8,
    live: bool,
    /// Where its terms end in `forward`; they start where those of the document before end.
    forward_end: usize,
}

impl Memtable {
    /// Adds the chunks of a version that is not among the live ones: those that were analysed, under the ids given.
    pub(super) fn add(&mut self, version: VersionId, chunks: impl Iterator<Item = ChunkId>, analysis: &Analysis) {
        let first = self.next_doc();
        let mut numbers = Vec::with_capacity(analysis.terms.len());
        let Self { terms, holders, .. } = self;
        terms.intern_all(&analysis.terms, |number, new| {
            if new {
                holders.push(Holders::default());
            }
            numbers.push(number);
        });
        self.forward.reserve(analysis.forward.len());
        for (at, chunk) in (0..analysis.len()).zip(chunks) {
            self.add_chunk(version, chunk, analysis, at, &numbers);
        }
        let end = self.next_doc();
        if end > first {
            self.versions.insert(version, (first, end));
        }
    }

    fn next_doc(&self) -> u32 {
        u32::try_from(self.docs.len()).expect("a memtable is written out long before four billion chunks")
    }

    fn add_chunk(&mut self, version: VersionId, chunk: ChunkId, analysis: &Analysis, at: usize, numbers: &[u32]) {
        let doc = self.next_doc();
        for (term, count) in analysis.terms_of(at) {
            let number = numbers[*term as usize];
            let holders = &mut self.holders[number as usize];
            holders.postings.push((doc, *count));
            holders.live += 1;
            self.forward.push((number, *count));
        }
        let words = analysis.chunks[at].words;
        self.live_chunks += 1;
        self.live_words += u64::from(words);
        let (norm, forward_end) = (norm_of(words.into()), self.forward.len());
        self.disordered |= self.docs.last().is_some_and(|last| last.chunk >= chunk);
        self.docs.push(Doc { chunk, version, words, norm, live: true, forward_end });
    }

    /// Removes a live version; returns whether it was there.
    pub(super) fn remove(&mut self, version: VersionId) -> bool {
        let Some((first, end)) = self.versions.remove(&version) else { return false };
        for doc in first..end {
            for at in self.forward_range(doc) {
                self.holders[self.forward[at].0 as usize].live -= 1;
            }
            let doc = &mut self.docs[doc as usize];
            doc.live = false;
            self.live_chunks -= 1;
            self.live_words -= u64::from(doc.words);
        }
        true
    }

    fn forward_range(&self, doc: u32) -> std::ops::Range<usize> {
        let doc = doc as usize;
        let start = if doc == 0 { 0 } else { self.docs[doc - 1].forward_end };
        start..self.docs[doc].forward_end
    }

    pub(super) fn contains(&self, version: VersionId) -> bool {
        self.versions.contains_key(&version)
    }

    /// The live chunks of a version, each with its length in words.
    pub(super) fn chunks_of(&self, version: VersionId) -> impl Iterator<Item = (ChunkId, u64)> + '_ {
        let (first, end) = self.versions.get(&version).copied().unwrap_or((0, 0));
        self.docs[first as usize..end as usize].iter().map(|doc| (doc.chunk, u64::from(doc.words)))
    }

    /// Every live chunk, in the order of arrival.
    pub(super) fn live_docs(&self) -> impl Iterator<Item = &Doc> {
        self.docs.iter().filter(|doc| doc.live)
    }

    /// How many occurrences of terms the live chunks have.
    pub(super) fn live_occurrences(&self) -> u64 {
        let live = (0..).zip(&self.docs).filter(|(_, doc)| doc.live);
        live.flat_map(|(doc, _)| &self.forward[self.forward_range(doc)]).map(|(_, count)| u64::from(*count)).sum()
    }

    /// Calls `each` with every term that a live chunk holds, ascending: the term, how many hold it, and which, each by
    /// its place among the live ones, ascending, and how often. Ends with the first error.
    pub(super) fn each_live_term<E>(
        &self,
        mut each: impl FnMut(&[u8], u32, &mut dyn Iterator<Item = (u32, u32)>) -> Result<(), E>,
    ) -> Result<(), E> {
        // The place of each chunk among the live ones.
        let mut places = Vec::with_capacity(self.docs.len());
        let mut live = 0;
        for doc in &self.docs {
            places.push(doc.live.then_some(live));
            live += u32::from(doc.live);
        }
        let mut terms: Vec<(&[u8], &Holders)> = (0..)
            .zip(&self.holders)
            .filter(|(_, holders)| holders.live > 0)
            .map(|(number, holders)| (self.terms.term(number), holders))
            .collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        for (term, holders) in terms {
            let postings = holders.postings.iter();
            let mut postings = postings.filter_map(|(doc, count)| Some((places[*doc as usize]?, *count)));
            each(term, holders.live, &mut postings)?;
        }
        Ok(())
    }

    pub(super) fn live_chunks(&self) -> u64 {
        self.live_chunks
    }

    pub(super) fn live_words(&self) -> u64 {
        self.live_words
    }

    /// How many chunks take memory, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.docs.len()
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        // Vectors that double hold up to twice what is in them; three quarters of that on average.
        const POSTINGS_BYTES: usize = size_of::<(u32, u32)>() * 3 / 2;
        self.terms.memory()
            + self.holders.len() * size_of::<Holders>()
            + self.docs.len() * size_of::<Doc>()
            + self.forward.len() * (size_of::<(u32, u32)>() + POSTINGS_BYTES)
    }

    /// How many live chunks hold `term`.
    pub(super) fn holders(&self, term: &[u8]) -> u64 {
        self.terms.number(term).map_or(0, |number| u64::from(self.holders[number as usize].live))
    }

    /// Calls `each` with every live chunk that holds `term`.
    pub(super) fn each_holder(&self, term: &[u8], mut each: impl FnMut(ChunkId)) {
        let Some(number) = self.terms.number(term) else { return };
        for (doc, _) in &self.holders[number as usize].postings {
            let doc = &self.docs[*doc as usize];
            if doc.live {
                each(doc.chunk);
            }
        }
    }

    /// Offers every live chunk in `selection` that holds one of the terms and that `accept` lets pass.
    pub(super) fn search(
        &self,
        terms: &[(&[u8], f32)],
        similarity: &Similarity,
        selection: Option<&Selection>,
        accept: impl Fn(ChunkId) -> bool,
        best: &mut Best,
    ) {
        let mut offer = |doc: &Doc, points| {
            if points > 0 && doc.live && points >= best.threshold() && accept(doc.chunk) {
                best.offer(doc.chunk, points);
            }
        };
        let holders = terms.iter().filter_map(|(term, weight)| {
            self.terms.number(term).map(|number| (self.holders[number as usize].postings.as_slice(), *weight))
        });
        if let Some(listed) = selection.and_then(|selection| self.listed(selection)) {
            let mut points = vec![0; listed.len()];
            for (mut postings, weight) in holders {
                for (doc, points) in listed.iter().zip(&mut points) {
                    postings = &postings[postings.partition_point(|(other, _)| other < doc)..];
                    if let Some((_, count)) = postings.first().filter(|(other, _)| other == doc) {
                        *points += similarity.points(weight, self.docs[*doc as usize].norm, *count);
                    }
                }
            }
            listed.iter().zip(points).for_each(|(doc, points)| offer(&self.docs[*doc as usize], points));
            return;
        }
        let mut points = vec![0; self.docs.len()];
        for (postings, weight) in holders {
            for (doc, count) in postings {
                let doc = *doc as usize;
                points[doc] += similarity.points(weight, self.docs[doc].norm, *count);
            }
        }
        let mut selected = selection.map(Selection::cursor);
        for (doc, points) in self.docs.iter().zip(points) {
            if points > 0 && selected.as_mut().is_none_or(|selected| selected.contains(doc.chunk)) {
                offer(doc, points);
            }
        }
    }

    /// The documents of the chunks in `selection`, ascending, where they are so few that looking for them costs less than
    /// going through all.
    fn listed(&self, selection: &Selection) -> Option<Vec<u32>> {
        /// A document is looked for in about the time of going through so many.
        const LOOKUP_COST: usize = 32;
        if self.disordered || selection.len().saturating_mul(LOOKUP_COST) > self.docs.len() {
            return None;
        }
        let mut listed = Vec::with_capacity(selection.len());
        let mut at = 0;
        for range in selection.ranges() {
            at += self.docs[at..].partition_point(|doc| doc.chunk < range.first);
            let count = self.docs[at..].partition_point(|doc| doc.chunk.0 < range.end());
            listed.extend((at..at + count).filter_map(|doc| u32::try_from(doc).ok()));
            at += count;
        }
        Some(listed)
    }
}
