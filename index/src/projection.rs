//! One namespace's projections: they follow the change log, answer the legs, and write themselves to disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use loom_storage::{Change, Scope, Seq, Snapshot, Store, live_versions};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};

use crate::build::{
    CHANGES_PAGE, add_vectors, block_types, block_types_of, chunks_of, claim_folder, lexical_chunks, open_lexical,
    open_vectors, replay, vector_folder,
};
use crate::catalog::Catalog;
use crate::error::Error;
use crate::selection::ChunkRange;
use crate::text::{LexicalIndex, PENDING_BYTES_MAX, PENDING_CHUNKS_MAX};
use crate::vector::VectorIndex;
use crate::view::{ProjectionTotals, View, totals};

/// Changes in memory past which a writer helps to write them out before it goes on.
pub const UNSAVED_MAX: usize = 4 * PENDING_CHUNKS_MAX;

/// An embedding model: its name and the length of its vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name stored with each vector.
    pub name: String,
    /// The length of its vectors.
    pub dim: usize,
}

pub(crate) struct State {
    pub(crate) watermark: Seq,
    pub(crate) catalog: Catalog,
    pub(crate) lexical: LexicalIndex,
    pub(crate) model: Model,
    pub(crate) vectors: VectorIndex,
    /// The index of the model that is to serve next, filled while the old one serves.
    next: Option<(Model, VectorIndex)>,
}

/// The projections of one namespace.
pub struct Projection {
    scope: Scope,
    folder: PathBuf,
    state: RwLock<State>,
    /// Held by whoever writes the projection's files.
    files: Mutex<Files>,
}

/// Whose the files in a projection's folder are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// The projection's own.
    Owned,
    /// Another's, or nobody's: the projection was discarded, and what it still holds is never written.
    Left,
}

impl Projection {
    /// Opens the projections in `folder` and brings them to `snapshot`; builds from storage what is missing, damaged,
    /// of another version, or of another store.
    pub(crate) fn open(folder: &Path, scope: &Scope, snapshot: &dyn Snapshot, model: &Model) -> Result<Self, Error> {
        let row = snapshot.namespace(scope)?;
        let last = row.as_ref().map_or(Seq(0), |row| row.last_seq);
        let identity = format!("{scope} {}\n", row.map_or(0, |row| row.created_at.0));
        claim_folder(folder, &identity)?;
        let lexical = open_lexical(&folder.join("lexical"), scope, snapshot, last)?;
        let vectors = open_vectors(&vector_folder(folder, model), scope, snapshot, last, model)?;
        let mut catalog = Catalog::default();
        for version in live_versions(snapshot, scope) {
            let version = version?;
            catalog.serve(&version, block_types(scope, snapshot, &version)?);
        }
        let state = State { watermark: last, catalog, lexical, model: model.clone(), vectors, next: None };
        Ok(Self {
            scope: scope.clone(),
            folder: folder.into(),
            state: RwLock::new(state),
            files: Mutex::new(Files::Owned),
        })
    }

    /// Follows the change log up to what `snapshot` shows. Returns at once when that was done already.
    pub fn catch_up(&self, snapshot: &dyn Snapshot) -> Result<(), Error> {
        let target = last_seq(&self.scope, snapshot)?;
        if self.state.read().watermark >= target {
            return Ok(());
        }
        self.follow(&mut self.state.write(), snapshot, target)
    }

