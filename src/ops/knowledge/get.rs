//! `knowledge.get`: one document's text and fields.

use loom_storage::{Revision, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct Get;

/// The input of `knowledge.get`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The document to read.
    source_uri: String,
    /// Also read a deleted document: the latest version at the address, served or not.
    #[serde(default)]
    include_superseded: bool,
    /// Read this revision, served or not, instead of the one that is served.
    #[serde(default)]
    revision: Option<u64>,
    /// The agent that reads, for `knowledge.reads`.
    #[serde(default)]
    agent: String,
}

/// The output of `knowledge.get`: every field but `source_uri` is null when nothing was found.
#[derive(Default, Serialize, JsonSchema)]
pub struct Output {
    /// Whether there is such a document.
    found: bool,
    /// The document's identifier.
    source_uri: String,
    /// Its title.
    title: Option<String>,
    /// Its description.
    description: Option<String>,
    /// Its whole text.
    content: Option<String>,
    /// Its tags.
    tags: Option<Vec<String>>,
    /// Its metadata.
    metadata: Option<Map<String, Value>>,
    /// When this version was written.
    ingested_at: Option<String>,
    /// Whether this version is deleted or replaced.
    superseded: Option<bool>,
    /// The id of this version.
    doc_id: Option<String>,
    /// Its revision: 1, 2, 3 for each source address.
    revision: Option<u64>,
    /// The format that Loom extracted it from; null for a text.
    format: Option<String>,
    /// The extractor's parser and version; null for a text.
    parser: Option<String>,
    /// How much of the file was extracted (unit, total, extracted, failed, lost); null for a text.
    coverage: Option<Map<String, Value>>,
}

impl Query for Get {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.get",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: true,
        summary: "Read one document's whole text and fields by its source address.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        let snapshot = reading.snapshot();
        limits::text("agent", &input.agent, limits::LABEL_CHARS_MAX)?;
        let head = snapshot.head(&scope, &input.source_uri)?.filter(|head| head.live || input.include_superseded);
        let version = match (input.revision, head) {
            (Some(revision), _) => snapshot.revision(&scope, &input.source_uri, Revision(revision))?,
            (None, Some(head)) => snapshot.version(&scope, head.version)?,
            (None, None) => None,
        };
        let Some(version) = version.filter(|version| !version.is_erased()) else {
            return Ok(Output { source_uri: input.source_uri, ..Output::default() });
        };
        reading.reads().note(&scope, &input.source_uri, &input.agent, reading.now());
        let content = snapshot.text(&scope, version.id)?;
        Ok(found(version, content))
    }
}

fn found(version: Version, content: Option<String>) -> Output {
    let superseded = !version.is_live();
    let document = version.document;
    let filled = |text: String| (!text.is_empty()).then_some(text);
    Output {
        found: true,
        source_uri: version.source_uri,
        title: Some(document.title),
        description: Some(document.description),
        content,
        tags: Some(document.tags),
        metadata: Some(object(&document.metadata).unwrap_or_default()),
        ingested_at: Some(rfc3339(version.ingested_at)),
        superseded: Some(superseded),
        doc_id: Some(version.doc_id.to_string()),
        revision: Some(version.revision.0),
        format: filled(document.format),
        parser: filled(document.parser),
        coverage: object(&document.coverage),
    }
}

/// A stored JSON object; `None` when it is empty text or unreadable.
pub(super) fn object(stored: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(stored).ok()
}
