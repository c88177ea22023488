//! Writing the index down, in three phases of which only the middle one is slow, and it needs no access to the index.

use std::sync::Arc;

use loom_storage::Seq;
use roaring::RoaringBitmap;

use super::VectorIndex;
use super::file::{Folder, Kind};
use super::graph::Hnsw;
use super::manifest::{Manifest, SavedGraph, Segment};
use super::open::encode_part;
use super::rows::Rows;
use crate::Error;

/// What the files hold, as far as it is of use to the next flush.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    /// The manifest in the folder, less the files whose row numbers are no longer those of the index.
    pub manifest: Manifest,
    /// The table's count of changes when it was written.
    pub changes: u64,
}

/// A state of the index to be written; the index goes on meanwhile.
#[derive(Debug)]
pub struct VectorFlush {
    folder: Folder,
    rows: Rows,
    removed: RoaringBitmap,
    /// The manifest to write, less the files that are still to be written.
    manifest: Manifest,
    graph: Option<Arc<Hnsw>>,
    changes: u64,
    numbering: u64,
    under_way: Arc<()>,
}

/// A state that was written, for [`VectorIndex::install`].
#[derive(Debug)]
pub struct VectorFlushed {
    saved: Saved,
    numbering: u64,
    /// Keeps another flush from starting until this one is installed or dropped.
    _under_way: Arc<()>,
}

impl VectorIndex {
    /// Takes the present state, which holds the log up to `watermark`, to be written. `None` when the files hold it
    /// already or another flush is under way. Takes a moment: the rows are shared, not copied.
    pub fn freeze(&mut self, watermark: Seq) -> Option<VectorFlush> {
        if Arc::strong_count(&self.flushing) > 1 {
            return None;
        }
        let changes = self.table.changes();
        let graph = self.graph.as_ref().filter(|graph| worth_saving(graph.rows(), self.saved.manifest.graph.as_ref()));
        if graph.is_none() && changes == self.saved.changes && watermark == self.saved.manifest.watermark {
            return None;
        }
        let mut manifest = self.saved.manifest.clone();
        manifest.watermark = watermark;
        drop_small_segments(&mut manifest, self.table.rows().len());
        // A flush that fails leaves its files behind; the next must not take their names for its own.
        self.saved.manifest.next += 2;
        Some(VectorFlush {
            folder: self.folder.clone(),
            rows: self.table.rows().clone(),
            removed: self.table.removed().clone(),
            manifest,
            graph: graph.cloned(),
            changes,
            numbering: self.numbering,
            under_way: Arc::clone(&self.flushing),
        })
    }

    /// Takes note of what was written. A compaction since then is allowed: the next flush writes all rows.
    pub fn install(&mut self, flushed: VectorFlushed) {
        self.saved = flushed.saved;
        if flushed.numbering != self.numbering {
            self.saved.manifest.segments.clear();
            self.saved.manifest.graph = None;
        }
    }
}

impl VectorFlush {
    /// Writes the state, durably, and deletes the files of earlier ones. On an error the folder still holds the
    /// earlier state, or holds this one: the index goes on, and a later flush writes all that is missing.
    pub fn run(mut self) -> Result<VectorFlushed, Error> {
        let first = self.manifest.rows();
        if first < self.rows.len() {
            let number = self.manifest.next;
            let parts = self.rows.runs(first).map(|(_, ids, values)| encode_part(ids, values));
            let identity = self.folder.write(Kind::Rows, number, parts)?;
            self.manifest.segments.push(Segment { number, rows: self.rows.len() - first, identity });
        }
        if let Some(graph) = &self.graph {
            let number = self.manifest.next + 1;
            let identity = self.folder.write(Kind::Graph, number, graph.parts()?)?;
            self.manifest.graph = Some(SavedGraph { number, rows: graph.rows(), identity });
        }
        self.manifest.next += 2;
        self.manifest.write(&self.folder, &self.removed)?;
        self.folder.sweep(|kind, number| self.manifest.names(kind, number));
        let saved = Saved { manifest: self.manifest, changes: self.changes };
        Ok(VectorFlushed { saved, numbering: self.numbering, _under_way: self.under_way })
    }
}

/// Whether a graph of `rows` rows replaces the one in the folder: once that lacks an eighth, which is quicker added
/// again than all is written again.
fn worth_saving(rows: u32, saved: Option<&SavedGraph>) -> bool {
    saved.is_none_or(|saved| rows.saturating_sub(saved.rows) > saved.rows / 8)
}

/// Leaves the last segments to be written again together with the new rows, as long as they are not twice as large: so
/// a row is written a logarithmic number of times, and there are as few files.
fn drop_small_segments(manifest: &mut Manifest, rows: u32) {
    while let Some(last) = manifest.segments.last() {
        let new = rows.saturating_sub(manifest.rows());
        if new == 0 || last.rows / 2 > new {
            return;
        }
        manifest.segments.pop();
    }
}
