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
    /// How many removed chunks hold a term.
    holders: HashMap<Box<[u8]>, u64>,
    bytes: usize,
}

struct RemovedVersion {
    chunks: Vec<ChunkId>,
    words: u64,
    /// Each term once for every chunk that holds it.
    terms: Vec<Box<[u8]>>,
}

/// What a removed version costs beside its terms, and a term beside its bytes: about two map slots each.
const OVERHEAD_BYTES: usize = 100;

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
        let mut distinct: HashSet<Box<[u8]>> = HashSet::new();
        for chunk in texts {
            for text in [chunk.context, chunk.text] {
                analyze(text, |term, _| {
                    if !distinct.contains(term) {
                        distinct.insert(term.into());
                    }
                });
            }
            removed.terms.extend(distinct.drain());
        }
        for term in &removed.terms {
            match self.holders.get_mut(term) {
                Some(count) => *count += 1,
                None => _ = self.holders.insert(term.clone(), 1),
            }
        }
        self.chunks.extend(&removed.chunks);
        self.words += removed.words;
        self.bytes += removed.bytes();
        self.versions.insert(version, removed);
    }

    /// Takes a removal back; returns whether there was one.
    pub(super) fn cancel(&mut self, version: VersionId) -> bool {
        let Some(removed) = self.versions.remove(&version) else { return false };
        self.bytes -= removed.bytes();
        self.words -= removed.words;
        for chunk in &removed.chunks {
            self.chunks.remove(chunk);
        }
        for term in removed.terms {
            if let Some(count) = self.holders.get_mut(&term) {
                *count -= 1;
                if *count == 0 {
                    self.holders.remove(&term);
                }
            }
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
        self.holders.get(term).copied().unwrap_or(0)
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl RemovedVersion {
    fn bytes(&self) -> usize {
        let terms: usize = self.terms.iter().map(|term| term.len() + OVERHEAD_BYTES).sum();
        OVERHEAD_BYTES + self.chunks.len() * 2 * size_of::<ChunkId>() + terms
    }
}
