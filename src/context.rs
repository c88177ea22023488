//! What an operation is given: one snapshot to read, the time, the embedders; and, for a command, what it may
//! prepare before its batch is committed.

use std::cell::{Cell, RefCell};
#[cfg(feature = "datasets")]
use std::io::Read as _;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loom_index::{Model, Projection, View};
use loom_storage::{Batch, BlobRow, DocId, Hash, Precondition, RecordWrite, Scope, Seq, Snapshot, Timestamp, Write};
use serde_json::{Value, json};

use crate::access::{self, Caller};
use crate::audit;
use crate::clock::rfc3339;
use crate::config::Config;
use crate::deadline::{Deadline, after};
use crate::embed::{Card, EmbedKind};
use crate::engine::Inner;
use crate::error::Error;
use crate::extraction::Extractors;
use crate::jobs::Queue;
use crate::limits;
use crate::models::{self, NamespaceModels};
use crate::namespaces;
use crate::op::{Place, Role};
use crate::quota;
use crate::reads::Ledger;
use crate::reembed::Progress;
use crate::rerank::Rerankers;
use crate::work::Bell;

/// What a query reads: everything of one moment.
pub struct Reading<'e> {
    engine: &'e Inner,
    caller: Caller,
    deadline: Deadline,
    /// How much longer the call may wait for indexes, of all the namespaces it reads together.
    index_wait: Cell<Duration>,
    snapshot: Arc<dyn Snapshot>,
    timings: RefCell<Vec<(&'static str, f64)>>,
}

impl<'e> Reading<'e> {
    pub(crate) fn new(engine: &'e Inner, caller: &Caller, deadline: Deadline) -> Result<Self, Error> {
        engine.refuse_when_closed()?;
        let snapshot = engine.store.snapshot()?.into();
        let index_wait = caller.index_wait().unwrap_or(Duration::from_millis(engine.config.index.wait_ms));
        Ok(Self {
            engine,
            caller: caller.clone(),
            deadline,
            index_wait: Cell::new(index_wait),
            snapshot,
            timings: RefCell::default(),
        })
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &dyn Snapshot {
        self.snapshot.as_ref()
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.engine.config
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.engine.config.clock.now()
    }

    /// The namespace that a call names, checked: [`Code::NotFound`](crate::Code::NotFound) when it is deleted.
    pub fn scope(&self, org: &str, namespace: &str) -> Result<Scope, Error> {
        let scope = self.scope_in_any_state(org, namespace)?;
        namespaces::refuse_deleted(self.snapshot(), &scope)?;
        Ok(scope)
    }

    /// As [`scope`](Self::scope), deleted or not.
    pub fn scope_in_any_state(&self, org: &str, namespace: &str) -> Result<Scope, Error> {
        limits::name("org", org)?;
        limits::name("namespace", namespace)?;
        let scope = Scope::new(org, namespace);
        access::require(&self.caller, self.snapshot(), &scope, Role::Viewer, "this")?;
        Ok(scope)
    }

    /// Whether the caller may read a namespace.
    pub fn reaches(&self, scope: &Scope) -> Result<bool, Error> {
        Ok(access::role_in(&self.caller, self.snapshot(), scope)?.is_some())
    }

    /// Who calls.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The namespace that a call addresses and the further ones it names, checked, each once, in the order named.
    pub fn scopes(&self, org: &str, namespace: &str, further: &[String]) -> Result<Vec<Scope>, Error> {
        limits::list_len("namespaces", further.len(), 0, limits::NAMESPACES_MAX)?;
        let mut scopes = vec![self.scope(org, namespace)?];
        for (at, name) in further.iter().enumerate() {
            limits::name(&format!("namespaces[{at}]"), name)?;
            let scope = self.scope(org, name)?;
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        Ok(scopes)
    }

    /// The embedding state of a namespace.
    pub fn models(&self, scope: &Scope) -> Result<NamespaceModels, Error> {
        models::of_namespace(scope, self.snapshot(), &self.engine.embedders, self.deadline.at())
    }

    /// The name of the model that serves a namespace, which no provider is asked for.
    pub fn serving_model(&self, scope: &Scope) -> Result<String, Error> {
        models::serving_name(scope, self.snapshot(), &self.engine.embedders)
    }

    /// The rerankers.
    pub fn rerankers(&self) -> &Rerankers {
        &self.engine.rerankers
    }

    /// The extractors.
    pub fn extractors(&self) -> &Extractors {
        &self.engine.extractors
    }

    /// What runs plans over datasets.
    #[cfg(feature = "datasets")]
    pub(crate) fn calculator(&self) -> &loom_datasets::Calculator {
        &self.engine.calculator
    }

    /// The bytes of a blob.
    #[cfg(feature = "datasets")]
    pub(crate) fn read_blob(&self, scope: &Scope, hash: &Hash) -> Result<Vec<u8>, Error> {
        let mut blob = self.engine.store.read_blob(scope, hash)?;
        let mut bytes = Vec::with_capacity(usize::try_from(blob.size()).unwrap_or(0));
        blob.read_to_end(&mut bytes).map_err(Error::internal)?;
        Ok(bytes)
    }

    /// What is stored by now.
    #[cfg(feature = "datasets")]
    pub(crate) fn fresh(&self) -> Result<Box<dyn Snapshot>, Error> {
        Ok(self.engine.store.snapshot()?)
    }

    /// When the call has had its time.
    pub fn deadline(&self) -> Instant {
        self.deadline.at()
    }

    /// [`Code::Overloaded`](crate::Code::Overloaded) once the call has had its time.
    pub fn check_deadline(&self) -> Result<(), Error> {
        self.deadline.check()
    }

    /// The projection of a namespace, caught up with the snapshot. The time that it takes to open counts against the
    /// wait for an index, not against the call's deadline.
    pub fn projection(&self, scope: &Scope) -> Result<Arc<Projection>, Error> {
        let started = Instant::now();
        let wait = self.index_wait.get();
        let projection = self.engine.projection(scope, self.snapshot(), after(wait), self.deadline.at());
        let waited = started.elapsed();
        self.index_wait.set(wait.saturating_sub(waited));
        self.deadline.extend(waited);
        projection
    }

    /// What views are taken with, in any thread.
    pub fn views(&self) -> Views<'_> {
        Views { engine: self.engine, snapshot: &self.snapshot, until: self.deadline.at() }
    }

    /// What is known of a model.
    pub fn card(&self, model: &Model) -> Card {
        self.engine.embedders.card(&model.name)
    }

    /// The ingests that are not over.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.engine.queue
    }

