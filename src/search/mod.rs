//! Searching: the legs are asked, their lists fused, the hits read from the snapshot and checked against it.

mod expand;
mod explain;
mod hit;
mod legs;
mod rank;
mod settings;
mod spans;
mod why_not;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loom_extract::contract::BlockKind;
use loom_index::fuse::{Fusion, Parts, Scores, Weights};
use loom_index::{Candidate, Filter, LegHits};
use loom_storage::{ChunkId, Scope, Snapshot, Version, VersionId};

use crate::chunk::MIXED;
use crate::context::Reading;
use crate::datasets::Briefs;
use crate::error::Error;
use crate::keys;
use crate::ops::knowledge::search::SearchMode;
use crate::rerank::{self, Reranker};
use explain::{Explanation, StageTime};
use legs::{Asked, Known};

pub use expand::{EXPAND_CHUNKS_MAX, Expand};
pub use explain::SearchReport;
pub use hit::Hit;
pub use settings::{FusionKind, SearchSettings};
pub use why_not::WhyNot;

/// The least depth of a leg's list, so that what one leg ranks low can still be lifted by the other.
const LEG_DEPTH_MIN: usize = 100;
/// With `collapse_sections`, how many candidates are read for each hit asked for.
const READ_PER_HIT: usize = 3;

/// A search, checked.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the operation")]
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
    /// How far hits are expanded.
    pub expand: Option<Expand>,
    /// Who orders the best hits once more, and how many of them.
    pub reranker: Option<(Arc<dyn Reranker>, usize)>,
    /// Whether each hit says why it stands where it stands.
    pub explain: bool,
    /// A document of which is said why it is not among the hits; empty for none.
    pub why_not: &'a str,
}

impl Request<'_> {
    /// How many candidates are read.
    fn reads(&self) -> usize {
        let page = self.top_k * if self.collapse_sections { READ_PER_HIT } else { 1 };
        self.reranker.as_ref().map_or(page, |(_, pool)| page.max(*pool))
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
    /// The reranker that ordered them; empty when none did.
    pub reranked_by: String,
    /// The model whose vectors were searched in the addressed namespace.
    pub embedding_model: String,
    /// Candidates that the snapshot does not serve.
    pub stale_dropped: u64,
    /// The namespaces left out because their index is being built.
    pub skipped: Vec<String>,
    /// What was weighed, when asked for.
    pub report: Option<SearchReport>,
    /// What became of the document that was asked for.
    pub why_not: Option<WhyNot>,
    /// The stores at the moments that were searched.
    snapshots: HashMap<Scope, Arc<dyn Snapshot>>,
}

/// A candidate with its place in the order.
struct Ranked<'a> {
    chunk: ChunkId,
    candidate: &'a Candidate,
    parts: Parts,
    score: f64,
}

/// Searches the namespaces, the addressed one first.
pub fn run(reading: &Reading<'_>, reach: &Reach, request: &Request<'_>) -> Result<Found, Error> {
    let addressed = reading.serving_model(&reach.first[0])?;
    let mut found = Found {
        hits: Vec::new(),
        reranked_by: String::new(),
        embedding_model: addressed,
        stale_dropped: 0,
        skipped: Vec::new(),
        report: request.explain.then(SearchReport::default),
        why_not: None,
        snapshots: HashMap::new(),
    };
    if !request.query.chars().any(char::is_alphanumeric) {
        return Ok(found);
    }
    let mut known = Known::default();
    let mut scopes = reach.first.clone();
    pass(reading, &scopes, request, &mut known, &mut found)?;
    if !reach.public.is_empty() && !found.hits.iter().any(|hit| !hit.noise && rank::is_close(hit)) {
        // By words all of them again, so that scores of one search are of one kind.
        scopes.extend(reach.public.iter().cloned());
        (found.hits, found.stale_dropped) = (Vec::new(), 0);
        pass(reading, &scopes, request, &mut known, &mut found)?;
        if let Some(report) = &mut found.report {
            report.public_pass = true;
        }
    }
    if let Some((reranker, pool)) = &request.reranker {
        found.reranked_by = rerank_hits(reading, reranker.as_ref(), request.query, *pool, &mut found.hits);
    }
    if reading.config().search.noise_filter {
        rank::demote_noise(&mut found.hits, request.reads());
    }
    if request.collapse_sections {
        rank::collapse(&mut found.hits);
    }
    found.hits.truncate(request.top_k);
    name_datasets(&scopes, &mut found)?;
    if request.narrow_spans {
        spans::narrow(reading, &scopes, request.query, &known.vectors, &mut found.hits)?;
    }
    if request.explain {
        explain_hits(request, &mut found.hits);
    }
    if let Some(how) = request.expand {
        expand_hits(&scopes, how, &mut found)?;
    }
    if !request.why_not.is_empty() {
        found.why_not = Some(why_not::look(reading, &scopes[0], request, &mut known.deeper(), &found)?);
    }
    if let Some(report) = &mut found.report {
        report.timings_ms =
            reading.timings().into_iter().map(|(stage, ms)| StageTime { stage: stage.to_owned(), ms }).collect();
    }
    Ok(found)
}

