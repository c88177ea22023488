//! Asking the legs of several namespaces, at the same time, so that their scores can be compared.

use std::collections::HashMap;
use std::sync::Arc;

use loom_index::fuse::Best;
use loom_index::text::WordStatistics;
use loom_index::{LegHits, LegQuery, Model, Projection};
use loom_storage::{Scope, Snapshot};
use rayon::prelude::*;

use super::Request;
use crate::context::Reading;
use crate::error::Error;
use crate::ops::knowledge::search::SearchMode;

/// The vectors of a query, by the name of the model.
pub type QueryVectors = HashMap<String, Vec<f32>>;

/// What the legs of one namespace found.
pub struct Asked {
    /// The namespace.
    pub scope: Scope,
    /// The model whose vectors were searched.
    pub model: Model,
    /// What was found.
    pub legs: LegHits,
    /// The store at the moment that was searched.
    pub snapshot: Box<dyn Snapshot>,
}

/// What a search asks of every namespace.
struct Question<'a> {
    request: &'a Request<'a>,
    statistics: Option<WordStatistics>,
    vectors: &'a QueryVectors,
    depth: usize,
}

/// Asks the legs of the namespaces, in their order. `skipped` are those beside the first whose index is being built.
pub fn ask(
    reading: &Reading<'_>,
    scopes: &[Scope],
    request: &Request<'_>,
    depth: usize,
    vectors: &mut QueryVectors,
    skipped: &mut Vec<Scope>,
) -> Result<Vec<Asked>, Error> {
    loop {
        reading.check_deadline()?;
        let mut open: Vec<(Scope, Arc<Projection>, Model)> = Vec::new();
        for (at, scope) in scopes.iter().enumerate() {
            // A namespace that was never written to has no projection, and none is made for it.
            if reading.snapshot().namespace(scope)?.is_none_or(|row| row.chunks == 0) || skipped.contains(scope) {
                continue;
            }
            match reading.projection(scope) {
                Err(error) if at > 0 && request.skip_unready && error.is_unready() => skipped.push(scope.clone()),
                projection => {
                    let projection = projection?;
                    let model = projection.model();
                    if request.mode != SearchMode::Lexical && !vectors.contains_key(&model.name) {
                        vectors.insert(model.name.clone(), reading.embed_query(&model, request.query)?);
                    }
                    open.push((scope.clone(), projection, model));
                }
            }
        }
        let statistics = if open.len() > 1 { Some(statistics(reading, &open, request.query)?) } else { None };
        let question = Question { request, statistics, vectors, depth };
        let views = reading.views();
        let one = |(scope, projection, model): &(Scope, Arc<Projection>, Model)| -> Result<Option<Asked>, Error> {
            let Some(view) = views.of(projection)? else { return Ok(None) };
            // The namespace may have moved to another model since the query was embedded.
            if view.model() != model {
                return Ok(None);
            }
            let legs = view.search(&question.of(model))?;
            Ok(Some(Asked { scope: scope.clone(), model: model.clone(), legs, snapshot: view.into_snapshot() }))
        };
        // One namespace is not worth the way to another thread.
        let asked: Vec<Option<Asked>> = if open.len() > 1 {
            open.par_iter().map(one).collect::<Result<_, _>>()?
        } else {
            open.iter().map(one).collect::<Result<_, _>>()?
        };
        if asked.iter().all(Option::is_some) {
            return Ok(asked.into_iter().flatten().collect());
        }
    }
}

impl Question<'_> {
    fn of<'q>(&'q self, model: &Model) -> LegQuery<'q> {
        let request = self.request;
        let vector = self.vectors.get(&model.name).filter(|vector| vector.iter().any(|value| *value != 0.0));
        LegQuery {
            text: (request.mode != SearchMode::Semantic).then_some(request.query),
            statistics: self.statistics.as_ref(),
            vector: vector.filter(|_| request.mode != SearchMode::Lexical).map(Vec::as_slice),
            names: if request.mode == SearchMode::Hybrid { &request.names } else { &[] },
            filter: request.filter,
            depth: self.depth,
        }
    }
}

/// How common the query's words are in all the namespaces together.
fn statistics(
    reading: &Reading<'_>,
    open: &[(Scope, Arc<Projection>, Model)],
    query: &str,
) -> Result<WordStatistics, Error> {
    let mut all = WordStatistics::default();
    for (_, projection, _) in open {
        if let Some(view) = reading.views().of(projection)? {
            all.add(view.word_statistics(query)?);
        }
    }
    Ok(all)
}

/// The best scores of all namespaces, by which each one's are measured.
pub fn best(asked: &[Asked]) -> Best {
    asked.iter().fold(Best::default(), |best, asked| best.with(&asked.legs.candidates))
}
