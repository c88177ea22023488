//! The engine: one folder, its store and projections, and the one way in for every operation.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loom_index::{Bounds, Projection, Projections, Source, UNSAVED_MAX};
use loom_storage::{Batch, Committed, RedbOptions, RedbStore, Scope, Seq, Snapshot, Store, Write};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::access::{Caller, Refusals, stored_secret};
use crate::clock::rfc3339;
use crate::config::Config;
use crate::deadline::{Deadline, after};
use crate::disk::Disk;
use crate::embed::ApiKey;
use crate::erasure;
use crate::error::{Code, Error};
use crate::extraction::Extractors;
use crate::jobs::Queue;
use crate::maintenance::open_error;
use crate::models::Embedders;
use crate::op::Answer;
use crate::ops;
use crate::reads::Ledger;
use crate::rerank::Rerankers;
use crate::sweep::Sweeps;
use crate::work::{self, Workers};

use crate::context::{Planning, Reading};

/// How long a write waits for its namespace's index to be opened or built, or to follow what others wrote before it, until
/// it is answered without. A search then waits instead, so that it never misses the write.
const FOLLOW_WAIT: Duration = Duration::from_secs(2);

/// The folder of the projections inside the data folder.
pub(crate) const INDEX_FOLDER: &str = "index";

/// An open folder. Cheap to clone; blocking; safe to share between threads. Dropping the last clone closes it, and
/// the folder is free when that returns.
#[derive(Clone)]
pub struct Engine(Arc<Handle>);

/// What the clones of an [`Engine`] share; the background thread does not, so that the last clone ends it.
struct Handle(Arc<Inner>);

/// Why a folder could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process holds the folder.
    #[error("the folder {} is in use by {holder}", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Who holds it, in words.
        holder: String,
        /// The address it serves on, when it does.
        address: Option<String>,
    },
    /// Anything else; nothing was changed.
    #[error("{0}")]
    Other(#[from] Error),
}

/// Whether the engine answers, and what it still does.
#[derive(Clone, Debug)]
pub struct Readiness {
    /// Whether the store is open, takes writes, and every projection in use has caught up.
    pub ready: bool,
    /// What was found, for `/readyz`.
    pub detail: Value,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) projections: Projections,
    pub(crate) embedders: Embedders,
    pub(crate) rerankers: Rerankers,
    pub(crate) extractors: Extractors,
    #[cfg(feature = "datasets")]
    pub(crate) calculator: loom_datasets::Calculator,
    pub(crate) config: Config,
    closed: AtomicBool,
    /// Whether the close has written the projections, or tried to.
    written: Mutex<bool>,
    /// The disk of the folder.
    pub(crate) disk: Disk,
    /// Cuts background work short.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) moves: crate::reembed::Moves,
    pub(crate) sweeps: Sweeps,
    /// How often documents are opened.
    pub(crate) reads: Ledger,
    /// The turn to work off erasures.
    pub(crate) erasing: erasure::Turn,
    /// When the ages of versions were last looked at.
    pub(crate) retention: erasure::Looked,
    /// What is to be added to the audit.
    pub(crate) refusals: Refusals,
    /// The ingests that are not over.
    pub(crate) queue: Arc<Queue>,
    pub(crate) workers: Workers,
    /// The threads that run ingests, apart because a write wakes them for each job.
    pub(crate) ingesters: Workers,
}

impl Engine {
    /// Opens the folder, which is created when it is missing, and starts the background work.
    pub fn open(folder: &Path, config: Config) -> Result<Self, OpenError> {
        let store = RedbStore::open(folder, &RedbOptions::default()).map_err(|error| open_error(folder, error))?;
        Ok(Self::open_over(Arc::new(store), folder, config)?)
    }

