//! A sentence model: a vector for a text.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use crate::bert::Bert;
use crate::calibration;
use crate::card::{Card, Pooling};
use crate::error::Error;
use crate::folder::{Folder, Limits};
use crate::kernel::Kernel;
use crate::prompts::Prompts;
use crate::schedule::Schedule;
use crate::shape::Shape;
use crate::tokens::{Encoded, Tokens};
use crate::weights::Weights;

/// Which side of a search a text is on; some models put a prefix before one or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What someone looks for.
    Query,
    /// What is to be found.
    Passage,
}

/// An embedder read from a folder. Safe to share between threads.
pub struct SentenceEncoder {
    network: Bert,
    tokens: Tokens,
    pooling: Pooling,
    prompts: Prompts,
    schedule: Schedule,
    name: String,
    fingerprint: String,
    noise_floor: OnceLock<f32>,
}

impl SentenceEncoder {
    /// Reads and checks the folder, all of it: what cannot work fails here.
    pub fn open(folder: &Path, limits: &Limits) -> Result<Self, Error> {
        let mut folder = Folder::new(folder);
        let shape = Shape::read(&mut folder)?;
        let card = Card::read(&mut folder)?;
        let tokens_max = card.tokens_max.map_or(limits.tokens_max, |own| own.min(limits.tokens_max));
        let tokens = Tokens::read(&mut folder, &shape, tokens_max)?;
        folder.note("tokens", &(tokens.tokens_max() as u64).to_le_bytes());
        let mut weights = Weights::read(&mut folder, limits)?;
        if weights.has("classifier.weight") {
            let what = "it is a classifier, such as a cross-encoder, and gives no vectors of sentences";
            return Err(Error::Unsupported { file: weights.file(), what: what.to_owned() });
        }
        let network = Bert::new(Kernel::detect(), shape, &mut weights)?;
        Ok(Self {
            network,
            tokens,
            pooling: card.pooling,
            prompts: card.prompts,
            schedule: Schedule::new(limits.threads),
            name: folder.name(),
            fingerprint: folder.fingerprint(),
            noise_floor: OnceLock::new(),
        })
    }

    /// The folder's name, in which everything but letters and digits of ASCII, `.`, `_` and `-` became `-`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Twelve hexadecimal digits that are others when anything is that decides about the vectors: the weights, the
    /// tokenizer, the pooling, the prefixes, the longest text, or how this crate computes.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.network.hidden()
    }

    /// The most tokens of a text; the rest of a longer one is not read.
    pub fn tokens_max(&self) -> usize {
        self.tokens.tokens_max()
    }

    /// What is put before texts of a side.
    pub fn prefix(&self, side: Side) -> &str {
        match side {
            Side::Query => &self.prompts.query,
            Side::Passage => &self.prompts.passage,
        }
    }

    /// One vector of length 1 for each text, in their order; the zero vector for a blank text. A text's vector depends on
    /// nothing but the text.
    ///
    /// Fails as a whole: with [`Error::Late`] when `until` came first and with [`Error::Closed`] after
    /// [`close`](Self::close). The clock is looked at between tasks of [`TASK_TOKENS`](crate::TASK_TOKENS).
    pub fn encode(&self, texts: &[&str], side: Side, until: Instant) -> Result<Vec<Vec<f32>>, Error> {
        let given: Vec<(usize, &str)> =
            texts.iter().copied().enumerate().filter(|(_, text)| !text.trim().is_empty()).collect();
        let prefix = self.prefix(side);
        let tokens = |&(_, text): &(usize, &str)| {
            if prefix.is_empty() { self.tokens.text(text) } else { self.tokens.text(&format!("{prefix}{text}")) }
        };
        let made = self.schedule.run(&given, until, tokens, |texts| self.vectors(texts))?;
        let mut vectors = vec![vec![0.0; self.dim()]; texts.len()];
        for ((at, _), vector) in given.into_iter().zip(made) {
            vectors[at] = vector;
        }
        Ok(vectors)
    }

    /// The cosine that only one in a hundred pairs of a query and a passage about something else exceeds, measured once
    /// with texts of this crate.
    pub fn noise_floor(&self, until: Instant) -> Result<f32, Error> {
        if let Some(&floor) = self.noise_floor.get() {
            return Ok(floor);
        }
        let measured = calibration::noise_floor(self, until)?;
        Ok(*self.noise_floor.get_or_init(|| measured))
    }

    /// Ends the calls under way with [`Error::Closed`], and every later one.
    pub fn close(&self) {
        self.schedule.close();
    }

    fn vectors(&self, texts: &[&Encoded]) -> Result<Vec<Vec<f32>>, Error> {
        let states = self.network.forward(texts);
        let mut first = 0;
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            let rows = &states[first * self.dim()..][..text.len() * self.dim()];
            first += text.len();
            vectors.push(pooled(rows, self.dim(), self.pooling)?);
        }
        Ok(vectors)
    }
}

/// The vector of a text, of length 1, from those of its tokens.
fn pooled(rows: &[f32], dim: usize, pooling: Pooling) -> Result<Vec<f32>, Error> {
    let mut vector = rows[..dim].to_vec();
    if pooling == Pooling::Mean {
        for row in rows.chunks_exact(dim).skip(1) {
            for (sum, x) in vector.iter_mut().zip(row) {
                *sum += x;
            }
        }
    }
    let squares: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    if !squares.is_finite() {
        return Err(Error::NotFinite);
    }
    if squares > 0.0 {
        let scale = squares.sqrt().recip();
        for x in &mut vector {
            #[expect(clippy::cast_possible_truncation, reason = "at most 1 after scaling")]
            let scaled = (f64::from(*x) * scale) as f32;
            *x = scaled;
        }
    }
    Ok(vector)
}
