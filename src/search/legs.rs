//! Asking the legs of several namespaces, at the same time, so that they answer as one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use loom_index::fuse::Scores;
use loom_index::text::{Lookup, QueryWords, WordStatistics};
use loom_index::vector::{Unscored, VectorHit, nearest};
use loom_index::{Candidate, LegHits, LegQuery, Model, Projection, View};
use loom_storage::{Scope, Seq, Snapshot};
use parking_lot::Mutex;

use super::Request;
use crate::context::{Reading, Views};
use crate::error::Error;
use crate::ops::knowledge::search::SearchMode;

/// What a search has found out so far, and need not ask again.
#[derive(Default)]
pub struct Known {
    /// The vectors of the query, by the name of the model.
    pub vectors: HashMap<String, Vec<f32>>,
    /// The words of the query, as each namespace has them.
    words: HashMap<Scope, Lookup>,
    /// The list of each namespace's vector leg, under the model it was asked for.
    near: HashMap<Scope, (Model, Vec<VectorHit>)>,
}

impl Known {
    /// What is known when the legs are asked deeper.
    pub fn deeper(&mut self) -> Self {
        Self { vectors: std::mem::take(&mut self.vectors), ..Self::default() }
    }
}

/// What the legs of one namespace found.
pub struct Asked {
    /// The namespace.
    pub scope: Scope,
    /// The model whose vectors were searched.
    pub model: Model,
    /// What was found.
    pub legs: LegHits,
    /// The store at the moment that was searched.
    pub snapshot: Arc<dyn Snapshot>,
}

/// A namespace with its index open.
struct Open {
    scope: Scope,
    projection: Arc<Projection>,
    model: Model,
    /// Its last commit in the operation's snapshot.
    last: Seq,
}

impl Open {
    /// A view of it; `None` when its index was replaced, or when it moved to another model since it was opened.
    fn view<'v>(&'v self, views: Views<'v>) -> Result<Option<View<'v>>, Error> {
        Ok(views.at(&self.projection, self.last)?.filter(|view| *view.model() == self.model))
    }
}

/// What a search asks of every namespace.
struct Question<'a> {
    request: &'a Request<'a>,
    statistics: Option<WordStatistics>,
    known: &'a Known,
    depth: usize,
    bar: Bar,
}

/// The score below which no chunk is among the first of the lexical leg, of what is known so far. It is the same in every
/// namespace, since all measure by the same statistics.
#[derive(Default)]
struct Bar {
    /// The best scores, ascending.
    best: Mutex<Vec<f32>>,
}

impl Bar {
    fn height(&self, depth: usize) -> f32 {
        let best = self.best.lock();
        best.len().checked_sub(depth).and_then(|at| best.get(at)).copied().unwrap_or(0.0)
    }

    /// Takes note of what a namespace's leg returned.
    fn raise(&self, depth: usize, returned: &[Candidate]) {
        let ranked = returned.iter().filter(|candidate| candidate.lexical_rank.is_some());
        let mut best = self.best.lock();
        best.extend(ranked.map(|candidate| candidate.lexical_score));
        best.sort_unstable_by(f32::total_cmp);
        let surplus = best.len().saturating_sub(depth);
        best.drain(..surplus);
    }
}

/// Asks the legs of the namespaces, in their order. `skipped` are those beside the first whose index is being built.
///
/// Each leg has one list for all namespaces: no longer, and ranked, as if they were one.
pub fn ask(
    reading: &Reading<'_>,
    scopes: &[Scope],
    request: &Request<'_>,
    depth: usize,
    known: &mut Known,
    skipped: &mut Vec<Scope>,
) -> Result<Vec<Asked>, Error> {
    loop {
        reading.check_deadline()?;
        let open = open(reading, scopes, request, known, skipped)?;
        let (alone, views) = (open.len() == 1, reading.views());
        let statistics = if alone || request.mode == SearchMode::Semantic {
            None
        } else {
            let Some(statistics) = statistics(views, &open, request.query, known)? else { continue };
            Some(statistics)
        };
        let question = Question { request, statistics, known, depth, bar: Bar::default() };
        let asked = each(&open, |open| question.lists(views, open, alone))?;
        let Some(mut asked) = asked.into_iter().collect::<Option<Vec<Asked>>>() else { continue };
        if !alone {
            find_nearest(&mut asked, depth);
            merge(&mut asked, depth);
            if !complete(&question, views, &open, &mut asked)? {
                continue;
            }
        }
        for Asked { scope, model, legs, .. } in &mut asked {
            known.near.insert(scope.clone(), (model.clone(), std::mem::take(&mut legs.near)));
        }
        return Ok(asked);
    }
}

