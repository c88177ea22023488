//! One namespace's projections: they follow the change log, answer the legs, and write themselves to disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use loom_storage::{Change, Chunk, Scope, Seq, Snapshot, Store, Version, VersionId};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::catalog::{Catalog, Filter};
use crate::error::Error;
use crate::selection::ChunkRange;
use crate::text::{LexicalChunk, LexicalHit, LexicalIndex};
use crate::vector::{Refused, VectorHit, VectorIndex};

/// How many changes are read from the log at a time.
const CHANGES_PAGE: usize = 256;
/// How many versions are read at a time while a projection is rebuilt.
const VERSIONS_PAGE: usize = 256;
/// Chunks in memory after which a projection is written to disk.
pub const FLUSH_CHUNKS: usize = 8_192;
/// Chunks in memory past which a writer helps to write them out before it goes on.
pub const FLUSH_CHUNKS_MAX: usize = 4 * FLUSH_CHUNKS;

/// An embedding model: its name and the length of its vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name stored with each vector.
    pub name: String,
    /// The length of its vectors.
    pub dim: usize,
}

/// What the legs are asked.
#[derive(Clone, Debug)]
pub struct LegQuery<'a> {
    /// The text for the lexical leg; `None` leaves the leg out.
    pub text: Option<&'a str>,
    /// The query's vector for the vector leg; `None` leaves the leg out.
    pub vector: Option<&'a [f32]>,
    /// Which chunks may be returned.
    pub filter: &'a Filter,
    /// The most hits of each leg.
    pub depth: usize,
}

/// What the legs found, best first.
#[derive(Clone, Debug, Default)]
pub struct LegHits {
    /// The lexical leg's hits.
    pub lexical: Vec<LexicalHit>,
    /// The vector leg's hits.
    pub vector: Vec<VectorHit>,
    /// The similarity of each lexical hit to the query's vector, in order; `None` without a vector.
    pub lexical_similarity: Vec<Option<f32>>,
    /// How many chunks passed the filter.
    pub candidates: usize,
    /// Milliseconds spent in the lexical leg.
    pub lexical_ms: f64,
    /// Milliseconds spent in the vector leg.
    pub vector_ms: f64,
}

/// The totals of a namespace's projections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionTotals {
    /// The last commit followed.
    pub watermark: Seq,
    /// Versions served.
    pub versions: usize,
    /// Live chunks in the lexical index.
    pub lexical_chunks: u64,
    /// Live chunks in the vector index.
    pub vector_chunks: u64,
    /// Chunks that are in memory and not yet on disk.
    pub pending: usize,
}

struct State {
    watermark: Seq,
    catalog: Catalog,
    lexical: LexicalIndex,
    model: Model,
    vectors: VectorIndex,
    /// The index of the model that is to serve next, filled while the old one serves.
    next: Option<(Model, VectorIndex)>,
}

/// The projections of one namespace.
pub struct Projection {
    scope: Scope,
    folder: PathBuf,
    state: RwLock<State>,
    /// Held by whoever writes the projection's files.
    files: Mutex<()>,
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
        for_live_versions(scope, snapshot, |version| {
            let block_types = block_types(scope, snapshot, version)?;
            catalog.serve(version, block_types);
            Ok(())
        })?;
        let state = State { watermark: last, catalog, lexical, model: model.clone(), vectors, next: None };
        Ok(Self { scope: scope.clone(), folder: folder.into(), state: RwLock::new(state), files: Mutex::new(()) })
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

    /// Writes to disk what has gathered in memory (with `all` whatever there is, else once there is enough), and does
    /// the upkeep of the vector index, which `stop` cuts short.
    pub fn flush(&self, all: bool, stop: &AtomicBool) -> Result<(), Error> {
        let _files = self.files.lock();
        let (lexical, vectors) = {
            let mut state = self.state.write();
            let (text, vector) = (state.lexical.pending_chunks(), state.vectors.unsaved());
            let threshold = if all { 1 } else { FLUSH_CHUNKS };
            let watermark = state.watermark;
            (
                (text >= threshold).then(|| state.lexical.freeze(watermark)).flatten(),
                (vector >= threshold).then(|| state.vectors.freeze(watermark)).flatten(),
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
        let graph = self.state.read().vectors.plan_graph();
        if let Some(job) = graph
            && let Some(graph) = job.run(stop)?
        {
            self.state.write().vectors.install_graph(graph);
        }
        Ok(())
    }

    /// The totals.
    pub fn totals(&self) -> ProjectionTotals {
        totals(&self.state.read())
    }
}

/// A projection and the store at one moment. While it is held, the projection does not move.
pub struct View<'p> {
    state: RwLockReadGuard<'p, State>,
    snapshot: Box<dyn Snapshot>,
}

impl View<'_> {
    /// The store.
    pub fn snapshot(&self) -> &dyn Snapshot {
        self.snapshot.as_ref()
    }