    /// The projection and the store at one moment, which shows every commit that was answered before the call.
    pub fn view(&self, store: &dyn Store) -> Result<View<'_>, Error> {
        let snapshot = store.snapshot()?;
        let target = last_seq(&self.scope, snapshot.as_ref())?;
        let state = self.state.read();
        if state.watermark == target {
            return Ok(View { state, snapshot });
        }
        drop(state);
        // A commit came between: under the lock nobody else moves the projection past the snapshot.
        let mut state = self.state.write();
        let snapshot = store.snapshot()?;
        let target = last_seq(&self.scope, snapshot.as_ref())?;
        self.follow(&mut state, snapshot.as_ref(), target)?;
        Ok(View { state: RwLockWriteGuard::downgrade(state), snapshot })
    }

    fn follow(&self, state: &mut State, snapshot: &dyn Snapshot, target: Seq) -> Result<(), Error> {
        while state.watermark < target {
            let page = snapshot.changes(&self.scope, state.watermark, CHANGES_PAGE)?;
            for entry in &page.items {
                for change in &entry.changes {
                    self.apply(state, snapshot, change)?;
                }
                state.watermark = entry.seq;
            }
            if !page.more {
                state.watermark = state.watermark.max(target);
            }
        }
        Ok(())
    }

    fn apply(&self, state: &mut State, snapshot: &dyn Snapshot, change: &Change) -> Result<(), Error> {
        match change {
            Change::Added(id) | Change::Restored(id) => {
                let Some(version) = snapshot.version(&self.scope, *id)? else { return Ok(()) };
                let chunks = chunks_of(&self.scope, snapshot, &version)?;
                let block_types = block_types_of(&version, &chunks);
                state.lexical.add(*id, &lexical_chunks(&chunks));
                add_vectors(&mut state.vectors, &self.scope, snapshot, &state.model, &chunks)?;
                if let Some((model, vectors)) = &mut state.next {
                    add_vectors(vectors, &self.scope, snapshot, model, &chunks)?;
                }
                state.catalog.serve(&version, block_types);
            }
            Change::Retired(id) => {
                let Some(version) = snapshot.version(&self.scope, *id)? else { return Ok(()) };
                let chunks = chunks_of(&self.scope, snapshot, &version)?;
                state.lexical.remove(*id, &lexical_chunks(&chunks));
                let range = ChunkRange { first: version.first_chunk, count: version.chunk_count };
                state.vectors.remove(range);
                if let Some((_, vectors)) = &mut state.next {
                    vectors.remove(range);
                }
                state.catalog.retire(*id);
            }
            Change::Edited(id) => {
                if let Some(version) = snapshot.version(&self.scope, *id)? {
                    state.catalog.edit(&version);
                }
            }
            Change::ModelSwitched(name) => {
                if let Some((model, vectors)) = state.next.take_if(|(model, _)| model.name == *name) {
                    state.model = model;
                    state.vectors = vectors;
                } else if state.model.name != *name {
                    // The prepared index went with a projection that was discarded, or this one was opened since.
                    return Err(Error::Rebuild { what: "vector", detail: format!("{name} serves, and has no index") });
                }
            }
        }
        Ok(())
    }

    /// Builds the vector index of `model` beside the serving one, which it replaces when the switch is followed.
    /// Chunks written meanwhile must have vectors of both models.
    pub fn prepare_model(&self, store: &dyn Store, model: &Model) -> Result<(), Error> {
        let snapshot = store.snapshot()?;
        let folder = vector_folder(&self.folder, model);
        let built = last_seq(&self.scope, snapshot.as_ref())?;
        let mut vectors = open_vectors(&folder, &self.scope, snapshot.as_ref(), built, model)?;
        let mut state = self.state.write();
        let now = store.snapshot()?;
        replay(&self.scope, now.as_ref(), built, |version, chunks| {
            if version.is_live() {
                return add_vectors(&mut vectors, &self.scope, now.as_ref(), model, chunks);
            }
            vectors.remove(ChunkRange { first: version.first_chunk, count: version.chunk_count });
            Ok(())
        })?;
        state.next = Some((model.clone(), vectors));
        Ok(())
    }

    /// The namespace.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The model whose vectors are searched.
    pub fn model(&self) -> Model {
        self.state.read().model.clone()
    }

    /// Writes to disk what has gathered in memory: with `all` whatever there is, else once there is enough of it.
    pub fn flush(&self, all: bool) -> Result<(), Error> {
        let files = self.files.lock();
        if *files == Files::Left {
            return Ok(());
        }
        if all {
            // Nobody may open these files for long: removed rows must not lie in them meanwhile.
            let compaction = self.state.read().vectors.plan_compaction();
            if let Some(compact) = compaction.map(|job| job.run(&AtomicBool::new(true))).transpose()?.flatten() {
                self.state.write().vectors.install_graph(compact);
            }
        }
        let (lexical, vectors) = {
            let mut state = self.state.write();
            let watermark = state.watermark;
            let text = all
                || state.lexical.pending_chunks() >= PENDING_CHUNKS_MAX
                || state.lexical.pending_bytes() >= PENDING_BYTES_MAX;
            let vector = all || state.vectors.unsaved() >= PENDING_CHUNKS_MAX;
            (
                text.then(|| state.lexical.freeze(watermark)).flatten(),
                vector.then(|| state.vectors.freeze(watermark)).flatten(),
            )
        };
        if let Some(job) = lexical {
            let flushed = job.run()?;
            self.state.write().lexical.install(flushed);
        }
        if let Some(job) = vectors {
            let flushed = job.run()?;
            self.state.write().vectors.install(flushed);
        }
        Ok(())
    }

    /// Writes no more files, from the end of the flush under way on.
    pub(crate) fn leave_files(&self) {
        *self.files.lock() = Files::Left;
    }

    /// Builds and extends the graph of the vector index, and leaves out removed rows once there are many of them.
    /// Takes minutes for hundreds of thousands of vectors, while which everything else goes on; `stop` cuts it short.
    pub fn tend_graph(&self, stop: &AtomicBool) -> Result<(), Error> {
        loop {
            let job = self.state.read().vectors.plan_graph();
            let Some(graph) = job.map(|job| job.run(stop)).transpose()?.flatten() else { return Ok(()) };
            self.state.write().vectors.install_graph(graph);
        }
    }

    /// The totals.
    pub fn totals(&self) -> ProjectionTotals {
        totals(&self.state.read())
    }
}

fn last_seq(scope: &Scope, snapshot: &dyn Snapshot) -> Result<Seq, Error> {
    Ok(snapshot.namespace(scope)?.map_or(Seq(0), |row| row.last_seq))
}
