//! An extracted file as a version to store, and the artifact that is kept beside it.

use loom_extract::contract::Artifact;
use loom_storage::{
    BlobRow, Chunk, ChunkId, DocId, Document, Hash, NewChunk, NewVersion, Original, Place, RecordWrite, Scope, Version,
    VersionId, Write,
};
use serde::{Deserialize, Serialize};

use crate::chunk::{self, Extracted};
use crate::context::Planning;
use crate::embed;
use crate::engine::Inner;
use crate::error::Error;
use crate::ingest;
use crate::jobs::Job;
use crate::noise;

/// The start of the keys of artifacts.
pub(crate) const ARTIFACTS: &str = "artifact/";

/// The fields of the document that a job publishes.
pub(crate) struct Described(Document);

impl Described {
    pub fn of(job: &Job, artifact: &Artifact) -> Self {
        let ask = &job.ask;
        let parser = &artifact.parser;
        Self(Document {
            title: if ask.title.is_empty() { job.file.filename.clone() } else { ask.title.clone() },
            description: ask.description.clone(),
            tags: ask.tags.clone(),
            metadata: ask.metadata.clone(),
            agent: ask.agent.clone(),
            session_id: ask.session_id.clone(),
            source_class: ask.source_class.clone().unwrap_or_else(|| ingest::SOURCE_CLASS_DEFAULT.to_owned()),
            actor: ask.actor.clone(),
            format: artifact.format.clone(),
            parser: format!("{} {}", parser.name, parser.version).trim().to_owned(),
            coverage: serde_json::to_string(&artifact.coverage).unwrap_or_default(),
            original: Hash::from_hex(&job.file.sha256).map(|blob| Original {
                blob,
                size: job.file.size,
                filename: job.file.filename.clone(),
                content_type: job.file.content_type.clone(),
            }),
        })
    }
}

/// The version that publishes an extracted file over `live`.
pub(crate) fn version(
    planning: &Planning<'_>,
    scope: &Scope,
    source_uri: &str,
    described: &Described,
    extracted: &Extracted,
    live: Option<&Version>,
) -> NewVersion {
    let mut document = described.0.clone();
    if let Some(live) = live.filter(|live| live.content_hash == Hash::of(extracted.text.as_bytes())) {
        // A re-save of the same text keeps its author.
        document.actor.clone_from(&live.document.actor);
    }
    let noise = noise::labels(&document.title, &extracted.text, &extracted.cut);
    let pieces = extracted.cut.pieces.iter().zip(&extracted.marks).zip(noise);
    let chunks = pieces.map(|((piece, mark), noise)| {
        let Place { byte_start, byte_end, .. } = piece.place;
        let slice = usize::try_from(byte_start).ok().zip(usize::try_from(byte_end).ok());
        let passage =
            slice.and_then(|(start, end)| extracted.text.get(start..end)).expect("a piece is a slice of the text");
        let header = piece.table_header.as_deref();
        let context = chunk::context(&document.title, &document.description, &piece.section_path, header);
        NewChunk(Chunk {
            id: ChunkId(0),
            version: VersionId(0),
            idx: 0,
            text: passage.to_owned(),
            content_hash: Hash::of(passage.as_bytes()),
            input_hash: embed::input_hash(&context, passage),
            context,
            section_path: piece.section_path.clone(),
            place: piece.place,
            noise,
            block_type: mark.block_type.to_owned(),
            keys: mark.keys.clone(),
            locator: chunk::stored_locator(mark.locator.as_ref()),
        })
    });
    let chunks = chunks.collect();
    NewVersion {
        scope: scope.clone(),
        doc_id: planning.fresh_doc_id(),
        source_uri: source_uri.to_owned(),
        ingested_at: planning.now(),
        document,
        text: extracted.text.clone(),
        sections: extracted.cut.sections.clone(),
        chunks,
    }
}

/// An artifact that is stored and waits to be named by the version it became.
pub(crate) struct KeptArtifact(BlobRow);

/// Where the artifact of a version is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ArtifactRow {
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Their number.
    pub size: u64,
}

/// The key of the row of a version's artifact.
pub(crate) fn artifact_key(scope: &Scope, doc_id: DocId) -> String {
    format!("{ARTIFACTS}{}/{}/{doc_id}", scope.org, scope.namespace)
}

/// Stores an artifact with tables, which typed datasets are made of; of any other nothing is in it that the document
/// does not have.
pub(crate) fn kept_artifact(engine: &Inner, scope: &Scope, artifact: &Artifact) -> Result<Option<KeptArtifact>, Error> {
    if artifact.tables.is_empty() {
        return Ok(None);
    }
    let bytes = serde_json::to_vec(artifact).map_err(Error::internal)?;
    engine.disk.admit(bytes.len() as u64)?;
    let mut writer = engine.store.write_blob(scope)?;
    writer.write(&bytes)?;
    let (hash, size) = writer.finish()?;
    Ok(Some(KeptArtifact(BlobRow { hash, size, stored_at: engine.config.clock.now() })))
}

impl KeptArtifact {
    /// What names it as the artifact of a version.
    pub fn writes(&self, scope: &Scope, doc_id: DocId) -> Result<Vec<Write>, Error> {
        let row = ArtifactRow { sha256: self.0.hash.hex(), size: self.0.size };
        let value = serde_json::to_vec(&row).map_err(Error::internal)?;
        let record = RecordWrite { key: artifact_key(scope, doc_id), value: Some(value) };
        Ok(vec![Write::PutBlob { scope: scope.clone(), row: self.0.clone() }, Write::Record(record)])
    }
}
