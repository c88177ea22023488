//! One immutable tantivy segment, opened for searching.

use std::ops::Range;
use std::sync::Arc;

use loom_storage::{ChunkId, VersionId};
use tantivy::columnar::ColumnValues;
use tantivy::fastfield::AliveBitSet;
use tantivy::index::{InvertedIndexReader, SegmentId, SegmentReader};
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, Term};

use super::cursor::Cursor;
use super::error::{Failure, damaged};
use super::schema::{CHUNK, Fields, VERSION, WORDS};
use super::score::norm_of;
use crate::Selection;

/// A segment with what is needed of its columns in memory.
pub(super) struct Segment {
    id: SegmentId,
    delete_opstamp: Option<u64>,
    inverted: Arc<InvertedIndexReader>,
    alive: Option<AliveBitSet>,
    chunks: Arc<dyn ColumnValues<u64>>,
    words: Arc<dyn ColumnValues<u64>>,
    /// The length of each document as [`norm_of`] has it.
    pub(super) norms: Vec<u8>,
    /// The live documents, ascending by chunk.
    runs: Vec<Run>,
    /// Each run's version and its place in `runs`, ascending.
    versions: Vec<(VersionId, u32)>,
    /// The dead documents, ascending.
    dead: Vec<DocId>,
    pub(super) live_words: u64,
}

/// Consecutive documents of one version with consecutive chunk ids.
#[derive(Clone, Copy)]
struct Run {
    first_chunk: u64,
    first_doc: DocId,
    count: u32,
    version: VersionId,
}

impl Segment {
    pub(super) fn open(segment: &tantivy::Segment, fields: &Fields) -> Result<Self, Failure> {
        let reader = SegmentReader::open(segment)?;
        let docs = reader.max_doc();
        let column = |name: &str| -> Result<Arc<dyn ColumnValues<u64>>, Failure> {
            let column = reader.fast_fields().u64(name)?;
            if column.num_docs() != docs || column.values.num_vals() != docs {
                return Err(damaged(format!("a column has {} rows for {docs} documents", column.num_docs())));
            }
            Ok(column.values)
        };
        let mut opened = Self {
            id: segment.id(),
            delete_opstamp: segment.meta().delete_opstamp(),
            inverted: reader.inverted_index(fields.text)?,
            alive: reader.alive_bitset().cloned(),
            chunks: column(CHUNK)?,
            words: column(WORDS)?,
            norms: Vec::with_capacity(docs as usize),
            runs: Vec::new(),
            versions: Vec::new(),
            dead: Vec::new(),
            live_words: 0,
        };
        opened.load(&*column(VERSION)?, docs);
        if opened.dead.len() != segment.meta().num_deleted_docs() as usize {
            return Err(damaged(format!(
                "{} documents are marked dead, the commit says {}",
                opened.dead.len(),
                segment.meta().num_deleted_docs()
            )));
        }
        Ok(opened)
    }

    fn load(&mut self, versions: &dyn ColumnValues<u64>, docs: u32) {
        for doc in 0..docs {
            let words = self.words.get_val(doc);
            self.norms.push(norm_of(words));
            if self.alive.as_ref().is_some_and(|alive| alive.is_deleted(doc)) {
                self.dead.push(doc);
                continue;
            }
            self.live_words = self.live_words.saturating_add(words);
            let (chunk, version) = (self.chunks.get_val(doc), VersionId(versions.get_val(doc)));
            match self.runs.last_mut() {
                Some(run) if run.version == version && run.continues_with(doc, chunk) => run.count += 1,
                _ => self.runs.push(Run { first_chunk: chunk, first_doc: doc, count: 1, version }),
            }
        }
        // Chunks come in the order of their ids, save for restored versions and merges.
        self.runs.sort_by_key(|run| run.first_chunk);
        self.runs.shrink_to_fit();
        self.versions = self.runs.iter().map(|run| run.version).zip(0..).collect();
        self.versions.sort_unstable();
    }

    /// Whether this is `segment` with the same documents deleted.
    pub(super) fn is(&self, segment: &tantivy::Segment) -> bool {
        self.id == segment.id() && self.delete_opstamp == segment.meta().delete_opstamp()
    }

    pub(super) fn docs(&self) -> u64 {
        self.norms.len() as u64
    }

    pub(super) fn live_chunks(&self) -> u64 {
        (self.norms.len() - self.dead.len()) as u64
    }

    pub(super) fn chunk(&self, doc: DocId) -> ChunkId {
        ChunkId(self.chunks.get_val(doc))
    }

    pub(super) fn is_live(&self, doc: DocId) -> bool {
        self.alive.as_ref().is_none_or(|alive| alive.is_alive(doc))
    }

