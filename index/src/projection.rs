//! One namespace's projections: they follow the change log, answer the legs, and write themselves to disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use loom_storage::{Change, Scope, Seq, Snapshot, Store, Version};
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::build::{
    CHANGES_PAGE, add_vectors, block_types, claim_folder, erased, keep_model, open_lexical, open_vectors, put_vectors,
    replay, vector_folder,
};
use crate::catalog::Catalog;
use crate::error::Error;
use crate::prepared::{Announced, Prepared, Vectors};
use crate::progress::Progress;
use crate::selection::ChunkRange;
use crate::text::{Analysis, LexicalIndex, PENDING_BYTES_MAX, PENDING_CHUNKS_MAX};
use crate::vector::VectorIndex;
use crate::view::{ProjectionTotals, View, totals};

/// Changes in memory past which a writer helps to write them out before it goes on.
pub const UNSAVED_MAX: usize = 2 * PENDING_CHUNKS_MAX;

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
    announced: Arc<Announced>,
    /// Held by whoever moves the watermark, and waited for no longer than the caller says. Taken before `state`, which
    /// nobody changes for longer than one commit takes.
    following: Mutex<Following>,
    state: RwLock<State>,
    /// Held by whoever writes the projection's files.
    files: Mutex<Files>,
}

/// The right to follow the change log.
struct Following;

/// One change of the log with all that is needed to apply it.
enum Step {
    /// Nothing that a projection shows.
    Nothing,
    /// A version is served, with its vectors under each model.
    Serve { version: Box<Version>, prepared: Arc<Prepared>, vectors: Vec<(Arc<Vectors>, String)> },
    /// A version is served no longer; `prepared` unless only memory had it.
    Retire { version: Box<Version>, prepared: Option<Prepared> },
    /// The fields of a version changed.
    Edit(Box<Version>),
    /// Another model serves.
    Switch(String),
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
    pub(crate) fn open(
        folder: &Path,
        scope: &Scope,
        snapshot: &dyn Snapshot,
        model: &Model,
        announced: Arc<Announced>,
        progress: &Progress,
    ) -> Result<Self, Error> {
        let row = snapshot.namespace(scope)?;
        let last = row.as_ref().map_or(Seq(0), |row| row.last_seq);
        let identity = format!("{scope} {}\n", row.map_or(0, |row| row.created_at.0));
        claim_folder(folder, &identity)?;
        keep_model(folder, model)?;
        let lexical = open_lexical(&folder.join("lexical"), scope, snapshot, last, progress)?;
        let vectors = open_vectors(&vector_folder(folder, model), scope, snapshot, last, model, progress)?;
        let mut catalog = Catalog::default();
        for version in progress.live_versions(snapshot, scope) {
            let version = version?;
            catalog.serve(&version, block_types(scope, snapshot, &version)?);
        }
        let state = State { watermark: last, catalog, lexical, model: model.clone(), vectors, next: None };
        Ok(Self {
            scope: scope.clone(),
            folder: folder.into(),
            announced,
            following: Mutex::new(Following),
            state: RwLock::new(state),
            files: Mutex::new(Files::Owned),
        })
    }

    /// Follows the change log up to what `snapshot` shows. Returns at once when that was done already.
    ///
    /// [`Error::Behind`] when `until` passes first; a commit that was begun is followed to its end.
    pub fn catch_up(&self, snapshot: &dyn Snapshot, until: Instant) -> Result<(), Error> {
        let target = last_seq(&self.scope, snapshot)?;
        if self.state.read().watermark >= target {
            return Ok(());
        }
        let mut turn = self.turn(until)?;
        self.follow(&mut turn, snapshot, target, until)
    }

