//! `knowledge.bulk_add`: store many documents in one commit.

use std::collections::HashMap;

use loom_storage::{Batch, Committed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Planning;
use crate::error::Error;
use crate::ingest::{self, Incoming};
use crate::limits::{self, BULK_MAX};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct BulkAdd;

/// The input of `knowledge.bulk_add`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    pub org: String,
    /// The namespace.
    #[serde(default)]
    pub namespace: String,
    /// The documents, 1 to 500, each `source_uri` at most once; one that does not hold refuses them all.
    pub entries: Vec<Entry>,
    /// The agent that writes them.
    #[serde(default)]
    pub agent: String,
    /// The session (a chat, a run) they are written in; searches can filter by it.
    #[serde(default)]
    pub session_id: String,
    /// What the content is when it is not the writer's own: `derived`, `external` or `imported`.
    #[serde(default)]
    pub source_class: Option<String>,
}

/// One document of `knowledge.bulk_add`.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "_KnowledgeBulkEntry")]
pub struct Entry {
    /// The document's stable identifier in the namespace: 1 to 2048 characters, kept byte for byte.
    pub source_uri: String,
    /// The document's text, at most `LOOM_KNOWLEDGE_MAX_CONTENT_BYTES` (16 MiB). It is cut into chunks on its headings.
    pub content: String,
    /// Its title, at most 1000 characters; empty takes the one in the text's front matter.
    #[serde(default)]
    pub title: String,
    /// What it is about, at most 4000 characters; empty takes the one in the text's front matter.
    #[serde(default)]
    pub description: String,
    /// Labels to filter by, at most 100; none takes those in the text's front matter.
    #[serde(default)]
    pub tags: Vec<String>,
    /// A JSON object kept with the document, at most 64 KiB.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// The original file in base64, kept beside the text; null or empty keeps the live version's.
    #[serde(default)]
    pub original_bytes_b64: Option<String>,
    /// The original's file name; empty keeps the live version's when its original is kept.
    #[serde(default)]
    pub original_filename: String,
    /// The original's media type; empty keeps the live version's when its original is kept.
    #[serde(default)]
    pub blob_content_type: String,
}

/// The output of `knowledge.bulk_add`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// What became of each entry, in the order given.
    written: Vec<Written>,
    /// The embedding model of the chunks' vectors.
    embedding_model: String,
    /// The length of those vectors.
    embedding_dim: usize,
}

/// What became of one entry.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "_KnowledgeBulkEntryResult")]
struct Written {
    /// The document's identifier.
    source_uri: String,
    /// The id of the version written.
    doc_id: String,
    /// How many chunks it was cut into.
    chunks_created: usize,
}

impl Input {
    fn incoming(&self, at: usize) -> Incoming<'_> {
        let entry = &self.entries[at];
        Incoming {
            at: format!("entries[{at}]."),
            source_uri: &entry.source_uri,
            content: &entry.content,
            title: &entry.title,
            description: &entry.description,
            tags: &entry.tags,
            metadata: &entry.metadata,
            original_bytes_b64: entry.original_bytes_b64.as_deref(),
            original_filename: &entry.original_filename,
            blob_content_type: &entry.blob_content_type,
            agent: &self.agent,
            session_id: &self.session_id,
            source_class: self.source_class.as_deref(),
        }
    }

    fn check(&self) -> Result<(), Error> {
        limits::list_len("entries", self.entries.len(), 1, BULK_MAX)?;
        let mut first = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(earlier) = first.insert(entry.source_uri.as_str(), at) {
                let field = format!("entries[{at}].source_uri");
                let message = format!(
                    "{field} repeats entries[{earlier}].source_uri: name each source once; nothing was written"
                );
                return Err(Error::invalid(field, message));
            }
        }
        Ok(())
    }
}

impl Command for BulkAdd {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.bulk_add",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: false,
        mcp_all_listed: true,
        summary: "Store up to 500 documents in one commit: all of them, or none.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        input.check()?;
        let prepared = (0..input.entries.len())
            .map(|at| ingest::prepare(planning, &scope, &input.incoming(at)))
            .collect::<Result<Vec<_>, _>>()?;
        let written = prepared
            .iter()
            .map(|prepared| Written {
                source_uri: prepared.version.source_uri.clone(),
                doc_id: prepared.version.doc_id.to_string(),
                chunks_created: prepared.version.chunks.len(),
            })
            .collect();
        let mut batch = Batch::default();
        let models = ingest::commit_into(planning, &mut batch, &scope, prepared)?;
        let answer = move |_: &Committed| Output {
            written,
            embedding_model: models.serving.name,
            embedding_dim: models.serving.dim,
        };
        Ok(Plan { batch, answer: Box::new(answer), audit: Value::Null })
    }
}