/// Has the first `pool` hits ordered; answers by whom, or an empty string when they keep their order.
///
/// A search does not fail because its hits could not be reranked.
fn rerank_hits(reading: &Reading<'_>, reranker: &dyn Reranker, query: &str, pool: usize, hits: &mut [Hit]) -> String {
    let settings = &reading.config().rerank;
    let pool = pool.min(hits.len());
    let hits = &mut hits[..pool];
    if hits.len() < 2 {
        return String::new();
    }
    let passages: Vec<String> =
        hits.iter().map(|hit| rerank::excerpt(&hit.context, &hit.content, settings.excerpt_chars)).collect();
    let started = Instant::now();
    let until = reading.deadline().min(started + Duration::from_secs(settings.timeout_s));
    let scores = reranker.score(query, &passages, until);
    reading.time("rerank", ms(started));
    let scores = match scores {
        Ok(scores) if scores.len() == hits.len() => scores,
        Ok(_) => return String::new(),
        Err(error) => {
            tracing::warn!(%error, "the hits keep their fused order");
            return String::new();
        }
    };
    let mut order: Vec<usize> = (0..hits.len()).collect();
    order.sort_by(|left, right| scores[*right].total_cmp(&scores[*left]));
    for (hit, score) in hits.iter_mut().zip(&scores) {
        if let Some(explanation) = &mut hit.explanation {
            explanation.rerank_score = Some(*score);
        }
    }
    if order.is_sorted() {
        return String::new();
    }
    let mut places = vec![0; order.len()];
    for (place, at) in order.into_iter().enumerate() {
        places[at] = place;
    }
    for (hit, place) in hits.iter_mut().zip(places) {
        hit.place = place;
    }
    hits.sort_by_key(|hit| hit.place);
    reranker.name().to_owned()
}

fn explain_hits(request: &Request<'_>, hits: &mut [Hit]) {
    for hit in hits {
        if let Some(explanation) = &mut hit.explanation {
            explanation.demoted = hit.demoted;
            explanation.matched_terms =
                explain::matched_terms(request.query, &[&hit.title, &hit.section, &hit.content]);
        }
    }
}

/// Says of hits in tables which datasets those are.
fn name_datasets(scopes: &[Scope], found: &mut Found) -> Result<(), Error> {
    let mut briefs = Briefs::default();
    let in_table = |hit: &&mut Hit| hit.block_type == BlockKind::Table.name() || hit.block_type == MIXED;
    for hit in found.hits.iter_mut().filter(in_table) {
        let scope = scopes.iter().find(|scope| scope.namespace == hit.namespace);
        if let Some((scope, snapshot)) = scope.and_then(|scope| Some((scope, found.snapshots.get(scope)?))) {
            hit.dataset_id = briefs.of_chunk(snapshot.as_ref(), scope, hit.document, hit.chunk_idx)?;
        }
    }
    Ok(())
}

