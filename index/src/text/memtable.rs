//! The newest chunks: an inverted index in memory.

use std::collections::HashMap;
use std::sync::Arc;

use loom_storage::{ChunkId, VersionId};

use super::LexicalChunk;
use super::analyze::analyze;
use super::score::{Best, Similarity, norm_of};

/// An inverted index that only grows; removed chunks stay as dead entries until it is written out.
#[derive(Default)]
pub(super) struct Memtable {
    ids: HashMap<Arc<[u8]>, u32>,
    terms: Vec<Term>,
    docs: Vec<Doc>,
    /// The terms of each document and how often it holds them, one document after the other.
    forward: Vec<(u32, u32)>,
    /// The live versions and where their documents are.
    versions: HashMap<VersionId, (u32, u32)>,
    live_chunks: u64,
    live_words: u64,
    bytes: usize,
}

struct Term {
    text: Arc<[u8]>,
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
    /// Adds the chunks of a version that is not among the live ones.
    pub(super) fn add(&mut self, version: VersionId, chunks: &[LexicalChunk<'_>]) {
        let first = self.next_doc();
        for chunk in chunks {
            self.add_chunk(version, chunk);
        }
        if !chunks.is_empty() {
            self.versions.insert(version, (first, self.next_doc()));
        }
    }

    fn next_doc(&self) -> u32 {
        u32::try_from(self.docs.len()).expect("a memtable is written out long before four billion chunks")
    }

    fn add_chunk(&mut self, version: VersionId, chunk: &LexicalChunk<'_>) {
        let doc = self.next_doc();
        let first = self.forward.len();
        let mut words = 0;
        for text in [chunk.context, chunk.text] {
            words += analyze(text, |term, _| self.count(doc, term));
        }
        for (id, count) in &mut self.forward[first..] {
            let term = &mut self.terms[*id as usize];
            *count = term.postings.last().map_or(0, |posting| posting.1);
            term.live += 1;
        }
        let forward_end = self.forward.len();
        self.bytes += size_of::<Doc>() + (forward_end - first) * 2 * size_of::<(u32, u32)>();
        self.live_chunks += 1;
        self.live_words += u64::from(words);
        self.docs.push(Doc { chunk: chunk.id, version, words, norm: norm_of(words.into()), live: true, forward_end });
    }

    /// Counts one occurrence of `text` in the document that is being added.
    fn count(&mut self, doc: u32, text: &[u8]) {
        let id = self.ids.get(text).copied().unwrap_or_else(|| self.intern(text));
        let postings = &mut self.terms[id as usize].postings;
        match postings.last_mut() {
            Some((last, count)) if *last == doc => *count += 1,
            _ => {
                postings.push((doc, 1));
                self.forward.push((id, 0));
            }
        }
    }

    fn intern(&mut self, text: &[u8]) -> u32 {
        /// What a term costs beside its bytes: its map slot, its list and the reference counts.
        const OVERHEAD_BYTES: usize = 120;
        let id = u32::try_from(self.terms.len()).expect("memory ends before four billion terms");
        let text: Arc<[u8]> = text.into();
        self.bytes += text.len() + OVERHEAD_BYTES;
        self.ids.insert(Arc::clone(&text), id);
        self.terms.push(Term { text, postings: Vec::new(), live: 0 });
        id
    }

    /// Removes a live version; returns whether it was there.
    pub(super) fn remove(&mut self, version: VersionId) -> bool {
        let Some((first, end)) = self.versions.remove(&version) else { return false };
        for doc in first..end {
            for at in self.forward_range(doc) {
                self.terms[self.forward[at].0 as usize].live -= 1;
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

    /// Every live chunk, with the number under which [`terms_of`](Self::terms_of) knows it.
    pub(super) fn live_docs(&self) -> impl Iterator<Item = (u32, &Doc)> {
        (0..).zip(&self.docs).filter(|(_, doc)| doc.live)
    }

    /// The terms of a chunk and how often it holds them. Nothing for a number that is none of its chunks.
    pub(super) fn terms_of(&self, doc: u32) -> impl Iterator<Item = (&[u8], u32)> {
        let range = if (doc as usize) < self.docs.len() { self.forward_range(doc) } else { 0..0 };
        self.forward[range].iter().map(|(id, count)| (&*self.terms[*id as usize].text, *count))
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
        self.bytes
    }

    /// How many live chunks hold `term`.
    pub(super) fn holders(&self, term: &[u8]) -> u64 {
        self.ids.get(term).map_or(0, |id| u64::from(self.terms[*id as usize].live))
    }

    /// Offers every live chunk that holds one of the terms and that `accept` lets pass.
    pub(super) fn search(
        &self,
        terms: &[(&[u8], f32)],
        similarity: &Similarity,
        mut accept: impl FnMut(ChunkId) -> bool,
        best: &mut Best,
    ) {
        let mut points = vec![0; self.docs.len()];
        for (term, weight) in terms {
            let Some(id) = self.ids.get(*term) else { continue };
            for (doc, count) in &self.terms[*id as usize].postings {
                let doc = *doc as usize;
                points[doc] += similarity.points(*weight, self.docs[doc].norm, *count);
            }
        }
        for (doc, points) in self.docs.iter().zip(points) {
            if points > 0 && doc.live && points >= best.threshold() && accept(doc.chunk) {
                best.offer(doc.chunk, points);
            }
        }
    }
}