    /// What wakes the background threads.
    pub(crate) fn background_bell(&self) -> Arc<Bell> {
        self.engine.workers.bell()
    }

    /// What wakes the workers that run ingests.
    pub(crate) fn ingest_bell(&self) -> Arc<Bell> {
        self.engine.ingesters.bell()
    }

    /// How often documents are opened.
    pub(crate) fn reads(&self) -> &Ledger {
        &self.engine.reads
    }

    /// How far the namespace's move to another embedding model has come, when one is under way.
    pub(crate) fn reembedding(&self, scope: &Scope) -> Option<Progress> {
        self.engine.moves.progress(scope)
    }

    /// The vector of a query under a model.
    pub fn embed_query(&self, model: &Model, query: &str) -> Result<Vec<f32>, Error> {
        let started = Instant::now();
        let mut vectors = self.engine.embedders.embed(model, &[query], EmbedKind::Query, self.deadline.at())?;
        self.time("embed", started.elapsed().as_secs_f64() * 1e3);
        vectors.pop().ok_or_else(|| Error::internal("the embedder answered without a vector"))
    }

    /// The vectors of passages under a model, in one call.
    pub fn embed_passages(&self, model: &Model, passages: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let started = Instant::now();
        let vectors = self.engine.embedders.embed(model, passages, EmbedKind::Passage, self.deadline.at())?;
        self.time("embed", started.elapsed().as_secs_f64() * 1e3);
        Ok(vectors)
    }

    /// Adds milliseconds to a stage of the answer's timings.
    pub fn time(&self, stage: &'static str, ms: f64) {
        let mut timings = self.timings.borrow_mut();
        match timings.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, total)) => *total += ms,
            None => timings.push((stage, ms)),
        }
    }

    /// The timings so far.
    pub fn timings(&self) -> Vec<(&'static str, f64)> {
        self.timings.borrow().clone()
    }
}

/// Takes views of namespaces.
#[derive(Clone, Copy)]
pub struct Views<'e> {
    engine: &'e Inner,
    snapshot: &'e Arc<dyn Snapshot>,
    /// When a view is no longer waited for.
    until: Instant,
}

impl Views<'_> {
    /// As [`of`](Self::of), where it shows a later moment than the operation's snapshot; `last` is the namespace's last
    /// commit in that.
    pub fn at(self, projection: &Arc<Projection>, last: Seq) -> Result<Option<View<'_>>, Error> {
        match projection.view_at(self.snapshot, last) {
            None => self.of(projection),
            view => Ok(view),
        }
    }

    /// The projection and the store at one moment that shows every commit answered before the call; `None` when the
    /// projection cannot follow the store and another has to be asked for.
    pub fn of(self, projection: &Arc<Projection>) -> Result<Option<View<'_>>, Error> {
        match projection.view(self.engine.store.as_ref(), self.until) {
            Err(loom_index::Error::Rebuild { detail, .. }) => {
                tracing::warn!(scope = %projection.scope(), detail, "rebuilding the projections");
                self.engine.projections.replace(projection)?;
                Ok(None)
            }
            view => Ok(Some(view?)),
        }
    }
}

