//! What a version adds to the indexes, worked out before anyone waits for it.
//!
//! A writer announces the versions of its batch before the commit. Whoever follows the commit first, the writer or a
//! search, finds them here and has little left to do; what was not announced is read from the store.

use std::collections::HashMap;
use std::sync::Arc;

use loom_storage::{Batch, Chunk, DocId, Hash, NewChunk, NewVersion, Scope, Snapshot, Version, Write};
use parking_lot::Mutex;
use rayon::prelude::*;

use crate::build::chunks_of;
use crate::cores;
use crate::error::Error;
use crate::projection::Model;
use crate::text::Analysis;

/// The chunks of one version, ready to be added.
pub(crate) struct Prepared {
    pub(crate) analysis: Analysis,
    /// One for each chunk, or none for a text write.
    pub(crate) block_types: Vec<String>,
    /// What is embedded of each chunk.
    inputs: Vec<Hash>,
    /// The vectors that its batch brings, by model.
    vectors: Vec<(String, Arc<Vectors>)>,
}

/// The vector of each chunk of a version that has one.
pub(crate) type Vectors = Vec<Option<Vec<f32>>>;

/// Vectors by their inputs.
type Inputs<'a> = HashMap<&'a Hash, &'a Vec<f32>>;
/// What a batch brings of vectors to a namespace, by model.
type Known<'a> = Vec<(&'a str, Inputs<'a>)>;

impl Prepared {
    fn of<'a>(format: &str, chunks: impl Iterator<Item = &'a Chunk> + Clone) -> Self {
        let block_types =
            if format.is_empty() { Vec::new() } else { chunks.clone().map(|chunk| chunk.block_type.clone()).collect() };
        Self {
            analysis: Analysis::of(chunks.clone().map(|chunk| (chunk.context.as_str(), chunk.text.as_str()))),
            block_types,
            inputs: chunks.map(|chunk| chunk.input_hash).collect(),
            vectors: Vec::new(),
        }
    }

    fn announced(new: &NewVersion, known: &[(&str, Inputs<'_>)]) -> Self {
        let mut prepared = Self::of(&new.document.format, new.chunks.iter().map(|NewChunk(chunk)| chunk));
        let of_model = |(model, known): &(&str, Inputs<'_>)| {
            let vectors = prepared.inputs.iter().map(|input| known.get(input).map(|vector| (*vector).clone()));
            ((*model).to_owned(), Arc::new(vectors.collect()))
        };
        prepared.vectors = known.iter().map(of_model).collect();
        prepared
    }

    /// The chunks of a version as the store has them.
    pub(crate) fn read(scope: &Scope, snapshot: &dyn Snapshot, version: &Version) -> Result<Self, Error> {
        let chunks = chunks_of(scope, snapshot, version)?;
        Ok(Self::of(&version.document.format, chunks.iter()))
    }

    /// The vectors of the chunks under `model`; those that were not announced are read from the store.
    pub(crate) fn vectors(&self, scope: &Scope, snapshot: &dyn Snapshot, model: &Model) -> Result<Arc<Vectors>, Error> {
        let announced = self.vectors.iter().find(|(name, _)| *name == model.name);
        let mut vectors =
            announced.map_or_else(|| Arc::new(vec![None; self.inputs.len()]), |(_, vectors)| Arc::clone(vectors));
        let missing: Vec<usize> = (0..vectors.len()).filter(|at| vectors[*at].is_none()).collect();
        if !missing.is_empty() {
            let inputs: Vec<Hash> = missing.iter().map(|at| self.inputs[*at]).collect();
            let whole = Arc::make_mut(&mut vectors);
            for (at, vector) in missing.into_iter().zip(snapshot.vectors(scope, &model.name, &inputs)?) {
                whole[at] = vector;
            }
        }
        Ok(vectors)
    }
}

/// The versions of commits that are under way.
#[derive(Default)]
pub(crate) struct Announced(Mutex<HashMap<DocId, Arc<Prepared>>>);

/// Versions that are announced for as long as this is held.
pub struct Announcement {
    announced: Arc<Announced>,
    versions: Vec<DocId>,
}

impl Announced {
    /// Prepares and announces the versions of a batch.
    pub(crate) fn announce(self: &Arc<Self>, batch: &Batch) -> Announcement {
        let mut news: Vec<&NewVersion> = Vec::new();
        let mut known: HashMap<&Scope, Known<'_>> = HashMap::new();
        for write in &batch.writes {
            if let Write::PutVersion(new) = write {
                news.push(new);
            } else if let Write::PutVectors { scope, model, vectors } = write {
                let vectors = vectors.iter().map(|(input, vector)| (input, vector)).collect();
                known.entry(scope).or_default().push((model, vectors));
            }
        }
        let prepare = |new: &&NewVersion| {
            let known = known.get(&new.scope).map_or(&[][..], Vec::as_slice);
            (new.doc_id, Arc::new(Prepared::announced(new, known)))
        };
        // One document is not worth the way to another thread.
        let prepared: Vec<_> = if news.len() > 1 {
            cores::share(|| news.par_iter().map(prepare).collect())
        } else {
            news.iter().map(prepare).collect()
        };
        let versions = prepared.iter().map(|(id, _)| *id).collect();
        self.0.lock().extend(prepared);
        Announcement { announced: Arc::clone(self), versions }
    }

    /// What was announced of a version, if it was.
    pub(crate) fn find(&self, version: &Version) -> Option<Arc<Prepared>> {
        self.0.lock().get(&version.doc_id).map(Arc::clone)
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let mut announced = self.announced.0.lock();
        for version in &self.versions {
            announced.remove(version);
        }
    }
}
