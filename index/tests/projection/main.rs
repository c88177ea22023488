//! What becomes of a projection whose build was cut off, whose files are gone, or which missed a model.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod again;
mod opening;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loom_index::text::{LexicalChunk, LexicalIndex};
use loom_index::{Bounds, Error, Model, Progress, Projection, Projections, Source};
use loom_storage::contract::sample::{batch, delete, put, scope, vectors};
use loom_storage::{MemoryStore, Scope, Seq, Snapshot, Store, Write};
use tempfile::TempDir;

const DIM: usize = 32;

fn model(name: &str) -> Model {
    Model { name: name.into(), dim: DIM }
}

struct Place {
    dir: TempDir,
    store: MemoryStore,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), store: MemoryStore::default() }
    }

    fn commit(&self, writes: impl IntoIterator<Item = Write>) {
        self.store.commit(batch(writes)).unwrap();
    }

    fn snapshot(&self) -> Box<dyn Snapshot> {
        self.store.snapshot().unwrap()
    }

    fn projections(&self) -> Projections {
        self.bounded(Bounds::default())
    }

    fn bounded(&self, bounds: Bounds) -> Projections {
        Projections::open(self.dir.path(), bounds).unwrap()
    }

    /// The folders of the namespaces' projections.
    fn folders(&self) -> Vec<PathBuf> {
        fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

fn in_an_hour() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

/// The projection of a namespace, which is opened if it is not.
fn of(projections: &Projections, place: &Place, scope: &Scope, name: &str) -> Arc<Projection> {
    let source = || Ok::<_, Error>(Source { snapshot: place.snapshot(), model: model(name) });
    projections.namespace(scope, place.snapshot().as_ref(), [in_an_hour(); 2], source).unwrap()
}

fn opened(projections: &Projections, place: &Place, name: &str) -> Arc<Projection> {
    of(projections, place, &scope(), name)
}

#[test]
fn a_build_that_was_cut_off_leaves_nothing_in_the_next() {
    let place = Place::new();
    place.commit([put(&scope(), "kept", "alpha", 1)]);
    place.commit([put(&scope(), "gone", "beta", 2)]);
    {
        let projections = place.projections();
        opened(&projections, &place, "m");
        projections.flush(true).unwrap();
    }
    let folder = place.folders().remove(0).join("lexical");
    let mut index = LexicalIndex::create(&folder).unwrap();
    for version in place.snapshot().live_versions(&scope(), None, 9).unwrap().items {
        let chunks = place.snapshot().chunks(&scope(), version.first_chunk, version.chunk_count).unwrap();
        let chunks: Vec<_> = chunks
            .iter()
            .map(|chunk| LexicalChunk { id: chunk.id, context: "", text: &chunk.text, names: &[] })
            .collect();
        index.add(version.id, &chunks);
    }
    // What a build writes on its way follows nothing yet.
    index.freeze(Seq(0)).unwrap().run().unwrap();
    place.commit([delete(&scope(), "gone", 3)]);
    let projection = opened(&place.projections(), &place, "m");
    assert_eq!(projection.totals().lexical_chunks, 1);
}

#[test]
fn a_discarded_projection_writes_no_more_files() {
    let place = Place::new();
    place.commit([put(&scope(), "a", "alpha", 1)]);
    let projections = place.projections();
    let held = opened(&projections, &place, "m");
    projections.discard(&scope()).unwrap();
    held.flush(true).unwrap();
    assert_eq!(place.folders(), Vec::<PathBuf>::new());
}

#[test]
fn a_projection_that_missed_the_model_that_serves_is_built_anew() {
    let place = Place::new();
    let one: &[f32] = &[1.0; DIM];
    place.commit([vectors(&scope(), "old", &[("alpha", one)]), put(&scope(), "a", "alpha", 1)]);
    let projections = place.projections();
    opened(&projections, &place, "old").prepare_model(&place.store, &model("new"), &Progress::default()).unwrap();
    projections.discard(&scope()).unwrap();
    opened(&projections, &place, "old");
    place.commit([
        vectors(&scope(), "new", &[("alpha", one)]),
        Write::SwitchModel { scope: scope(), model: "new".into() },
    ]);
    let projection = opened(&projections, &place, "new");
    assert_eq!((projection.model(), projection.totals().vector_chunks), (model("new"), 1));
}

#[test]
fn one_namespace_that_cannot_be_written_does_not_keep_the_others() {
    let place = Place::new();
    let scopes: Vec<Scope> = (0..16).map(|number| Scope::new("org", format!("n{number}"))).collect();
    for scope in &scopes {
        place.commit([put(scope, "a", "alpha", 1)]);
    }
    let projections = place.projections();
    for scope in &scopes {
        of(&projections, &place, scope, "m");
    }
    let folders = place.folders();
    // They are written in any order: half of them make it all but certain that one in the way comes before one that is not.
    let (blocked, free) = folders.split_at(8);
    for folder in blocked {
        fs::remove_dir_all(folder).unwrap();
        fs::write(folder, "in the way").unwrap();
    }
    assert!(projections.flush(true).is_err());
    for folder in free {
        assert!(folder.join("lexical").is_dir(), "{}", folder.display());
    }
}