    /// Calls `each` with every live document, its chunk, its version and its length in words, ascending by chunk.
    pub(super) fn each_live(&self, mut each: impl FnMut(DocId, ChunkId, VersionId, u64)) {
        for run in &self.runs {
            for doc in run.first_doc..run.first_doc + run.count {
                each(doc, self.chunk(doc), run.version, self.words.get_val(doc));
            }
        }
    }

    /// Calls `each` with every term, ascending, and the documents that hold it, dead ones included.
    pub(super) fn each_term(&self, mut each: impl FnMut(&[u8], BlockSegmentPostings)) -> Result<(), Failure> {
        let mut terms = self.inverted.terms().stream()?;
        while terms.advance() {
            each(terms.key(), self.postings(terms.value())?);
        }
        Ok(())
    }

    fn runs_of(&self, version: VersionId) -> impl Iterator<Item = &Run> {
        let first = self.versions.partition_point(|(other, _)| *other < version);
        self.versions[first..]
            .iter()
            .take_while(move |(other, _)| *other == version)
            .map(|(_, run)| &self.runs[*run as usize])
    }

    pub(super) fn contains(&self, version: VersionId) -> bool {
        self.runs_of(version).next().is_some()
    }

    /// The live chunks of a version, each with its length in words.
    pub(super) fn chunks_of(&self, version: VersionId) -> impl Iterator<Item = (ChunkId, u64)> + '_ {
        self.runs_of(version)
            .flat_map(|run| run.first_doc..run.first_doc + run.count)
            .map(|doc| (self.chunk(doc), self.words.get_val(doc)))
    }

    /// All documents.
    pub(super) fn all(&self) -> Range<DocId> {
        // tantivy numbers documents with 32 bits.
        0..u32::try_from(self.norms.len()).unwrap_or(DocId::MAX)
    }

    /// Spans that hold every document of the chunks in `selection`, ascending and disjoint; also others near them.
    pub(super) fn spans(&self, selection: &Selection) -> Vec<Range<DocId>> {
        /// To read over so many documents takes no longer than to skip them.
        const GAP: DocId = 32;
        let mut spans = Vec::new();
        let mut at = 0;
        for range in selection.ranges() {
            let (first, end) = (range.first.0, range.end());
            at += self.runs[at..].partition_point(|run| run.end() <= first);
            for run in self.runs[at..].iter().take_while(|run| run.first_chunk < end) {
                let skip = first.saturating_sub(run.first_chunk);
                let count = end.min(run.end()) - run.first_chunk;
                // Both are at most `run.count`.
                let [skip, count] = [skip, count].map(|docs| u32::try_from(docs).unwrap_or(run.count));
                spans.push(run.first_doc + skip..run.first_doc + count);
            }
        }
        if !spans.is_sorted_by_key(|span: &Range<DocId>| span.start) {
            spans.sort_unstable_by_key(|span| span.start);
        }
        spans.dedup_by(|next, span| {
            let near = next.start <= span.end.saturating_add(GAP);
            if near {
                span.end = span.end.max(next.end);
            }
            near
        });
        spans
    }

    pub(super) fn term(&self, term: &Term) -> Result<Option<TermInfo>, Failure> {
        Ok(self.inverted.get_term_info(term)?)
    }

    pub(super) fn postings(&self, term: &TermInfo) -> Result<BlockSegmentPostings, Failure> {
        Ok(self.inverted.read_block_postings_from_terminfo(term, IndexRecordOption::WithFreqs)?)
    }

    /// How many live documents hold a term, exactly.
    pub(super) fn holders(&self, term: &TermInfo) -> Result<u64, Failure> {
        /// How many postings can be read in the time of one seek.
        const SEEK_COST: usize = 8;
        let all = term.doc_freq as usize;
        if self.dead.is_empty() {
            return Ok(all as u64);
        }
        let mut cursor = Cursor::new(self.postings(term)?);
        let dead = if self.dead.len().saturating_mul(SEEK_COST) < all {
            self.dead.iter().filter(|doc| cursor.seek(**doc) == **doc).count()
        } else {
            let mut dead = 0;
            cursor.take_before(DocId::MAX, |doc, _| dead += usize::from(!self.is_live(doc)));
            dead
        };
        Ok((all - dead) as u64)
    }
}

impl Run {
    fn continues_with(&self, doc: DocId, chunk: u64) -> bool {
        self.first_doc + self.count == doc && self.end() == chunk
    }

    fn end(&self) -> u64 {
        self.first_chunk.saturating_add(u64::from(self.count))
    }
}
