//! Moving namespaces to a changed embedding model, in the background, while the earlier one serves.
//!
//! 1. The namespace's embedding record names the model being built; from then on each write embeds under both.
//! 2. Every live chunk gets its vector under the new model.
//! 3. The new vector index is built beside the serving one.
//! 4. One commit, guarded by the record, makes the new model serve.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use loom_index::{Model, Progress as BuildProgress};
use loom_storage::{Batch, Hash, Precondition, RecordWrite, Scope, Seq, Snapshot, Write, live_versions};
use parking_lot::Mutex;

use crate::context::embed_missing;
use crate::deadline::after;
use crate::engine::Inner;
use crate::error::{Code, Error};
use crate::ingest;
use crate::models::{self, NamespaceModels};

/// How many chunks are embedded and committed between two looks at whether to stop.
const CHUNKS_PAGE: usize = 32;
/// How long one such page, or the namespace's index, may take before the move is put off to the next pass.
const STEP_WAIT: Duration = Duration::from_mins(10);
/// Of how many models beside the serving one a namespace keeps its vectors, so that going back needs no provider.
const MODELS_KEPT: usize = 1;

/// How far the move of a namespace has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Chunks that have their vector under the new model.
    pub done: u64,
    /// Live chunks.
    pub total: u64,
}

/// The moves under way.
#[derive(Default)]
pub struct Moves {
    progress: Mutex<HashMap<Scope, Progress>>,
    /// Held by a pass, so that no two of them embed the same.
    pass: Mutex<()>,
}

impl Moves {
    /// How far the move of a namespace has come, when one is under way.
    pub fn progress(&self, scope: &Scope) -> Option<Progress> {
        self.progress.lock().get(scope).copied()
    }
}

/// Moves every namespace that is not served by the configured model, until the engine stops. A namespace that cannot
/// be moved does not keep the others, unless it is the model that does not answer; the first error is returned.
pub fn pass(engine: &Inner) -> Result<(), Error> {
    let _alone = engine.moves.pass.lock();
    let mut outcome = Ok(());
    let snapshot = engine.store.snapshot()?;
    for row in snapshot.namespaces(None)? {
        if engine.stop.load(Ordering::Acquire) {
            break;
        }
        let models = models_of(engine, &row.scope, snapshot.as_ref())?;
        if models.changed.is_some() && !is_settled(engine, &models) {
            let moved = move_namespace(engine, &row.scope, models).and_then(|()| {
                let models = models_of(engine, &row.scope, engine.store.snapshot()?.as_ref())?;
                drop_earlier(engine, &row.scope, models)
            });
            let unavailable = moved.as_ref().is_err_and(|error| error.code == Code::ProviderUnavailable);
            outcome = outcome.and(moved);
            if unavailable {
                break;
            }
        } else {
            outcome = outcome.and(drop_earlier(engine, &row.scope, models));
        }
    }
    outcome
}

fn models_of(engine: &Inner, scope: &Scope, snapshot: &dyn Snapshot) -> Result<NamespaceModels, Error> {
    models::of_namespace(scope, snapshot, &engine.embedders, after(STEP_WAIT))
}

fn is_settled(engine: &Inner, models: &NamespaceModels) -> bool {
    models.serving.name == engine.embedders.configured_name()
}

/// Drops the vectors of the models that served before the last one, once the namespace is where it is to be.
fn drop_earlier(engine: &Inner, scope: &Scope, mut models: NamespaceModels) -> Result<(), Error> {
    if !is_settled(engine, &models) || models.kept.len() <= MODELS_KEPT {
        return Ok(());
    }
    let dropped = models.kept.split_off(MODELS_KEPT);
    let drops = dropped.iter().map(|model| Write::DropVectors { scope: scope.clone(), model: model.clone() });
    write_models(engine, scope, &models, drops)?;
    tracing::info!(%scope, ?dropped, "the vectors of earlier models were dropped");
    Ok(())
}

