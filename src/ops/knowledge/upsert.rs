//! `knowledge.upsert`: store or replace the document at a source address, and say what else holds the same content.

use loom_storage::{Batch, Committed, NewChunk, NewVersion, Scope};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::add::Input;
use crate::context::Planning;
use crate::error::Error;
use crate::ingest;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Upsert;

/// The output of `knowledge.upsert`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the version this call wrote.
    doc_id: String,
    /// How many chunks it was cut into.
    chunks_created: usize,
    /// How many live chunks of the earlier version were retired; 0 on a first write.
    chunks_superseded: u32,
    /// The embedding model of the chunks' vectors.
    embedding_model: String,
    /// The length of those vectors.
    embedding_dim: usize,
    /// Another live document with the same title and text, or empty. Both are kept: the caller decides.
    duplicate_of_uri: String,
    /// How many of the new chunks stand, word for word, under another source address too.
    duplicate_chunk_count: usize,
    /// The namespace written to.
    namespace: String,
    /// The document's identifier.
    source_uri: String,
}

impl Command for Upsert {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.upsert",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: false,
        mcp_all_listed: false,
        summary: "Store or replace the document at a source address; takes the fields of knowledge.add.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        let prepared = ingest::prepare(planning, &scope, &input.incoming())?;
        let duplicate_of_uri = duplicate_of(planning, &scope, &prepared.version)?;
        let duplicate_chunk_count = duplicate_chunks(planning, &scope, &prepared.version)?;
        let (doc_id, chunks_created) = (prepared.version.doc_id, prepared.version.chunks.len());
        let mut batch = Batch::default();
        let models = ingest::commit_into(planning, &mut batch, &scope, vec![prepared])?;
        let source_uri = input.source_uri.clone();
        let answer = move |committed: &Committed| Output {
            doc_id: doc_id.to_string(),
            chunks_created,
            chunks_superseded: committed.versions.first().map_or(0, |version| version.chunks_retired),
            embedding_model: models.serving.name,
            embedding_dim: models.serving.dim,
            duplicate_of_uri,
            duplicate_chunk_count,
            namespace: scope.namespace,
            source_uri,
        };
        Ok(Plan { batch, answer: Box::new(answer), audit: Value::Null })
    }
}

fn duplicate_of(planning: &Planning<'_>, scope: &Scope, version: &NewVersion) -> Result<String, Error> {
    let snapshot = planning.snapshot();
    let content = loom_storage::Hash::of(version.text.as_bytes());
    for id in snapshot.versions_with_content(scope, &content)? {
        if let Some(other) = snapshot.version(scope, id)?
            && other.source_uri != version.source_uri
            && other.document.title == version.document.title
        {
            return Ok(other.source_uri);
        }
    }
    Ok(String::new())
}

fn duplicate_chunks(planning: &Planning<'_>, scope: &Scope, version: &NewVersion) -> Result<usize, Error> {
    let mut count = 0;
    for NewChunk(chunk) in &version.chunks {
        if planning.snapshot().chunk_content_elsewhere(scope, &chunk.content_hash, &version.source_uri)? {
            count += 1;
        }
    }
    Ok(count)
}
