//! Versions that older parts of the index still hold and that no longer count.

use std::collections::{HashMap, HashSet};

use loom_storage::{ChunkId, VersionId};

use super::LexicalChunk;
use super::analyze::analyze;

/// What to leave out of the parts below, and what to subtract from their statistics.
#[derive(Default)]
pub(super) struct Removed {
    versions: HashMap<VersionId, RemovedVersion>,
    chunks: HashSet<ChunkId>,
    words: u64,
    /// The terms of removed chunks, and their places in `holders`.
    terms: HashMap<Box<[u8]>, u32>,
    /// How many removed chunks hold a term.
    holders: Vec<Holders>,
    /// How many texts of chunks were ever read.
    texts: u64,
    bytes: usize,
}

#[derive(Clone, Copy)]
struct Holders {
    count: u64,
    /// The last chunk that was counted, by its number among the texts.
    last: u64,
}

struct RemovedVersion {
    chunks: Vec<ChunkId>,
    words: u64,
    /// Each term once for every chunk that holds it.
    terms: Vec<u32>,
}

/// What a term or a version costs beside its own bytes: about two map slots.
const OVERHEAD_BYTES: usize = 80;

impl Removed {
    /// Removes a version that is not among the removed ones. `held` are its chunks in the parts below, each with its
    /// length; `texts` are the same chunks as they were added.
    pub(super) fn add(
        &mut self,
        version: VersionId,
        held: impl Iterator<Item = (ChunkId, u64)>,
        texts: &[LexicalChunk<'_>],
    ) {
        let mut removed = RemovedVersion { chunks: Vec::new(), words: 0, terms: Vec::new() };
        for (chunk, words) in held {
            removed.chunks.push(chunk);
            removed.words += words;
        }
        for chunk in texts {
            self.texts += 1;
            for text in [chunk.context, chunk.text] {
                analyze(text, |term, _| removed.terms.extend(self.count(term)));
            }
        }
        self.chunks.extend(&removed.chunks);
        self.words += removed.words;
        self.bytes += removed.bytes();
        self.versions.insert(version, removed);
    }

    /// Counts a term of the chunk that is being read; returns its place if it was not counted for this chunk before.
    fn count(&mut self, term: &[u8]) -> Option<u32> {
        let id = self.terms.get(term).copied().unwrap_or_else(|| {
            let id = u32::try_from(self.holders.len()).expect("memory ends before four billion terms");
            self.bytes += term.len() + OVERHEAD_BYTES;
            self.terms.insert(term.into(), id);
            self.holders.push(Holders { count: 0, last: 0 });
            id
        });
        let holders = &mut self.holders[id as usize];
        if holders.last == self.texts {
            return None;
        }
        *holders = Holders { count: holders.count + 1, last: self.texts };
        Some(id)
    }

    /// Takes a removal back; returns whether there was one.
    pub(super) fn cancel(&mut self, version: VersionId) -> bool {
        let Some(removed) = self.versions.remove(&version) else { return false };
        self.bytes -= removed.bytes();
        self.words -= removed.words;
        for chunk in &removed.chunks {
            self.chunks.remove(chunk);
        }
        for id in removed.terms {
            self.holders[id as usize].count -= 1;
        }
        true
    }

    pub(super) fn contains(&self, version: VersionId) -> bool {
        self.versions.contains_key(&version)
    }

    pub(super) fn contains_chunk(&self, chunk: ChunkId) -> bool {
        !self.chunks.is_empty() && self.chunks.contains(&chunk)
    }

    pub(super) fn versions(&self) -> impl Iterator<Item = VersionId> + '_ {
        self.versions.keys().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// How many chunks are removed.
    pub(super) fn chunks(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// How long they are together, in words.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    /// How many of them hold `term`.
    pub(super) fn holders(&self, term: &[u8]) -> u64 {
        self.terms.get(term).map_or(0, |id| self.holders[*id as usize].count)
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl RemovedVersion {
    fn bytes(&self) -> usize {
        OVERHEAD_BYTES + self.chunks.len() * 4 * size_of::<ChunkId>() + self.terms.len() * size_of::<u32>()
    }
}
