//! The lexical index of one namespace.

use std::borrow::Borrow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loom_storage::{ChunkId, Seq, VersionId};

use super::analysis::Analysis;
use super::base::Base;
use super::flush::{FlushJob, Flushed, Frozen};
use super::memtable::Memtable;
use super::removed::Removed;
use super::schema::Fields;
use crate::Error;

/// A chunk as the lexical index reads it. Context and text count as one text; a word in both counts twice.
#[derive(Clone, Copy, Debug)]
pub struct LexicalChunk<'a> {
    /// The chunk's id.
    pub id: ChunkId,
    /// What places the chunk: title and headings.
    pub context: &'a str,
    /// The passage.
    pub text: &'a str,
    /// The exact names that it defines or reads.
    pub names: &'a [String],
}

/// When [`LexicalIndex::pending_chunks`] reaches this, flush: what is in memory is searched without skipping.
pub const PENDING_CHUNKS_MAX: usize = 16_384;
/// When [`LexicalIndex::pending_bytes`] reaches this, flush.
pub const PENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The lexical index of one namespace: the newest chunks in memory, the others on disk.
///
/// It takes changes in the order of the change log. Nothing is durable before a flush: after a crash, apply the log
/// again from the watermark that [`open`](Self::open) returns. Whatever way led to it, an index over the same live
/// versions gives the same hits with the same scores.
pub struct LexicalIndex {
    folder: PathBuf,
    pub(super) fields: Arc<Fields>,
    pub(super) base: Arc<Base>,
    /// What is being written to disk.
    pub(super) frozen: Option<Arc<Frozen>>,
    /// Added since.
    pub(super) active: Memtable,
    /// Removed since, from the base or from what is frozen.
    pub(super) removed: Removed,
}

/// How big an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexicalStatistics {
    /// Live chunks.
    pub chunks: u64,
    /// Their length together, in words as [`analyze`](super::analyze()) counts them.
    pub words: u64,
    /// Segments on disk.
    pub segments: usize,
    /// Chunks in the segments, those of removed versions included.
    pub segment_chunks: u64,
    /// See [`LexicalIndex::pending_chunks`].
    pub pending_chunks: usize,
    /// See [`LexicalIndex::pending_bytes`].
    pub pending_bytes: usize,
    /// The watermark of the last flush.
    pub watermark: Seq,
}

impl LexicalIndex {
    /// Opens the index in `folder` and says up to which commit it follows the change log.
    ///
    /// A folder that is missing or empty is an index that follows nothing yet (`Seq(0)`); it is made by the first
    /// flush. Every file is read once and checked. [`Error::Rebuild`] means that they are damaged or of another version:
    /// [`create`](Self::create) and apply the whole log.
    pub fn open(folder: &Path) -> Result<(Self, Seq), Error> {
        let fields = Arc::new(Fields::new());
        let base = Base::open(folder, &fields)?;
        let watermark = base.watermark;
        Ok((Self::over(folder, fields, base), watermark))
    }