    /// The projection at the moment of `snapshot`, in which `last` is the namespace's last commit; `None` when it shows
    /// another moment.
    pub fn view_at(&self, snapshot: &Arc<dyn Snapshot>, last: Seq) -> Option<View<'_>> {
        let state = self.state.read();
        (state.watermark == last).then(|| View { state, snapshot: Arc::clone(snapshot) })
    }

    /// The projection and the store at one moment, which shows every commit that was answered before the call.
    /// [`Error::Behind`] as of [`Self::catch_up`].
    pub fn view(&self, store: &dyn Store, until: Instant) -> Result<View<'_>, Error> {
        let snapshot = store.snapshot()?;
        let target = last_seq(&self.scope, snapshot.as_ref())?;
        let state = self.state.read();
        if state.watermark == target {
            return Ok(View { state, snapshot: snapshot.into() });
        }
        drop(state);
        // A commit came between: while this follows, nobody else moves the projection past the snapshot.
        let mut following = self.turn(until)?;
        let snapshot = store.snapshot()?;
        let target = last_seq(&self.scope, snapshot.as_ref())?;
        self.follow(&mut following, snapshot.as_ref(), target, until)?;
        Ok(View { state: self.state.read(), snapshot: snapshot.into() })
    }

    fn turn(&self, until: Instant) -> Result<MutexGuard<'_, Following>, Error> {
        self.following.try_lock_until(until).ok_or(Error::Behind)
    }

    fn follow(
        &self,
        _following: &mut Following,
        snapshot: &dyn Snapshot,
        target: Seq,
        until: Instant,
    ) -> Result<(), Error> {
        let first = self.state.read().watermark;
        let mut watermark = first;
        while watermark < target {
            let page = snapshot.changes(&self.scope, watermark, CHANGES_PAGE)?;
            for entry in &page.items {
                // One commit at the least, so that calls that are repeated come to an end.
                if watermark > first && Instant::now() > until {
                    return Err(Error::Behind);
                }
                // All that takes long, without the lock that searches wait for.
                let steps = entry.changes.iter().map(|change| self.prepare(snapshot, change));
                let steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
                let mut state = self.state.write();
                for step in steps {
                    self.apply(&mut state, snapshot, step)?;
                }
                state.watermark = entry.seq;
                watermark = entry.seq;
            }
            if !page.more && watermark < target {
                self.state.write().watermark = target;
                watermark = target;
            }
        }
        Ok(())
    }

    fn prepare(&self, snapshot: &dyn Snapshot, change: &Change) -> Result<Step, Error> {
        let id = match change {
            Change::Added(id) | Change::Restored(id) | Change::Retired(id) | Change::Edited(id) => id,
            Change::ModelSwitched(name) => return Ok(Step::Switch(name.clone())),
            Change::Erased => return Err(erased()),
        };
        let Some(version) = snapshot.version(&self.scope, *id)? else { return Ok(Step::Nothing) };
        Ok(match change {
            Change::Added(_) | Change::Restored(_) => {
                let prepared = match self.announced.find(&version) {
                    Some(announced) => announced,
                    None => Arc::new(Prepared::read(&self.scope, snapshot, &version)?),
                };
                let models = {
                    let state = self.state.read();
                    [Some(state.model.clone()), state.next.as_ref().map(|(model, _)| model.clone())]
                };
                let mut vectors = Vec::new();
                for model in models.into_iter().flatten() {
                    vectors.push((prepared.vectors(&self.scope, snapshot, &model)?, model.name));
                }
                Step::Serve { version: Box::new(version), prepared, vectors }
            }
            Change::Retired(_) => {
                // What is only in memory is removed without its terms.
                let pending = self.state.read().lexical.is_pending(*id);
                let prepared = (!pending).then(|| Prepared::read(&self.scope, snapshot, &version)).transpose()?;
                Step::Retire { version: Box::new(version), prepared }
            }
            Change::Edited(_) | Change::ModelSwitched(_) | Change::Erased => Step::Edit(Box::new(version)),
        })
    }

    fn apply(&self, state: &mut State, snapshot: &dyn Snapshot, step: Step) -> Result<(), Error> {
        match step {
            Step::Serve { version, prepared, vectors } => {
                state.lexical.add_analysed(version.id, version.chunk_ids(), &prepared.analysis);
                for (vectors, model) in vectors {
                    if model == state.model.name {
                        put_vectors(&mut state.vectors, version.chunk_ids(), &vectors)?;
                    } else if let Some((_, next)) = state.next.as_mut().filter(|(next, _)| next.name == model) {
                        put_vectors(next, version.chunk_ids(), &vectors)?;
                    }
                }
                state.catalog.serve(&version, prepared.block_types.clone());
            }
            Step::Retire { version, mut prepared } => {
                if prepared.is_none() && !state.lexical.is_pending(version.id) {
                    // It was written out since.
                    prepared = Some(Prepared::read(&self.scope, snapshot, &version)?);
                }
                let none = Analysis::default();
                let analysis = prepared.as_ref().map_or(&none, |prepared| &prepared.analysis);
                state.lexical.remove_analysed(version.id, || analysis);
                let range = ChunkRange { first: version.first_chunk, count: version.chunk_count };
                state.vectors.remove(range);
                if let Some((_, vectors)) = &mut state.next {
                    vectors.remove(range);
                }
                state.catalog.retire(version.id);
            }
            Step::Edit(version) => state.catalog.edit(&version),
            Step::Switch(name) => {
                if let Some((model, vectors)) = state.next.take_if(|(model, _)| model.name == name) {
                    state.model = model;
                    state.vectors = vectors;
                } else if state.model.name != name {
                    // The prepared index went with a projection that was discarded, or this one was opened since.
                    return Err(Error::Rebuild { what: "vector", detail: format!("{name} serves, and has no index") });
                }
            }
            Step::Nothing => {}
        }
        Ok(())
    }

    /// Builds the vector index of `model` beside the serving one, which it replaces when the switch is followed.
    /// Chunks written meanwhile must have vectors of both models.
    pub fn prepare_model(&self, store: &dyn Store, model: &Model, progress: &Progress) -> Result<(), Error> {
        let snapshot = store.snapshot()?;
        let folder = vector_folder(&self.folder, model);
        let built = last_seq(&self.scope, snapshot.as_ref())?;
        let mut vectors = open_vectors(&folder, &self.scope, snapshot.as_ref(), built, model, progress)?;
        // What is followed from here on reaches both indexes.
        let _following = self.following.lock();
        let now = store.snapshot()?;
        replay(&self.scope, now.as_ref(), built, |version, chunks| {
            if version.is_live() {
                return add_vectors(&mut vectors, &self.scope, now.as_ref(), model, chunks);
            }
            vectors.remove(ChunkRange { first: version.first_chunk, count: version.chunk_count });
            Ok(())
        })?;
        self.state.write().next = Some((model.clone(), vectors));
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

    /// Whether the index of another model was prepared, which closing the projection would lose.
    pub(crate) fn is_between_models(&self) -> bool {
        self.state.try_read().is_none_or(|state| state.next.is_some())
    }

    /// About how many bytes of memory it holds; `None` while it is being changed.
    pub(crate) fn held_bytes(&self) -> Option<u64> {
        self.state.try_read().map(|state| held_bytes(&state))
    }

    /// The totals.
    pub fn totals(&self) -> ProjectionTotals {
        totals(&self.state.read())
    }
}

