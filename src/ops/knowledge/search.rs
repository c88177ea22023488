//! `knowledge.search`: passages by meaning, by words, or both fused.

use loom_index::{Condition, Filter, MetadataFilter};
use loom_storage::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Reading;
use crate::error::Error;
use crate::keys;
use crate::limits::{self, FILTER_VALUES_MAX};
use crate::namespaces::{self, Visibility};
use crate::op::{Facts, Kind, Query, Role};
use crate::search::{self, EXPAND_CHUNKS_MAX, Expand, Hit, Reach, Request, SearchReport, WhyNot};

/// See the module.
pub struct Search;

/// Which namespaces are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamespaceScope {
    /// `namespace` alone.
    This,
    /// `namespace` first, and the caller's other namespaces.
    #[default]
    AllMine,
}

/// Which legs are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// Both, fused by reciprocal rank.
    #[default]
    Hybrid,
    /// The vector leg alone.
    Semantic,
    /// The lexical leg alone.
    Lexical,
}

/// The input of `knowledge.search`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// What to look for, 1 to 8192 characters: a question, words, or an exact name. It is text, never syntax.
    query: String,
    /// Only passages of documents that carry any of these tags, in any case.
    #[serde(default)]
    tags: Vec<String>,
    /// Only passages of documents written in the last so many seconds.
    #[serde(default)]
    since_seconds: Option<u64>,
    /// The most hits: 1 to 100.
    #[serde(default = "top_k_default")]
    top_k: u32,
    /// `this` searches `namespace` alone, `all_mine` the caller's other namespaces too.
    #[serde(default)]
    namespace_scope: NamespaceScope,
    /// Search `namespace` and exactly these instead.
    #[serde(default)]
    namespaces: Vec<String>,
    /// `hybrid` fuses both legs; `semantic` and `lexical` pin one.
    #[serde(default)]
    search_mode: SearchMode,
    /// The lexical leg's weight in the fusion. Lower it when the query's words stand everywhere.
    #[serde(default = "lexical_weight_default")]
    lexical_weight: f64,
    /// Also return the two sentences of each hit that are nearest to the query.
    #[serde(default)]
    narrow_spans: bool,
    /// Keep one hit for each section of a document, which counts the siblings it stands for.
    #[serde(default = "collapse_sections_default")]
    collapse_sections: bool,
    /// Only passages of documents whose `source_uri` starts with one of these, character for character; at most 8.
    #[serde(default)]
    uri_prefix: Vec<String>,
    /// Only passages of documents written in one of these sessions.
    #[serde(default)]
    session_ids: Vec<String>,
    /// Only passages of documents of these classes: `asserted`, `derived`, `external`, `imported`.
    #[serde(default)]
    source_classes: Vec<String>,
    /// Only passages of documents of these formats; the empty string means a text that Loom did not extract.
    #[serde(default)]
    formats: Vec<String>,
    /// Only passages of these block types; a text that Loom did not extract has none.
    #[serde(default)]
    block_types: Vec<String>,
    /// The reranker of the best hits, by name: empty for the deployment's default, `none` for none, `builtin:openai`,
    /// `builtin:cohere` (either with `:` and a model), or a named endpoint.
    #[serde(default)]
    rerank: String,
    /// Only passages of documents whose metadata meets all of these: for each key a value, a list of which one must be it,
    /// or an object with `gte` and `lte`.
    #[serde(default)]
    metadata: Map<String, Value>,
    /// Give each hit's passage with what is around it: `section`, or so many chunks `before` and `after` (0 to 10).
    #[serde(default)]
    expand: Option<Expand>,
    /// Say of each hit what the legs made of it, and of the search what it weighed.
    #[serde(default)]
    explain: bool,
    /// Say of this document why it is not among the hits.
    #[serde(default)]
    why_not: String,
}

fn top_k_default() -> u32 {
    5
}

fn lexical_weight_default() -> f64 {
    1.0
}

fn collapse_sections_default() -> bool {
    true
}

/// The output of `knowledge.search`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The hits, best first.
    results: Vec<Hit>,
    /// The reranker that ordered them; empty when none did.
    reranked_by: String,
    /// The embedding model whose vectors were searched.
    embedding_model: String,
    /// Namespaces of the caller that an `all_mine` search did not read because there are too many, or because their
    /// index is being built.
    namespaces_skipped: Vec<String>,
    /// Candidates left out because their document no longer serves them.
    stale_dropped: u64,
    /// What the search weighed, when `explain` was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<SearchReport>,
    /// What became of the document that `why_not` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WhyNot>,
}

impl Query for Search {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.search",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "Find passages by meaning, by words, or both.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        check(&input)?;
        let filter = filter(&input, reading.now())?;
        let (reach, mut namespaces_skipped) = reach(reading, &input)?;
        let request = Request {
            query: &input.query,
            names: keys::of_query(&input.query),
            mode: input.search_mode,
            lexical_weight: input.lexical_weight,
            filter: &filter,
            top_k: input.top_k as usize,
            skip_unready: input.namespaces.is_empty(),
            collapse_sections: input.collapse_sections,
            narrow_spans: input.narrow_spans,
            expand: input.expand,
            reranker: reading.rerankers().asked(&input.rerank)?.map(|reranker| (reranker, reading.config().rerank.top)),
            explain: input.explain,
            why_not: &input.why_not,
        };
        let found = search::run(reading, &reach, &request)?;
        namespaces_skipped.extend(found.skipped);
        Ok(Output {
            results: found.hits,
            reranked_by: found.reranked_by,
            embedding_model: found.embedding_model,
            namespaces_skipped,
            stale_dropped: found.stale_dropped,
            report: found.report,
            why_not: found.why_not,
        })
    }
}

