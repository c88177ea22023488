//! The documents, their chunks and vectors, and the queries, which depend on the folder and the size alone.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

use loom::chunk::{self, ChunkSettings};
use loom::embed::{self, EmbedKind, Embedder};

use super::Outcome;
use super::markdown::Tree;
use super::measure::{self, Spent};

const FILES_MAX: usize = 20_000;
const BYTES_MAX: usize = 256 << 20;
const QUERIES: usize = 500;
const QUERY_WORDS: usize = 8;
/// In a repetition, one in so many words is another.
const CHANGED: u64 = 3;

pub struct Corpus {
    pub documents: Vec<(String, String)>,
    /// What is embedded for each chunk: its context and its text.
    pub texts: Vec<String>,
    /// The document of each chunk.
    pub document_of: Vec<usize>,
    pub vectors: Vec<Vec<f32>>,
    pub queries: Vec<(String, Vec<f32>)>,
    /// What the bare embedding of the texts took.
    pub embedding: Spent,
}

impl Corpus {
    pub fn read(root: &Path, size: usize, embedder: &dyn Embedder) -> Outcome<Self> {
        let mut originals = Tree::read(root, FILES_MAX, BYTES_MAX)?.documents;
        // In an order that mixes the trees, so that a small size is like a large one.
        originals.sort_by_cached_key(|(path, _)| (hash(path), path.clone()));
        let words: BTreeSet<&str> =
            originals.iter().flat_map(|(_, text)| text.split(not_a_word)).filter(|word| is_changeable(word)).collect();
        let words: Vec<&str> = words.into_iter().collect();
        if words.is_empty() {
            return Err(format!("{} holds no Markdown with words", root.display()).into());
        }
        let mut corpus = Self {
            documents: Vec::new(),
            texts: Vec::new(),
            document_of: Vec::new(),
            vectors: Vec::new(),
            queries: Vec::new(),
            embedding: Spent::default(),
        };
        'full: for round in 0.. {
            for (path, text) in &originals {
                let text = if round == 0 { text.clone() } else { changed(text, round, &words) };
                corpus.push(format!("{round}/{path}"), text);
                if corpus.texts.len() >= size {
                    break 'full;
                }
            }
        }
        embedder.embed(&["the model is decoded once"], EmbedKind::Passage, soon())?;
        let (vectors, spent) = measure::process(|| {
            let mut vectors = Vec::with_capacity(corpus.texts.len());
            for texts in corpus.texts.chunks(1024) {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                vectors.extend(embedder.embed(&texts, EmbedKind::Passage, soon())?);
            }
            Ok(vectors)
        })?;
        corpus.vectors = vectors;
        corpus.embedding = spent;
        corpus.draw_queries(embedder)?;
        Ok(corpus)
    }

    fn push(&mut self, path: String, text: String) {
        let cut = chunk::cut(&text, ChunkSettings::default());
        let front = cut.front_matter.unwrap_or_default();
        let (title, description) = (front.title.unwrap_or_default(), front.description.unwrap_or_default());
        let number = self.documents.len();
        for piece in &cut.pieces {
            let context = chunk::context(&title, &description, &piece.section_path, piece.table_header.as_deref());
            let [start, end] = [piece.place.byte_start, piece.place.byte_end].map(|byte| usize::try_from(byte).ok());
            let passage = start.zip(end).and_then(|(start, end)| text.get(start..end)).unwrap_or_default();
            self.texts.push(embed::input(&context, passage));
            self.document_of.push(number);
        }
        if cut.pieces.is_empty() && !(title.is_empty() && description.is_empty()) {
            self.texts.push(chunk::context(&title, &description, &[], None));
            self.document_of.push(number);
        }
        self.documents.push((path, text));
    }

    /// Some words of evenly drawn chunks: every second query is a heading or the beginning of a text, the others come
    /// from the middle of one.
    fn draw_queries(&mut self, embedder: &dyn Embedder) -> Outcome<()> {
        for at in 0..QUERIES {
            let text = &self.texts[at * self.texts.len() / QUERIES];
            let words: Vec<&str> =
                text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect();
            let start = if at % 2 == 0 { 0 } else { words.len() / 2 };
            let query = words[start..].iter().take(QUERY_WORDS).copied().collect::<Vec<_>>().join(" ");
            let vector = embedder.embed(&[&query], EmbedKind::Query, soon())?.pop().ok_or("one vector a text")?;
            if vector.iter().any(|value| *value != 0.0) {
                self.queries.push((query, vector));
            }
        }
        Ok(())
    }

    /// The bytes of the texts and of the vectors.
    pub fn bytes(&self) -> usize {
        let vectors: usize = self.vectors.iter().map(|vector| vector.len() * size_of::<f32>()).sum();
        self.documents.iter().map(|(_, text)| text.len()).sum::<usize>() + vectors
    }

    /// Of each query, the similarity of the `k`-th nearest of the chunks that `keep` keeps, by exact scan.
    pub fn kth_similarity(&self, k: usize, keep: impl Fn(usize) -> bool) -> Vec<f32> {
        let dot = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f32>();
        let length = |vector: &[f32]| dot(vector, vector).sqrt().max(f32::MIN_POSITIVE);
        let kept: Vec<(&Vec<f32>, f32)> = self
            .vectors
            .iter()
            .enumerate()
            .filter(|(at, _)| keep(*at))
            .map(|(_, vector)| (vector, length(vector)))
            .collect();
        let kth = |(_, query): &(String, Vec<f32>)| {
            let query_length = length(query);
            let mut similarities: Vec<f32> =
                kept.iter().map(|(vector, length)| dot(query, vector) / length / query_length).collect();
            similarities.sort_unstable_by(|left, right| right.total_cmp(left));
            similarities.get(k - 1).or(similarities.last()).copied().unwrap_or(f32::NEG_INFINITY)
        };
        self.queries.iter().map(kth).collect()
    }
}

/// How long one call of the embedder may take.
fn soon() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn not_a_word(c: char) -> bool {
    !c.is_ascii_alphabetic()
}

fn is_changeable(word: &str) -> bool {
    (4..=12).contains(&word.len())
}

/// The text with some of its words replaced by others of the collection, the same word always by the same.
fn changed(text: &str, round: u64, words: &[&str]) -> String {
    let mut changed = String::with_capacity(text.len());
    for part in text.split_inclusive(not_a_word) {
        let word = part.trim_end_matches(not_a_word);
        let drawn = hash((word, round));
        if is_changeable(word) && drawn % CHANGED == 0 {
            let at = usize::try_from(drawn / CHANGED % words.len() as u64).unwrap_or(0);
            changed.push_str(words[at]);
            changed.push_str(&part[word.len()..]);
        } else {
            changed.push_str(part);
        }
    }
    changed
}
