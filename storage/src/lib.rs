//! Where Loom keeps everything: document versions, chunks, vectors, history, blobs and control records.
//!
//! Storage is the only truth of the engine. Whatever else lies on disk (lexical and vector indexes) is a
//! projection of it, derived from the change log. Every write is one [`Batch`], applied whole or not at all.

mod batch;
mod change;
mod error;
mod id;
mod record;
mod store;

pub use batch::{Batch, Committed, CommittedVersion, NewChunk, NewVersion, Precondition, RecordWrite, Write};
pub use change::{Change, ChangeEntry};
pub use error::Error;
pub use id::{BlobHash, ChunkId, DocId, Hash, ORDINALS_MAX, Revision, Scope, Seq, VersionId};
pub use record::{
    BlobRow, Cause, Chunk, Document, Head, NamespaceRow, Original, Place, Record, Section, Supersession, Timestamp,
    Version, VersionState,
};
pub use store::{BlobReader, BlobWriter, Page, Snapshot, Store, TimelineKey};