/// What the catalogue holds of a version, in bytes: its row and its strings, as they usually are.
const VERSION_BYTES: usize = 512;
/// What the vector index holds of a row beside its numbers, in bytes.
const ROW_BYTES: u64 = 32;
/// What the graph holds of a row beside its numbers, in bytes: its neighbours, as they usually are.
const GRAPH_ROW_BYTES: u64 = 384;

/// The part that grows with the namespace. What the lexical index has on disk is mapped, and the system's to keep.
fn held_bytes(state: &State) -> u64 {
    let of = |model: &Model, vectors: &VectorIndex| {
        let (rows, values) = (vectors.statistics(), model.dim as u64);
        // Two bytes a number in the rows, and one in the graph.
        rows.rows * (2 * values + ROW_BYTES) + rows.in_graph * (values + GRAPH_ROW_BYTES)
    };
    let next = state.next.as_ref().map_or(0, |(model, vectors)| of(model, vectors));
    let rest = state.lexical.pending_bytes() + state.catalog.len() * VERSION_BYTES;
    of(&state.model, &state.vectors) + next + rest as u64
}

fn last_seq(scope: &Scope, snapshot: &dyn Snapshot) -> Result<Seq, Error> {
    Ok(snapshot.namespace(scope)?.map_or(Seq(0), |row| row.last_seq))
}

#[cfg(test)]
mod tests;
