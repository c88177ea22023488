//! A position in the postings of one term of one segment.

use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocId, TERMINATED};

/// Moves forward through the documents that hold a term.
pub(super) struct Cursor {
    block: BlockSegmentPostings,
    /// The place in the block; behind its last document once the postings are at their end.
    at: usize,
}

impl Cursor {
    pub(super) fn new(block: BlockSegmentPostings) -> Self {
        Self { block, at: 0 }
    }

    /// The current document, or [`TERMINATED`].
    pub(super) fn doc(&self) -> DocId {
        self.block.docs().get(self.at).copied().unwrap_or(TERMINATED)
    }

    /// How often the current document holds the term.
    pub(super) fn count(&self) -> u32 {
        self.block.freqs().get(self.at).copied().unwrap_or(0)
    }

    /// Moves to the first document at or after `target`, unless it is past it already.
    pub(super) fn seek(&mut self, target: DocId) -> DocId {
        if self.doc() < target {
            // Most seeks are short.
            self.at += 1;
            if self.doc() < target || self.at == self.block.block_len() {
                self.at = self.block.seek(target);
            }
        }
        self.doc()
    }

    /// Calls `each` with every document before `end` and its count, and stops at the first that is not.
    pub(super) fn take_before(&mut self, end: DocId, mut each: impl FnMut(DocId, u32)) {
        loop {
            let (docs, counts) = (self.block.docs(), self.block.freqs());
            if docs.is_empty() {
                return;
            }
            let rest = &docs[self.at.min(docs.len())..];
            let taken = if rest.last().is_some_and(|last| *last < end) {
                rest.len()
            } else {
                rest.partition_point(|doc| *doc < end)
            };
            for (doc, count) in rest[..taken].iter().zip(&counts[self.at.min(counts.len())..]) {
                each(*doc, *count);
            }
            self.at += taken;
            if self.at < docs.len() {
                return;
            }
            self.block.advance();
            self.at = 0;
        }
    }
}
