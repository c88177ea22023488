//! Asking the legs of several namespaces, at the same time, so that their scores can be compared.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use loom_index::fuse::Scores;
use loom_index::text::WordStatistics;
use loom_index::{LegHits, LegQuery, Model, Projection};
use loom_storage::{Scope, Snapshot};

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
        let asked = each(&open, one)?;
        if asked.iter().all(Option::is_some) {
            return Ok(asked.into_iter().flatten().collect());
        }
    }
}

/// Calls `one` with each item, in as many threads as there are cores, and answers in the items' order. They are threads of
/// their own since a view may wait for work that the pool for computing does.
fn each<T: Sync, U: Send>(items: &[T], one: impl Fn(&T) -> Result<U, Error> + Sync) -> Result<Vec<U>, Error> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if threads < 2 {
        return items.iter().map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            done.push((at, one(item)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, answer)| answer).collect()
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

/// The scores of all namespaces, by which each one's are measured.
pub fn scores(asked: &[Asked]) -> Scores {
    asked.iter().fold(Scores::default(), |scores, asked| scores.with(&asked.legs.candidates))
}

/// How many chunks of all namespaces hold each of the names.
pub fn name_holders(asked: &[Asked], names: usize) -> Vec<u64> {
    (0..names).map(|at| asked.iter().filter_map(|asked| asked.legs.name_holders.get(at)).sum()).collect()
}
