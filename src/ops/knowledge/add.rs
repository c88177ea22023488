//! `knowledge.add`: store one document.

use loom_storage::{Batch, Committed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Planning;
use crate::error::Error;
use crate::ingest::{self, Incoming};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Add;

/// The input of `knowledge.add` and `knowledge.upsert`.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "KnowledgeDocumentInput")]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    pub org: String,
    /// The namespace.
    #[serde(default)]
    pub namespace: String,
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
    /// The agent that writes.
    #[serde(default)]
    pub agent: String,
    /// The session (a chat, a run) it is written in; searches can filter by it.
    #[serde(default)]
    pub session_id: String,
    /// What the content is when it is not the writer's own: `derived`, `external` or `imported`.
    #[serde(default)]
    pub source_class: Option<String>,
}

/// The output of `knowledge.add`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The id of the version this call wrote.
    doc_id: String,
    /// How many chunks it was cut into.
    chunks_created: usize,
    /// The embedding model of their vectors.
    embedding_model: String,
    /// The length of those vectors.
    embedding_dim: usize,
    /// The namespace written to.
    namespace: String,
    /// The document's identifier.
    source_uri: String,
}

impl Input {
    /// The document that the call gives.
    pub(super) fn incoming(&self) -> Incoming<'_> {
        Incoming {
            at: String::new(),
            source_uri: &self.source_uri,
            content: &self.content,
            title: &self.title,
            description: &self.description,
            tags: &self.tags,
            metadata: &self.metadata,
            original_bytes_b64: self.original_bytes_b64.as_deref(),
            original_filename: &self.original_filename,
            blob_content_type: &self.blob_content_type,
            agent: &self.agent,
            session_id: &self.session_id,
            source_class: self.source_class.as_deref(),
        }
    }
}

impl Command for Add {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.add",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: false,
        mcp_all_listed: true,
        summary: "Store a document and its chunks, ready to be searched; an earlier version at its address is retired.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        let prepared = ingest::prepare(planning, &scope, &input.incoming())?;
        let (doc_id, chunks_created) = (prepared.version.doc_id, prepared.version.chunks.len());
        let mut batch = Batch::default();
        let models = ingest::commit_into(planning, &mut batch, &scope, vec![prepared])?;
        let source_uri = input.source_uri.clone();
        let answer = move |_: &Committed| Output {
            doc_id: doc_id.to_string(),
            chunks_created,
            embedding_model: models.serving.name,
            embedding_dim: models.serving.dim,
            namespace: scope.namespace,
            source_uri,
        };
        Ok(Plan { batch, answer: Box::new(answer), audit: Value::Null })
    }
}
