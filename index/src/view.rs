//! Asking the legs of a namespace, with its projection and the store at one moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use loom_storage::{ChunkId, Seq, Snapshot, Version};
use parking_lot::RwLockReadGuard;

use crate::catalog::Filter;
use crate::error::Error;
use crate::projection::{Model, State};
use crate::selection::Selection;
use crate::text::{Held, Lookup, QueryWords, WordStatistics};
use crate::vector::{Begun, Unscored, VectorHit, nearest};

/// What the legs are asked.
#[derive(Clone)]
pub struct LegQuery<'a> {
    /// The words for the lexical leg, as [`View::look_up`] found them in this namespace; `None` leaves the leg out.
    pub words: Option<&'a Lookup>,
    /// How common the words are, where the scores of several namespaces are to be compared; `None`: in this one.
    pub statistics: Option<&'a WordStatistics>,
    /// The score below which the lexical leg need return nothing; 0 for none.
    pub lexical_min: f32,
    /// The query's vector for the vector leg; `None` leaves the leg out.
    pub vector: Option<&'a [f32]>,
    /// What the vector leg answered to the same query before, of which it is not asked again.
    pub near: Option<&'a [VectorHit]>,
    /// The exact names to look up, at most [`NAMES_MAX`](crate::NAMES_MAX); none leave the leg out.
    pub names: &'a [&'a str],
    /// Which chunks may be returned.
    pub filter: &'a Filter,
    /// The most hits of each leg.
    pub depth: usize,
}

/// A chunk that a leg returned, with what all of them say of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its rank in the lexical leg, from 1, where that returned it.
    pub lexical_rank: Option<u32>,
    /// Its BM25 score; 0 when it holds no word of the query, or when it is not known yet.
    pub lexical_score: f32,
    /// Its rank in the vector leg, from 1, where that returned it.
    pub vector_rank: Option<u32>,
    /// The cosine of its vector and the query's, where both exist.
    pub similarity: Option<f32>,
    /// Its rank in the exact-key leg, from 1, where that returned it.
    pub names_rank: Option<u32>,
    /// Which of the names it holds, a bit for each.
    pub names: u64,
    /// Which of them it spells as the query does.
    pub spelled: u64,
}

impl Candidate {
    fn of(chunk: ChunkId) -> Self {
        Self {
            chunk,
            lexical_rank: None,
            lexical_score: 0.0,
            vector_rank: None,
            similarity: None,
            names_rank: None,
            names: 0,
            spelled: 0,
        }
    }
}

/// What the legs found.
#[derive(Clone, Debug, Default)]
pub struct LegHits {
    /// Every chunk that a leg returned, once, by its id.
    pub candidates: Vec<Candidate>,
    /// The list of the vector leg, the best first.
    pub near: Vec<VectorHit>,
    /// What the vector leg has yet to score: [`nearest`] does, for all namespaces of one model together, and
    /// [`add_near`](Self::add_near) takes up what it finds.
    pub unscored: Option<Unscored>,
    /// How many chunks passed the filter.
    pub selected: usize,
    /// How many of them hold each of the names asked for.
    pub name_holders: Vec<u64>,
    /// Milliseconds spent in the lexical leg.
    pub lexical_ms: f64,
    /// Milliseconds spent in the vector leg.
    pub vector_ms: f64,
    /// Milliseconds spent in the exact-key leg.
    pub names_ms: f64,
}

impl LegHits {
    /// Makes `near` the list of the vector leg.
    pub fn add_near(&mut self, near: Vec<VectorHit>) {
        add(&mut self.candidates, near.iter().map(|hit| (hit.chunk, hit.similarity)), |candidate, rank, similarity| {
            (candidate.vector_rank, candidate.similarity) = (Some(rank), Some(similarity));
        });
        self.near = near;
    }
}

/// The totals of a namespace's projections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionTotals {
    /// The last commit followed.
    pub watermark: Seq,
    /// Versions served.
    pub versions: usize,
    /// Live chunks in the lexical index.
    pub lexical_chunks: u64,
    /// Live chunks in the vector index.
    pub vector_chunks: u64,
    /// Changes (chunks added or removed) that are in memory and not yet on disk, in the index that has more of them.
    pub unsaved: usize,
}