fn move_namespace(engine: &Inner, scope: &Scope, models: NamespaceModels) -> Result<(), Error> {
    let target = engine.embedders.configured(after(STEP_WAIT))?;
    let mut models = models;
    if models.building.as_ref() != Some(&target) {
        models.building = Some(target.clone());
        models.kept.retain(|model| *model != target.name);
        models = write_models(engine, scope, &models, [])?;
        tracing::info!(%scope, from = models.serving.name, to = target.name, "re-embedding started");
    }
    loop {
        if !fill(engine, scope, &target)? {
            return Ok(());
        }
        let until = after(STEP_WAIT);
        let projection = engine.projection(scope, engine.store.snapshot()?.as_ref(), until, until)?;
        let progress = BuildProgress::new(0, Arc::clone(&engine.stop));
        projection.prepare_model(engine.store.as_ref(), &target, &progress)?;
        let mut kept = vec![models.serving.name.clone()];
        kept.extend(models.kept.iter().filter(|model| **model != target.name).cloned());
        let switched = NamespaceModels { serving: target.clone(), building: None, kept, changed: models.changed };
        let switch = Write::SwitchModel { scope: scope.clone(), model: target.name.clone() };
        match write_models(engine, scope, &switched, [switch]) {
            Ok(_) => break,
            // A write that was planned before the record named the new model has landed: its chunks are embedded next.
            Err(error) if error.code == Code::Overloaded => {
                models = models_of(engine, scope, engine.store.snapshot()?.as_ref())?;
            }
            Err(error) => return Err(error),
        }
    }
    engine.moves.progress.lock().remove(scope);
    tracing::info!(%scope, to = target.name, "re-embedding finished");
    Ok(())
}

/// Embeds what lacks a vector under `target`; `false` when stopped before the end.
fn fill(engine: &Inner, scope: &Scope, target: &Model) -> Result<bool, Error> {
    let snapshot = engine.store.snapshot()?;
    let total = snapshot.namespace(scope)?.map_or(0, |row| row.chunks);
    let models_changed = snapshot.record(&models::record_key(scope))?.map(|record| record.changed);
    let mut filling = Filling {
        engine,
        snapshot: snapshot.as_ref(),
        scope,
        target,
        pending: Vec::new(),
        done: 0,
        total,
        models_changed,
    };
    for version in live_versions(snapshot.as_ref(), scope) {
        let version = version?;
        for input in ingest::inputs(snapshot.chunks(scope, version.first_chunk, version.chunk_count)?.iter()) {
            filling.pending.push(input);
            if filling.pending.len() == CHUNKS_PAGE && !filling.flush()? {
                return Ok(false);
            }
        }
    }
    filling.flush()
}

/// A pass over the chunks of a namespace, many of them in one call of the embedder and one commit.
struct Filling<'a> {
    engine: &'a Inner,
    snapshot: &'a dyn Snapshot,
    scope: &'a Scope,
    target: &'a Model,
    pending: Vec<(Hash, String)>,
    done: u64,
    total: u64,
    /// The commit that last wrote the namespace's embedding record: an erasure writes it too.
    models_changed: Option<Seq>,
}

impl Filling<'_> {
    /// Embeds what is pending; `false` when it is time to stop.
    fn flush(&mut self) -> Result<bool, Error> {
        let Self { engine, scope, target, .. } = *self;
        engine.moves.progress.lock().insert(scope.clone(), Progress { done: self.done, total: self.total });
        if engine.stop.load(Ordering::Acquire) {
            return Ok(false);
        }
        let vectors = embed_missing(engine, self.snapshot, scope, target, &self.pending, after(STEP_WAIT))?;
        if !vectors.is_empty() {
            let write = Write::PutVectors { scope: scope.clone(), model: target.name.clone(), vectors };
            let unchanged = Precondition::Record { key: models::record_key(scope), changed: self.models_changed };
            engine.commit(Batch { preconditions: vec![unchanged], writes: vec![write] })?;
        }
        self.done += self.pending.len() as u64;
        self.pending.clear();
        Ok(true)
    }
}

/// Writes a namespace's embedding record over the one that was read, and what goes with it.
fn write_models(
    engine: &Inner,
    scope: &Scope,
    models: &NamespaceModels,
    with: impl IntoIterator<Item = Write>,
) -> Result<NamespaceModels, Error> {
    let key = models::record_key(scope);
    let mut writes = vec![Write::Record(RecordWrite { key: key.clone(), value: Some(models.encode()?) })];
    writes.extend(with);
    let preconditions = vec![Precondition::Record { key, changed: models.changed }];
    let committed = engine.commit(Batch { preconditions, writes })?;
    Ok(NamespaceModels { changed: Some(committed.seq), ..models.clone() })
}
