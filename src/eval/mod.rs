//! Measuring what searches find: queries with judgements, the usual measures, and whether two settings differ.

mod compare;
mod judged;
mod measure;

use serde::Serialize;

pub use compare::{Comparison, compare};
pub use judged::{Judged, JudgedError, Judgements, QUERIES_MAX};
pub use measure::{CUTOFF, DEEP_CUTOFF, Measures, of_ranking};

/// What one setting reached over all queries that have a judgement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evaluation {
    /// The measures of each query, in the order of the queries.
    #[serde(skip)]
    pub queries: Vec<Measures>,
    /// Their means.
    pub mean: Measures,
}

impl Evaluation {
    /// The evaluation of queries whose measures are `queries`.
    pub fn of(queries: Vec<Measures>) -> Self {
        let mean = Measures::mean(&queries);
        Self { queries, mean }
    }
}
