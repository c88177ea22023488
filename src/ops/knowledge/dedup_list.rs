//! `knowledge.dedup_list`: documents, and on request passages, that stand at several source addresses.

use std::collections::{HashMap, HashSet};

use loom_storage::{Hash, Scope, Version, VersionId, live_versions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// The most clusters of each kind.
const LIMIT_MAX: u32 = 200;
/// The most members of a cluster that are listed; `size` says how many there are.
const MEMBERS_MAX: usize = 200;
/// How much of a passage is shown, in characters.
const EXCERPT_CHARS: usize = 200;

/// See the module.
pub struct DedupList;

/// The input of `knowledge.dedup_list`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// At most this many clusters of each kind (1-200).
    #[serde(default = "limit_default")]
    limit: u32,
    /// Also look for identical passages.
    #[serde(default)]
    include_chunk_clusters: bool,
}

fn limit_default() -> u32 {
    50
}

/// The output of `knowledge.dedup_list`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Live documents of the same text at different source addresses, the largest clusters first.
    doc_clusters: Vec<DocCluster>,
    /// Passages of the same text in documents at different source addresses; empty unless they were asked for.
    chunk_clusters: Vec<ChunkCluster>,
}

/// Documents of one text.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "_KnowledgeDocCluster")]
struct DocCluster {
    /// SHA-256 of the text, in hex.
    content_hash: String,
    /// The title of the oldest.
    title: String,
    /// The documents, oldest first; at most 200.
    documents: Vec<DocMember>,
    /// The oldest.
    canonical_uri: String,
    /// How many there are.
    size: usize,
}

/// A document of a cluster.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "_KnowledgeDocMember")]
struct DocMember {
    /// Its source address.
    source_uri: String,
    /// Its title.
    title: String,
    /// Its revision.
    revision: u64,
    /// When it was written.
    ingested_at: String,
    /// Its length in characters.
    chars: u64,
}

/// Passages of one text.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "_KnowledgeChunkCluster")]
struct ChunkCluster {
    /// SHA-256 of the passage, in hex.
    content_hash: String,
    /// Its first 200 characters.
    excerpt: String,
    /// Where it stands; at most 200.
    chunks: Vec<ChunkMember>,
    /// In how many places.
    size: usize,
}

/// A passage of a cluster.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "_KnowledgeChunkMember")]
struct ChunkMember {
    /// The document's source address.
    source_uri: String,
    /// Its index in the document.
    chunk_idx: u32,
    /// The headings above it.
    section: String,
}

impl Query for DedupList {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.dedup_list",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: false,
        mcp_all_listed: false,
        summary: "List documents, and on request passages, that stand at several source addresses.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::range("limit", input.limit, 1, LIMIT_MAX)?;
        let limit = input.limit as usize;
        let doc_clusters = documents(reading, &scope, limit)?;
        let chunk_clusters = if input.include_chunk_clusters { chunks(reading, &scope, limit)? } else { Vec::new() };
        Ok(Output { doc_clusters, chunk_clusters })
    }
}

fn documents(reading: &Reading<'_>, scope: &Scope, limit: usize) -> Result<Vec<DocCluster>, Error> {
    let snapshot = reading.snapshot();
    let mut counted: HashMap<Hash, (usize, VersionId)> = HashMap::new();
    for version in live_versions(snapshot, scope) {
        let version = version?;
        counted.entry(version.content_hash).or_insert((0, version.id)).0 += 1;
        reading.check_deadline()?;
    }
    let mut clusters = Vec::new();
    for (hash, size) in largest(counted, limit) {
        let mut members: Vec<Version> = Vec::new();
        for id in snapshot.versions_with_content(scope, &hash)?.into_iter().take(MEMBERS_MAX) {
            members.extend(snapshot.version(scope, id)?);
        }
        members.sort_by_key(|member| (member.ingested_at, member.id));
        let Some(oldest) = members.first() else { continue };
        let (title, canonical_uri) = (oldest.document.title.clone(), oldest.source_uri.clone());
        let documents = members.into_iter().map(|version| DocMember {
            source_uri: version.source_uri,
            title: version.document.title,
            revision: version.revision.0,
            ingested_at: rfc3339(version.ingested_at),
            chars: version.chars,
        });
        let documents = documents.collect();
        clusters.push(DocCluster { content_hash: hash.hex(), title, documents, canonical_uri, size });
    }
    Ok(clusters)
}

/// What is there more than once: the most often first, then what came first.
fn largest(counted: HashMap<Hash, (usize, VersionId)>, limit: usize) -> Vec<(Hash, usize)> {
    let mut several: Vec<(Hash, (usize, VersionId))> = counted.into_iter().filter(|(_, (size, _))| *size > 1).collect();
    several.sort_by_key(|(hash, (size, first))| (std::cmp::Reverse(*size), *first, *hash));
    several.into_iter().take(limit).map(|(hash, (size, _))| (hash, size)).collect()
}

fn chunks(reading: &Reading<'_>, scope: &Scope, limit: usize) -> Result<Vec<ChunkCluster>, Error> {
    let snapshot = reading.snapshot();
    let mut counted: HashMap<Hash, (usize, VersionId)> = HashMap::new();
    let mut elsewhere: HashSet<Hash> = HashSet::new();
    for version in live_versions(snapshot, scope) {
        let version = version?;
        for chunk in snapshot.chunks(scope, version.first_chunk, version.chunk_count)? {
            let (size, first) = counted.entry(chunk.content_hash).or_insert((0, version.id));
            *size += 1;
            if *first != version.id {
                elsewhere.insert(chunk.content_hash);
            }
        }
        reading.check_deadline()?;
    }
    counted.retain(|hash, _| elsewhere.contains(hash));
    let chosen = largest(counted, limit);
    let mut members: HashMap<Hash, (String, Vec<ChunkMember>)> =
        chosen.iter().map(|(hash, _)| (*hash, (String::new(), Vec::new()))).collect();
    if members.is_empty() {
        return Ok(Vec::new());
    }
    for version in live_versions(snapshot, scope) {
        let version = version?;
        for chunk in snapshot.chunks(scope, version.first_chunk, version.chunk_count)? {
            let Some((excerpt, found)) = members.get_mut(&chunk.content_hash) else { continue };
            if found.is_empty() {
                *excerpt = chunk.text.chars().take(EXCERPT_CHARS).collect();
            }
            if found.len() < MEMBERS_MAX {
                let section = chunk.section_path.join(" > ");
                found.push(ChunkMember { source_uri: version.source_uri.clone(), chunk_idx: chunk.idx, section });
            }
        }
        reading.check_deadline()?;
    }
    let clusters = chosen.into_iter().filter_map(|(hash, size)| {
        let (excerpt, chunks) = members.remove(&hash)?;
        Some(ChunkCluster { content_hash: hash.hex(), excerpt, chunks, size })
    });
    Ok(clusters.collect())
}
