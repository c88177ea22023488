//! `knowledge.history`: the revisions of a document, newest first.

use loom_storage::{Cause, Revision, Version, VersionState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct History;

/// The input of `knowledge.history`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The document.
    source_uri: String,
    /// Only revisions below this one: the last of the page before.
    #[serde(default)]
    before: Option<u64>,
    /// At most this many (1-500).
    #[serde(default = "limit_default")]
    limit: u32,
}

fn limit_default() -> u32 {
    50
}

/// The output of `knowledge.history`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether the namespace ever held a document at this address.
    found: bool,
    /// As it was given.
    source_uri: String,
    /// The revisions, newest first.
    revisions: Vec<Entry>,
    /// Whether there are earlier ones.
    more: bool,
}

/// One revision.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistoryEntry")]
struct Entry {
    /// Its number.
    revision: u64,
    /// The id of this version.
    doc_id: String,
    /// Its title.
    title: String,
    /// When it was written.
    ingested_at: String,
    /// Whether it is served.
    live: bool,
    /// Since when it is not; null while it is.
    superseded_at: Option<String>,
    /// Why it is not: `replaced`, `deleted`, `duplicate` or `erased`; empty while it is served. `knowledge.get` reads the text
    /// of every one but an erased one.
    cause: &'static str,
    /// Its length in characters.
    chars: u64,
    /// Its passages.
    chunks: u32,
    /// The agent that wrote it; possibly empty.
    agent: String,
    /// The session it was written in; possibly empty.
    session_id: String,
    /// Who wrote it.
    actor: String,
    /// The format that it was extracted from; empty for a text.
    format: String,
    /// The size of its original in bytes; 0 where it has none.
    original_bytes: u64,
}

impl Query for History {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.history",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "The revisions of a document: when and by whom each was written, how large it is, why it is not served.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        limits::range("limit", input.limit, 1, limits::LIST_LIMIT_MAX)?;
        let snapshot = reading.snapshot();
        let head = snapshot.head(&scope, &input.source_uri)?;
        let newest =
            head.map_or(0, |head| head.revision.0).min(input.before.map_or(u64::MAX, |at| at.saturating_sub(1)));
        let oldest = newest.saturating_sub(u64::from(input.limit));
        let mut revisions = Vec::new();
        for revision in (oldest + 1..=newest).rev() {
            revisions.extend(snapshot.revision(&scope, &input.source_uri, Revision(revision))?.map(entry));
        }
        Ok(Output { found: head.is_some(), source_uri: input.source_uri, revisions, more: oldest > 0 })
    }
}

fn entry(version: Version) -> Entry {
    let (superseded_at, cause) = match version.state {
        VersionState::Live => (None, ""),
        VersionState::Superseded(supersession) => {
            let cause = match supersession.cause {
                Cause::Replace => "replaced",
                Cause::Delete => "deleted",
                Cause::Duplicate => "duplicate",
                Cause::Erasure => "erased",
            };
            (Some(rfc3339(supersession.at)), cause)
        }
    };
    Entry {
        revision: version.revision.0,
        doc_id: version.doc_id.to_string(),
        live: version.is_live(),
        ingested_at: rfc3339(version.ingested_at),
        superseded_at,
        cause,
        chars: version.chars,
        chunks: version.chunk_count,
        original_bytes: version.document.original.as_ref().map_or(0, |original| original.size),
        title: version.document.title,
        agent: version.document.agent,
        session_id: version.document.session_id,
        actor: version.document.actor,
        format: version.document.format,
    }
}
