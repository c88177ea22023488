//! Small documents and batches for tests.

use uuid::Uuid;

use crate::batch::{Batch, NewChunk, NewVersion, Precondition, RecordWrite, Write};
use crate::id::{ChunkId, DocId, Hash, Scope, Seq, VersionId};
use crate::record::{Cause, Chunk, Document, Place, Section, Timestamp};

/// The namespace of most cases.
pub fn scope() -> Scope {
    Scope::new("org", "notes")
}

/// A document's fields, all from its title.
pub fn document(title: &str) -> Document {
    Document {
        title: title.into(),
        description: format!("about {title}"),
        tags: vec!["a tag".into(), title.into()],
        metadata: r#"{"k":1}"#.into(),
        agent: "agent".into(),
        session_id: "session".into(),
        source_class: "asserted".into(),
        actor: "user:local".into(),
        ..Document::default()
    }
}

/// A version of `source_uri` whose chunks are the lines of `text`, written at `at` milliseconds.
///
/// # Panics
///
/// On a text of billions of lines.
pub fn version(scope: &Scope, source_uri: &str, text: &str, at: i64) -> NewVersion {
    let (mut bytes, mut chars) = (0, 0);
    let mut chunks = Vec::new();
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let end = (bytes + line.len() as u64, chars + line.chars().count() as u64);
        chunks.push(NewChunk(Chunk {
            id: ChunkId(0),
            version: VersionId(0),
            idx: 0,
            text: line.into(),
            context: source_uri.into(),
            section_path: vec!["Top".into(), source_uri.into()],
            place: Place {
                byte_start: bytes,
                byte_end: end.0,
                char_start: chars,
                char_end: end.1,
                line_start: number,
                line_end: number,
            },
            content_hash: Hash::of(line.as_bytes()),
            input_hash: input(line),
            noise: false,
            block_type: String::new(),
            keys: vec![line.trim().into()],
            locator: String::new(),
        }));
        (bytes, chars) = end;
    }
    let count = u32::try_from(chunks.len()).expect("a test's text is short");
    NewVersion {
        scope: scope.clone(),
        doc_id: DocId(Uuid::from_u128(u128::from(at.unsigned_abs()) << 64 | u128::from(chars))),
        source_uri: source_uri.into(),
        ingested_at: Timestamp(at),
        document: document(source_uri),
        text: text.into(),
        sections: vec![Section { path: vec!["Top".into()], depth: 1, chunks: (0, count), chars }],
        chunks,
    }
}

/// The hash of the embedder input that [`version`] gives a chunk of `text`.
pub fn input(text: &str) -> Hash {
    Hash::of(format!("input {text}").as_bytes())
}

/// Puts [`version`].
pub fn put(scope: &Scope, source_uri: &str, text: &str, at: i64) -> Write {
    Write::PutVersion(Box::new(version(scope, source_uri, text, at)))
}

/// Deletes what a source address serves.
pub fn delete(scope: &Scope, source_uri: &str, at: i64) -> Write {
    Write::Retire { scope: scope.clone(), source_uri: source_uri.into(), cause: Cause::Delete, at: Timestamp(at) }
}

/// Restores a deleted version under a new title.
pub fn restore(scope: &Scope, source_uri: &str, title: &str) -> Write {
    Write::Restore { scope: scope.clone(), source_uri: source_uri.into(), document: document(title) }
}

/// Edits a live version's fields.
pub fn edit(scope: &Scope, source_uri: &str, title: &str) -> Write {
    Write::Edit { scope: scope.clone(), source_uri: source_uri.into(), document: document(title) }
}

/// Writes or deletes a control record.
pub fn record(key: &str, value: Option<&[u8]>) -> Write {
    Write::Record(RecordWrite { key: key.into(), value: value.map(<[u8]>::to_vec) })
}

/// Keeps a vector for each of `texts`.
pub fn vectors(scope: &Scope, model: &str, vectors: &[(&str, &[f32])]) -> Write {
    Write::PutVectors {
        scope: scope.clone(),
        model: model.into(),
        vectors: vectors.iter().map(|(text, vector)| (input(text), vector.to_vec())).collect(),
    }
}

/// A batch without preconditions.
pub fn batch(writes: impl IntoIterator<Item = Write>) -> Batch {
    Batch { preconditions: Vec::new(), writes: writes.into_iter().collect() }
}

/// What must hold of a head.
pub fn head_is(scope: &Scope, source_uri: &str, changed: Option<u64>) -> Precondition {
    Precondition::Head { scope: scope.clone(), source_uri: source_uri.into(), changed: changed.map(Seq) }
}

/// What must hold of a control record.
pub fn record_is(key: &str, changed: Option<u64>) -> Precondition {
    Precondition::Record { key: key.into(), changed: changed.map(Seq) }
}
