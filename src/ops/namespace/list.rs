//! `namespace.list`: the namespaces of a tenant with their totals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct List;

/// The input of `namespace.list`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
}

/// The output of `namespace.list`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The namespaces that were ever written to, by name.
    namespaces: Vec<Entry>,
}

/// One namespace.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NamespaceEntry")]
struct Entry {
    /// Its name.
    namespace: String,
    /// When it was first written to.
    created_at: String,
    /// Live documents.
    documents: u64,
    /// Chunks of live documents.
    chunks: u64,
    /// Stored document versions, superseded ones included.
    versions: u64,
    /// The embedding model whose vectors are searched.
    embedding_model: String,
    /// The move to another embedding model that is under way; null when there is none.
    reembedding: Option<Reembedding>,
}

/// A move to another embedding model.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NamespaceReembedding")]
struct Reembedding {
    /// The model that is to serve.
    model: String,
    /// Chunks that have their vector under it, as last counted.
    done: u64,
    /// Live chunks, as last counted.
    total: u64,
}

impl Query for List {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "namespace.list",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: true,
        summary: "The namespaces of a tenant with their totals.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        limits::name("org", &input.org)?;
        let mut namespaces = Vec::new();
        for row in reading.snapshot().namespaces(Some(&input.org))? {
            let models = reading.models(&row.scope)?;
            let progress = reading.reembedding(&row.scope);
            namespaces.push(Entry {
                namespace: row.scope.namespace,
                created_at: rfc3339(row.created_at),
                documents: row.documents,
                chunks: row.chunks,
                versions: row.versions,
                embedding_model: models.serving.name,
                reembedding: models.building.map(|model| Reembedding {
                    model: model.name,
                    done: progress.map_or(0, |progress| progress.done),
                    total: progress.map_or(row.chunks, |progress| progress.total),
                }),
            });
        }
        Ok(Output { namespaces })
    }
}
