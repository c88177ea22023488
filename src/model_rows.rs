//! Which embedding models serve the namespaces, of which ones there are vectors, and moving in the foreground.

use std::collections::BTreeMap;

use loom_storage::{Hash, Scope, Snapshot, live_versions};
use serde::Serialize;

use crate::deadline::Deadline;
use crate::engine::Engine;
use crate::error::Error;
use crate::models::{self, NamespaceModels};
use crate::op::Kind;
use crate::reembed;

/// The models of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelRow {
    /// The tenant.
    pub org: String,
    /// The namespace.
    pub namespace: String,
    /// The model whose vectors are searched.
    pub serving: String,
    /// The length of its vectors.
    pub dimensions: usize,
    /// The model that is to serve next, while its vectors are made.
    pub building: Option<String>,
    /// Live chunks.
    pub chunks: u64,
    /// How many of them have a vector of each model; a kept model's are there for going back to it.
    pub vectors: BTreeMap<String, u64>,
}

impl Engine {
    /// The name of the configured embedding model, as it is stored with vectors.
    pub fn configured_model(&self) -> &str {
        self.inner().embedders.configured_name()
    }

    /// The models of every namespace that was ever written to, of all tenants. Reads every chunk and vector.
    pub fn models(&self) -> Result<Vec<ModelRow>, Error> {
        let engine = self.inner();
        engine.refuse_when_closed()?;
        let snapshot = engine.store.snapshot()?;
        let mut rows = Vec::new();
        for row in snapshot.namespaces(None)? {
            let until = Deadline::of(Kind::Write, &engine.config).at();
            let models = models::of_namespace(&row.scope, snapshot.as_ref(), &engine.embedders, until)?;
            let vectors = counted(snapshot.as_ref(), &row.scope, &models)?;
            let Scope { org, namespace } = row.scope;
            rows.push(ModelRow {
                org,
                namespace,
                serving: models.serving.name,
                dimensions: models.serving.dim,
                building: models.building.map(|model| model.name),
                chunks: row.chunks,
                vectors,
            });
        }
        Ok(rows)
    }

    /// Moves every namespace to the configured model, and returns when all are there; what was embedded before is kept.
    /// It waits for the background thread, which does the same, and says what that only logs.
    pub fn finish_moves(&self) -> Result<(), Error> {
        self.inner().refuse_when_closed()?;
        reembed::pass(self.inner())
    }

    /// Chunks that have their vector under the configured model and live chunks, summed over the moves under way.
    pub fn moves_progress(&self) -> Result<(u64, u64), Error> {
        let engine = self.inner();
        let rows = engine.store.snapshot()?.namespaces(None)?;
        let moves = rows.iter().filter_map(|row| engine.moves.progress(&row.scope));
        Ok(moves.fold((0, 0), |(done, total), progress| (done + progress.done, total + progress.total)))
    }
}

/// How many live chunks have a vector of each of the namespace's models.
fn counted(snapshot: &dyn Snapshot, scope: &Scope, models: &NamespaceModels) -> Result<BTreeMap<String, u64>, Error> {
    let names = [&models.serving.name].into_iter().chain(models.building.as_ref().map(|model| &model.name));
    let mut counts: BTreeMap<String, u64> = names.chain(&models.kept).map(|name| (name.clone(), 0)).collect();
    for version in live_versions(snapshot, scope) {
        let version = version?;
        let chunks = snapshot.chunks(scope, version.first_chunk, version.chunk_count)?;
        let inputs: Vec<Hash> = chunks.iter().map(|chunk| chunk.input_hash).collect();
        for (model, count) in &mut counts {
            *count += snapshot.vectors(scope, model, &inputs)?.iter().flatten().count() as u64;
        }
    }
    Ok(counts)
}