/// What a command plans with: a [`Reading`], and what may be prepared before the commit.
pub struct Planning<'e> {
    reading: Reading<'e>,
}

impl<'e> Deref for Planning<'e> {
    type Target = Reading<'e>;

    fn deref(&self) -> &Reading<'e> {
        &self.reading
    }
}

impl<'e> Planning<'e> {
    pub(crate) fn new(reading: Reading<'e>) -> Self {
        Self { reading }
    }

    /// A fresh document id.
    pub fn fresh_doc_id(&self) -> DocId {
        DocId(self.config().ids.fresh())
    }

    /// Who writes, as stored with the document.
    pub fn actor(&self) -> &str {
        self.caller.actor()
    }

    /// Stores bytes as a blob that the batch may catalogue.
    pub fn store_blob(&self, scope: &Scope, bytes: &[u8]) -> Result<BlobRow, Error> {
        self.engine.disk.admit(bytes.len() as u64)?;
        quota::room(self.engine, scope)?.map_or(Ok(()), |room| room.admit(bytes.len() as u64))?;
        let mut writer = self.engine.store.write_blob(scope)?;
        writer.write(bytes)?;
        let (hash, size) = writer.finish()?;
        Ok(BlobRow { hash, size, stored_at: self.now() })
    }

    /// Adds to the batch the vectors that the inputs still lack, under each model the namespace needs, and the guard
    /// that those are the models. Inputs already embedded in the namespace are not embedded again.
    pub fn embed_into(
        &self,
        batch: &mut Batch,
        scope: &Scope,
        inputs: &[(Hash, String)],
    ) -> Result<NamespaceModels, Error> {
        // Before the embedding, which may cost money.
        self.engine.disk.admit(inputs.iter().map(|(_, text)| text.len() as u64).sum())?;
        let started = Instant::now();
        let models = self.models(scope)?;
        for model in std::iter::once(&models.serving).chain(&models.building) {
            let vectors = embed_missing(self.engine, self.snapshot(), scope, model, inputs, self.deadline.at())?;
            if !vectors.is_empty() {
                batch.writes.push(Write::PutVectors { scope: scope.clone(), model: model.name.clone(), vectors });
            }
        }
        let key = models::record_key(scope);
        batch.preconditions.push(Precondition::Record { key: key.clone(), changed: models.changed });
        if models.changed.is_none() {
            batch.writes.push(Write::Record(RecordWrite { key, value: Some(models.encode()?) }));
        }
        self.time("embed", started.elapsed().as_secs_f64() * 1e3);
        Ok(models)
    }

    /// The audit record of a call, to be written with its batch.
    pub(crate) fn audit_record(&self, op: &str, place: &Place, what: &Value) -> Result<Write, Error> {
        let record = json!({
            "at": rfc3339(self.now()), "op": op, "actor": self.caller.actor(), "org": place.org,
            "namespace": place.namespace, "outcome": "done", "what": what,
        });
        let key = audit::key(&place.org, self.now(), self.config().ids.fresh());
        let value = serde_json::to_vec(&record).map_err(Error::internal)?;
        Ok(Write::Record(RecordWrite { key, value: Some(value) }))
    }
}

/// The vectors of the inputs that have none yet under `model`, each input once.
pub(crate) fn embed_missing(
    engine: &Inner,
    snapshot: &dyn Snapshot,
    scope: &Scope,
    model: &Model,
    inputs: &[(Hash, String)],
    until: Instant,
) -> Result<Vec<(Hash, Vec<f32>)>, Error> {
    let hashes: Vec<Hash> = inputs.iter().map(|(hash, _)| *hash).collect();
    let kept = snapshot.vectors(scope, &model.name, &hashes)?;
    let mut seen = std::collections::HashSet::new();
    let missing: Vec<&(Hash, String)> = inputs
        .iter()
        .zip(kept)
        .filter(|((hash, _), vector)| vector.is_none() && seen.insert(*hash))
        .map(|(input, _)| input)
        .collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = engine.embedders.embed(model, &texts, EmbedKind::Passage, until)?;
    Ok(missing.iter().map(|(hash, _)| *hash).zip(vectors).collect())
}
