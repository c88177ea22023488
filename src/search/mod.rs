//! Searching: the legs are asked, their lists fused, the hits read from the snapshot and checked against it.

mod hit;
mod spans;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use loom_index::fuse::{self, Leg};
use loom_index::{Filter, LegHits, LegQuery};
use loom_storage::{ChunkId, Scope, Snapshot, Version, VersionId};

use crate::context::Reading;
use crate::error::Error;
use crate::ops::knowledge::search::SearchMode;

pub use hit::Hit;

/// The least depth of a leg's list, so that what one leg ranks low can still be lifted by the other.
const LEG_DEPTH_MIN: usize = 100;
/// With `collapse_sections`, how many candidates are read for each hit asked for.
const READ_PER_HIT: usize = 3;

/// A search, checked.
pub struct Request<'a> {
    /// What to look for.
    pub query: &'a str,
    /// Which legs are asked.
    pub mode: SearchMode,
    /// The lexical leg's weight in the fusion.
    pub lexical_weight: f64,
    /// Which chunks may be returned.
    pub filter: &'a Filter,
    /// The most hits.
    pub top_k: usize,
    /// Whether a namespace beside the addressed one is left out while its index is being built.
    pub skip_unready: bool,
    /// Whether one hit stands for its section.
    pub collapse_sections: bool,
    /// Whether each hit says which two sentences are nearest to the query.
    pub narrow_spans: bool,
}

/// What a search found.
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The model whose vectors were searched in the addressed namespace.
    pub embedding_model: String,
    /// Candidates that the snapshot does not serve.
    pub stale_dropped: u64,
    /// The namespaces left out because their index is being built.
    pub skipped: Vec<String>,
}

/// A candidate with what the legs said of it.
struct Candidate {
    chunk: ChunkId,
    score: f64,
    lexical_score: f32,
    similarity: Option<f32>,
}

/// Searches the namespaces, the addressed one first.
pub fn run(reading: &Reading<'_>, scopes: &[Scope], request: &Request<'_>) -> Result<Found, Error> {
    let addressed = reading.serving_model(&scopes[0])?;
    let mut found = Found { hits: Vec::new(), embedding_model: addressed, stale_dropped: 0, skipped: Vec::new() };
    if !request.query.chars().any(char::is_alphanumeric) {
        return Ok(found);
    }
    let mut vectors: HashMap<String, Vec<f32>> = HashMap::new();
    for (at, scope) in scopes.iter().enumerate() {
        match search_namespace(reading, scope, at == 0, request, &mut vectors, &mut found) {
            Err(error) if at > 0 && request.skip_unready && error.is_unready() => {
                found.skipped.push(scope.namespace.clone());
            }
            searched => searched?,
        }
    }
    found.hits.sort_by(Hit::compare);
    if request.collapse_sections {
        collapse(&mut found.hits);
    }
    found.hits.truncate(request.top_k);
    if request.narrow_spans {
        spans::narrow(reading, scopes, request.query, &vectors, &mut found.hits)?;
    }
    Ok(found)
}