/// A projection and the store at one moment. While it is held, the projection does not move.
pub struct View<'p> {
    pub(crate) state: RwLockReadGuard<'p, State>,
    pub(crate) snapshot: Arc<dyn Snapshot>,
}

impl View<'_> {
    /// The store.
    pub fn snapshot(&self) -> &dyn Snapshot {
        self.snapshot.as_ref()
    }

    /// Lets the projection move on and keeps the store's moment.
    pub fn into_snapshot(self) -> Arc<dyn Snapshot> {
        self.snapshot
    }

    /// The model whose vectors are searched.
    pub fn model(&self) -> &Model {
        &self.state.model
    }

    /// Whether the filter lets any chunk of a version through.
    pub fn serves(&self, version: &Version, filter: &Filter) -> bool {
        let selection = self.state.catalog.select(filter);
        version.chunk_ids().any(|chunk| selection.contains(chunk))
    }

    /// Looks up the words of a query.
    pub fn look_up(&self, query: &QueryWords) -> Result<Lookup, Error> {
        self.state.lexical.look_up(query)
    }

    /// How common the words of a query are here.
    pub fn word_statistics(&self, words: &Lookup) -> Result<WordStatistics, Error> {
        self.state.lexical.word_statistics(words)
    }

    /// Asks the legs, and scores what they return by each other.
    pub fn search(&self, query: &LegQuery<'_>) -> Result<LegHits, Error> {
        let mut hits = self.lists(query)?;
        let started = Instant::now();
        if let Some(unscored) = hits.unscored.take() {
            hits.add_near(nearest(&[&unscored], query.depth).into_iter().flatten().collect());
        }
        self.complete(query, &mut hits.candidates)?;
        hits.vector_ms += ms(started);
        Ok(hits)
    }

    /// Asks the legs, each by itself, the vector leg perhaps not to the end: see [`LegHits::unscored`].
    pub fn lists(&self, query: &LegQuery<'_>) -> Result<LegHits, Error> {
        let state = &self.state;
        let selection = state.catalog.select(query.filter);
        let mut hits = LegHits { selected: selection.len(), ..LegHits::default() };
        if selection.is_empty() {
            return Ok(hits);
        }
        // The legs hold the chunks of the catalogue and no others, and are quicker when they need not ask.
        let only = (!query.filter.is_empty()).then_some(&selection);
        let started = Instant::now();
        if let Some(words) = query.words {
            let found = state.lexical.search_words(words, query.statistics, query.depth, only, query.lexical_min)?;
            add(&mut hits.candidates, found.iter().map(|hit| (hit.chunk, hit.score)), |candidate, rank, score| {
                (candidate.lexical_rank, candidate.lexical_score) = (Some(rank), score);
            });
        }
        hits.lexical_ms = ms(started);
        let started = Instant::now();
        if let Some(vector) = query.vector {
            let begun = match query.near {
                Some(near) => Begun::Hits(near.to_vec()),
                None => state.vectors.begin(vector, query.depth, only)?,
            };
            match begun {
                Begun::Hits(near) => hits.add_near(near),
                Begun::Rows(rows) => hits.unscored = Some(rows),
            }
        }
        hits.vector_ms = ms(started);
        let started = Instant::now();
        let named = self.named(query, &selection, &mut hits.name_holders)?;
        let named = named.into_iter().map(|(chunk, held, score)| (chunk, (held, score)));
        add(&mut hits.candidates, named, |candidate, rank, (held, score)| {
            (candidate.names_rank, candidate.names, candidate.spelled) = (Some(rank), held.names, held.spelled);
            candidate.lexical_score = score;
        });
        hits.names_ms = ms(started);
        Ok(hits)
    }

    /// The chunks that hold most of the names, most first, those of equally many by how many are spelled alike, then by
    /// their words, with what these are worth.
    fn named(
        &self,
        query: &LegQuery<'_>,
        selection: &Selection,
        holders: &mut Vec<u64>,
    ) -> Result<Vec<(ChunkId, Held, f32)>, Error> {
        if query.names.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.state.lexical.named(query.names, selection)?;
        holders.extend((0..query.names.len()).map(|at| found.values().map(|held| held.names >> at & 1).sum::<u64>()));
        let mut scores: HashMap<ChunkId, f32> = HashMap::new();
        if let Some(words) = query.words {
            let only = Selection::of(found.keys().copied());
            let hits = self.state.lexical.search_words(words, query.statistics, found.len(), Some(&only), 0.0)?;
            scores.extend(hits.into_iter().map(|hit| (hit.chunk, hit.score)));
        }
        let score = |chunk: ChunkId| scores.get(&chunk).copied().unwrap_or(0.0);
        let mut ranked: Vec<_> = found.into_iter().map(|(chunk, held)| (chunk, held, score(chunk))).collect();
        let counts = |held: &Held| (held.names.count_ones(), held.spelled.count_ones());
        ranked.sort_unstable_by(|(left, left_held, left_score), (right, right_held, right_score)| {
            let names = counts(right_held).cmp(&counts(left_held));
            names.then_with(|| right_score.total_cmp(left_score)).then(left.cmp(right))
        });
        ranked.truncate(query.depth);
        Ok(ranked)
    }

    /// Scores each candidate by the legs that did not return it, so that being past a leg's depth is not the same as
    /// being worth nothing to it. `candidates` are ascending by chunk, as [`lists`](Self::lists) gives them.
    pub fn complete(&self, query: &LegQuery<'_>, candidates: &mut [Candidate]) -> Result<(), Error> {
        if let Some(vector) = query.vector {
            let mut missing: Vec<_> =
                candidates.iter_mut().filter(|candidate| candidate.similarity.is_none()).collect();
            let chunks: Vec<ChunkId> = missing.iter().map(|candidate| candidate.chunk).collect();
            for (candidate, similarity) in missing.iter_mut().zip(self.state.vectors.similarity(vector, &chunks)) {
                candidate.similarity = similarity;
            }
        }
        if let Some(words) = query.words {
            let is_unknown = |candidate: &&Candidate| candidate.lexical_score <= 0.0;
            let missing = Selection::of(candidates.iter().filter(is_unknown).map(|candidate| candidate.chunk));
            let scored =
                self.state.lexical.search_words(words, query.statistics, missing.len(), Some(&missing), 0.0)?;
            for hit in scored {
                if let Ok(at) = candidates.binary_search_by_key(&hit.chunk, |candidate| candidate.chunk) {
                    candidates[at].lexical_score = hit.score;
                }
            }
        }
        Ok(())
    }

    /// The totals.
    pub fn totals(&self) -> ProjectionTotals {
        totals(&self.state)
    }
}

pub(crate) fn totals(state: &State) -> ProjectionTotals {
    let (lexical, vectors) = (state.lexical.statistics(), state.vectors.statistics());
    ProjectionTotals {
        watermark: state.watermark,
        versions: state.catalog.len(),
        lexical_chunks: lexical.chunks,
        vector_chunks: vectors.rows - vectors.removed,
        unsaved: lexical.pending_chunks.max(state.vectors.unsaved()),
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Adds what a leg returned, in the order of its ranks and each chunk once, to `candidates`, which are ascending by chunk
/// and stay so. `note` is given a candidate, its rank and what the leg says of it.
fn add<T>(
    candidates: &mut Vec<Candidate>,
    returned: impl Iterator<Item = (ChunkId, T)>,
    note: impl Fn(&mut Candidate, u32, T),
) {
    let before = candidates.len();
    for (rank, (chunk, said)) in (1..).zip(returned) {
        let at = candidates[..before].binary_search_by_key(&chunk, |candidate| candidate.chunk);
        let at = at.unwrap_or_else(|_| {
            candidates.push(Candidate::of(chunk));
            candidates.len() - 1
        });
        note(&mut candidates[at], rank, said);
    }
    candidates.sort_unstable_by_key(|candidate| candidate.chunk);
}