    /// Lets the projection move on and keeps the store's moment.
    pub fn into_snapshot(self) -> Box<dyn Snapshot> {
        self.snapshot
    }

    /// The model whose vectors are searched.
    pub fn model(&self) -> &Model {
        &self.state.model
    }

    /// Asks the legs.
    pub fn search(&self, query: &LegQuery<'_>) -> Result<LegHits, Error> {
        let state = &self.state;
        let selection = state.catalog.select(query.filter);
        let mut hits = LegHits { candidates: selection.len(), ..LegHits::default() };
        if selection.is_empty() {
            return Ok(hits);
        }
        if let Some(text) = query.text {
            let started = Instant::now();
            hits.lexical = state.lexical.search(text, query.depth, Some(&selection))?;
            hits.lexical_ms = started.elapsed().as_secs_f64() * 1e3;
        }
        if let Some(vector) = query.vector {
            let started = Instant::now();
            hits.vector = state.vectors.search(vector, query.depth, Some(&selection))?;
            let lexical: Vec<_> = hits.lexical.iter().map(|hit| hit.chunk).collect();
            hits.lexical_similarity = state.vectors.similarity(vector, &lexical);
            hits.vector_ms = started.elapsed().as_secs_f64() * 1e3;
        }
        Ok(hits)
    }

    /// Whether the lexical index holds the version, and how many of its chunks the vector index holds.
    pub fn holds(&self, version: &Version) -> (bool, usize) {
        let vectors = version.chunk_ids().filter(|id| self.state.vectors.contains(*id)).count();
        (self.state.lexical.contains(version.id), vectors)
    }

    /// The totals.
    pub fn totals(&self) -> ProjectionTotals {
        totals(&self.state)
    }
}

fn totals(state: &State) -> ProjectionTotals {
    let (lexical, vectors) = (state.lexical.statistics(), state.vectors.statistics());
    ProjectionTotals {
        watermark: state.watermark,
        versions: state.catalog.len(),
        lexical_chunks: lexical.chunks,
        vector_chunks: vectors.rows - vectors.removed,
        pending: lexical.pending_chunks.max(state.vectors.unsaved()),
    }
}

fn last_seq(scope: &Scope, snapshot: &dyn Snapshot) -> Result<Seq, Error> {
    Ok(snapshot.namespace(scope)?.map_or(Seq(0), |row| row.last_seq))
}

/// Makes `folder` the projections of one namespace of one store; what another left there is removed.
fn claim_folder(folder: &Path, identity: &str) -> Result<(), Error> {
    let owner = folder.join("namespace.txt");
    let io = |error: std::io::Error| Error::from_io("projection", &error);
    if fs::read_to_string(&owner).is_ok_and(|found| found == identity) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(io)?;
    }
    fs::create_dir_all(folder).map_err(io)?;
    fs::write(&owner, identity).map_err(io)
}

fn vector_folder(folder: &Path, model: &Model) -> PathBuf {
    folder.join("vectors").join(crate::projections::file_name(&model.name))
}

fn open_lexical(folder: &Path, scope: &Scope, snapshot: &dyn Snapshot, last: Seq) -> Result<LexicalIndex, Error> {
    let opened = LexicalIndex::open(folder).and_then(|(index, watermark)| check_watermark(index, watermark, last));
    let (mut index, watermark) = match opened {
        Err(Error::Rebuild { detail, .. }) => {
            tracing::warn!(%scope, detail, "rebuilding the lexical projection");
            wipe(folder)?;
            LexicalIndex::open(folder)?
        }
        opened => opened?,
    };
    if watermark == Seq(0) {
        for_live_versions(scope, snapshot, |version| {
            let chunks = chunks_of(scope, snapshot, version)?;
            index.add(version.id, &lexical_chunks(&chunks));
            if index.pending_chunks() >= FLUSH_CHUNKS
                && let Some(job) = index.freeze(Seq(0))
            {
                let flushed = job.run()?;
                index.install(flushed);
            }
            Ok(())
        })?;
    } else {
        replay(scope, snapshot, watermark, |version, chunks| {
            if !version.is_live() {
                index.remove(version.id, &lexical_chunks(chunks));
            } else if !index.contains(version.id) {
                index.add(version.id, &lexical_chunks(chunks));
            }
            Ok(())
        })?;
    }
    Ok(index)
}