    /// An engine over a store that is open already, of whatever backend; what is searched is kept in `folder`.
    pub fn open_over(store: Arc<dyn Store>, folder: &Path, config: Config) -> Result<Self, Error> {
        let index = &config.index;
        let bounds = Bounds {
            open_max: index.open_max,
            bytes_max: index.memory_bytes,
            idle: Duration::from_millis(index.idle_ms),
            builds_max: index.builds_max,
        };
        let projections = Projections::open(&folder.join(INDEX_FOLDER), bounds)?;
        let mut config = config;
        if config.embedding.api_key.is_empty() {
            match stored_secret(store.as_ref(), config.access.secret.as_ref(), "LOOM_EMBEDDING_API_KEY") {
                Ok(key) => config.embedding.api_key = key.map_or_else(ApiKey::default, |key| ApiKey::new(&key)),
                // The folder opens all the same, so that it can be sealed again.
                Err(error) => tracing::error!(%error, "a stored credential is not used"),
            }
        }
        let mut embedders = Embedders::new(&config.embedding)?;
        embedders.recall(store.as_ref())?;
        let rerankers = Rerankers::new(&config.rerank, &config.embedding.local)?;
        let extractors = Extractors::new(&config.extraction)?;
        let disk = Disk::new(folder, config.free_space.clone(), config.disk_free_min_bytes);
        let inner = Arc::new(Inner {
            store,
            projections,
            embedders,
            rerankers,
            extractors,
            #[cfg(feature = "datasets")]
            calculator: crate::datasets::calculator(&config.datasets),
            config,
            closed: AtomicBool::new(false),
            written: Mutex::new(false),
            disk,
            stop: Arc::default(),
            moves: crate::reembed::Moves::default(),
            sweeps: Sweeps::default(),
            reads: Ledger::default(),
            erasing: erasure::Turn::default(),
            retention: erasure::Looked::default(),
            refusals: Refusals::default(),
            queue: Arc::default(),
            workers: Workers::default(),
            ingesters: Workers::default(),
        });
        inner.workers.start(&inner, &work::PASSES)?;
        inner.ingesters.start(&inner, &work::ingesters(&inner.config))?;
        Ok(Self(Arc::new(Handle(inner))))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.inner().config
    }

    /// Runs an operation of the registry.
    pub fn call(&self, caller: &Caller, op: &str, input: Map<String, Value>) -> Result<Answer, Error> {
        let spec = ops::find(op).ok_or_else(|| ops::unknown(op))?;
        spec.run(self, caller, input)
    }

    /// Leaves the address served on for a process that finds the folder locked.
    pub fn announce(&self, address: &str) -> Result<(), Error> {
        Ok(self.inner().store.set_holder_note(address)?)
    }

    /// Whether the store answers and the open projections have caught up with it.
    pub fn readiness(&self) -> Readiness {
        let taken = self.inner().disk.admit(0).and_then(|()| Ok(self.inner().store.ready()?));
        if let Err(error) = taken {
            return Readiness { ready: false, detail: json!({ "store": error.message }) };
        }
        match self.inner().lagging() {
            Ok(lagging) => {
                let detail = json!({ "store": "open", "behind": lagging, "failing": self.inner().failing() });
                Readiness { ready: lagging.is_empty(), detail }
            }
            Err(error) => Readiness { ready: false, detail: json!({ "store": error.message }) },
        }
    }

    /// Stops the background work and writes the projections to disk. Further calls are refused; closing again does
    /// nothing. Nothing is lost on an error: the projections catch up from the store when they are next used.
    pub fn close(&self) -> Result<(), Error> {
        self.inner().close()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0.0
    }

    pub(crate) fn reading(&self, caller: &Caller, deadline: Deadline) -> Result<Reading<'_>, Error> {
        Reading::new(self.inner(), caller, deadline)
    }

    pub(crate) fn planning(&self, caller: &Caller, deadline: Deadline) -> Result<Planning<'_>, Error> {
        Ok(Planning::new(self.reading(caller, deadline)?))
    }

    /// Commits a batch, durable and searchable when it returns. An empty batch commits nothing.
    pub(crate) fn commit(&self, batch: Batch) -> Result<Committed, loom_storage::Error> {
        self.inner().commit(batch)
    }
}