    /// An index that follows nothing yet, in place of whatever lies in `folder`.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        match fs::remove_dir_all(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(super::error::Failure::from(error).into()),
        }
        Ok(Self::over(folder, Arc::new(Fields::new()), Base::empty()))
    }

    fn over(folder: &Path, fields: Arc<Fields>, base: Base) -> Self {
        Self {
            folder: folder.to_owned(),
            fields,
            base: Arc::new(base),
            frozen: None,
            active: Memtable::default(),
            removed: Removed::default(),
        }
    }

    /// Adds a version with its chunks, or restores it. A version that is there already stays as it is.
    ///
    /// A version without chunks leaves no trace.
    pub fn add(&mut self, version: VersionId, chunks: &[LexicalChunk<'_>]) {
        self.add_analysed(version, chunks.iter().map(|chunk| chunk.id), &analysis_of(chunks));
    }

    /// As [`add`](Self::add), with the chunks analysed before: one id for each, in their order.
    pub fn add_analysed(&mut self, version: VersionId, chunks: impl Iterator<Item = ChunkId>, analysis: &Analysis) {
        if !self.removed.cancel(version) && !self.contains(version) {
            self.active.add(version, chunks, analysis);
        }
    }

    /// Removes a version; `chunks` are its chunks as they were added. A version that is not there is no error.
    pub fn remove(&mut self, version: VersionId, chunks: &[LexicalChunk<'_>]) {
        self.remove_analysed(version, || analysis_of(chunks));
    }

    /// As [`remove`](Self::remove); `analysis`, of the version's chunks, is only asked for when it is needed.
    pub fn remove_analysed<A: Borrow<Analysis>>(&mut self, version: VersionId, analysis: impl FnOnce() -> A) {
        if self.active.remove(version) || !self.contains(version) {
            return;
        }
        let analysis = analysis();
        match &self.frozen {
            Some(frozen) if frozen.memtable.contains(version) => {
                self.removed.add(version, frozen.memtable.chunks_of(version), analysis.borrow());
            }
            _ => self.removed.add(version, self.base.chunks_of(version), analysis.borrow()),
        }
    }

    /// Whether the version is among what is not on disk yet: its removal needs no terms.
    pub fn is_pending(&self, version: VersionId) -> bool {
        self.active.contains(version)
    }

    /// Whether the version has chunks here.
    pub fn contains(&self, version: VersionId) -> bool {
        if self.active.contains(version) {
            return true;
        }
        if self.removed.contains(version) {
            return false;
        }
        match &self.frozen {
            Some(frozen) if frozen.memtable.contains(version) => true,
            Some(frozen) if frozen.removed.contains(version) => false,
            _ => self.base.contains(version),
        }
    }

    /// How many chunks are not on disk yet, those of versions removed since included.
    pub fn pending_chunks(&self) -> usize {
        self.active.len()
    }

    /// About how many bytes of memory hold what the next flush will write.
    pub fn pending_bytes(&self) -> usize {
        self.active.bytes() + self.removed.bytes()
    }

    /// How big the index is.
    pub fn statistics(&self) -> LexicalStatistics {
        LexicalStatistics {
            chunks: self.live_chunks(),
            words: self.live_words(),
            segments: self.base.segments.len(),
            segment_chunks: self.base.segments.iter().map(|segment| segment.docs()).sum(),
            pending_chunks: self.pending_chunks(),
            pending_bytes: self.pending_bytes(),
            watermark: self.base.watermark,
        }
    }

    pub(super) fn live_chunks(&self) -> u64 {
        self.balance(self.base.live_chunks, Memtable::live_chunks, Removed::chunks)
    }

    pub(super) fn live_words(&self) -> u64 {
        self.balance(self.base.live_words, Memtable::live_words, Removed::words)
    }

    /// Adds what the memtables have to what the base has, and subtracts what is removed.
    pub(super) fn balance(
        &self,
        base: u64,
        added: impl Fn(&Memtable) -> u64,
        removed: impl Fn(&Removed) -> u64,
    ) -> u64 {
        let mut balance = base + added(&self.active);
        let mut gone = removed(&self.removed);
        if let Some(frozen) = &self.frozen {
            balance += added(&frozen.memtable);
            gone += removed(&frozen.removed);
        }
        balance.saturating_sub(gone)
    }

    /// The first phase of a flush: sets aside what is not on disk yet and says how to write it. `watermark` is the last
    /// commit whose changes were applied.
    ///
    /// What is set aside stays searchable, and changes may go on. Returns nothing when there is nothing to write. When
    /// an earlier job was not installed, because it failed, this returns it once more, with its own watermark; never run
    /// two jobs at a time.
    pub fn freeze(&mut self, watermark: Seq) -> Option<FlushJob> {
        if self.frozen.is_none() {
            if self.active.len() == 0 && self.removed.is_empty() {
                return None;
            }
            let (memtable, removed) = (std::mem::take(&mut self.active), std::mem::take(&mut self.removed));
            self.frozen = Some(Arc::new(Frozen { memtable, removed, watermark }));
        }
        let frozen = Arc::clone(self.frozen.as_ref()?);
        let (folder, base, fields) = (self.folder.clone(), Arc::clone(&self.base), Arc::clone(&self.fields));
        Some(FlushJob { folder, base, frozen, fields })
    }

    /// The third phase of a flush: searches read from disk what the job wrote there.
    pub fn install(&mut self, flushed: Flushed) {
        self.base = Arc::new(flushed.base);
        self.frozen = None;
    }
}

fn analysis_of(chunks: &[LexicalChunk<'_>]) -> Analysis {
    Analysis::of(chunks.iter().map(|chunk| (chunk.context, chunk.text, chunk.names)))
}
