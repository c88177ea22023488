//! `knowledge.restore`: undo a delete, so that the deleted version is served again.

use loom_storage::{Batch, Cause, Committed, Supersession, Timestamp, Version, VersionState, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Planning;
use crate::erasure;
use crate::error::Error;
use crate::ingest;
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// How long a delete can be undone, in milliseconds: 89 days, since the erasure ledger reaches back 90.
const RESTORABLE_MS: i64 = 89 * 24 * 60 * 60 * 1000;

/// See the module.
pub struct Restore;

/// The input of `knowledge.restore`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The deleted document.
    source_uri: String,
    /// Restore only when the deleted document is at this revision; null restores whatever was deleted.
    #[serde(default)]
    if_revision: Option<u64>,
}

/// Why nothing was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It was restored.
    #[serde(rename = "")]
    None,
    /// The namespace holds no document at this address.
    NotFound,
    /// It is live already; `doc_id` and `revision` name the live version.
    Live,
    /// The deleted document is at another revision.
    RevisionMismatch,
    /// No delete retired it, it has no chunks, or an erasure has it in its reach.
    NotRestorable,
    /// It was deleted more than 89 days ago.
    Expired,
}

/// What became of the stored original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OriginalState {
    /// It can be downloaded again.
    Kept,
    /// Its bytes are no longer stored.
    Gone,
    /// The document has none.
    None,
}

/// The output of `knowledge.restore`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether the document is live again.
    restored: bool,
    /// Why it is not; empty when it is.
    reason: Reason,
    /// The version the answer is about: the restored, the live, or the one left deleted.
    doc_id: String,
    /// Its revision; null when there is none.
    revision: Option<u64>,
    /// How many chunks are searchable again.
    chunks_restored: u32,
    /// The stored original: `kept`, `gone` or `none`.
    original: OriginalState,
}

impl Command for Restore {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.restore",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Undo the delete of a document: its last version and its chunks are live again.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        let snapshot = planning.snapshot();
        let head = snapshot.head(&scope, &input.source_uri)?;
        let version = match head {
            Some(head) => snapshot.version(&scope, head.version)?,
            None => None,
        };
        let mut reason =
            version.as_ref().map_or(Reason::NotFound, |version| reason(version, input.if_revision, planning.now()));
        if let (Reason::None, Some(version)) = (reason, &version)
            && erasure::covers(snapshot, &scope, &version.document.actor)?
        {
            reason = Reason::NotRestorable;
        }
        let mut output = Output {
            restored: reason == Reason::None,
            reason,
            doc_id: version.as_ref().map_or_else(String::new, |version| version.doc_id.to_string()),
            revision: version.as_ref().map(|version| version.revision.0),
            chunks_restored: 0,
            original: OriginalState::None,
        };
        let mut batch = Batch::default();
        if let Some(version) = version {
            let mut document = version.document;
            output.original = match &document.original {
                None => OriginalState::None,
                Some(original) if snapshot.blob(&scope, &original.blob)?.is_some() => OriginalState::Kept,
                Some(_) => OriginalState::Gone,
            };
            if reason == Reason::None {
                if output.original == OriginalState::Gone {
                    document.original = None;
                }
                output.chunks_restored = version.chunk_count;
                // The namespace may have moved to another embedding model since the delete.
                let chunks = snapshot.chunks(&scope, version.first_chunk, version.chunk_count)?;
                planning.embed_into(&mut batch, &scope, &ingest::inputs(chunks.iter()))?;
                batch.preconditions.push(ingest::head_unchanged(&scope, &input.source_uri, head.as_ref()));
                batch.writes.push(Write::Restore {
                    scope: scope.clone(),
                    source_uri: input.source_uri.clone(),
                    document,
                });
            }
        }
        let audit = json!({ "scope": scope.to_string(), "source_uri": input.source_uri, "reason": reason });
        Ok(Plan { batch, answer: Box::new(move |_: &Committed| output), audit })
    }
}

fn reason(version: &Version, if_revision: Option<u64>, now: Timestamp) -> Reason {
    match version.state {
        VersionState::Live => Reason::Live,
        VersionState::Superseded(_) if if_revision.is_some_and(|wanted| wanted != version.revision.0) => {
            Reason::RevisionMismatch
        }
        VersionState::Superseded(Supersession { cause: Cause::Delete, at, .. }) if version.chunk_count > 0 => {
            if now.0.saturating_sub(at.0) > RESTORABLE_MS { Reason::Expired } else { Reason::None }
        }
        VersionState::Superseded(_) => Reason::NotRestorable,
    }
}
