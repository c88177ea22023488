//! What a lexical index holds, chunk by chunk, to be compared with what it should hold.

use loom_storage::{ChunkId, VersionId};
use tantivy::DocId;

use super::analysis::Analysis;
use super::cursor::Cursor;
use super::dictionary::hash_of;
use super::error::Failure;
use super::lexical::LexicalIndex;
use super::memtable::Memtable;
use super::segment::Segment;
use crate::Error;
use crate::inventory::Difference;

/// One chunk as searches find it.
struct Entry {
    chunk: ChunkId,
    version: VersionId,
    words: u64,
    /// See [`sum_of`]; 0 unless terms are read.
    terms: u64,
    /// Whether it was asked for.
    asked: bool,
}

/// What searches find in a lexical index. Takes 40 bytes a chunk.
pub(crate) struct LexicalInventory {
    /// Ascending by chunk.
    entries: Vec<Entry>,
    /// What scores are computed with: how many chunks, and how many words.
    counted: (u64, u64),
}

/// A term and its count as a part of a sum over all terms of a chunk, which differs between any two chunks that do not
/// have the same terms as often, but for one in about 2^63.
fn sum_of(term_hash: u64, count: u32) -> u64 {
    term_hash.wrapping_mul(u64::from(count) + 1)
}

impl LexicalIndex {
    /// What searches find. With `terms` every posting is read, so that the words of each chunk can be compared.
    pub(crate) fn inventory(&self, terms: bool) -> Result<LexicalInventory, Error> {
        let mut entries = Vec::new();
        let frozen = self.frozen.as_deref();
        for segment in &self.base.segments {
            let is_kept = |chunk| {
                !self.removed.contains_chunk(chunk) && frozen.is_none_or(|frozen| !frozen.removed.contains_chunk(chunk))
            };
            segment.list(terms, |entry| entries.extend(Some(entry).filter(|entry| is_kept(entry.chunk))))?;
        }
        if let Some(frozen) = frozen {
            let is_kept = |entry: &Entry| !self.removed.contains_chunk(entry.chunk);
            frozen.memtable.list(terms, |entry| entries.extend(Some(entry).filter(is_kept)))?;
        }
        self.active.list(terms, |entry| entries.push(entry))?;
        entries.sort_by_key(|entry| entry.chunk);
        Ok(LexicalInventory { entries, counted: (self.live_chunks(), self.live_words()) })
    }
}

impl LexicalInventory {
    /// Compares the chunks of a version with what is held of them, and calls `differs` for each that differs, with its
    /// place among them. `analysis` is of the chunks, where terms were read.
    pub(crate) fn compare(
        &mut self,
        version: VersionId,
        chunks: impl Iterator<Item = ChunkId>,
        analysis: Option<&Analysis>,
        mut differs: impl FnMut(usize, Difference),
    ) {
        for (at, chunk) in chunks.enumerate() {
            let first = self.entries.partition_point(|entry| entry.chunk < chunk);
            let count = self.entries[first..].partition_point(|entry| entry.chunk == chunk);
            let found = &mut self.entries[first..first + count];
            for entry in found.iter_mut() {
                entry.asked = true;
            }
            let is_right = |entry: &Entry| {
                entry.version == version
                    && analysis.is_none_or(|analysis| {
                        let terms = analysis.terms_of(at).iter();
                        let sum = terms.map(|(term, count)| sum_of(analysis.terms.hash(*term), *count));
                        entry.words == u64::from(analysis.chunks[at].words)
                            && entry.terms == sum.fold(0, u64::wrapping_add)
                    })
            };
            match found {
                [] => differs(at, Difference::Missing),
                [entry] if is_right(entry) => {}
                [_] => differs(at, Difference::Altered),
                _ => differs(at, Difference::Repeated),
            }
        }
    }

    /// The chunks that are held and were not asked for.
    pub(crate) fn left_over(&self) -> impl Iterator<Item = ChunkId> + '_ {
        self.entries.iter().filter(|entry| !entry.asked).map(|entry| entry.chunk)
    }

    /// How many chunks and words scores are computed with, and how many are held, when the two differ.
    pub(crate) fn miscounted(&self) -> Option<[(u64, u64); 2]> {
        let held = self.entries.iter().fold((0, 0), |(chunks, words), entry| (chunks + 1, words + entry.words));
        (held != self.counted).then_some([self.counted, held])
    }
}

impl Memtable {
    fn list(&self, terms: bool, mut each: impl FnMut(Entry)) -> Result<(), Failure> {
        let mut sums = vec![0_u64; if terms { self.live_docs().count() } else { 0 }];
        if terms {
            self.each_live_term::<Failure>(|term, _, postings| {
                let hash = hash_of(term);
                for (doc, count) in postings {
                    let sum = &mut sums[doc as usize];
                    *sum = sum.wrapping_add(sum_of(hash, count));
                }
                Ok(())
            })?;
        }
        for (at, doc) in self.live_docs().enumerate() {
            let terms = sums.get(at).copied().unwrap_or_default();
            each(Entry { chunk: doc.chunk, version: doc.version, words: doc.words.into(), terms, asked: false });
        }
        Ok(())
    }
}

impl Segment {
    fn list(&self, terms: bool, mut each: impl FnMut(Entry)) -> Result<(), Failure> {
        let sums = if terms { self.term_sums()? } else { Vec::new() };
        self.each_live(|doc, chunk, version, words| {
            let terms = sums.get(doc as usize).copied().unwrap_or_default();
            each(Entry { chunk, version, words, terms, asked: false });
        });
        Ok(())
    }

    /// Of each document, dead ones included, the sum over its terms.
    fn term_sums(&self) -> Result<Vec<u64>, Failure> {
        let mut sums = vec![0_u64; self.norms.len()];
        self.each_term(|term, postings| {
            let hash = hash_of(term);
            Cursor::new(postings).take_before(DocId::MAX, |doc, count| {
                if let Some(sum) = sums.get_mut(doc as usize) {
                    *sum = sum.wrapping_add(sum_of(hash, count));
                }
            });
        })?;
        Ok(sums)
    }
}