fn expand_hits(scopes: &[Scope], how: Expand, found: &mut Found) -> Result<(), Error> {
    let mut texts = expand::Texts::new();
    for hit in &mut found.hits {
        let scope = scopes.iter().find(|scope| scope.namespace == hit.namespace);
        if let Some((scope, snapshot)) = scope.and_then(|scope| Some((scope, found.snapshots.get(scope)?))) {
            expand::expand(hit, scope, snapshot.as_ref(), how, &mut texts)?;
        }
    }
    Ok(())
}

/// Asks the namespaces' legs, fuses their lists and reads the best hits, in order.
fn pass(
    reading: &Reading<'_>,
    scopes: &[Scope],
    request: &Request<'_>,
    known: &mut Known,
    found: &mut Found,
) -> Result<(), Error> {
    let started = Instant::now();
    let depth = request.reads().max(LEG_DEPTH_MIN);
    let mut skipped = Vec::new();
    let asked = legs::ask(reading, scopes, request, depth, known, &mut skipped)?;
    found.skipped = skipped.into_iter().map(|scope| scope.namespace).collect();
    let mut in_legs = 0.0;
    for Asked { legs, .. } in &asked {
        for (stage, ms) in [("lexical", legs.lexical_ms), ("vector", legs.vector_ms), ("keys", legs.names_ms)] {
            reading.time(stage, ms);
            in_legs += ms;
        }
    }
    reading.time("store", (ms(started) - in_legs).max(0.0));
    let scales = legs::scores(&asked);
    let weights = weights(request, &asked);
    if let Some(report) = &mut found.report {
        *report = report_of(reading, request, &asked, &scales);
    }
    if let Some(addressed) = asked.iter().find(|asked| asked.scope == scopes[0]) {
        found.embedding_model.clone_from(&addressed.model.name);
    }
    let started = Instant::now();
    let mut all: Vec<(&Asked, Ranked<'_>, f64)> = Vec::new();
    for asked in &asked {
        let card = reading.card(&asked.model);
        let fusion = reading.config().search.fusion(&card, request.query);
        let ranked = ranked(request, &asked.legs, &|candidate| fusion.parts(candidate, &scales, &weights));
        all.extend(ranked.into_iter().map(|ranked| (asked, ranked, f64::from(card.noise_floor))));
    }
    // Stable: equals stay in the order of their namespaces.
    all.sort_by(|(_, left, _), (_, right, _)| right.score.total_cmp(&left.score));
    reading.time("fuse", ms(started));
    let started = Instant::now();
    read_hits(request, all, found)?;
    reading.time("store", ms(started));
    found.snapshots.extend(asked.into_iter().map(|asked| (asked.scope, asked.snapshot)));
    if let Some(report) = &mut found.report {
        report.read = found.hits.len() as u64;
    }
    found.hits.sort_by(Hit::compare);
    Ok(())
}

fn weights(request: &Request<'_>, asked: &[Asked]) -> Weights {
    Weights {
        lexical: request.lexical_weight,
        names_share: keys::share(request.query, &request.names),
        name_holders: legs::name_holders(asked, request.names.len()),
    }
}

fn report_of(reading: &Reading<'_>, request: &Request<'_>, asked: &[Asked], scores: &Scores) -> SearchReport {
    let count = |returned: fn(&Candidate) -> bool| {
        let of_one = |asked: &Asked| asked.legs.candidates.iter().filter(|candidate| returned(candidate)).count();
        asked.iter().map(of_one).sum::<usize>() as u64
    };
    let fusion = asked.first().map(|asked| reading.config().search.fusion(&reading.card(&asked.model), request.query));
    let (fusion, vector_share) = match (request.mode, fusion) {
        (SearchMode::Lexical, _) => ("lexical", None),
        (SearchMode::Semantic, _) => ("semantic", None),
        (SearchMode::Hybrid, Some(Fusion::Convex { vector_share, spread_min })) => {
            ("convex", Some(scores.vector_share(vector_share, spread_min)))
        }
        (SearchMode::Hybrid, Some(Fusion::ReciprocalRank)) => ("reciprocal_rank", None),
        (SearchMode::Hybrid, None) => ("", None),
    };
    SearchReport {
        fusion: fusion.to_owned(),
        vector_share,
        keys: request.names.iter().map(|name| (*name).to_owned()).collect(),
        selected: asked.iter().map(|asked| asked.legs.selected as u64).sum(),
        lexical_candidates: count(|candidate| candidate.lexical_rank.is_some()),
        vector_candidates: count(|candidate| candidate.vector_rank.is_some()),
        keys_candidates: count(|candidate| candidate.names_rank.is_some()),
        ..SearchReport::default()
    }
}

/// The candidates of one namespace by itself, best first.
fn ranked_of<'a>(reading: &Reading<'_>, request: &Request<'_>, asked: &'a Asked) -> Vec<Ranked<'a>> {
    let fusion = reading.config().search.fusion(&reading.card(&asked.model), request.query);
    let scores = Scores::default().with(&asked.legs.candidates);
    let weights = weights(request, std::slice::from_ref(asked));
    ranked(request, &asked.legs, &|candidate| fusion.parts(candidate, &scores, &weights))
}

