//! A hit: a passage with what a citation of it needs.

use std::cmp::Ordering;

use loom_storage::{Chunk, DocId, Place, Scope, Timestamp, Version, VersionId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::expand::Expansion;
use super::explain::Explanation;
use crate::clock::rfc3339;
use crate::error::Error;

/// What joins the headings of a breadcrumb.
pub const BREADCRUMB: &str = " > ";

/// One passage that a search found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "_SearchHit")]
pub struct Hit {
    /// The namespace it stands in.
    pub namespace: String,
    /// Its document.
    pub source_uri: String,
    /// The id of the document's version.
    pub doc_id: String,
    /// The document's revision it was written as.
    pub revision: u64,
    /// The format its document was extracted from; empty for a text.
    pub format: String,
    /// The document's title.
    pub title: String,
    /// The document's tags.
    pub tags: Vec<String>,
    /// Its index among the document's chunks, from 0.
    pub chunk_idx: u32,
    /// The passage, exactly as in the document.
    pub content: String,
    /// The headings above it, as text.
    pub section: String,
    /// The headings above it, outermost first.
    pub section_path: Vec<String>,
    /// The cosine of its vector and the query's; null when none was computed.
    pub similarity: Option<f64>,
    /// Its BM25 score; 0 when the lexical leg did not return it.
    pub lexical_score: f64,
    /// What the hits are ordered by: the fused score in hybrid mode, else the leg's own.
    pub score: f64,
    /// The query's exact names that it defines or reads.
    pub keys_matched: Vec<String>,
    /// Whether its section was labelled noise.
    pub noise: bool,
    /// How many further hits of its section it stands for.
    pub siblings_folded: u32,
    /// Its block type; empty for a text.
    pub block_type: String,
    /// The dataset that its table is, for `knowledge.query`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_id: Option<String>,
    /// Where it stands in its source: lines and characters of a text.
    pub locator: Option<Map<String, Value>>,
    /// The two sentences nearest to the query, when asked for.
    pub span: Option<Span>,
    /// The session the document was written in.
    pub session_id: String,
    /// What the document's content is.
    pub source_class: String,
    /// The agent that wrote the document.
    pub agent: String,
    /// When the document's version was written.
    pub ingested_at: String,
    /// The chunks that `content` is made of, when expanding was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expansion: Option<Expansion>,
    /// Why it stands where it stands, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Box<Explanation>>,
    #[serde(skip)]
    pub(super) document: DocId,
    #[serde(skip)]
    pub(super) written: Timestamp,
    /// Its document's version.
    #[serde(skip)]
    pub(super) version: VersionId,
    /// The cosine below which its model says nothing.
    #[serde(skip)]
    pub(super) noise_floor: f64,
    /// Whether it was moved below hits that are close to the query.
    #[serde(skip)]
    pub(super) demoted: bool,
    /// Its place after reranking.
    #[serde(skip)]
    pub(super) place: usize,
    /// Title, description and headings, as a reranker reads them.
    #[serde(skip)]
    pub(super) context: String,
}

/// A part of a passage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "_SearchSpan")]
pub struct Span {
    /// Its text.
    pub text: String,
    /// Its first character in `content`.
    pub start: usize,
    /// One past its last character in `content`.
    pub end: usize,
    /// The cosine of its vector and the query's.
    pub similarity: f64,
}

impl Hit {
    /// The hit of a chunk, without what the legs say of it.
    pub(super) fn new(scope: &Scope, version: &Version, chunk: Chunk) -> Result<Self, Error> {
        let document = &version.document;
        Ok(Self {
            namespace: scope.namespace.clone(),
            source_uri: version.source_uri.clone(),
            doc_id: version.doc_id.to_string(),
            revision: version.revision.0,
            format: document.format.clone(),
            title: document.title.clone(),
            tags: document.tags.clone(),
            chunk_idx: chunk.idx,
            section: chunk.section_path.join(BREADCRUMB),
            locator: locator(&chunk)?,
            content: chunk.text,
            section_path: chunk.section_path,
            similarity: None,
            lexical_score: 0.0,
            score: 0.0,
            keys_matched: Vec::new(),
            noise: chunk.noise,
            siblings_folded: 0,
            block_type: chunk.block_type,
            dataset_id: None,
            document: version.doc_id,
            span: None,
            session_id: document.session_id.clone(),
            source_class: document.source_class.clone(),
            agent: document.agent.clone(),
            ingested_at: rfc3339(version.ingested_at),
            written: version.ingested_at,
            version: version.id,
            expansion: None,
            explanation: None,
            noise_floor: 0.0,
            demoted: false,
            place: 0,
            context: chunk.context,
        })
    }

    /// Best first: by score, then similarity, then the newest, then address and place.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let similarity = |hit: &Self| hit.similarity.unwrap_or(f64::NEG_INFINITY);
        other
            .score
            .total_cmp(&self.score)
            .then_with(|| similarity(other).total_cmp(&similarity(self)))
            .then_with(|| other.written.cmp(&self.written))
            .then_with(|| {
                (&self.namespace, &self.source_uri, self.chunk_idx).cmp(&(
                    &other.namespace,
                    &other.source_uri,
                    other.chunk_idx,
                ))
            })
    }
}

fn locator(chunk: &Chunk) -> Result<Option<Map<String, Value>>, Error> {
    if !chunk.locator.is_empty() {
        return serde_json::from_str(&chunk.locator).map(Some).map_err(Error::internal);
    }
    Ok(lines(chunk.place))
}

/// The locator of a place in a text.
pub(super) fn lines(place: Place) -> Option<Map<String, Value>> {
    let lines = json!({
        "kind": "lines", "start": place.line_start, "end": place.line_end,
        "char_start": place.char_start, "char_end": place.char_end,
    });
    lines.as_object().cloned()
}
