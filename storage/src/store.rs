//! The storage trait: what every backend does.

use std::io::{Read, Seek, Write};
use std::time::Duration;

use crate::backup::BackupSummary;
use crate::batch::{Batch, Committed};
use crate::change::ChangeEntry;
use crate::error::Error;
use crate::id::{BlobHash, ChunkId, Hash, Revision, Scope, Seq, VersionId};
use crate::record::{BlobRow, Chunk, Head, NamespaceRow, Record, Section, Timestamp, Version};

/// A store of one folder or database. Blocking; safe to share between threads.
pub trait Store: Send + Sync {
    /// A consistent view of everything committed so far; later commits do not change it.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, Error>;

    /// Applies the whole batch, or none of it, and returns once it is durable.
    ///
    /// Batches committed at the same time share one sync. On [`Error::Unsettled`] the batch may be stored or not; on any
    /// other error nothing of it is. A store that failed opens its storage again by itself.
    fn commit(&self, batch: Batch) -> Result<Committed, Error>;

    /// Starts to store the bytes of a blob, which become durable with [`BlobWriter::finish`].
    fn write_blob(&self, scope: &Scope) -> Result<Box<dyn BlobWriter>, Error>;

    /// Opens the bytes of a blob for reading. [`Error::BlobGone`] when they are not stored.
    fn read_blob(&self, scope: &Scope, hash: &BlobHash) -> Result<Box<dyn BlobReader>, Error>;

    /// Removes the bytes of a blob that no catalogue row names and that no upload of this run brought within `idle`,
    /// whose commit may be on its way. Answers whether they are gone.
    fn remove_blob(&self, scope: &Scope, hash: &BlobHash, idle: Duration) -> Result<bool, Error>;

    /// Leaves a note (such as the address served on) for a process that finds the store locked.
    fn set_holder_note(&self, note: &str) -> Result<(), Error>;

    /// Whether writes are taken; where the storage failed, after trying to open it again when it is time.
    /// [`Error::Halted`] when it still cannot be written to.
    fn ready(&self) -> Result<(), Error>;

    /// Gives back the disk space that nothing needs: bytes of blobs of earlier runs that no commit came to name, and
    /// the room of what was replaced. [`Error::Busy`] when somebody reads from the store for more than a moment; nobody
    /// can read or write meanwhile. Nothing that serves is changed on any error.
    fn compact(&self) -> Result<Compacted, Error>;

    /// Writes a copy of everything committed so far, blobs included, while other calls go on.
    ///
    /// Holds a bounded part of it at a time. A damaged record is an error that names it: what would be restored from
    /// then on must not look whole. On any error what was written so far is no backup, and is refused as one.
    fn backup(&self, to: &mut dyn Write) -> Result<BackupSummary, Error>;

    /// Checks that every record decodes and agrees with the others; calls `report` with a sentence for each fault.
    /// With `deep`, also that every text and blob hashes to its name.
    fn verify(&self, deep: bool, report: &mut dyn FnMut(String)) -> Result<(), Error>;
}

/// Stores the bytes of one blob, piece by piece. Dropped before [`BlobWriter::finish`], it leaves nothing that serves.
pub trait BlobWriter: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Makes the bytes durable and returns their hash and size. The blob is not catalogued yet: name it in a
    /// batch with [`crate::Write::PutBlob`]. Bytes already stored under the same hash are kept once.
    fn finish(self: Box<Self>) -> Result<(BlobHash, u64), Error>;
}

/// Reads the bytes of one blob from any position. A damaged piece is an error, never served.
pub trait BlobReader: Read + Seek + Send {
    /// Size in bytes.
    fn size(&self) -> u64;
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// The size of the store's files before, in bytes.
    pub bytes_before: u64,
    /// The size after.
    pub bytes_after: u64,
    /// Blobs removed that nothing named.
    pub blobs_removed: u64,
}

/// A position in a namespace's timeline: newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimelineKey {
    /// When the version was written.
    pub ingested_at: Timestamp,
    /// The version.
    pub version: VersionId,
}

/// A page of a scan: the items, and whether more follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items in order.
    pub items: Vec<T>,
    /// Whether more follow the last one.
    pub more: bool,
}

/// How many versions [`live_versions`] reads at a time.
const LIVE_PAGE: usize = 256;

/// The live versions of a namespace in order of id, read in pages. Ends after the first error.
pub fn live_versions<'s>(
    snapshot: &'s dyn Snapshot,
    scope: &'s Scope,
) -> impl Iterator<Item = Result<Version, Error>> + 's {
    let mut next = Some(None);
    let pages = std::iter::from_fn(move || {
        let page = snapshot.live_versions(scope, next.take()?, LIVE_PAGE);
        if let Ok(Page { items, more: true }) = &page {
            next = items.last().map(|last| Some(last.id));
        }
        Some(page.map_or_else(|error| vec![Err(error)], |page| page.items.into_iter().map(Ok).collect()))
    });
    pages.flatten()
}