/// The candidates of one namespace, best first.
fn ranked<'a>(request: &Request<'_>, legs: &'a LegHits, fused: &dyn Fn(&Candidate) -> Parts) -> Vec<Ranked<'a>> {
    let mut ranked: Vec<Ranked<'_>> = legs
        .candidates
        .iter()
        .map(|candidate| {
            let parts = match request.mode {
                SearchMode::Hybrid => fused(candidate),
                SearchMode::Semantic => {
                    Parts { vector: f64::from(candidate.similarity.unwrap_or(0.0)), ..Parts::default() }
                }
                SearchMode::Lexical => Parts { lexical: f64::from(candidate.lexical_score), ..Parts::default() },
            };
            Ranked { chunk: candidate.chunk, candidate, parts, score: parts.score() }
        })
        .collect();
    ranked.sort_unstable_by(|left, right| right.score.total_cmp(&left.score).then(left.chunk.cmp(&right.chunk)));
    ranked
}

/// Reads the best candidates that their snapshots serve: as many as the search reads, and those that tie with the last.
fn read_hits(request: &Request<'_>, ranked: Vec<(&Asked, Ranked<'_>, f64)>, found: &mut Found) -> Result<(), Error> {
    let mut versions: HashMap<(&Scope, VersionId), Option<Version>> = HashMap::new();
    let (mut read, mut last_score) = (0, f64::NAN);
    for (Asked { scope, snapshot, .. }, Ranked { chunk, candidate, parts, score }, noise_floor) in ranked {
        if read >= request.reads() && score.total_cmp(&last_score) != Ordering::Equal {
            break;
        }
        let Some(chunk) = snapshot.chunk(scope, chunk)? else {
            found.stale_dropped += 1;
            continue;
        };
        let version = match versions.entry((scope, chunk.version)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(snapshot.version(scope, chunk.version)?),
        };
        let Some(version) = version.as_ref().filter(|version| version.is_live()) else {
            found.stale_dropped += 1;
            continue;
        };
        let mut hit = Hit::new(scope, version, chunk)?;
        hit.score = score;
        hit.lexical_score = f64::from(candidate.lexical_score);
        hit.similarity = candidate.similarity.map(f64::from);
        let names = request.names.iter().enumerate();
        hit.keys_matched =
            names.filter(|(at, _)| candidate.names >> at & 1 == 1).map(|(_, name)| (*name).to_owned()).collect();
        hit.noise_floor = noise_floor;
        hit.explanation = request.explain.then(|| Box::new(Explanation::of(candidate, &parts)));
        found.hits.push(hit);
        read += 1;
        last_score = score;
    }
    Ok(())
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
