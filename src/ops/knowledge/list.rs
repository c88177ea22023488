//! `knowledge.list`: the documents of one namespace or several, newest first, in pages.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loom_index::fold_tag;
use loom_storage::{Hash, Scope, TimelineKey, Timestamp, Version, VersionId, VersionState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::get::object;
use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// How many versions are read from one namespace at a time.
const SCAN_PAGE: usize = 256;

/// See the module.
pub struct List;

/// The input of `knowledge.list`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// Also list the documents of these namespaces; a cursor holds only for the same ones.
    #[serde(default)]
    namespaces: Vec<String>,
    /// Documents that carry any of these tags, in any case.
    #[serde(default)]
    tags: Vec<String>,
    /// Documents that carry every one of `tags`.
    #[serde(default)]
    tags_every: bool,
    /// Documents whose `source_uri` starts with one of these, character for character; at most 8.
    #[serde(default)]
    uri_prefix: Vec<String>,
    /// Also list deleted and replaced versions.
    #[serde(default)]
    include_superseded: bool,
    /// The most rows of a page: 1 to 500.
    #[serde(default = "limit_default")]
    limit: u32,
    /// `next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
    /// The fields of a row to return; null returns every one.
    #[serde(default)]
    fields: Option<Vec<String>>,
}

fn limit_default() -> u32 {
    50
}

/// The output of `knowledge.list`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The documents, newest `ingested_at` first.
    #[schemars(with = "Vec<Row>")]
    rows: Vec<Value>,
    /// Pass as `cursor` for the next page; null on the last one.
    next_cursor: Option<String>,
}

/// `fields` leaves out those that it does not name.
fn any_may_be_absent(schema: &mut schemars::Schema) {
    schema.remove("required");
}

/// One listed document.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "_KnowledgeListEntry", transform = any_may_be_absent)]
struct Row {
    /// Its namespace.
    namespace: String,
    /// Its identifier.
    source_uri: String,
    /// Its title.
    title: String,
    /// Its description.
    description: String,
    /// Its tags.
    tags: Vec<String>,
    /// Its metadata.
    metadata: Map<String, Value>,
    /// The id of the version.
    doc_id: String,
    /// Its revision.
    revision: u64,
    /// The format it was extracted from; empty for a text.
    format: String,
    /// When the version was written.
    ingested_at: String,
    /// Whether it is deleted or replaced.
    superseded: bool,
    /// When it was deleted or replaced.
    superseded_at: Option<String>,
    /// How many chunks it has.
    chunks: u32,
    /// The length of its text in characters.
    chars: u64,
    /// Whether its original file is kept.
    has_original: bool,
    /// The original's file name.
    original_filename: String,
    /// The original's size in bytes.
    original_bytes: u64,
    /// The agent that wrote it.
    agent: String,
    /// The session it was written in.
    session_id: String,
    /// What its content is: `asserted`, `derived`, `external` or `imported`.
    source_class: String,
    /// Who wrote it.
    actor: String,
}

/// The names of a row's fields, in order.
const FIELDS: [&str; 21] = [
    "namespace",
    "source_uri",
    "title",
    "description",
    "tags",
    "metadata",
    "doc_id",
    "revision",
    "format",
    "ingested_at",
    "superseded",
    "superseded_at",
    "chunks",
    "chars",
    "has_original",
    "original_filename",
    "original_bytes",
    "agent",
    "session_id",
    "source_class",
    "actor",
];

impl Query for List {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.list",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: true,
        summary: "List the documents of one namespace or several, newest first, in pages.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        check(&input)?;
        let scopes = reading.scopes(&input.org, &input.namespace, &input.namespaces)?;
        let tie = cursor_tie(&scopes);
        let after = input.cursor.as_deref().map(|cursor| decode_cursor(cursor, &tie)).transpose()?;
        let limit = input.limit as usize;
        let mut streams: Vec<Stream> = scopes.into_iter().map(|scope| Stream::new(scope, after)).collect();
        let tags: Vec<String> = input.tags.iter().map(|tag| fold_tag(tag.trim())).collect();
        let mut rows = Vec::new();
        let mut last = None;
        let mut more = false;
        while let Some((scope, version)) = next(reading, &input, &tags, &mut streams)? {
            if rows.len() == limit {
                more = true;
                break;
            }
            last = Some(key_of(&version));
            rows.push(row(&scope, version, input.fields.as_deref())?);
        }
        let next_cursor = last.filter(|_| more).map(|key| encode_cursor(key, &tie));
        Ok(Output { rows, next_cursor })
    }
}

fn check(input: &Input) -> Result<(), Error> {
    limits::range("limit", input.limit, 1, limits::LIST_LIMIT_MAX)?;
    limits::list_len("uri_prefix", input.uri_prefix.len(), 0, limits::URI_PREFIXES_MAX)?;
    limits::list_len("tags", input.tags.len(), 0, limits::TAGS_MAX)?;
    for (at, field) in input.fields.iter().flatten().enumerate() {
        if !FIELDS.contains(&field.as_str()) {
            let at = format!("fields[{at}]");
            return Err(Error::invalid(
                at.clone(),
                format!("{at} names no field of a row; there are {}", FIELDS.join(", ")),
            ));
        }
    }
    Ok(())
}

