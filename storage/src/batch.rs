//! One atomic write.

use crate::id::{ChunkId, DocId, Hash, Revision, Scope, Seq, VersionId};
use crate::record::{BlobRow, Cause, Chunk, Document, Section, Timestamp};

/// One atomic write: everything in it becomes durable and visible together, or nothing does.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// What must still hold when the batch is applied.
    pub preconditions: Vec<Precondition>,
    /// What to write, in order.
    pub writes: Vec<Write>,
}

/// A condition checked inside the commit.
#[derive(Clone, Debug)]
pub enum Precondition {
    /// The head of a source address was last changed by this commit; `None`: there is no head.
    Head {
        /// The namespace.
        scope: Scope,
        /// The source address.
        source_uri: String,
        /// `changed` of the head that was read.
        changed: Option<Seq>,
    },
    /// A control record was last written by this commit; `None`: there is no such record.
    Record {
        /// The record's key.
        key: String,
        /// `changed` of the record that was read.
        changed: Option<Seq>,
    },
}

/// One write of a batch.
#[derive(Clone, Debug)]
pub enum Write {
    /// Store a new version and make it the head of its source address. A live version there is retired in the
    /// same commit with [`Cause::Replace`]; its revision follows the head's by one, or is 1. The namespace
    /// comes into being with its first version. When text, outline and chunks are those of the head's version, live or
    /// deleted, and there are chunks, the new version takes over the old one's: both have the same chunk ids, and the
    /// chunks name the new one.
    PutVersion(Box<NewVersion>),
    /// Stop serving the live version of a source address. `Error::Invalid` when none is live.
    Retire {
        /// The namespace.
        scope: Scope,
        /// The source address.
        source_uri: String,
        /// Why.
        cause: Cause,
        /// When.
        at: Timestamp,
    },
    /// Serve the deleted head version of a source address again, with `document` as its fields.
    /// `Error::Invalid` when the head is live or there is none.
    Restore {
        /// The namespace.
        scope: Scope,
        /// The source address.
        source_uri: String,
        /// The document's fields from now on (its original may be gone).
        document: Document,
    },
    /// Replace the document fields of the live version. `Error::Invalid` when none is live.
    Edit {
        /// The namespace.
        scope: Scope,
        /// The source address.
        source_uri: String,
        /// The new fields.
        document: Document,
    },
    /// Keep vectors of embedder inputs; those already kept are left as they are.
    PutVectors {
        /// The namespace.
        scope: Scope,
        /// The model's name.
        model: String,
        /// Input hash and vector, all of the model's dimension.
        vectors: Vec<(Hash, Vec<f32>)>,
    },
    /// Remove every vector of a model from a namespace.
    DropVectors {
        /// The namespace.
        scope: Scope,
        /// The model's name.
        model: String,
    },
    /// Append [`crate::Change::ModelSwitched`] to the namespace's change log.
    SwitchModel {
        /// The namespace.
        scope: Scope,
        /// The model that serves from this commit on.
        model: String,
    },
    /// Catalogue a blob whose bytes are stored. `Error::BlobGone` when they are not.
    PutBlob {
        /// The namespace.
        scope: Scope,
        /// Its row.
        row: BlobRow,
    },
    /// Take a blob out of the catalogue, unless it was catalogued again since; its bytes stay until
    /// [`Store::remove_blob`](crate::Store::remove_blob).
    DropBlob {
        /// The namespace.
        scope: Scope,
        /// The row as it was read.
        row: BlobRow,
    },
    /// Write or delete a control record.
    Record(RecordWrite),
    /// Remove everything of a namespace but its control records and the bytes of its blobs: versions in whatever state,
    /// vectors, change log, catalogue, totals. The only write to that namespace in its batch.
    EraseNamespace {
        /// The namespace.
        scope: Scope,
    },
    /// Remove the content of versions of one source address, in whatever state; ids that it does not have are passed over.
    /// Where none but erased versions are left, the address goes with them; else each keeps its number, its time and the cause
    /// [`Cause::Erasure`], and nothing else.
    EraseVersions {
        /// The namespace.
        scope: Scope,
        /// The source address.
        source_uri: String,
        /// The versions.
        versions: Vec<VersionId>,
        /// When.
        at: Timestamp,
    },
    /// Remove the vectors of inputs that no chunk of the namespace has, of whatever model. The only write to that namespace
    /// in its batch beside records.
    DropUnusedVectors {
        /// The namespace.
        scope: Scope,
    },
}

impl Write {
    /// The namespace that it concerns; `None` for a record.
    pub fn scope(&self) -> Option<&Scope> {
        match self {
            Self::PutVersion(version) => Some(&version.scope),
            Self::Retire { scope, .. }
            | Self::Restore { scope, .. }
            | Self::Edit { scope, .. }
            | Self::PutVectors { scope, .. }
            | Self::DropVectors { scope, .. }
            | Self::SwitchModel { scope, .. }
            | Self::PutBlob { scope, .. }
            | Self::DropBlob { scope, .. }
            | Self::EraseNamespace { scope }
            | Self::EraseVersions { scope, .. }
            | Self::DropUnusedVectors { scope } => Some(scope),
            Self::Record(_) => None,
        }
    }
}

/// A write of the control plane.
#[derive(Clone, Debug)]
pub struct RecordWrite {
    /// The record's key: non-empty UTF-8.
    pub key: String,
    /// Its new value; `None` deletes it.
    pub value: Option<Vec<u8>>,
}

/// A version to store; ids and revision are given by the commit.
#[derive(Clone, Debug)]
pub struct NewVersion {
    /// The namespace.
    pub scope: Scope,
    /// Its public id.
    pub doc_id: DocId,
    /// The source address.
    pub source_uri: String,
    /// When it is written.
    pub ingested_at: Timestamp,
    /// What its writer says of it.
    pub document: Document,
    /// The whole text.
    pub text: String,
    /// Its outline in document order; their chunks are among `chunks`.
    pub sections: Vec<Section>,
    /// Its chunks in document order. `id`, `version` and `idx` are given by the commit.
    pub chunks: Vec<NewChunk>,
}

/// A chunk to store: a [`Chunk`] whose `id`, `version` and `idx` the commit gives.
#[derive(Clone, Debug)]
pub struct NewChunk(pub Chunk);

/// What a commit did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The commit's number.
    pub seq: Seq,
    /// Of each [`Write::PutVersion`], in order: its key, revision, first chunk and the chunks it retired.
    pub versions: Vec<CommittedVersion>,
}

/// What a commit made of one [`Write::PutVersion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommittedVersion {
    /// Its key.
    pub version: VersionId,
    /// Its revision.
    pub revision: Revision,
    /// The id of its first chunk; that of an earlier version when it took over its chunks.
    pub first_chunk: ChunkId,
    /// Live chunks of the earlier version that it retired.
    pub chunks_retired: u32,
}