fn check(input: &Input) -> Result<(), Error> {
    limits::text("query", &input.query, limits::QUERY_CHARS_MAX)?;
    if input.query.is_empty() {
        return Err(Error::invalid("query", "query is empty: say what to look for"));
    }
    limits::range("top_k", input.top_k, 1, limits::TOP_K_MAX)?;
    limits::list_len("uri_prefix", input.uri_prefix.len(), 0, limits::URI_PREFIXES_MAX)?;
    for (field, list) in [
        ("tags", &input.tags),
        ("session_ids", &input.session_ids),
        ("source_classes", &input.source_classes),
        ("formats", &input.formats),
        ("block_types", &input.block_types),
    ] {
        limits::list_len(field, list.len(), 0, FILTER_VALUES_MAX)?;
    }
    if !(input.lexical_weight.is_finite() && input.lexical_weight >= 0.0) {
        return Err(Error::invalid("lexical_weight", "lexical_weight must be 0 or a positive number"));
    }
    if let Some(Expand::Neighbours { before, after }) = input.expand {
        limits::range("expand.before", before, 0, EXPAND_CHUNKS_MAX)?;
        limits::range("expand.after", after, 0, EXPAND_CHUNKS_MAX)?;
    }
    if !input.why_not.is_empty() {
        limits::source_uri("why_not", &input.why_not)?;
    }
    Ok(())
}

fn filter(input: &Input, now: Timestamp) -> Result<Filter, Error> {
    let ms =
        |seconds: u64| i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1000)).unwrap_or(i64::MAX);
    Ok(Filter {
        uri_prefixes: input.uri_prefix.clone(),
        tags: input.tags.iter().map(|tag| tag.trim().to_owned()).collect(),
        ingested_from: input.since_seconds.map(|seconds| Timestamp(now.0.saturating_sub(ms(seconds)))),
        session_ids: input.session_ids.clone(),
        source_classes: input.source_classes.clone(),
        formats: input.formats.clone(),
        block_types: input.block_types.clone(),
        metadata: metadata_filter(&input.metadata)?,
    })
}

/// The conditions of `metadata`.
fn metadata_filter(metadata: &Map<String, Value>) -> Result<MetadataFilter, Error> {
    limits::list_len("metadata", metadata.len(), 0, FILTER_VALUES_MAX)?;
    let conditions = metadata.iter().map(|(key, value)| {
        let at = format!("metadata.{key}");
        let condition = match value {
            Value::Array(values) => {
                limits::list_len(&at, values.len(), 1, FILTER_VALUES_MAX)?;
                Condition::OneOf(values.clone())
            }
            Value::Object(bounds) => {
                let is_bound = |name: &String| matches!(name.as_str(), "gte" | "lte");
                let is_ordered = |bound: &Value| matches!(bound, Value::Number(_) | Value::String(_));
                if bounds.is_empty() || !bounds.keys().all(is_bound) || !bounds.values().all(is_ordered) {
                    let message =
                        format!("{at} must be a value, a list, or an object of gte and lte, numbers or strings");
                    return Err(Error::invalid(at, message));
                }
                Condition::Between { gte: bounds.get("gte").cloned(), lte: bounds.get("lte").cloned() }
            }
            value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                Condition::OneOf(vec![value.clone()])
            }
        };
        Ok((key.clone(), condition))
    });
    Ok(MetadataFilter(conditions.collect::<Result<_, Error>>()?))
}

/// The namespaces to search, the addressed one first, and those left out of a fan-out.
fn reach(reading: &Reading<'_>, input: &Input) -> Result<(Reach, Vec<String>), Error> {
    let mut reach =
        Reach { first: reading.scopes(&input.org, &input.namespace, &input.namespaces)?, public: Vec::new() };
    if !input.namespaces.is_empty() || input.namespace_scope == NamespaceScope::This {
        return Ok((reach, Vec::new()));
    }
    let settings = &reading.config().search;
    let (mut further, mut skipped) = (0, Vec::new());
    for row in reading.snapshot().namespaces(Some(&input.org))? {
        if row.scope == reach.first[0] || !reading.reaches(&row.scope)? {
            continue;
        }
        let facts = namespaces::facts(reading.snapshot(), &row.scope)?;
        if facts.is_deleted() || !settings.fanout_kinds.iter().any(|kind| kind == facts.kind.name()) {
            continue;
        }
        if further == settings.fanout_namespaces_max {
            skipped.push(row.scope.namespace);
            continue;
        }
        further += 1;
        match facts.visibility {
            Visibility::Private => reach.first.push(row.scope),
            Visibility::Public => reach.public.push(row.scope),
        }
    }
    Ok((reach, skipped))
}
