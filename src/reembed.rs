//! Moving namespaces to a changed embedding model, in the background, while the earlier one serves.
//!
//! 1. The namespace's embedding record names the model being built; from then on each write embeds under both.
//! 2. Every live chunk gets its vector under the new model.
//! 3. The new vector index is built beside the serving one.
//! 4. One commit, guarded by the record, makes the new model serve.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use loom_index::Model;
use loom_storage::{Batch, Hash, Precondition, RecordWrite, Scope, Snapshot, Write, live_versions};
use parking_lot::Mutex;

use crate::context::embed_missing;
use crate::engine::Inner;
use crate::error::{Code, Error};
use crate::ingest;
use crate::models::{self, NamespaceModels};

/// How many chunks are embedded and committed between two looks at whether to stop.
const CHUNKS_PAGE: usize = 32;

/// How far the move of a namespace has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Chunks that have their vector under the new model.
    pub done: u64,
    /// Live chunks.
    pub total: u64,
}

/// The moves under way.
pub type Moves = Mutex<HashMap<Scope, Progress>>;

/// Moves every namespace that is not served by the configured model, until the engine stops. A namespace that cannot
/// be moved does not keep the others, unless it is the model that does not answer; the first error is returned.
pub fn pass(engine: &Inner) -> Result<(), Error> {
    let mut outcome = Ok(());
    let snapshot = engine.store.snapshot()?;
    for row in snapshot.namespaces(None)? {
        if engine.stop.load(Ordering::Acquire) {
            break;
        }
        let models = models::of_namespace(&row.scope, snapshot.as_ref(), &engine.embedders)?;
        let settled = models.serving.name == engine.embedders.configured_name();
        if models.changed.is_some() && !settled {
            let moved = move_namespace(engine, &row.scope, models);
            let unavailable = moved.as_ref().is_err_and(|error| error.code == Code::ProviderUnavailable);
            outcome = outcome.and(moved);
            if unavailable {
                break;
            }
        }
    }
    outcome
}

fn move_namespace(engine: &Inner, scope: &Scope, models: NamespaceModels) -> Result<(), Error> {
    let target = engine.embedders.configured()?;
    let mut models = models;
    if models.building.as_ref() != Some(&target) {
        models.building = Some(target.clone());
        models = write_models(engine, scope, &models, false)?;
        tracing::info!(%scope, from = models.serving.name, to = target.name, "re-embedding started");
    }
    loop {
        if !fill(engine, scope, &target)? {
            return Ok(());
        }
        let projection = engine.projection(scope, engine.store.snapshot()?.as_ref())?;
        projection.prepare_model(engine.store.as_ref(), &target)?;
        let switched = NamespaceModels { serving: target.clone(), building: None, changed: models.changed };
        match write_models(engine, scope, &switched, true) {
            Ok(_) => break,
            // A write that was planned before the record named the new model has landed: its chunks are embedded next.
            Err(error) if error.code == Code::Overloaded => {
                models = models::of_namespace(scope, engine.store.snapshot()?.as_ref(), &engine.embedders)?;
            }
            Err(error) => return Err(error),
        }
    }
    engine.moves.lock().remove(scope);
    tracing::info!(%scope, to = target.name, "re-embedding finished");
    Ok(())
}

/// Embeds what lacks a vector under `target`; `false` when stopped before the end.
fn fill(engine: &Inner, scope: &Scope, target: &Model) -> Result<bool, Error> {
    let snapshot = engine.store.snapshot()?;
    let total = snapshot.namespace(scope)?.map_or(0, |row| row.chunks);
    let mut filling =
        Filling { engine, snapshot: snapshot.as_ref(), scope, target, pending: Vec::new(), done: 0, total };
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
}

impl Filling<'_> {
    /// Embeds what is pending; `false` when it is time to stop.
    fn flush(&mut self) -> Result<bool, Error> {
        let Self { engine, scope, target, .. } = *self;
        engine.moves.lock().insert(scope.clone(), Progress { done: self.done, total: self.total });
        if engine.stop.load(Ordering::Acquire) {
            return Ok(false);
        }
        let vectors = embed_missing(engine, self.snapshot, scope, target, &self.pending)?;
        if !vectors.is_empty() {
            let write = Write::PutVectors { scope: scope.clone(), model: target.name.clone(), vectors };
            engine.commit(Batch { preconditions: Vec::new(), writes: vec![write] })?;
        }
        self.done += self.pending.len() as u64;
        self.pending.clear();
        Ok(true)
    }
}

/// Writes a namespace's embedding record over the one that was read, and with `switch` makes its model serve.
fn write_models(
    engine: &Inner,
    scope: &Scope,
    models: &NamespaceModels,
    switch: bool,
) -> Result<NamespaceModels, Error> {
    let key = models::record_key(scope);
    let mut writes = vec![Write::Record(RecordWrite { key: key.clone(), value: Some(models.encode()?) })];
    if switch {
        writes.push(Write::SwitchModel { scope: scope.clone(), model: models.serving.name.clone() });
    }
    let preconditions = vec![Precondition::Record { key, changed: models.changed }];
    let committed = engine.commit(Batch { preconditions, writes })?;
    Ok(NamespaceModels { changed: Some(committed.seq), ..models.clone() })
}
