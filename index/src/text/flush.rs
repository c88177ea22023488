//! Writing the newest chunks to disk, in three phases so that searches never wait for it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use loom_storage::Seq;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy};
use tantivy::{Index, IndexWriter, Term};

use super::ANALYZER_VERSION;
use super::base::{Base, payload_of};
use super::error::{Failure, damaged};
use super::memtable::Memtable;
use super::merge::next_merge;
use super::removed::Removed;
use super::schema::{FORMAT_VERSION, Fields, Payload};
use super::write::write_segment;
use crate::Error;

/// What a flush writes: the memtable and the removals as they were when it was frozen.
pub(super) struct Frozen {
    pub(super) memtable: Memtable,
    /// What no longer counts of the base below.
    pub(super) removed: Removed,
    pub(super) watermark: Seq,
}

/// The second phase of a flush: what was frozen, and where it goes. Holds no lock on the index.
pub struct FlushJob {
    pub(super) folder: PathBuf,
    pub(super) base: Arc<Base>,
    pub(super) frozen: Arc<Frozen>,
    pub(super) fields: Arc<Fields>,
}

/// The outcome of [`FlushJob::run`], for [`LexicalIndex::install`](super::LexicalIndex::install).
pub struct Flushed {
    pub(super) base: Base,
}

/// tantivy's least budget for a writer.
const WRITER_BYTES: usize = 15_000_000;

impl FlushJob {
    /// Writes and commits what was frozen, and merges segments that have become too many.
    ///
    /// Takes milliseconds to seconds; the index answers searches and takes changes meanwhile. On an error the index
    /// on disk is as it was, or as it should be; freeze again and run the new job, which goes on from either.
    pub fn run(self) -> Result<Flushed, Error> {
        Ok(Flushed { base: self.write()? })
    }

    fn write(self) -> Result<Base, Failure> {
        let index = match &self.base.index {
            Some(index) => index.clone(),
            None => self.create()?,
        };
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let mut writer: IndexWriter = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        if self.is_committed(&index)? {
            tracing::debug!(flush = self.base.flush + 1, "an earlier attempt had committed");
        } else {
            self.commit(&index, &mut writer)?;
        }
        self.merge(&index, &mut writer);
        writer.wait_merging_threads()?;
        let metas = index.load_metas()?;
        Base::load(index, &metas, &self.fields, &self.base.segments)
    }

    /// Makes the folder and an index without chunks in it. Leftovers of an attempt that failed are removed: nothing
    /// that counts is there before the first commit.
    fn create(&self) -> Result<Index, Failure> {
        fs::create_dir_all(&self.folder)?;
        let directory = || MmapDirectory::open(&self.folder);
        if Index::exists(&directory()?)? {
            let index = Index::open(directory()?)?;
            if index.load_metas()?.payload.is_some() {
                return Ok(index);
            }
            drop(index);
            fs::remove_dir_all(&self.folder)?;
            fs::create_dir_all(&self.folder)?;
        }
        Ok(Index::builder().schema(self.fields.schema.clone()).open_or_create(directory()?)?)
    }

    /// Whether an earlier attempt at this very flush got as far as its commit.
    fn is_committed(&self, index: &Index) -> Result<bool, Failure> {
        let metas = index.load_metas()?;
        let flush = if metas.payload.is_none() { 0 } else { payload_of(&metas)?.flush };
        if flush == self.base.flush + 1 {
            Ok(true)
        } else if flush == self.base.flush {
            Ok(false)
        } else {
            Err(damaged(format!("flush {flush} is on disk where {} was expected", self.base.flush)))
        }
    }

    fn commit(&self, index: &Index, writer: &mut IndexWriter) -> Result<(), Failure> {
        let Frozen { memtable, removed, watermark } = &*self.frozen;
        // Deletes first: they must not reach a version that is removed and added again.
        for version in removed.versions() {
            writer.delete_term(Term::from_field_u64(self.fields.version, version.0));
        }
        if let Some(segment) = write_segment(index, &self.fields, memtable)? {
            writer.add_segment(segment)?;
        }
        let mut commit = writer.prepare_commit()?;
        let payload = Payload {
            format: FORMAT_VERSION,
            analyzer: ANALYZER_VERSION,
            watermark: watermark.0,
            flush: self.base.flush + 1,
            opstamp: commit.opstamp(),
            chunks: (self.base.live_chunks + memtable.live_chunks()).saturating_sub(removed.chunks()),
            words: (self.base.live_words + memtable.live_words()).saturating_sub(removed.words()),
        };
        commit.set_payload(&payload.encode());
        commit.commit()?;
        Ok(())
    }

    /// Merges until the index is in shape. A merge that fails leaves what it found, which is only slower to search, so
    /// the flush goes on.
    fn merge(&self, index: &Index, writer: &mut IndexWriter) {
        loop {
            let merged = index
                .searchable_segment_metas()
                .and_then(|metas| next_merge(&metas).map(|ids| writer.merge(&ids).wait()).transpose());
            match merged {
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(folder = %self.folder.display(), %error, "merging lexical segments failed");
                    return;
                }
            }
        }
    }
}