impl Inner {
    pub(crate) fn refuse_when_closed(&self) -> Result<(), Error> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(Code::Overloaded, "Loom is shutting down: call again once it runs"));
        }
        Ok(())
    }

    pub(crate) fn commit(&self, batch: Batch) -> Result<Committed, loom_storage::Error> {
        if batch.writes.is_empty() {
            return Ok(Committed { seq: Seq(0), versions: Vec::new() });
        }
        let scopes = touched_scopes(&batch);
        let _announcement = self.projections.announce(&batch);
        let committed = self.store.commit(batch)?;
        for scope in scopes {
            // The write is durable: a projection that cannot follow is logged and discarded, and the next search
            // builds it anew from storage. The write itself must not be reported as failed.
            if let Err(error) = self.follow(&scope) {
                if error.code == Code::Overloaded {
                    // It is being built or behind, and will have followed when it is next searched.
                    tracing::debug!(%scope, %error, "a projection does not follow yet");
                    continue;
                }
                tracing::error!(%scope, %error, cause = ?error.cause, "a projection could not follow a commit");
                if let Err(error) = self.projections.discard(&scope) {
                    tracing::error!(%scope, %error, "a projection could not be discarded");
                }
            }
        }
        Ok(committed)
    }

    /// Brings the namespace's projection to the newest commit.
    fn follow(&self, scope: &Scope) -> Result<(), Error> {
        let snapshot = self.store.snapshot()?;
        let until = after(FOLLOW_WAIT);
        let projection = self.projection(scope, snapshot.as_ref(), until, until)?;
        match projection.totals().unsaved {
            unsaved if unsaved >= UNSAVED_MAX => {
                if let Err(error) = projection.flush(false) {
                    // It has followed and answers; only its files are behind.
                    tracing::error!(%scope, %error, "a projection could not be written; it stays in memory");
                }
            }
            unsaved if unsaved >= UNSAVED_MAX / 4 => self.workers.wake(),
            _ => {}
        }
        Ok(())
    }

    /// The projection of a namespace, caught up with `snapshot`. One that is not open is waited for until `until`, one
    /// that is open and has commits to follow until `followed`.
    pub(crate) fn projection(
        &self,
        scope: &Scope,
        snapshot: &dyn Snapshot,
        until: Instant,
        followed: Instant,
    ) -> Result<Arc<Projection>, Error> {
        let source = || {
            let snapshot = self.store.snapshot()?;
            let models = crate::models::of_namespace(scope, snapshot.as_ref(), &self.embedders, until)?;
            Ok(Source { snapshot, model: models.serving })
        };
        self.projections.namespace(scope, snapshot, [until, followed], source)
    }

    /// The background work that does not get done, and since when.
    fn failing(&self) -> Vec<Value> {
        let failing = self.workers.failing().into_iter().chain(self.ingesters.failing());
        failing
            .map(|(what, failing)| json!({ "what": what, "since": rfc3339(failing.since), "error": failing.error }))
            .collect()
    }

    fn lagging(&self) -> Result<Vec<String>, Error> {
        self.refuse_when_closed()?;
        let snapshot = self.store.snapshot()?;
        let mut lagging: Vec<String> = self.projections.lagging().iter().map(ToString::to_string).collect();
        let mut looked = Ok(());
        self.projections.each_open(|projection| {
            // Commits that change nothing a projection shows, such as vectors of another model, are not waited for.
            match snapshot.changes(projection.scope(), projection.totals().watermark, 1) {
                Ok(changes) if changes.items.is_empty() => {}
                // A commit that failed and was stored all the same is one that nobody has followed yet.
                Ok(_) => {
                    if let Err(error) = self.follow(projection.scope()) {
                        tracing::warn!(scope = %projection.scope(), %error, "a projection cannot follow");
                        lagging.push(projection.scope().to_string());
                    }
                }
                Err(error) => looked = Err(error),
            }
        });
        looked?;
        Ok(lagging)
    }

    pub(crate) fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Release);
        // A second caller waits here until the first is done.
        let mut written = self.written.lock();
        if !*written {
            self.stop.store(true, Ordering::Release);
            self.embedders.close();
            self.queue.stop_all();
            #[cfg(feature = "extract")]
            self.extractors.close();
            self.ingesters.stop();
            self.workers.stop();
            if let Err(error) = self.refusals.flush(self) {
                tracing::error!(%error, "the audit lacks the last refusals");
            }
            if let Err(error) = self.reads.flush(self) {
                tracing::error!(%error, "the last reads are not counted");
            }
            *written = true;
            self.projections.close()?;
        }
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Err(error) = self.0.close() {
            tracing::error!(%error, "the projections could not be written at close; they are rebuilt from storage");
        }
    }
}

/// The namespaces whose documents a batch touches.
fn touched_scopes(batch: &Batch) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = Vec::new();
    for write in &batch.writes {
        let scope = match write {
            Write::PutVersion(version) => &version.scope,
            Write::Retire { scope, .. }
            | Write::Restore { scope, .. }
            | Write::Edit { scope, .. }
            | Write::SwitchModel { scope, .. } => scope,
            Write::PutVectors { .. }
            | Write::DropVectors { .. }
            | Write::PutBlob { .. }
            | Write::DropBlob { .. }
            | Write::DropUnusedVectors { .. }
            | Write::EraseNamespace { .. }
            | Write::EraseVersions { .. }
            | Write::Record(_) => continue,
        };
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    scopes
}

