//! A namespace as operations answer it.

use loom_storage::{NamespaceRow, Scope, Snapshot};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::{Code, Error};
use crate::namespaces::{Known, NamespaceFacts, NamespaceKind, Visibility};

/// One namespace.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NamespaceEntry")]
pub struct Entry {
    /// Its name.
    pub namespace: String,
    /// What it is for.
    pub kind: NamespaceKind,
    /// Who finds what it holds.
    pub visibility: Visibility,
    /// Its title; possibly empty.
    pub title: String,
    /// Whose it is, as an actor such as `user:local`; possibly empty.
    pub owner: String,
    /// The collection that it stands in; null where it stands in none.
    pub parent: Option<String>,
    /// When it was created or first written to.
    pub created_at: String,
    /// Since when it is deleted; null while it is not.
    pub deleted_at: Option<String>,
    /// Live documents.
    pub documents: u64,
    /// Chunks of live documents.
    pub chunks: u64,
    /// Stored document versions, superseded ones included.
    pub versions: u64,
    /// The embedding model whose vectors are searched.
    pub embedding_model: String,
    /// The move to another embedding model that is under way; null when there is none.
    pub reembedding: Option<Reembedding>,
}

/// A move to another embedding model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NamespaceReembedding")]
pub struct Reembedding {
    /// The model that is to serve.
    model: String,
    /// Chunks that have their vector under it, as last counted.
    done: u64,
    /// Live chunks, as last counted.
    total: u64,
}

impl Entry {
    /// Of a namespace that was written to, or of which something was said.
    pub fn of(
        reading: &Reading<'_>,
        scope: &Scope,
        row: Option<&NamespaceRow>,
        facts: NamespaceFacts,
    ) -> Result<Self, Error> {
        // One that was never written to asks no provider what its vectors are like.
        let (serving, building) = match row {
            None => (reading.serving_model(scope)?, None),
            Some(_) => reading.models(scope).map(|models| (models.serving.name, models.building))?,
        };
        let progress = reading.reembedding(scope);
        let count = |of: fn(&NamespaceRow) -> u64| row.map_or(0, of);
        let written = row.map(|row| row.created_at);
        let created_at = facts.created_at.into_iter().chain(written).min().unwrap_or_default();
        Ok(Self {
            namespace: scope.namespace.clone(),
            kind: facts.kind,
            visibility: facts.visibility,
            title: facts.title,
            owner: facts.owner,
            parent: facts.parent,
            created_at: rfc3339(created_at),
            deleted_at: facts.deleted_at.map(rfc3339),
            documents: count(|row| row.documents),
            chunks: count(|row| row.chunks),
            versions: count(|row| row.versions),
            embedding_model: serving,
            reembedding: building.map(|model| Reembedding {
                model: model.name,
                done: progress.map_or(0, |progress| progress.done),
                total: progress.map_or(count(|row| row.chunks), |progress| progress.total),
            }),
        })
    }
}

/// [`Code::NotFound`] for a namespace that was never written to and of which nothing was said.
pub fn exists(snapshot: &dyn Snapshot, scope: &Scope, known: &Known) -> Result<(), Error> {
    if known.changed.is_some() || snapshot.namespace(scope)?.is_some() {
        return Ok(());
    }
    let message = format!("there is no namespace {}: write a document to it, or use namespace.create", scope.namespace);
    Err(Error { field: Some("namespace".into()), ..Error::new(Code::NotFound, message) })
}
