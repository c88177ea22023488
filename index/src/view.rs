//! Asking the legs of a namespace, with its projection and the store at one moment.

use std::time::Instant;

use loom_storage::{Seq, Snapshot};
use parking_lot::RwLockReadGuard;

use crate::catalog::Filter;
use crate::error::Error;
use crate::projection::{Model, State};
use crate::text::LexicalHit;
use crate::vector::VectorHit;

/// What the legs are asked.
#[derive(Clone, Debug)]
pub struct LegQuery<'a> {
    /// The text for the lexical leg; `None` leaves the leg out.
    pub text: Option<&'a str>,
    /// The query's vector for the vector leg; `None` leaves the leg out.
    pub vector: Option<&'a [f32]>,
    /// Which chunks may be returned.
    pub filter: &'a Filter,
    /// The most hits of each leg.
    pub depth: usize,
}

/// What the legs found, best first.
#[derive(Clone, Debug, Default)]
pub struct LegHits {
    /// The lexical leg's hits.
    pub lexical: Vec<LexicalHit>,
    /// The vector leg's hits.
    pub vector: Vec<VectorHit>,
    /// The similarity of each lexical hit to the query's vector, in order; `None` without a vector.
    pub lexical_similarity: Vec<Option<f32>>,
    /// How many chunks passed the filter.
    pub candidates: usize,
    /// Milliseconds spent in the lexical leg.
    pub lexical_ms: f64,
    /// Milliseconds spent in the vector leg.
    pub vector_ms: f64,
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

    /// Asks the legs.
    pub fn search(&self, query: &LegQuery<'_>) -> Result<LegHits, Error> {
        let state = &self.state;
        let selection = state.catalog.select(query.filter);
        let mut hits = LegHits { candidates: selection.len(), ..LegHits::default() };
        if selection.is_empty() {
            return Ok(hits);
        }
        if let Some(text) = query.text {
            let started = Instant::now();
            hits.lexical = state.lexical.search(text, query.depth, Some(&selection))?;
            hits.lexical_ms = started.elapsed().as_secs_f64() * 1e3;
        }
        if let Some(vector) = query.vector {
            let started = Instant::now();
            hits.vector = state.vectors.search(vector, query.depth, Some(&selection))?;
            let lexical: Vec<_> = hits.lexical.iter().map(|hit| hit.chunk).collect();
            hits.lexical_similarity = state.vectors.similarity(vector, &lexical);
            hits.vector_ms = started.elapsed().as_secs_f64() * 1e3;
        }
        Ok(hits)
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
