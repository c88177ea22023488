//! Graphs and compactions: built from a snapshot while the index goes on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use roaring::RoaringBitmap;

use super::VectorIndex;
use super::file::Folder;
use super::graph::Hnsw;
use super::manifest::SavedGraph;
use super::rows::Rows;
use crate::Error;

/// A graph is extended once it lacks this share of its rows, though not for fewer than a quarter of
/// [`super::Settings::graph_rows_min`] and not for more than that: those are scanned in about two milliseconds.
const LACKING_SHARE: u32 = 8;

/// What is to be done to an index, without access to it.
#[derive(Debug)]
pub struct GraphJob {
    rows: Rows,
    removed: RoaringBitmap,
    start: Start,
    graph_rows_min: u32,
    numbering: u64,
    under_way: Arc<()>,
}

/// What the graph starts from.
#[derive(Debug)]
enum Start {
    /// From the file that holds one.
    Saved(Folder, SavedGraph),
    /// From the one in use.
    Present(Arc<Hnsw>),
    /// From nothing, the removed rows left out.
    Nothing,
}

/// What a [`GraphJob`] built, for [`VectorIndex::install_graph`].
#[derive(Debug)]
pub struct Graph {
    hnsw: Option<Hnsw>,
    /// The rows that replace those of the snapshot, with the number each had there.
    compact: Option<(Rows, Vec<u32>)>,
    /// How many rows the snapshot had.
    planned: u32,
    /// Whether the graph in the folder is not a part of this one.
    fresh: bool,
    numbering: u64,
    /// Keeps another job from starting until this one is installed or dropped.
    _under_way: Arc<()>,
}

impl VectorIndex {
    /// The next piece of upkeep: to load the graph from its file, to build one, to add the newer rows to it, or to
    /// leave out the removed rows. `None` when there is nothing to do or another job is under way. To be asked after
    /// opening and after changes; takes a moment, since the rows are shared, not copied.
    pub fn plan_graph(&self) -> Option<GraphJob> {
        if Arc::strong_count(&self.building) > 1 {
            return None;
        }
        let rows = self.table.rows().len();
        let graph_rows_min = self.settings.graph_rows_min.max(1);
        let removed = self.table.removed();
        let start = if self.is_sparse() {
            Start::Nothing
        } else if let Some(graph) = &self.graph {
            let lacking_max = (graph.rows() / LACKING_SHARE).clamp(graph_rows_min.div_ceil(4), graph_rows_min);
            if rows - graph.rows() < lacking_max {
                return None;
            }
            Start::Present(Arc::clone(graph))
        } else if self.table.live() < u64::from(graph_rows_min) {
            return None;
        } else if let Some(saved) = &self.saved.manifest.graph {
            Start::Saved(self.folder.clone(), saved.clone())
        } else {
            Start::Nothing
        };
        Some(GraphJob {
            rows: self.table.rows().clone(),
            removed: removed.clone(),
            start,
            graph_rows_min,
            numbering: self.numbering,
            under_way: Arc::clone(&self.building),
        })
    }

    /// As [`VectorIndex::plan_graph`], when it would leave out the removed rows; to be run before what there is is
    /// written for a long time.
    pub fn plan_compaction(&self) -> Option<GraphJob> {
        if self.is_sparse() { self.plan_graph() } else { None }
    }

    /// Takes what a job built into use, together with what happened to the index meanwhile.
    pub fn install_graph(&mut self, graph: Graph) {
        if graph.numbering != self.numbering {
            return;
        }
        if let Some((rows, kept)) = graph.compact {
            self.table = self.table.compacted(rows, &kept, graph.planned);
            self.numbering += 1;
            self.saved.manifest.segments.clear();
        }
        if graph.fresh {
            self.saved.manifest.graph = None;
        }
        self.graph = graph.hnsw.map(Arc::new);
    }

    /// Whether too many rows are removed.
    fn is_sparse(&self) -> bool {
        let removed = self.table.removed().len();
        let share = f64::from(self.table.rows().len()) * self.settings.removed_share_max;
        #[expect(clippy::cast_precision_loss, reason = "row numbers are 32 bits")]
        let sparse = removed > 0 && removed as f64 >= share;
        sparse
    }
}

impl GraphJob {
    /// Does the work: about a third of a millisecond of one core for each row that is new to the graph. When `stop` was set
    /// meanwhile, no graph comes of it: `None`, unless removed rows were left out, which counts all the same. On an
    /// error the index is as it was, and the same job will be planned again.
    pub fn run(self, stop: &AtomicBool) -> Result<Option<Graph>, Error> {
        let planned = self.rows.len();
        let extended = match self.start {
            Start::Present(ref graph) => Some(graph.copy()?),
            Start::Saved(ref folder, ref saved) => match Hnsw::read(folder, saved, &self.rows) {
                Ok(graph) => Some(graph),
                Err(error) => {
                    tracing::warn!(%error, "the vector graph cannot be read and is built again");
                    None
                }
            },
            Start::Nothing => None,
        };
        let fresh = extended.is_none();
        let compact = (fresh && !self.removed.is_empty()).then(|| compact(&self.rows, &self.removed));
        let rows = compact.as_ref().map_or(&self.rows, |(rows, _)| rows);
        let mut hnsw = match extended {
            Some(graph) => Some(graph),
            None if rows.len() >= self.graph_rows_min => Some(Hnsw::new(rows.dim())?),
            None => None,
        };
        if let Some(unfinished) = &mut hnsw
            && !unfinished.extend(rows, stop)?
        {
            if compact.is_none() {
                return Ok(None);
            }
            hnsw = None;
        }
        let Self { numbering, under_way, .. } = self;
        Ok(Some(Graph { hnsw, compact, planned, fresh, numbering, _under_way: under_way }))
    }
}

/// The rows that are not removed, by ascending chunk, with the number each had.
fn compact(rows: &Rows, removed: &RoaringBitmap) -> (Rows, Vec<u32>) {
    let mut order: Vec<_> = (0..).zip(rows.chunks()).filter(|&(row, _)| !removed.contains(row)).collect();
    order.sort_unstable_by_key(|&(_, chunk)| chunk);
    let mut kept = Vec::with_capacity(order.len());
    let mut compact = Rows::new(rows.dim());
    for (row, chunk) in order {
        let vector = rows.vector(row).expect("it was enumerated");
        assert!(compact.push(chunk, vector), "there are no more rows than before");
        kept.push(row);
    }
    (compact, kept)
}
