//! Asking the legs of a namespace, with its projection and the store at one moment.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use loom_storage::{ChunkId, Seq, Snapshot, Version};
use parking_lot::RwLockReadGuard;

use crate::catalog::Filter;
use crate::error::Error;
use crate::projection::{Model, State};
use crate::selection::Selection;
use crate::text::{Held, WordStatistics};

/// What the legs are asked.
#[derive(Clone, Debug)]
pub struct LegQuery<'a> {
    /// The text for the lexical leg; `None` leaves the leg out.
    pub text: Option<&'a str>,
    /// How common the text's words are, where the scores of several namespaces are to be compared; `None`: in this one.
    pub statistics: Option<&'a WordStatistics>,
    /// The query's vector for the vector leg; `None` leaves the leg out.
    pub vector: Option<&'a [f32]>,
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
    /// Its BM25 score; 0 when it holds no word of the text.
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
    pub(crate) snapshot: Box<dyn Snapshot>,
}

impl View<'_> {
    /// The store.
    pub fn snapshot(&self) -> &dyn Snapshot {
        self.snapshot.as_ref()
    }

    /// Lets the projection move on and keeps the store's moment.
    pub fn into_snapshot(self) -> Box<dyn Snapshot> {
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

    /// How common the words of a text are here.
    pub fn word_statistics(&self, text: &str) -> Result<WordStatistics, Error> {
        self.state.lexical.word_statistics(text)
    }

    /// Asks the legs.
    pub fn search(&self, query: &LegQuery<'_>) -> Result<LegHits, Error> {
        let state = &self.state;
        let selection = state.catalog.select(query.filter);
        let mut hits = LegHits { selected: selection.len(), ..LegHits::default() };
        if selection.is_empty() {
            return Ok(hits);
        }
        let mut candidates: BTreeMap<ChunkId, Candidate> = BTreeMap::new();
        let started = Instant::now();
        if let Some(text) = query.text {
            let found = state.lexical.search_among(text, query.statistics, query.depth, Some(&selection))?;
            for (rank, hit) in (1..).zip(found) {
                let candidate = entry(&mut candidates, hit.chunk);
                (candidate.lexical_rank, candidate.lexical_score) = (Some(rank), hit.score);
            }
        }
        hits.lexical_ms = ms(started);
        let started = Instant::now();
        if let Some(vector) = query.vector {
            for (rank, hit) in (1..).zip(state.vectors.search(vector, query.depth, Some(&selection))?) {
                let candidate = entry(&mut candidates, hit.chunk);
                (candidate.vector_rank, candidate.similarity) = (Some(rank), Some(hit.similarity));
            }
        }
        hits.vector_ms = ms(started);
        let started = Instant::now();
        let named = self.named(query, &selection, &mut hits.name_holders)?;
        for (rank, (chunk, held)) in (1..).zip(named) {
            let candidate = entry(&mut candidates, chunk);
            (candidate.names_rank, candidate.names, candidate.spelled) = (Some(rank), held.names, held.spelled);
        }
        hits.names_ms = ms(started);
        let started = Instant::now();
        self.complete(query, &mut candidates)?;
        hits.vector_ms += ms(started);
        hits.candidates = candidates.into_values().collect();
        Ok(hits)
    }

    /// The chunks that hold most of the names, most first, those of equally many by how many are spelled alike, then by
    /// their words.
    fn named(
        &self,
        query: &LegQuery<'_>,
        selection: &Selection,
        holders: &mut Vec<u64>,
    ) -> Result<Vec<(ChunkId, Held)>, Error> {
        if query.names.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.state.lexical.named(query.names, selection)?;
        holders.extend((0..query.names.len()).map(|at| found.values().map(|held| held.names >> at & 1).sum::<u64>()));
        let mut scores: HashMap<ChunkId, f32> = HashMap::new();
        if let Some(text) = query.text {
            let only = Selection::of(found.keys().copied());
            let hits = self.state.lexical.search_among(text, query.statistics, found.len(), Some(&only))?;
            scores.extend(hits.into_iter().map(|hit| (hit.chunk, hit.score)));
        }
        let score = |chunk: &ChunkId| scores.get(chunk).copied().unwrap_or(0.0);
        let mut ranked: Vec<(ChunkId, Held)> = found.into_iter().collect();
        let counts = |held: &Held| (held.names.count_ones(), held.spelled.count_ones());
        ranked.sort_unstable_by(|(left, left_held), (right, right_held)| {
            let names = counts(right_held).cmp(&counts(left_held));
            names.then_with(|| score(right).total_cmp(&score(left))).then(left.cmp(right))
        });
        ranked.truncate(query.depth);
        Ok(ranked)
    }

    /// Scores each candidate by the legs that did not return it, so that being past a leg's depth is not the same as
    /// being worth nothing to it.
    fn complete(&self, query: &LegQuery<'_>, candidates: &mut BTreeMap<ChunkId, Candidate>) -> Result<(), Error> {
        if let Some(vector) = query.vector {
            let missing: Vec<ChunkId> =
                candidates.values().filter(|candidate| candidate.similarity.is_none()).map(|c| c.chunk).collect();
            let similarities = self.state.vectors.similarity(vector, &missing);
            for (chunk, similarity) in missing.iter().zip(similarities) {
                candidates.entry(*chunk).and_modify(|candidate| candidate.similarity = similarity);
            }
        }
        if let Some(text) = query.text {
            let missing = candidates.values().filter(|candidate| candidate.lexical_rank.is_none()).map(|c| c.chunk);
            let missing = Selection::of(missing);
            for hit in self.state.lexical.search_among(text, query.statistics, missing.len(), Some(&missing))? {
                candidates.entry(hit.chunk).and_modify(|candidate| candidate.lexical_score = hit.score);
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

fn entry(candidates: &mut BTreeMap<ChunkId, Candidate>, chunk: ChunkId) -> &mut Candidate {
    candidates.entry(chunk).or_insert_with(|| Candidate::of(chunk))
}