/// Opens the indexes of the namespaces that have any chunks, and embeds the query for their models.
fn open(
    reading: &Reading<'_>,
    scopes: &[Scope],
    request: &Request<'_>,
    known: &mut Known,
    skipped: &mut Vec<Scope>,
) -> Result<Vec<Open>, Error> {
    let mut open = Vec::new();
    for (at, scope) in scopes.iter().enumerate() {
        // A namespace that was never written to has no projection, and none is made for it.
        let row = reading.snapshot().namespace(scope)?;
        let Some(row) = row.filter(|row| row.chunks > 0 && !skipped.contains(scope)) else { continue };
        match reading.projection(scope) {
            Err(error) if at > 0 && request.skip_unready && error.is_unready() => skipped.push(scope.clone()),
            projection => {
                let projection = projection?;
                let model = projection.model();
                if request.mode != SearchMode::Lexical && !known.vectors.contains_key(&model.name) {
                    known.vectors.insert(model.name.clone(), reading.embed_query(&model, request.query)?);
                }
                open.push(Open { scope: scope.clone(), projection, model, last: row.last_seq });
            }
        }
    }
    Ok(open)
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
    fn of<'q>(&'q self, open: &Open, words: Option<&'q Lookup>) -> LegQuery<'q> {
        let Self { request, known, .. } = self;
        let vector = known.vectors.get(&open.model.name).filter(|vector| vector.iter().any(|value| *value != 0.0));
        let near = known.near.get(&open.scope).filter(|(model, _)| *model == open.model);
        LegQuery {
            words,
            statistics: self.statistics.as_ref(),
            lexical_min: if self.statistics.is_some() { self.bar.height(self.depth) } else { 0.0 },
            vector: vector.filter(|_| request.mode != SearchMode::Lexical).map(Vec::as_slice),
            near: near.map(|(_, near)| near.as_slice()),
            names: if request.mode == SearchMode::Hybrid { &request.names } else { &[] },
            filter: request.filter,
            depth: self.depth,
        }
    }

    /// What the legs of one namespace return; where it is `alone`, scored by each other too. `None` when its index was
    /// replaced, or when it moved to another model since the query was embedded.
    fn lists(&self, views: Views<'_>, open: &Open, alone: bool) -> Result<Option<Asked>, Error> {
        let Some(view) = open.view(views)? else { return Ok(None) };
        let looked_up;
        let words = match self.known.words.get(&open.scope) {
            _ if self.request.mode == SearchMode::Semantic => None,
            Some(words) => Some(words),
            None => {
                looked_up = view.look_up(&QueryWords::of(self.request.query))?;
                Some(&looked_up)
            }
        };
        let query = self.of(open, words);
        let legs = if alone { view.search(&query) } else { view.lists(&query) }?;
        if self.statistics.is_some() {
            self.bar.raise(self.depth, &legs.candidates);
        }
        let Open { scope, model, .. } = open;
        Ok(Some(Asked { scope: scope.clone(), model: model.clone(), legs, snapshot: view.into_snapshot() }))
    }
}

/// How common the query's words are in all the namespaces together; `None` when an index was replaced.
fn statistics(
    views: Views<'_>,
    open: &[Open],
    query: &str,
    known: &mut Known,
) -> Result<Option<WordStatistics>, Error> {
    let mut all = WordStatistics::default();
    let words = QueryWords::of(query);
    for open in open {
        let Some(view) = open.view(views)? else { return Ok(None) };
        let looked_up = match known.words.entry(open.scope.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(view.look_up(&words)?),
        };
        all.add(&view.word_statistics(looked_up)?);
    }
    Ok(Some(all))
}

/// Ends what the namespaces' vector legs have begun, those of one model together.
fn find_nearest(asked: &mut [Asked], depth: usize) {
    let started = Instant::now();
    let begun: Vec<(usize, Unscored)> =
        asked.iter_mut().enumerate().filter_map(|(at, asked)| Some((at, asked.legs.unscored.take()?))).collect();
    for model in models(asked) {
        let (places, of): (Vec<usize>, Vec<&Unscored>) =
            begun.iter().filter(|(at, _)| asked[*at].model == model).map(|(at, unscored)| (*at, unscored)).unzip();
        for (at, near) in places.into_iter().zip(nearest(&of, depth)) {
            asked[at].legs.add_near(near);
        }
    }
    if let Some(first) = asked.first_mut() {
        first.legs.vector_ms += started.elapsed().as_secs_f64() * 1e3;
    }
}

