//! The model in the binary: a vector for each word piece; a text's vector is their sum, normalised. No network,
//! no state, and the same vector for the same text on every machine.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Instant;

use loom_index::cores;
use rayon::prelude::*;

use super::recent::Recent;
use super::wordpiece::Vocabulary;
use super::{BUILT_IN_MODEL, Card, EmbedError, EmbedKind, Embedder, normalise};

static EMBEDDINGS: &[u8] = include_bytes!("../../assets/loom-static-256/embeddings.bin");
static VOCABULARY: &str = include_str!("../../assets/loom-static-256/vocab.txt");

/// The 99th percentile of the cosine of a random query and passage, over mixed documentation; the shares chosen on half of
/// the queries of the retrieval collections (`docs/quality.md`), where more than 0.10 made Japanese worse; a little less than the median spread in German and Spanish,
/// of which the model knows some words (0.055), where English has 0.08 to 0.12 and Hindi, Russian and Arabic have 0.01.
const CARD: Card = Card { noise_floor: 0.20, vector_share: 0.25, other_scripts_share: 0.10, spread_min: 0.05 };
/// From so many texts on, all cores work.
const PARALLEL_MIN: usize = 16;
/// Bytes before the scales: the magic and three numbers.
const HEADER_BYTES: usize = 16;
const MAGIC: &[u8] = b"SEM1";
/// Rows are fetched so many fours before they are added.
const FOURS_AHEAD: usize = 2;
const CACHE_LINE_BYTES: usize = 64;
/// How many texts are embedded between two looks at the clock.
const BETWEEN_LOOKS: usize = 4_096;

/// The built-in embedder. Its table is read once in a process, when the first text arrives.
pub(super) struct BuiltIn;

impl Embedder for BuiltIn {
    fn model(&self) -> &str {
        BUILT_IN_MODEL
    }

    fn dim(&self, _until: Instant) -> Result<usize, EmbedError> {
        Ok(built_in()?.dim)
    }

    fn embed(&self, inputs: &[&str], _kind: EmbedKind, until: Instant) -> Result<Vec<Vec<f32>>, EmbedError> {
        let model = built_in()?;
        let embed = |text: &&str| SCRATCH.with_borrow_mut(|scratch| model.embed(text, scratch));
        if inputs.len() < PARALLEL_MIN {
            return Ok(inputs.iter().map(embed).collect());
        }
        let mut vectors = Vec::with_capacity(inputs.len());
        for inputs in inputs.chunks(BETWEEN_LOOKS) {
            if Instant::now() > until {
                return Err(EmbedError::Late);
            }
            vectors.append(&mut cores::share(|| inputs.par_iter().map(embed).collect()));
        }
        Ok(vectors)
    }

    fn card(&self) -> Card {
        CARD
    }
}

/// What a thread keeps from text to text.
struct Scratch {
    recent: Recent,
    tokens: Vec<u32>,
}

thread_local! {
    /// Of the built-in model alone.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch { recent: Recent::new(), tokens: Vec::new() });
}

