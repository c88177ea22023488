//! What a projection holds, chunk by chunk, to be compared with what storage serves.

use loom_storage::{Chunk, ChunkId, Version};

use crate::projection::{Model, State};
use crate::selection::Selection;
use crate::text::{Analysis, LexicalInventory};
use crate::vector::VectorInventory;
use crate::{Error, View};

/// What a search finds a chunk by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The catalogue of what is served.
    Catalog,
    /// The lexical index.
    Lexical,
    /// The vector index.
    Vector,
}

/// How what is held of a chunk is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Nothing is held of it.
    Missing,
    /// It is held more than once.
    Repeated,
    /// Other words, another vector or another version's are held under its id.
    Altered,
}

/// How scores count what the lexical index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miscount {
    /// Chunks and words that scores are computed with.
    pub counted: (u64, u64),
    /// Chunks and words that are held.
    pub held: (u64, u64),
}

/// What the projection of a namespace holds at one moment. It takes about 60 bytes of memory for each chunk, and the
/// projection goes on meanwhile.
pub struct Inventory {
    /// The model whose vectors are searched.
    pub model: Model,
    terms: bool,
    served: Selection,
    lexical: LexicalInventory,
    vectors: VectorInventory,
}

impl View<'_> {
    /// What the projection holds. With `terms` every posting of the lexical index is read, so that the words of each
    /// chunk are compared too; writes of the namespace wait until this returns.
    pub fn inventory(&self, terms: bool) -> Result<Inventory, Error> {
        let State { catalog, lexical, model, vectors, .. } = &*self.state;
        Ok(Inventory {
            model: model.clone(),
            terms,
            served: catalog.select(&crate::Filter::default()),
            lexical: lexical.inventory(terms)?,
            vectors: vectors.inventory(),
        })
    }
}

impl Inventory {
    /// Compares the chunks of a live version, all of them and in order, with what is held of them: calls `differs` for
    /// each difference, with the place of the chunk. `vectors` are the stored vectors of the chunks.
    pub fn compare(
        &mut self,
        version: &Version,
        chunks: &[Chunk],
        vectors: &[Option<Vec<f32>>],
        mut differs: impl FnMut(Part, usize, Difference),
    ) {
        let ids = || chunks.iter().map(|chunk| chunk.id);
        let texts = chunks.iter().map(|chunk| (chunk.context.as_str(), chunk.text.as_str()));
        let analysis = self.terms.then(|| Analysis::of(texts));
        self.lexical.compare(version.id, ids(), analysis.as_ref(), |at, difference| {
            differs(Part::Lexical, at, difference);
        });
        for (at, (chunk, vector)) in ids().zip(vectors).enumerate() {
            if !self.served.contains(chunk) {
                differs(Part::Catalog, at, Difference::Missing);
            }
            if let Some(difference) = self.vectors.compare(chunk, vector.as_deref()) {
                differs(Part::Vector, at, difference);
            }
        }
    }

    /// The chunks that an index holds though no version compared has them, or that it holds once more than it should.
    pub fn left_over(&self) -> impl Iterator<Item = (Part, ChunkId)> + '_ {
        let lexical = self.lexical.left_over().map(|chunk| (Part::Lexical, chunk));
        lexical.chain(self.vectors.left_over().map(|chunk| (Part::Vector, chunk)))
    }

    /// How many chunks the catalogue lets searches return.
    pub fn served(&self) -> usize {
        self.served.len()
    }

    /// How the lexical index counts what it holds, when it counts it wrongly.
    pub fn miscount(&self) -> Option<Miscount> {
        self.lexical.miscounted().map(|[counted, held]| Miscount { counted, held })
    }
}