fn open_vectors(
    folder: &Path,
    scope: &Scope,
    snapshot: &dyn Snapshot,
    last: Seq,
    model: &Model,
) -> Result<VectorIndex, Error> {
    let open = || VectorIndex::open(folder, &model.name, model.dim);
    let opened = open().and_then(|(index, watermark)| check_watermark(index, watermark, last));
    let (mut index, watermark) = match opened {
        Err(Error::Rebuild { detail, .. }) => {
            tracing::warn!(%scope, detail, "rebuilding the vector projection");
            wipe(folder)?;
            open()?
        }
        opened => opened?,
    };
    if watermark == Seq(0) {
        for_live_versions(scope, snapshot, |version| {
            let chunks = chunks_of(scope, snapshot, version)?;
            add_vectors(&mut index, scope, snapshot, model, &chunks)
        })?;
    } else {
        replay(scope, snapshot, watermark, |version, chunks| {
            if version.is_live() {
                add_vectors(&mut index, scope, snapshot, model, chunks)
            } else {
                index.remove(ChunkRange { first: version.first_chunk, count: version.chunk_count });
                Ok(())
            }
        })?;
    }
    Ok(index)
}

fn check_watermark<T>(index: T, watermark: Seq, last: Seq) -> Result<(T, Seq), Error> {
    if watermark > last {
        return Err(Error::Rebuild {
            what: "namespace",
            detail: format!("it has followed commit {}, the store ends at {}", watermark.0, last.0),
        });
    }
    Ok((index, watermark))
}

fn wipe(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::from_io("projection", &error)),
        _ => Ok(()),
    }
}

fn for_live_versions(
    scope: &Scope,
    snapshot: &dyn Snapshot,
    mut visit: impl FnMut(&Version) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = snapshot.live_versions(scope, after, VERSIONS_PAGE)?;
        page.items.iter().try_for_each(&mut visit)?;
        match page.items.last() {
            Some(last) if page.more => after = Some(last.id),
            _ => return Ok(()),
        }
    }
}

/// Visits each version that a change after `since` touched, once, as the snapshot has it.
fn replay(
    scope: &Scope,
    snapshot: &dyn Snapshot,
    since: Seq,
    mut visit: impl FnMut(&Version, &[Chunk]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut touched: BTreeSet<VersionId> = BTreeSet::new();
    let mut after = since;
    loop {
        let page = snapshot.changes(scope, after, CHANGES_PAGE)?;
        for change in page.items.iter().flat_map(|entry| &entry.changes) {
            match change {
                Change::Added(id) | Change::Retired(id) | Change::Restored(id) => {
                    touched.insert(*id);
                }
                Change::Edited(_) | Change::ModelSwitched(_) => {}
            }
        }
        match page.items.last() {
            Some(last) if page.more => after = last.seq,
            _ => break,
        }
    }
    for id in touched {
        if let Some(version) = snapshot.version(scope, id)? {
            let chunks = chunks_of(scope, snapshot, &version)?;
            visit(&version, &chunks)?;
        }
    }
    Ok(())
}

fn chunks_of(scope: &Scope, snapshot: &dyn Snapshot, version: &Version) -> Result<Vec<Chunk>, Error> {
    Ok(snapshot.chunks(scope, version.first_chunk, version.chunk_count)?)
}

fn block_types(scope: &Scope, snapshot: &dyn Snapshot, version: &Version) -> Result<Vec<String>, Error> {
    if version.document.format.is_empty() {
        return Ok(Vec::new());
    }
    Ok(block_types_of(version, &chunks_of(scope, snapshot, version)?))
}

fn block_types_of(version: &Version, chunks: &[Chunk]) -> Vec<String> {
    if version.document.format.is_empty() {
        return Vec::new();
    }
    chunks.iter().map(|chunk| chunk.block_type.clone()).collect()
}

fn lexical_chunks(chunks: &[Chunk]) -> Vec<LexicalChunk<'_>> {
    chunks.iter().map(|chunk| LexicalChunk { id: chunk.id, context: &chunk.context, text: &chunk.text }).collect()
}

fn add_vectors(
    index: &mut VectorIndex,
    scope: &Scope,
    snapshot: &dyn Snapshot,
    model: &Model,
    chunks: &[Chunk],
) -> Result<(), Error> {
    let inputs: Vec<_> = chunks.iter().map(|chunk| chunk.input_hash).collect();
    for (chunk, vector) in chunks.iter().zip(snapshot.vectors(scope, &model.name, &inputs)?) {
        if let Some(vector) = vector {
            match index.add(chunk.id, &vector) {
                // A text without a known word has the zero vector: it is found by its words alone.
                Ok(()) | Err(Refused::NoDirection) => {}
                Err(refused) => return Err(Error::Rebuild { what: "vector", detail: refused.to_string() }),
            }
        }
    }
    Ok(())
}
