//! Searching: the legs are asked, their lists fused, the hits read from the snapshot and checked against it.

mod hit;
mod legs;
mod rank;
mod settings;
mod spans;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use loom_index::fuse::{Parts, Weights};
use loom_index::{Candidate, Filter};
use loom_storage::{ChunkId, Scope, Version, VersionId};

use crate::context::Reading;
use crate::error::Error;
use crate::keys;
use crate::ops::knowledge::search::SearchMode;
use legs::{Asked, QueryVectors};

pub use hit::Hit;
pub use settings::{FusionKind, SearchSettings};

/// The least depth of a leg's list, so that what one leg ranks low can still be lifted by the other.
const LEG_DEPTH_MIN: usize = 100;
/// With `collapse_sections`, how many candidates are read for each hit asked for.
const READ_PER_HIT: usize = 3;

/// A search, checked.
pub struct Request<'a> {
    /// What to look for.
    pub query: &'a str,
    /// The exact names in it.
    pub names: Vec<&'a str>,
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

impl Request<'_> {
    /// How many candidates are read.
    fn reads(&self) -> usize {
        self.top_k * if self.collapse_sections { READ_PER_HIT } else { 1 }
    }
}

/// The namespaces of a search.
pub struct Reach {
    /// The addressed one and those searched with it.
    pub first: Vec<Scope>,
    /// Those searched only when nothing in the first is close to the query.
    pub public: Vec<Scope>,
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

/// A candidate with its place in the order.
struct Ranked {
    chunk: ChunkId,
    parts: Parts,
    score: f64,
    lexical_score: f32,
    similarity: Option<f32>,
    names: u64,
}

/// Searches the namespaces, the addressed one first.
pub fn run(reading: &Reading<'_>, reach: &Reach, request: &Request<'_>) -> Result<Found, Error> {
    let addressed = reading.serving_model(&reach.first[0])?;
    let mut found = Found { hits: Vec::new(), embedding_model: addressed, stale_dropped: 0, skipped: Vec::new() };
    if !request.query.chars().any(char::is_alphanumeric) {
        return Ok(found);
    }
    let mut vectors = QueryVectors::new();
    let mut scopes = reach.first.clone();
    pass(reading, &scopes, request, &mut vectors, &mut found)?;
    if !reach.public.is_empty() && !found.hits.iter().any(|hit| !hit.noise && rank::is_close(hit)) {
        // All of them again, so that scores of one search are of one kind.
        scopes.extend(reach.public.iter().cloned());
        (found.hits, found.stale_dropped) = (Vec::new(), 0);
        pass(reading, &scopes, request, &mut vectors, &mut found)?;
    }
    if reading.config().search.noise_filter {
        rank::demote_noise(&mut found.hits, request.reads());
    }
    if request.collapse_sections {
        rank::collapse(&mut found.hits);
    }
    found.hits.truncate(request.top_k);
    if request.narrow_spans {
        spans::narrow(reading, &scopes, request.query, &vectors, &mut found.hits)?;
    }
    Ok(found)
}

/// Asks the namespaces' legs, fuses their lists and reads the best hits, in order.
fn pass(
    reading: &Reading<'_>,
    scopes: &[Scope],
    request: &Request<'_>,
    vectors: &mut QueryVectors,
    found: &mut Found,
) -> Result<(), Error> {
    let started = Instant::now();
    let depth = request.reads().max(LEG_DEPTH_MIN);
    let mut skipped = Vec::new();
    let asked = legs::ask(reading, scopes, request, depth, vectors, &mut skipped)?;
    found.skipped = skipped.into_iter().map(|scope| scope.namespace).collect();
    let mut in_legs = 0.0;
    for Asked { legs, .. } in &asked {
        for (stage, ms) in [("lexical", legs.lexical_ms), ("vector", legs.vector_ms), ("keys", legs.names_ms)] {
            reading.time(stage, ms);
            in_legs += ms;
        }
    }
    reading.time("store", (ms(started) - in_legs).max(0.0));
    let best = legs::best(&asked);
    let weights = Weights {
        lexical: request.lexical_weight,
        names_share: keys::share(request.query, &request.names),
        name_holders: legs::name_holders(&asked, request.names.len()),
    };
    for asked in asked {
        if asked.scope == scopes[0] {
            found.embedding_model.clone_from(&asked.model.name);
        }
        let started = Instant::now();
        let card = reading.card(&asked.model);
        let fusion = reading.config().search.fusion(card.vector_share);
        let ranked = ranked(request, &asked, &|candidate| fusion.parts(candidate, best, &weights));
        reading.time("fuse", ms(started));
        let started = Instant::now();
        read_hits(request, &asked, ranked, f64::from(card.noise_floor), found)?;
        reading.time("store", ms(started));
    }
    found.hits.sort_by(Hit::compare);
    Ok(())
}

/// The candidates of one namespace, best first.
fn ranked(request: &Request<'_>, asked: &Asked, fused: &dyn Fn(&Candidate) -> Parts) -> Vec<Ranked> {
    let candidates = asked.legs.candidates.iter();
    let mut ranked: Vec<Ranked> = candidates
        .map(|candidate| {
            let parts = match request.mode {
                SearchMode::Hybrid => fused(candidate),
                SearchMode::Semantic => {
                    Parts { vector: f64::from(candidate.similarity.unwrap_or(0.0)), ..Parts::default() }
                }
                SearchMode::Lexical => Parts { lexical: f64::from(candidate.lexical_score), ..Parts::default() },
            };
            Ranked {
                chunk: candidate.chunk,
                parts,
                score: parts.score(),
                lexical_score: candidate.lexical_score,
                similarity: candidate.similarity,
                names: candidate.names,
            }
        })
        .collect();
    ranked.sort_unstable_by(|left, right| right.score.total_cmp(&left.score).then(left.chunk.cmp(&right.chunk)));
    ranked
}

/// Reads the best candidates that the snapshot serves: as many as the search reads, and those that tie with the last.
fn read_hits(
    request: &Request<'_>,
    asked: &Asked,
    ranked: Vec<Ranked>,
    noise_floor: f64,
    found: &mut Found,
) -> Result<(), Error> {
    let Asked { scope, snapshot, .. } = asked;
    let mut versions: HashMap<VersionId, Option<Version>> = HashMap::new();
    let (mut read, mut last_score) = (0, f64::NAN);
    for candidate in ranked {
        if read >= request.reads() && candidate.score.total_cmp(&last_score) != Ordering::Equal {
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
        let names = request.names.iter().enumerate();
        hit.keys_matched =
            names.filter(|(at, _)| candidate.names >> at & 1 == 1).map(|(_, name)| (*name).to_owned()).collect();
        hit.noise_floor = noise_floor;
        hit.parts = candidate.parts;
        found.hits.push(hit);
        read += 1;
        last_score = candidate.score;
    }
    Ok(())
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