#[cfg(test)]
mod tests {
    use loom_index::Model;
    use loom_storage::{BlobReader, BlobWriter, Error as Storage, Hash, RecordWrite};
    use serde_json::Value;

    use super::*;
    use crate::models::{NamespaceModels, record_key};
    use crate::op::Kind;

    /// A store whose disk takes no more.
    struct Full(RedbStore);

    impl Store for Full {
        fn snapshot(&self) -> Result<Box<dyn Snapshot>, Storage> {
            self.0.snapshot()
        }

        fn commit(&self, _: Batch) -> Result<Committed, Storage> {
            Err(Storage::Halted)
        }

        fn write_blob(&self, scope: &Scope) -> Result<Box<dyn BlobWriter>, Storage> {
            self.0.write_blob(scope)
        }

        fn read_blob(&self, scope: &Scope, hash: &Hash) -> Result<Box<dyn BlobReader>, Storage> {
            self.0.read_blob(scope, hash)
        }

        fn remove_blob(&self, scope: &Scope, hash: &Hash, idle: Duration) -> Result<bool, Storage> {
            self.0.remove_blob(scope, hash, idle)
        }

        fn set_holder_note(&self, note: &str) -> Result<(), Storage> {
            self.0.set_holder_note(note)
        }

        fn ready(&self) -> Result<(), Storage> {
            Err(Storage::Halted)
        }

        fn compact(&self) -> Result<loom_storage::Compacted, Storage> {
            self.0.compact()
        }

        fn backup(&self, to: &mut dyn std::io::Write) -> Result<loom_storage::BackupSummary, Storage> {
            self.0.backup(to)
        }

        fn verify(&self, deep: bool, report: &mut dyn FnMut(String)) -> Result<(), Storage> {
            self.0.verify(deep, report)
        }
    }

    fn add(engine: &Engine) -> Result<Answer, Error> {
        let Value::Object(input) = json!({ "source_uri": "a", "content": "text" }) else { panic!("an object") };
        engine.call(&Caller::local(), "knowledge.add", input)
    }

    #[test]
    fn vectors_of_another_model_are_nothing_to_catch_up_with() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let engine = Engine::open(folder.path(), Config::default()).expect("it opens");
        add(&engine).expect("it is written");
        let vectors = vec![(Hash::of(b"text"), vec![1.0; 32])];
        let write = Write::PutVectors { scope: Scope::new("dev", "local"), model: "other".into(), vectors };
        engine.commit(Batch { preconditions: Vec::new(), writes: vec![write] }).expect("it is written");
        assert!(engine.readiness().ready, "{}", engine.readiness().detail);
    }

    #[test]
    fn a_projection_that_meets_a_model_it_has_no_index_of_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let engine = Engine::open(folder.path(), Config::default()).expect("it opens");
        add(&engine).expect("it is written");
        let scope = Scope::new("dev", "local");
        let deadline = Deadline::of(Kind::Read, engine.config());
        let reading = engine.reading(&Caller::local(), deadline).expect("it is open");
        let held = reading.projection(&scope).expect("it opens");
        let serving = Model { name: "openai:other".into(), dim: 32 };
        let models = NamespaceModels { serving: serving.clone(), ..reading.models(&scope).expect("a record") };
        let record = RecordWrite { key: record_key(&scope), value: Some(models.encode().expect("it is JSON")) };
        let switch = Write::SwitchModel { scope: scope.clone(), model: serving.name.clone() };
        // The switch comes between the projection and its view.
        let batch = Batch { preconditions: Vec::new(), writes: vec![Write::Record(record), switch] };
        engine.inner().store.commit(batch).expect("it is written");
        assert!(reading.views().of(&held).expect("no error").is_none());
        let other = reading.projection(&scope).expect("it opens");
        let view = reading.views().of(&other).expect("no error").expect("it follows");
        assert_eq!((view.model(), view.totals().versions), (&serving, 1));
    }

    #[test]
    fn a_store_that_takes_no_writes_is_not_ready_and_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = RedbStore::open(folder.path(), &RedbOptions::default()).expect("a store");
        let engine = Engine::open_over(Arc::new(Full(store)), folder.path(), Config::default()).expect("it opens");
        let error = add(&engine).expect_err("it is not written");
        assert_eq!(error.code, Code::BackendUnavailable);
        assert!(error.message.contains("make room"), "{}", error.message);
        assert!(!engine.readiness().ready);
    }
}
