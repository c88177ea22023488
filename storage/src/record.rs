//! What is stored: the types of the records, as the rest of the engine sees them.
//!
//! The API's types are others; the stored bytes are made of these in the codec alone.

use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, ChunkId, DocId, Hash, Revision, Scope, Seq, VersionId};

/// Milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

/// What a writer says of a document; edited in place by `knowledge.update_metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The title, possibly empty.
    pub title: String,
    /// The description, possibly empty.
    pub description: String,
    /// Tags as given, trimmed, without repetitions.
    pub tags: Vec<String>,
    /// A JSON object, as text.
    pub metadata: String,
    /// The writing agent, possibly empty.
    pub agent: String,
    /// The session it was written in, possibly empty.
    pub session_id: String,
    /// `asserted`, `derived`, `external` or `imported`.
    pub source_class: String,
    /// Who wrote it, such as `user:local`.
    pub actor: String,
    /// The format of an extracted file; empty for a text write.
    pub format: String,
    /// The extractor's parser and version; empty for a text write.
    pub parser: String,
    /// The extractor's coverage as JSON; empty for a text write.
    pub coverage: String,
    /// The stored original.
    pub original: Option<Original>,
}

/// The original file kept beside a document's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// SHA-256 of its bytes.
    pub blob: BlobHash,
    /// Size in bytes.
    pub size: u64,
    /// Its file name, possibly empty.
    pub filename: String,
    /// Its media type, possibly empty.
    pub content_type: String,
}

/// Whether a version is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VersionState {
    /// It is what its source address serves now.
    Live,
    /// It was replaced, deleted or erased.
    Superseded(Supersession),
}

/// When and why a version stopped being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supersession {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub cause: Cause,
    /// The live chunks it retired.
    pub chunks: u32,
}

/// Why a version stopped being served. Only a [`Cause::Delete`] can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A later write of the same source address.
    Replace,
    /// `knowledge.delete`, `knowledge.bulk_delete`.
    Delete,
    /// `knowledge.dedup_resolve`.
    Duplicate,
    /// An erasure.
    Erasure,
}

/// One stored version of a document, without its text and its outline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its key.
    pub id: VersionId,
    /// Its public id.
    pub doc_id: DocId,
    /// The source address.
    pub source_uri: String,
    /// Its revision at that address.
    pub revision: Revision,
    /// When it was written; neither a metadata edit nor a restore changes it.
    pub ingested_at: Timestamp,
    /// Whether it is served.
    pub state: VersionState,
    /// What its writer said of it.
    pub document: Document,
    /// SHA-256 of the text.
    pub content_hash: Hash,
    /// Length of the text in Unicode scalar values.
    pub chars: u64,
    /// The id of its first chunk; meaningless when `chunk_count` is 0. A version of the same content as the one before it
    /// at its source address has the same chunks.
    pub first_chunk: ChunkId,
    /// How many chunks it has; their ids are consecutive.
    pub chunk_count: u32,
    /// How many sections its outline has; the outline is a record of its own.
    pub section_count: u32,
}

impl Version {
    /// Whether this is the version its source address serves.
    pub fn is_live(&self) -> bool {
        matches!(self.state, VersionState::Live)
    }

    /// Whether an erasure has left nothing of it but its number and its time.
    pub fn is_erased(&self) -> bool {
        matches!(self.state, VersionState::Superseded(Supersession { cause: Cause::Erasure, .. }))
            && self.chunk_count == 0
            && self.content_hash == Hash::of(b"")
            && self.document == Document::default()
    }

    /// The ids of its chunks in document order.
    pub fn chunk_ids(&self) -> impl Iterator<Item = ChunkId> + use<> {
        (self.first_chunk.0..self.first_chunk.0 + u64::from(self.chunk_count)).map(ChunkId)
    }

    /// Whether `later` is a later version of the same source address that took over the chunks of this one.
    pub(crate) fn is_shared_by(&self, later: &Self) -> bool {
        let content = |version: &Self| {
            let chunks = (version.first_chunk, version.chunk_count);
            (version.content_hash, version.chars, chunks, version.section_count)
        };
        self.source_uri == later.source_uri && self.revision < later.revision && content(self) == content(later)
    }
}

/// One heading of a document's outline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// The heading breadcrumb, outermost first, this heading last.
    pub path: Vec<String>,
    /// The heading's level, 1 to 6.
    pub depth: u8,
    /// Indexes of the first chunk of the section's own text and of the one past its last.
    pub chunks: (u32, u32),
    /// Length of the section's own text (heading included, subsections excluded) in Unicode scalar values.
    pub chars: u64,
}

impl Section {
    /// Whether its chunks are among the `chunk_count` of its version.
    pub(crate) fn is_within(&self, chunk_count: u64) -> bool {
        let (first, end) = self.chunks;
        first <= end && u64::from(end) <= chunk_count
    }
}

/// One chunk of a version: the unit of retrieval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Its key.
    pub id: ChunkId,
    /// The version it belongs to: the latest of those that have it.
    pub version: VersionId,
    /// Its index in the version, from 0.
    pub idx: u32,
    /// The passage, exactly as in the document.
    pub text: String,
    /// Title, description, breadcrumb and table header; embedded and scored with the text.
    pub context: String,
    /// The heading breadcrumb, outermost first; empty before the first heading.
    pub section_path: Vec<String>,
    /// Where the passage stands in the document's text.
    pub place: Place,
    /// SHA-256 of `text`.
    pub content_hash: Hash,
    /// SHA-256 of the embedder's input (context and text).
    pub input_hash: Hash,
    /// Whether its section was labelled noise.
    pub noise: bool,
    /// The block type of an extracted file's chunk; empty for text.
    pub block_type: String,
    /// The exact names its blocks define or read.
    pub keys: Vec<String>,
    /// The locator of an extracted file's chunk as JSON; empty for text.
    pub locator: String,
}

/// A range of a document's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// First byte of the passage in the UTF-8 text.
    pub byte_start: u64,
    /// One past its last byte.
    pub byte_end: u64,
    /// The same start in Unicode scalar values.
    pub char_start: u64,
    /// The same end in Unicode scalar values.
    pub char_end: u64,
    /// The line it starts on, from 1.
    pub line_start: u64,
    /// The line it ends on, from 1, inclusive.
    pub line_end: u64,
}

/// What a source address serves, and the guard of every write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The latest version.
    pub version: VersionId,
    /// Its revision.
    pub revision: Revision,
    /// Whether it is live; `false` after a delete.
    pub live: bool,
    /// The commit that last touched the address in any way.
    pub changed: Seq,
}

/// A namespace and its totals, kept with every commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceRow {
    /// Its name.
    pub scope: Scope,
    /// When its first version came.
    pub created_at: Timestamp,
    /// The last commit that wrote anything to it.
    pub last_seq: Seq,
    /// Live documents.
    pub documents: u64,
    /// Chunks of live documents.
    pub chunks: u64,
    /// Stored versions, superseded ones included.
    pub versions: u64,
}

/// The catalogue row of a stored original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRow {
    /// SHA-256 of the bytes.
    pub hash: BlobHash,
    /// Size in bytes.
    pub size: u64,
    /// When the bytes were last uploaded.
    pub stored_at: Timestamp,
}

/// A control-plane record: small, typed by its key's first segment, guarded by its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The ordered key, such as `audit/dev/local/<uuid>`.
    pub key: String,
    /// The commit that last wrote it: the value to compare in a precondition.
    pub changed: Seq,
    /// Its value, encoded by its owner.
    pub value: Vec<u8>,
}
