//! `knowledge.update_metadata`: edit a document's title, description and tags.

use loom_storage::{Batch, Committed, Document, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Planning;
use crate::error::{Code, Error};
use crate::ingest;
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct UpdateMetadata;

/// The input of `knowledge.update_metadata`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The live document to edit.
    source_uri: String,
    /// The new title; null leaves it, empty clears it.
    #[serde(default)]
    title: Option<String>,
    /// The new description; null leaves it, empty clears it.
    #[serde(default)]
    description: Option<String>,
    /// The new tags, in place of the old ones; null leaves them.
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// Also rewrite the chunks with the new title and description in their context, as the document's next revision.
    #[serde(default)]
    reindex: bool,
}

/// The output of `knowledge.update_metadata`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether the title, the description or the tags changed.
    updated: bool,
    /// The title after the call.
    title: String,
    /// The description after the call.
    description: String,
    /// The tags after the call.
    tags: Vec<String>,
    /// How many chunks were rewritten; 0 without `reindex`.
    chunks_reindexed: usize,
}

impl Command for UpdateMetadata {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.update_metadata",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Edit a document's title, description or tags; with reindex, its chunks' context too.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        let (Some(head), Some(live)) = ingest::current(planning, &scope, &input.source_uri)? else {
            let message = format!("{scope} has no live document {:?}: add it, or restore it", input.source_uri);
            return Err(Error { field: Some("source_uri".into()), ..Error::new(Code::NotFound, message) });
        };
        let document = edited(&live.document, input)?;
        let updated = document != live.document;
        let mut output = Output {
            updated,
            title: document.title.clone(),
            description: document.description.clone(),
            tags: document.tags.clone(),
            chunks_reindexed: 0,
        };
        let mut batch = Batch::default();
        if input.reindex {
            if !live.document.format.is_empty() {
                let message =
                    "an extracted file's chunks come from its extraction: ingest the file again to re-index it";
                return Err(Error::invalid("reindex", message));
            }
            let prepared = ingest::rewrite(planning, &scope, head, &live, document)?;
            output.chunks_reindexed = prepared.version.chunks.len();
            ingest::commit_into(planning, &mut batch, &scope, vec![prepared])?;
        } else if updated {
            batch.preconditions.push(ingest::head_unchanged(&scope, &input.source_uri, Some(&head)));
            batch.writes.push(Write::Edit { scope: scope.clone(), source_uri: input.source_uri.clone(), document });
        }
        let audit = json!({
            "scope": scope.to_string(), "source_uri": input.source_uri, "updated": updated, "reindex": input.reindex,
        });
        Ok(Plan { batch, answer: Box::new(move |_: &Committed| output), audit })
    }
}

fn edited(live: &Document, input: &Input) -> Result<Document, Error> {
    let mut document = live.clone();
    if let Some(title) = &input.title {
        limits::text("title", title, limits::TITLE_CHARS_MAX)?;
        document.title.clone_from(title);
    }
    if let Some(description) = &input.description {
        limits::text("description", description, limits::DESCRIPTION_CHARS_MAX)?;
        document.description.clone_from(description);
    }
    if let Some(tags) = &input.tags {
        document.tags = limits::tags("tags", tags)?;
    }
    Ok(document)
}