fn built_in() -> Result<&'static Model<'static>, EmbedError> {
    static MODEL: OnceLock<Result<Model<'static>, EmbedError>> = OnceLock::new();
    MODEL
        .get_or_init(|| {
            Model::parse(EMBEDDINGS, VOCABULARY).map_err(|what| EmbedError::Invalid {
                message: format!("the embedding model in this binary is damaged: {what}"),
            })
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// A table and its vocabulary.
struct Model<'a> {
    vocabulary: Vocabulary<'a>,
    /// One for each row.
    scales: Vec<f32>,
    /// Row after row, `dim` signed bytes each.
    rows: &'a [u8],
    dim: usize,
    tokens_max: usize,
}

impl<'a> Model<'a> {
    /// Checks every length, so that no token can point outside the table. Fails with what is wrong.
    fn parse(table: &'a [u8], vocabulary: &'a str) -> Result<Self, String> {
        if table.len() < HEADER_BYTES || !table.starts_with(MAGIC) {
            return Err("the table does not begin with its header".to_owned());
        }
        let vocabulary = Vocabulary::parse(vocabulary)?;
        let (count, dim, tokens_max) = (number(table, 4), number(table, 8), number(table, 12));
        if count != vocabulary.len() {
            return Err(format!("{count} rows for {} word pieces", vocabulary.len()));
        }
        if dim == 0 || tokens_max == 0 {
            return Err("vectors or texts of length 0".to_owned());
        }
        let body = &table[HEADER_BYTES..];
        let scales_bytes = count.saturating_mul(4);
        if body.len() != scales_bytes.saturating_add(count.saturating_mul(dim)) {
            return Err(format!("{} bytes are not {count} rows of {dim}", body.len()));
        }
        let (scales, rows) = body.split_at(scales_bytes);
        let scales: Vec<f32> = scales.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        if let Some(row) = scales.iter().position(|scale| !(0.0..=1.0).contains(scale)) {
            return Err(format!("the scale of row {row} is not between 0 and 1"));
        }
        Ok(Self { vocabulary, scales, rows, dim, tokens_max })
    }

    /// The vector of a text.
    fn embed(&self, text: &str, Scratch { recent, tokens }: &mut Scratch) -> Vec<f32> {
        self.vocabulary.tokenise(text, self.tokens_max, recent, tokens);
        let mut sum = vec![0.0; self.dim];
        self.add(&mut sum, tokens);
        normalise(&mut sum);
        sum
    }

    /// Adds the rows of the tokens, with wide instructions where the processor has them: the same operations in the
    /// same order, so that the sum is the same to the bit.
    fn add(&self, sum: &mut [f32], tokens: &[u32]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            #[expect(unsafe_code, reason = "the processor was asked for the instructions")]
            // SAFETY: AVX-512 is there.
            return unsafe { self.add_avx512(sum, tokens) };
        } else if std::arch::is_x86_feature_detected!("avx2") {
            #[expect(unsafe_code, reason = "the processor was asked for the instructions")]
            // SAFETY: AVX2 is there.
            return unsafe { self.add_avx2(sum, tokens) };
        }
        self.add_rows(sum, tokens);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn add_avx512(&self, sum: &mut [f32], tokens: &[u32]) {
        self.add_rows(sum, tokens);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn add_avx2(&self, sum: &mut [f32], tokens: &[u32]) {
        self.add_rows(sum, tokens);
    }

    #[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
    #[inline(always)]
    fn add_rows(&self, sum: &mut [f32], tokens: &[u32]) {
        let (fours, rest) = tokens.as_chunks();
        for (at, &four) in fours.iter().enumerate() {
            for token in fours.get(at + FOURS_AHEAD).into_iter().flatten() {
                self.prefetch(*token);
            }
            self.add_four(sum, four);
        }
        for &token in rest {
            let (scale, row) = self.row(token);
            for (x, &value) in sum.iter_mut().zip(row) {
                *x += scale * signed(value);
            }
        }
    }

    /// Adds four rows in one pass, which loads and stores the sum once instead of four times.
    #[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
    #[inline(always)]
    fn add_four(&self, sum: &mut [f32], [a, b, c, d]: [u32; 4]) {
        let ((sa, a), (sb, b), (sc, c), (sd, d)) = (self.row(a), self.row(b), self.row(c), self.row(d));
        for ((((x, &a), &b), &c), &d) in sum.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *x += (sa * signed(a) + sb * signed(b)) + (sc * signed(c) + sd * signed(d));
        }
    }

    /// Has a row fetched that is added soon: the table is larger than the nearer caches.
    #[inline]
    fn prefetch(&self, token: u32) {
        #[cfg(target_arch = "x86_64")]
        for line in self.row(token).1.chunks(CACHE_LINE_BYTES) {
            #[expect(unsafe_code, reason = "there is no other way to ask the processor")]
            // SAFETY: It only fetches, from memory that is there.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = token;
    }

    #[inline]
    fn row(&self, token: u32) -> (f32, &[u8]) {
        let row = token as usize;
        (self.scales[row], &self.rows[row * self.dim..][..self.dim])
    }
}

#[inline]
fn signed(byte: u8) -> f32 {
    f32::from(byte.cast_signed())
}

/// The number at a place in the header.
fn number(table: &[u8], at: usize) -> usize {
    let bytes = table[at..].first_chunk().expect("the header was checked to be whole");
    u32::from_le_bytes(*bytes) as usize
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde::Deserialize;

    use super::{BuiltIn, EMBEDDINGS, EmbedKind, Embedder, Model, Recent, VOCABULARY, built_in};

    const GOLDEN: &str = include_str!("../../assets/loom-static-256/golden.json");
    /// The reference is rounded to six places.
    const TOLERANCE: f32 = 2e-6;

    #[derive(Deserialize)]
    struct Golden {
        dim: usize,
        texts: Vec<GoldenText>,
        cosines: Vec<GoldenPair>,
    }

    #[derive(Deserialize)]
    struct GoldenText {
        text: String,
        ids: Vec<u32>,
        first8: Vec<f32>,
    }

    #[derive(Deserialize)]
    struct GoldenPair {
        a: usize,
        b: usize,
        cos: f32,
    }

    fn embed(texts: &[&str]) -> Vec<Vec<f32>> {
        BuiltIn
            .embed(texts, EmbedKind::Passage, Instant::now() + Duration::from_hours(1))
            .expect("the built-in model works")
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn the_reference_vectors_are_reproduced() {
        let golden: Golden = serde_json::from_str(GOLDEN).expect("the golden file parses");
        assert_eq!((golden.texts.len(), golden.cosines.len()), (20, 10));
        assert_eq!(BuiltIn.dim(Instant::now()), Ok(golden.dim));
        let texts: Vec<&str> = golden.texts.iter().map(|golden| golden.text.as_str()).collect();
        let vectors = embed(&texts);
        for (reference, vector) in golden.texts.iter().zip(&vectors) {
            let (mut recent, mut tokens) = (Recent::new(), Vec::new());
            let model = built_in().expect("the built-in model works");
            model.vocabulary.tokenise(&reference.text, 512, &mut recent, &mut tokens);
            assert_eq!(tokens, reference.ids, "{}", reference.text);
            assert_eq!(vector.len(), golden.dim);
            for (x, expected) in vector.iter().zip(&reference.first8) {
                assert!((x - expected).abs() <= TOLERANCE, "{}: {x} for {expected}", reference.text);
            }
        }
        for pair in &golden.cosines {
            let cos = cosine(&vectors[pair.a], &vectors[pair.b]);
            assert!((cos - pair.cos).abs() <= TOLERANCE, "{cos} for {}", pair.cos);
        }
    }

    #[test]
    fn every_processor_adds_the_same_to_the_bit() {
        let model = built_in().expect("the built-in model works");
        let tokens: Vec<u32> = (0..511).map(|at| at * 57).collect();
        for count in [0, 1, 4, 7, 511] {
            let (mut here, mut plain) = (vec![0.0; model.dim], vec![0.0; model.dim]);
            model.add(&mut here, &tokens[..count]);
            model.add_rows(&mut plain, &tokens[..count]);
            assert_eq!(
                here.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                plain.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn vectors_keep_the_order_of_many_inputs() {
        let texts: Vec<String> = (0..100).map(|n| format!("chapter {n} of the manual")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (text, vector) in texts.iter().zip(embed(&texts)) {
            assert_eq!(embed(&[text]), [vector], "{text}");
        }
        assert_eq!(embed(&[]), [[0.0; 0]; 0]);
    }

    #[test]
    fn a_vector_has_length_one_unless_nothing_is_known() {
        for vector in embed(&["restore a backup", &"word ".repeat(10_000)]) {
            assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5);
        }
        for vector in embed(&["", " \n\0", &"x".repeat(300_000), "\u{10ffff}"]) {
            assert_eq!(vector, [0.0; 256]);
        }
    }

    #[test]
    fn text_past_the_first_tokens_changes_nothing() {
        let head = "gateway ".repeat(512);
        assert_eq!(embed(&[&head]), embed(&[&format!("{head} certificate rotation")]));
    }

    #[test]
    fn a_damaged_table_is_refused() {
        let parse = |table: &[u8], vocabulary: &str| Model::parse(table, vocabulary).map(|model| model.dim);
        assert_eq!(parse(EMBEDDINGS, VOCABULARY), Ok(256));
        assert!(parse(&EMBEDDINGS[..EMBEDDINGS.len() - 1], VOCABULARY).is_err());
        assert!(parse(EMBEDDINGS, "one\ntwo").is_err());
        for len in 0..16 {
            assert!(parse(&EMBEDDINGS[..len], VOCABULARY).is_err());
        }
        let table = |rows: u32, dim: u32, tokens_max: u32, scale: f32| {
            let mut table = b"SEM1".to_vec();
            table.extend([rows, dim, tokens_max].iter().flat_map(|number| number.to_le_bytes()));
            table.extend(scale.to_le_bytes());
            table.extend([1, 255]);
            table
        };
        assert_eq!(parse(&table(1, 2, 9, 0.5), "one"), Ok(2));
        for damaged in [
            table(1, 2, 9, f32::NAN),
            table(1, 2, 9, -0.5),
            table(1, 2, 0, 0.5),
            table(1, 0, 9, 0.5),
            table(1, u32::MAX, 9, 0.5),
            table(u32::MAX, u32::MAX, 9, 0.5),
        ] {
            assert!(parse(&damaged, "one").is_err());
        }
    }
}
