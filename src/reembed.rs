//! Moving namespaces to a changed embedding model, in the background, while the earlier one serves.
//!
//! 1. The namespace's embedding record names the model being built; from then on each write embeds under both.
//! 2. Every live chunk gets its vector under the new model.
//! 3. The new vector index is built beside the serving one.
//! 4. One commit, guarded by the record, makes the new model serve.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use loom_index::Model;
use loom_storage::{Batch, Precondition, RecordWrite, Scope, Snapshot, Version, Write};
use parking_lot::Mutex;

use crate::context::embed_missing;
use crate::engine::Inner;
use crate::error::{Code, Error};
use crate::ingest;
use crate::models::{self, NamespaceModels};

/// How many versions are embedded between two looks at whether to stop.
const VERSIONS_PAGE: usize = 32;

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

/// Moves every namespace that is not served by the configured model, until the engine stops.
pub fn pass(engine: &Inner) -> Result<(), Error> {
    let snapshot = engine.store.snapshot()?;
    for row in snapshot.namespaces(None)? {
        if engine.stop.load(Ordering::Acquire) {
            return Ok(());
        }
        let models = models::of_namespace(&row.scope, snapshot.as_ref(), &engine.embedders)?;
        let settled = models.serving.name == engine.embedders.configured_name();
        if models.changed.is_some() && !settled {
            move_namespace(engine, &row.scope, models)?;
        }
    }
    Ok(())
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
    let mut done = 0;
    let mut after = None;
    loop {
        if engine.stop.load(Ordering::Acquire) {
            return Ok(false);
        }
        engine.moves.lock().insert(scope.clone(), Progress { done, total });
        let page = snapshot.live_versions(scope, after, VERSIONS_PAGE)?;
        for version in &page.items {
            fill_version(engine, snapshot.as_ref(), scope, target, version)?;
            done += u64::from(version.chunk_count);
        }
        match page.items.last() {
            Some(last) if page.more => after = Some(last.id),
            _ => return Ok(true),
        }
    }
}

fn fill_version(
    engine: &Inner,
    snapshot: &dyn Snapshot,
    scope: &Scope,
    target: &Model,
    version: &Version,
) -> Result<(), Error> {
    let chunks = snapshot.chunks(scope, version.first_chunk, version.chunk_count)?;
    let vectors = embed_missing(engine, snapshot, scope, target, &ingest::inputs(chunks.iter()))?;
    if !vectors.is_empty() {
        let write = Write::PutVectors { scope: scope.clone(), model: target.name.clone(), vectors };
        engine.commit(Batch { preconditions: Vec::new(), writes: vec![write] })?;
    }
    Ok(())
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