/// The models of the namespaces, each once.
fn models(asked: &[Asked]) -> Vec<Model> {
    let mut models: Vec<Model> = asked.iter().map(|asked| asked.model.clone()).collect();
    models.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    models.dedup();
    models
}

/// Ranks what the namespaces' legs returned as one list for each leg, and drops what is in none of them. Vectors of
/// different models cannot be compared: they have a list for each model.
fn merge(asked: &mut [Asked], depth: usize) {
    let everywhere = |_: &Asked| true;
    rank(asked, depth, everywhere, |found| &mut found.lexical_rank, |found| (0, found.lexical_score));
    rank(
        asked,
        depth,
        everywhere,
        |found| &mut found.names_rank,
        |found| (found.names.count_ones() << 8 | found.spelled.count_ones(), found.lexical_score),
    );
    for model in models(asked) {
        let of_model = |asked: &Asked| asked.model == model;
        rank(asked, depth, of_model, |found| &mut found.vector_rank, |found| (0, found.similarity.unwrap_or(0.0)));
    }
    for asked in asked {
        let is_listed = |found: &Candidate| {
            found.lexical_rank.is_some() || found.vector_rank.is_some() || found.names_rank.is_some()
        };
        asked.legs.candidates.retain(is_listed);
    }
}

/// Gives those that one leg returned their ranks by `worth`, the highest first, and none past `depth`.
fn rank(
    asked: &mut [Asked],
    depth: usize,
    is_meant: impl Fn(&Asked) -> bool,
    rank_of: impl Fn(&mut Candidate) -> &mut Option<u32>,
    worth: impl Fn(&Candidate) -> (u32, f32),
) {
    let mut all: Vec<((u32, f32), usize, &mut Option<u32>)> = Vec::new();
    for (at, asked) in asked.iter_mut().enumerate().filter(|(_, asked)| is_meant(asked)) {
        for candidate in &mut asked.legs.candidates {
            let worth = worth(candidate);
            let rank = rank_of(candidate);
            if rank.is_some() {
                all.push((worth, at, rank));
            }
        }
    }
    all.sort_unstable_by(|(left, left_at, left_rank), (right, right_at, right_rank)| {
        let worth = right.0.cmp(&left.0).then_with(|| right.1.total_cmp(&left.1));
        worth.then_with(|| (left_at, &**left_rank).cmp(&(right_at, &**right_rank)))
    });
    for (place, (.., rank)) in (1..).zip(all) {
        *rank = (place as usize <= depth).then_some(place);
    }
}

/// Scores the candidates that are left by the legs that did not return them; `false` when an index was replaced meanwhile.
fn complete(question: &Question<'_>, views: Views<'_>, open: &[Open], asked: &mut [Asked]) -> Result<bool, Error> {
    let taken: Vec<(&Open, Vec<Candidate>)> =
        open.iter().zip(&mut *asked).map(|(open, asked)| (open, std::mem::take(&mut asked.legs.candidates))).collect();
    let one = |(open, candidates): &(&Open, Vec<Candidate>)| -> Result<Option<Vec<Candidate>>, Error> {
        let mut candidates = candidates.clone();
        if candidates.is_empty() {
            return Ok(Some(candidates));
        }
        let Some(view) = open.view(views)? else { return Ok(None) };
        view.complete(&question.of(open, question.known.words.get(&open.scope)), &mut candidates)?;
        Ok(Some(candidates))
    };
    for (asked, completed) in asked.iter_mut().zip(each(&taken, one)?) {
        let Some(completed) = completed else { return Ok(false) };
        asked.legs.candidates = completed;
    }
    Ok(true)
}

/// The scores of all namespaces, by which each one's are measured.
pub fn scores(asked: &[Asked]) -> Scores {
    asked.iter().fold(Scores::default(), |scores, asked| scores.with(&asked.legs.candidates))
}

/// How many chunks of all namespaces hold each of the names.
pub fn name_holders(asked: &[Asked], names: usize) -> Vec<u64> {
    (0..names).map(|at| asked.iter().filter_map(|asked| asked.legs.name_holders.get(at)).sum()).collect()
}