fn search_namespace(
    reading: &Reading<'_>,
    scope: &Scope,
    addressed: bool,
    request: &Request<'_>,
    vectors: &mut HashMap<String, Vec<f32>>,
    found: &mut Found,
) -> Result<(), Error> {
    // A namespace that was never written to has no projection, and none is made for it; an empty one finds nothing.
    if reading.snapshot().namespace(scope)?.is_none_or(|row| row.chunks == 0) {
        return Ok(());
    }
    let reads = request.top_k * if request.collapse_sections { READ_PER_HIT } else { 1 };
    let (legs, snapshot) = loop {
        reading.check_deadline()?;
        let started = Instant::now();
        let projection = reading.projection(scope)?;
        reading.time("store", started.elapsed().as_secs_f64() * 1e3);
        let model = projection.model();
        if request.mode != SearchMode::Lexical && !vectors.contains_key(&model.name) {
            vectors.insert(model.name.clone(), reading.embed_query(&model, request.query)?);
        }
        let Some(view) = reading.view(&projection)? else { continue };
        if *view.model() != model {
            // The namespace moved to another model since the query was embedded.
            continue;
        }
        if addressed {
            found.embedding_model.clone_from(&model.name);
        }
        let vector = vectors.get(&model.name).filter(|vector| vector.iter().any(|value| *value != 0.0));
        let query = LegQuery {
            text: (request.mode != SearchMode::Semantic).then_some(request.query),
            vector: vector.filter(|_| request.mode != SearchMode::Lexical).map(Vec::as_slice),
            filter: request.filter,
            depth: reads.max(LEG_DEPTH_MIN),
        };
        break (view.search(&query)?, view.into_snapshot());
    };
    reading.time("lexical", legs.lexical_ms);
    reading.time("vector", legs.vector_ms);
    let started = Instant::now();
    let candidates = candidates(request, &legs);
    reading.time("fuse", started.elapsed().as_secs_f64() * 1e3);
    let started = Instant::now();
    read_hits(snapshot.as_ref(), scope, candidates, reads, found)?;
    reading.time("store", started.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// The legs' lists as one, best first.
fn candidates(request: &Request<'_>, legs: &LegHits) -> Vec<Candidate> {
    let mut known: HashMap<ChunkId, (f32, Option<f32>)> = HashMap::new();
    for hit in &legs.vector {
        known.insert(hit.chunk, (0.0, Some(hit.similarity)));
    }
    for (at, hit) in legs.lexical.iter().enumerate() {
        let similarity = legs.lexical_similarity.get(at).copied().flatten();
        let entry = known.entry(hit.chunk).or_insert((0.0, similarity));
        entry.0 = hit.score;
    }
    let ranked: Vec<(ChunkId, f64)> = match request.mode {
        SearchMode::Hybrid => {
            let vector: Vec<ChunkId> = legs.vector.iter().map(|hit| hit.chunk).collect();
            let lexical: Vec<ChunkId> = legs.lexical.iter().map(|hit| hit.chunk).collect();
            let legs = [Leg { weight: 1.0, chunks: &vector }, Leg { weight: request.lexical_weight, chunks: &lexical }];
            fuse::fuse(&legs).into_iter().map(|fused| (fused.chunk, fused.score)).collect()
        }
        SearchMode::Semantic => legs.vector.iter().map(|hit| (hit.chunk, f64::from(hit.similarity))).collect(),
        SearchMode::Lexical => legs.lexical.iter().map(|hit| (hit.chunk, f64::from(hit.score))).collect(),
    };
    ranked
        .into_iter()
        .map(|(chunk, score)| {
            let (lexical_score, similarity) = known.get(&chunk).copied().unwrap_or_default();
            Candidate { chunk, score, lexical_score, similarity }
        })
        .collect()
}

/// Reads the best candidates that the snapshot serves: `reads` of them, and those that tie with the last.
fn read_hits(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    candidates: Vec<Candidate>,
    reads: usize,
    found: &mut Found,
) -> Result<(), Error> {
    let mut versions: HashMap<VersionId, Option<Version>> = HashMap::new();
    let mut read = 0;
    let mut last_score = f64::NAN;
    for candidate in candidates {
        if read >= reads && candidate.score.total_cmp(&last_score) != Ordering::Equal {
            break;
        }
        let Some(chunk) = snapshot.chunk(scope, candidate.chunk)? else {
            found.stale_dropped += 1;
            continue;
        };
        let version = match versions.entry(chunk.version) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(snapshot.version(scope, chunk.version)?),
        };
        let Some(version) = version.as_ref().filter(|version| version.is_live()) else {
            found.stale_dropped += 1;
            continue;
        };
        let mut hit = Hit::new(scope, version, chunk)?;
        hit.score = candidate.score;
        hit.lexical_score = f64::from(candidate.lexical_score);
        hit.similarity = candidate.similarity.map(f64::from);
        found.hits.push(hit);
        read += 1;
        last_score = candidate.score;
    }
    Ok(())
}

/// Keeps the best hit of each section of a document, which counts those it stands for.
fn collapse(hits: &mut Vec<Hit>) {
    let mut first: HashMap<(String, String, Vec<String>), usize> = HashMap::new();
    let mut kept: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits.drain(..) {
        let section = (hit.namespace.clone(), hit.doc_id.clone(), hit.section_path.clone());
        if let Some(at) = first.get(&section) {
            kept[*at].siblings_folded += 1;
        } else {
            first.insert(section, kept.len());
            kept.push(hit);
        }
    }
    *hits = kept;
}