/// The versions of one namespace that are still to be merged, newest first.
struct Stream {
    scope: Scope,
    after: Option<TimelineKey>,
    waiting: std::collections::VecDeque<Version>,
    ended: bool,
}

impl Stream {
    fn new(scope: Scope, after: Option<TimelineKey>) -> Self {
        Self { scope, after, waiting: std::collections::VecDeque::new(), ended: false }
    }

    /// Makes sure that the next version that passes the filters waits, if there is one.
    fn fill(&mut self, reading: &Reading<'_>, input: &Input, tags: &[String]) -> Result<(), Error> {
        while self.waiting.is_empty() && !self.ended {
            let page = reading.snapshot().timeline(&self.scope, self.after, input.include_superseded, SCAN_PAGE)?;
            self.ended = !page.more;
            self.after = page.items.last().map(key_of).or(self.after);
            self.waiting.extend(page.items.into_iter().filter(|version| passes(version, input, tags)));
        }
        Ok(())
    }
}

fn passes(version: &Version, input: &Input, tags: &[String]) -> bool {
    let prefixed = input.uri_prefix.is_empty()
        || input.uri_prefix.iter().any(|prefix| version.source_uri.starts_with(prefix.as_str()));
    if !prefixed || tags.is_empty() {
        return prefixed;
    }
    let carried: Vec<String> = version.document.tags.iter().map(|tag| fold_tag(tag)).collect();
    if input.tags_every {
        tags.iter().all(|tag| carried.contains(tag))
    } else {
        tags.iter().any(|tag| carried.contains(tag))
    }
}

fn next(
    reading: &Reading<'_>,
    input: &Input,
    tags: &[String],
    streams: &mut [Stream],
) -> Result<Option<(Scope, Version)>, Error> {
    for stream in streams.iter_mut() {
        stream.fill(reading, input, tags)?;
    }
    let newest = streams
        .iter_mut()
        .filter(|stream| !stream.waiting.is_empty())
        .max_by_key(|stream| stream.waiting.front().map(key_of));
    Ok(newest.and_then(|stream| stream.waiting.pop_front().map(|version| (stream.scope.clone(), version))))
}

fn key_of(version: &Version) -> TimelineKey {
    TimelineKey { ingested_at: version.ingested_at, version: version.id }
}

fn row(scope: &Scope, version: Version, fields: Option<&[String]>) -> Result<Value, Error> {
    let superseded_at = match version.state {
        VersionState::Live => None,
        VersionState::Superseded(supersession) => Some(rfc3339(supersession.at)),
    };
    let document = version.document;
    let original = document.original.as_ref();
    let row = Row {
        namespace: scope.namespace.clone(),
        source_uri: version.source_uri,
        title: document.title,
        description: document.description,
        tags: document.tags,
        metadata: object(&document.metadata).unwrap_or_default(),
        doc_id: version.doc_id.to_string(),
        revision: version.revision.0,
        format: document.format,
        ingested_at: rfc3339(version.ingested_at),
        superseded: superseded_at.is_some(),
        superseded_at,
        chunks: version.chunk_count,
        chars: version.chars,
        has_original: original.is_some(),
        original_filename: original.map_or_else(String::new, |original| original.filename.clone()),
        original_bytes: original.map_or(0, |original| original.size),
        agent: document.agent,
        session_id: document.session_id,
        source_class: document.source_class,
        actor: document.actor,
    };
    let mut row = serde_json::to_value(row).map_err(Error::internal)?;
    if let (Some(fields), Value::Object(all)) = (fields, &mut row) {
        all.retain(|name, _| fields.contains(name));
    }
    Ok(row)
}

/// What ties a cursor to the namespaces it was made for, in whatever order they are named.
fn cursor_tie(scopes: &[Scope]) -> String {
    let mut names: Vec<String> = scopes.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    Hash::of(names.join("\n").as_bytes()).hex()[..16].to_owned()
}

fn encode_cursor(key: TimelineKey, tie: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("1:{}:{}:{tie}", key.ingested_at.0, key.version.0))
}

fn decode_cursor(cursor: &str, tie: &str) -> Result<TimelineKey, Error> {
    let refused =
        || Error::invalid("cursor", "cursor is not the next_cursor of a page of these namespaces: start without one");
    let text =
        URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(refused)?;
    let mut parts = text.split(':');
    let (Some("1"), Some(at), Some(version), Some(tied_to), None) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(refused());
    };
    let (Ok(at), Ok(version)) = (at.parse(), version.parse()) else { return Err(refused()) };
    if tied_to != tie {
        return Err(refused());
    }
    Ok(TimelineKey { ingested_at: Timestamp(at), version: VersionId(version) })
}
