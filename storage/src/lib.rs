//! Where Loom keeps everything: document versions, chunks, vectors, history, blobs and control records.
//!
//! Storage is the only truth of the engine. Whatever else lies on disk (lexical and vector indexes) is a
//! projection of it, derived from the change log. Every write is one [`Batch`], applied whole or not at all.

mod backup;
mod batch;
mod change;
mod codec;
#[cfg(feature = "testing")]
pub mod contract;
mod error;
mod id;
mod keys;
mod lease;
#[cfg(feature = "testing")]
mod memory;
mod record;
mod redb;
mod store;
mod validate;

pub use backup::{BackupSummary, check_backup};
pub use batch::{Batch, Committed, CommittedVersion, NewChunk, NewVersion, Precondition, RecordWrite, Write};
pub use change::{Change, ChangeEntry};
#[cfg(feature = "testing")]
pub use codec::decode_hostile;
pub use error::Error;
pub use id::{BlobHash, ChunkId, DocId, Hash, ORDINALS_MAX, Revision, Scope, Seq, VersionId};
pub use lease::{Acquired, Lease};
#[cfg(feature = "testing")]
pub use memory::MemoryStore;
pub use record::{
    BlobRow, Cause, Chunk, Document, Head, NamespaceRow, Original, Place, Record, Section, Supersession, Timestamp,
    Version, VersionState,
};
pub use redb::{FileBackend, RedbOptions, RedbStore, StorageBackend};
pub use store::{BlobReader, BlobWriter, Compacted, Page, Snapshot, Store, TimelineKey, live_versions};
