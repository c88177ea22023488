//! Versions with chunks, and indexes over them.

use std::path::Path;

use loom_index::text::{LexicalChunk, LexicalHit, LexicalIndex};
use loom_storage::{ChunkId, Seq, VersionId};

/// A version as storage would have it.
#[derive(Clone, Debug)]
pub struct Version {
    pub id: VersionId,
    /// Id, context and text of each chunk.
    pub chunks: Vec<(ChunkId, String, String)>,
}

impl Version {
    /// The version created by commit `seq` with `texts` as its chunks.
    pub fn new(seq: u64, texts: &[&str]) -> Self {
        let chunks = (0..).zip(texts).map(|(n, text)| (ChunkId::new(Seq(seq), n), String::new(), (*text).to_owned()));
        Self { id: VersionId::new(Seq(seq), 0), chunks: chunks.collect() }
    }

    pub fn add_to(&self, index: &mut LexicalIndex) {
        index.add(self.id, &self.borrowed());
    }

    pub fn remove_from(&self, index: &mut LexicalIndex) {
        index.remove(self.id, &self.borrowed());
    }

    fn borrowed(&self) -> Vec<LexicalChunk<'_>> {
        self.chunks.iter().map(|(id, context, text)| LexicalChunk { id: *id, context, text, names: &[] }).collect()
    }
}

/// An index in `folder` over one version for each text: the first has the sequence number 1, and so on.
pub fn index_of(folder: &Path, texts: &[&str]) -> LexicalIndex {
    let (mut index, _) = LexicalIndex::open(folder).expect("a new folder opens");
    for (seq, text) in (1..).zip(texts) {
        Version::new(seq, &[text]).add_to(&mut index);
    }
    index
}

/// All three phases of a flush.
pub fn flush(index: &mut LexicalIndex, watermark: u64) {
    if let Some(job) = index.freeze(Seq(watermark)) {
        index.install(job.run().expect("a flush works"));
    }
}

/// The sequence numbers of the versions that a query finds, best first.
pub fn found(index: &LexicalIndex, query: &str) -> Vec<u64> {
    seqs(&index.search(query, 10, None).expect("a search works"))
}

pub fn seqs(hits: &[LexicalHit]) -> Vec<u64> {
    hits.iter().map(|hit| hit.chunk.seq().0).collect()
}

/// Numbers that look random and are the same in every run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`, small ones far more often than big ones.
    pub fn skewed(&mut self, end: u64) -> u64 {
        let (a, b) = (self.below(end), self.below(end));
        a * b / end
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A text of `words` words of a vocabulary of 800, common ones more often.
    pub fn prose(&mut self, words: u64) -> String {
        let words: Vec<String> = (0..words).map(|_| format!("w{}x", self.skewed(800))).collect();
        words.join(" ")
    }
}
