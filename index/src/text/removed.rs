//! Versions that older parts of the index still hold and that no longer count.

use std::collections::{HashMap, HashSet};

use loom_storage::{ChunkId, VersionId};

use super::analysis::Analysis;
use super::dictionary::Dictionary;

/// What to leave out of the parts below, and what to subtract from their statistics.
#[derive(Default)]
pub(super) struct Removed {
    versions: HashMap<VersionId, RemovedVersion>,
    chunks: HashSet<ChunkId>,
    words: u64,
    /// The terms of removed chunks.
    terms: Dictionary,
    /// How many removed chunks hold each term.
    holders: Vec<u64>,
    bytes: usize,
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
    /// length; `analysis` is of the same chunks as they were added.
    pub(super) fn add(&mut self, version: VersionId, held: impl Iterator<Item = (ChunkId, u64)>, analysis: &Analysis) {
        let mut removed = RemovedVersion { chunks: Vec::new(), words: 0, terms: Vec::new() };
        for (chunk, words) in held {
            removed.chunks.push(chunk);
            removed.words += words;
        }
        let mut numbers = Vec::with_capacity(analysis.terms.len());
        let Self { terms, holders, .. } = self;
        terms.intern_all(&analysis.terms, |number, new| {
            if new {
                holders.push(0);
            }
            numbers.push(number);
        });
        removed.terms.extend(analysis.forward.iter().map(|(term, _)| numbers[*term as usize]));
        for number in &removed.terms {
            self.holders[*number as usize] += 1;
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
        for id in removed.terms {
            self.holders[id as usize] -= 1;
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
        self.terms.number(term).map_or(0, |number| self.holders[number as usize])
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.terms.memory() + self.holders.len() * size_of::<u64>()
    }
}

impl RemovedVersion {
    fn bytes(&self) -> usize {
        OVERHEAD_BYTES + self.chunks.len() * 4 * size_of::<ChunkId>() + self.terms.len() * size_of::<u32>()
    }
}
