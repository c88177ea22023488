//! Searching: by scan or by graph, whichever costs less.

use loom_storage::ChunkId;

use super::fixed::{cosine, unit};
use super::graph::Hnsw;
use super::likely::{Unscored, nearest};
use super::scan::{Best, scan_from, scan_list};
use super::{VectorIndex, failed};
use crate::{Error, Selection};

/// How many candidates a graph search weighs, at least, and how many for each hit wanted.
const CANDIDATES_MIN: usize = 256;
const CANDIDATES_PER_HIT: usize = 4;

/// A chunk and how similar it is to the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorHit {
    /// The chunk.
    pub chunk: ChunkId,
    /// The cosine of its vector and the query, in -1..=1.
    pub similarity: f32,
}

/// How far a search comes by itself.
#[derive(Debug)]
pub enum Begun {
    /// To its end.
    Hits(Vec<VectorHit>),
    /// To rows of which [`nearest`] finds the best, in one go with those of other indexes.
    Rows(Unscored),
}

impl VectorIndex {
    /// The `k` chunks most similar to `query`, the best first, ties by the smaller id; only chunks in `selection`, if
    /// there is one. When the selection is small, or there are few chunks, that is exact; else about one in two
    /// hundred of the best ten is missed. A query that is zero or not finite is similar to nothing and has no hits.
    pub fn search(&self, query: &[f32], k: usize, selection: Option<&Selection>) -> Result<Vec<VectorHit>, Error> {
        Ok(match self.begin(query, k, selection)? {
            Begun::Hits(hits) => hits,
            Begun::Rows(rows) => nearest(&[&rows], k).into_iter().flatten().collect(),
        })
    }

    /// As [`search`](Self::search), but for what is better done for several indexes of one model together.
    pub fn begin(&self, query: &[f32], k: usize, selection: Option<&Selection>) -> Result<Begun, Error> {
        let dim = self.table.rows().dim();
        if query.len() != dim {
            return Err(failed(format!("the query has {} dimensions, the model {dim}", query.len())));
        }
        let Some(query) = unit(query) else { return Ok(Begun::Hits(Vec::new())) };
        if k == 0 || self.table.live() == 0 {
            return Ok(Begun::Hits(Vec::new()));
        }
        if let Some(graph) = &self.graph
            && let Some(candidates) = self.graph_candidates(graph, k, selection)
            && let Some(hits) = self.search_graph(graph, &query, k, candidates, selection)
        {
            return Ok(Begun::Hits(hits));
        }
        let Some(selection) = selection else { return Ok(Begun::Rows(self.unscored(query))) };
        let best = scan_list(self.table.rows(), &self.table.live_rows(selection), &query, 0, Best::new(k));
        Ok(Begun::Hits(best.into_hits()))
    }

    /// The cosine of `query` and each of `chunks`, in their order; `None` for a chunk that has no vector here or is
    /// removed, and for all when the query has no direction or another length.
    pub fn similarity(&self, query: &[f32], chunks: &[ChunkId]) -> Vec<Option<f32>> {
        let query = if query.len() == self.table.rows().dim() { unit(query) } else { None };
        let one = |chunk: &ChunkId| {
            let vector = self.table.rows().vector(self.table.live_row(*chunk)?)?;
            Some(cosine(query.as_deref()?, vector))
        };
        chunks.iter().map(one).collect()
    }

    /// How many candidates the graph should weigh; `None` when a scan costs less. The fewer of its rows the selection
    /// leaves, the more of them the graph passes through for each that counts.
    fn graph_candidates(&self, graph: &Hnsw, k: usize, selection: Option<&Selection>) -> Option<usize> {
        let live = self.table.live();
        let selected = selection.map_or(live, |selection| live.min(selection.len() as u64));
        let candidates = k.saturating_mul(CANDIDATES_PER_HIT).max(CANDIDATES_MIN).min(graph.rows() as usize);
        let graph_cost = (candidates as u64)
            .saturating_mul(self.settings.rows_per_candidate)
            .saturating_mul(u64::from(graph.rows()).max(1))
            .checked_div(selected)?;
        let listed = selection.is_some() && selected <= self.settings.listed_rows_max;
        (!listed && graph_cost < selected).then_some(candidates)
    }

    /// The graph's hits and those of the rows newer than it; `None` when the graph failed or found too few.
    fn search_graph(
        &self,
        graph: &Hnsw,
        query: &[i16],
        k: usize,
        candidates: usize,
        selection: Option<&Selection>,
    ) -> Option<Vec<VectorHit>> {
        let rows = self.table.rows();
        let accepts = |row| self.table.accepts(row, selection);
        let found = match self.search_accepted(graph, query, candidates, selection, &accepts) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "the graph failed; all rows are scanned instead");
                return None;
            }
        };
        let best = scan_list(rows, &found, query, 0, Best::new(k));
        let best = scan_from(rows, graph.rows(), query, best, accepts);
        (best.len() == k).then(|| best.into_hits())
    }

    /// About `candidates` rows of the graph that `accepts` allows. Where it allows most, asking it only of what was found
    /// is quicker than from inside the graph, unless just those near the query are refused.
    fn search_accepted(
        &self,
        graph: &Hnsw,
        query: &[i16],
        candidates: usize,
        selection: Option<&Selection>,
        accepts: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<u32>, Error> {
        let rows = graph.rows() as usize;
        let live = usize::try_from(self.table.live()).unwrap_or(usize::MAX);
        let accepted = selection.map_or(live, |selection| live.min(selection.len())).min(rows);
        if accepted > rows / 2 {
            let mut found = graph.search(query, candidates.saturating_mul(rows) / accepted, None)?;
            found.retain(|&row| accepts(row));
            if found.len() >= candidates / 2 {
                return Ok(found);
            }
        }
        graph.search(query, candidates, Some(accepts))
    }
}