/// A consistent view of the store. Every read is of one moment: the one in which it was taken.
pub trait Snapshot: Send + Sync {
    /// The last commit that it shows.
    fn seq(&self) -> Seq;

    /// A namespace's row; `None` when no version was ever written there (vectors and blobs alone make no namespace).
    fn namespace(&self, scope: &Scope) -> Result<Option<NamespaceRow>, Error>;

    /// The namespaces of a tenant (every tenant's for `None`), in order.
    fn namespaces(&self, org: Option<&str>) -> Result<Vec<NamespaceRow>, Error>;

    /// What a source address serves.
    fn head(&self, scope: &Scope, source_uri: &str) -> Result<Option<Head>, Error>;

    /// The heads whose source address starts with `prefix` and sorts after `after`, in byte order, at most `limit`.
    fn heads(
        &self,
        scope: &Scope,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<(String, Head)>, Error>;

    /// A version, without its text and its outline.
    fn version(&self, scope: &Scope, id: VersionId) -> Result<Option<Version>, Error>;

    /// The version of a source address at a revision.
    fn revision(&self, scope: &Scope, source_uri: &str, revision: Revision) -> Result<Option<Version>, Error>;

    /// The text of a version.
    fn text(&self, scope: &Scope, id: VersionId) -> Result<Option<String>, Error>;

    /// The outline of a version as recorded when it was chunked, in document order; empty when it has none.
    fn sections(&self, scope: &Scope, version: VersionId) -> Result<Vec<Section>, Error>;

    /// The versions of a namespace, newest `ingested_at` first (then the later version), after `after`, at most `limit`.
    /// Superseded versions are included only on request.
    fn timeline(
        &self,
        scope: &Scope,
        after: Option<TimelineKey>,
        include_superseded: bool,
        limit: usize,
    ) -> Result<Page<Version>, Error>;

    /// A chunk, whether its version is live or not.
    fn chunk(&self, scope: &Scope, id: ChunkId) -> Result<Option<Chunk>, Error>;

    /// The chunks with ids from `first`, `count` of them or as many as there are, in order. One that its version has and
    /// that is missing is an error.
    fn chunks(&self, scope: &Scope, first: ChunkId, count: u32) -> Result<Vec<Chunk>, Error>;

    /// The versions whose chunks a projection must hold: the live ones with id above `after`, in order of id, at most `limit`.
    fn live_versions(&self, scope: &Scope, after: Option<VersionId>, limit: usize) -> Result<Page<Version>, Error>;

    /// Live versions, of any source address, with this content hash, in order of id.
    fn versions_with_content(&self, scope: &Scope, content: &Hash) -> Result<Vec<VersionId>, Error>;

    /// Whether a live version other than those at `source_uri` has a chunk with this content hash.
    fn chunk_content_elsewhere(&self, scope: &Scope, content: &Hash, source_uri: &str) -> Result<bool, Error>;

    /// The vector of an embedder input.
    fn vector(&self, scope: &Scope, model: &str, input: &Hash) -> Result<Option<Vec<f32>>, Error>;

    /// The vectors of many inputs, in the order asked.
    fn vectors(&self, scope: &Scope, model: &str, inputs: &[Hash]) -> Result<Vec<Option<Vec<f32>>>, Error>;

    /// A namespace's changes after `after`, in order, at most `limit` entries.
    fn changes(&self, scope: &Scope, after: Seq, limit: usize) -> Result<Page<ChangeEntry>, Error>;

    /// Calls `each` with every blob of an earlier run that no catalogue row names, such as a crash between an upload and
    /// its commit leaves: namespace and hash in words, and its size in bytes. A compaction removes them.
    fn unnamed_blobs(&self, each: &mut dyn FnMut(String, u64)) -> Result<(), Error>;

    /// The catalogue row of a blob.
    fn blob(&self, scope: &Scope, hash: &BlobHash) -> Result<Option<BlobRow>, Error>;

    /// The catalogued blobs of every namespace, in order, after `after`, at most `limit`.
    fn blobs(&self, after: Option<(&Scope, &BlobHash)>, limit: usize) -> Result<Page<(Scope, BlobRow)>, Error>;

    /// A control record.
    fn record(&self, key: &str) -> Result<Option<Record>, Error>;

    /// The control records whose key starts with `prefix` and sorts after `after`, in order, at most `limit`.
    fn records(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Page<Record>, Error>;
}
