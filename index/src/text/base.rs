//! The part of the index that lies on disk, opened and checked.

use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use loom_storage::{ChunkId, Seq, VersionId};
use tantivy::directory::MmapDirectory;
use tantivy::index::IndexMeta;
use tantivy::postings::TermInfo;
use tantivy::{Index, Term};

use super::error::{Failure, damaged};
use super::schema::{Fields, Payload};
use super::segment::Segment;

/// The segments of one commit.
pub(super) struct Base {
    /// Nothing before the first flush: a namespace costs no files before it has something to keep.
    pub(super) index: Option<Index>,
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) watermark: Seq,
    /// How many flushes led here.
    pub(super) flush: u64,
    pub(super) live_chunks: u64,
    pub(super) live_words: u64,
}

/// tantivy's list of the files that are its own; the index is as good as new without it, but nothing would be deleted.
const MANAGED_FILE: &str = ".managed.json";

impl Base {
    pub(super) fn empty() -> Self {
        Self { index: None, segments: Vec::new(), watermark: Seq(0), flush: 0, live_chunks: 0, live_words: 0 }
    }

    /// Opens what lies in `folder`, reading every file once to check it. A folder that is missing or empty is an index
    /// without chunks.
    pub(super) fn open(folder: &Path, fields: &Fields) -> Result<Self, Failure> {
        match fs::read_dir(folder) {
            Ok(mut entries) => {
                if entries.next().is_none() {
                    return Ok(Self::empty());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::empty()),
            Err(error) => return Err(error.into()),
        }
        // tantivy asserts in places what a damaged file can break, before a checksum is compared.
        catch_unwind(AssertUnwindSafe(|| Self::open_checked(folder, fields)))
            .unwrap_or_else(|_| Err(damaged("reading the files ended in a panic")))
    }

    fn open_checked(folder: &Path, fields: &Fields) -> Result<Self, Failure> {
        if !folder.join(MANAGED_FILE).is_file() {
            return Err(damaged("the list of files is missing"));
        }
        let index = Index::open(MmapDirectory::open(folder)?)?;
        let metas = index.load_metas()?;
        for file in metas.list_segment_files() {
            if folder.join(&file).exists() && !index.directory().validate_checksum(&file)? {
                return Err(damaged(format!("the checksum of {} is wrong", file.display())));
            }
        }
        Self::load(index, &metas, fields, &[])
    }

    /// Loads the segments of the commit `metas` of `index`; those that are among `known` are taken from there.
    pub(super) fn load(
        index: Index,
        metas: &IndexMeta,
        fields: &Fields,
        known: &[Arc<Segment>],
    ) -> Result<Self, Failure> {
        let payload = payload_of(metas)?;
        if metas.schema != fields.schema {
            return Err(damaged("the schema is another"));
        }
        if payload.opstamp != metas.opstamp {
            return Err(damaged("the commit is not the one that its payload was written for"));
        }
        let mut segments = Vec::new();
        for meta in &metas.segments {
            let segment = index.segment(meta.clone());
            segments.push(match known.iter().find(|known| known.is(&segment)) {
                Some(known) => Arc::clone(known),
                None => Arc::new(Segment::open(&segment, fields)?),
            });
        }
        let live_chunks = segments.iter().map(|segment| segment.live_chunks()).sum();
        let live_words = segments.iter().fold(0u64, |sum, segment| sum.saturating_add(segment.live_words));
        if (live_chunks, live_words) != (payload.chunks, payload.words) {
            return Err(damaged(format!(
                "the segments hold {live_chunks} chunks of {live_words} words, the commit says {} of {}",
                payload.chunks, payload.words
            )));
        }
        let distinct: HashSet<_> = metas.segments.iter().map(tantivy::SegmentMeta::id).collect();
        if distinct.len() != metas.segments.len() {
            return Err(damaged("a segment is listed twice"));
        }
        let (watermark, flush) = (Seq(payload.watermark), payload.flush);
        Ok(Self { index: Some(index), segments, watermark, flush, live_chunks, live_words })
    }

    pub(super) fn contains(&self, version: VersionId) -> bool {
        self.segments.iter().any(|segment| segment.contains(version))
    }

    /// The live chunks of a version, each with its length in words.
    pub(super) fn chunks_of(&self, version: VersionId) -> impl Iterator<Item = (ChunkId, u64)> + '_ {
        self.segments.iter().flat_map(move |segment| segment.chunks_of(version))
    }

    /// Where each segment, in order, has `term`.
    pub(super) fn term(&self, term: &Term) -> Result<Vec<Option<TermInfo>>, Failure> {
        self.segments.iter().map(|segment| segment.term(term)).collect()
    }

    /// How many live chunks hold the term that is `found` there.
    pub(super) fn holders(&self, found: &[Option<TermInfo>]) -> Result<u64, Failure> {
        let mut holders = 0;
        for (segment, term) in self.segments.iter().zip(found) {
            if let Some(term) = term {
                holders += segment.holders(term)?;
            }
        }
        Ok(holders)
    }
}

/// What the commit `metas` says about itself.
pub(super) fn payload_of(metas: &IndexMeta) -> Result<Payload, Failure> {
    let text = metas.payload.as_deref().ok_or_else(|| damaged("the commit says nothing about itself"))?;
    Payload::decode(text).map_err(damaged)
}
