//! A cross-encoder: how well a passage answers a query.

use std::path::Path;
use std::time::Instant;

use crate::bert::{self, Bert};
use crate::error::Error;
use crate::folder::{Folder, Limits};
use crate::kernel::Kernel;
use crate::linear::{Linear, Over};
use crate::schedule::Schedule;
use crate::shape::Shape;
use crate::tokens::{Encoded, Tokens};
use crate::weights::Weights;

/// A model that reads a query and a passage together, and gives them one number. Safe to share between threads.
pub struct CrossEncoder {
    network: Bert,
    pooler: Linear,
    classifier: Linear,
    tokens: Tokens,
    schedule: Schedule,
    name: String,
    fingerprint: String,
}

impl CrossEncoder {
    /// Reads and checks the folder, all of it: what cannot work fails here.
    pub fn open(folder: &Path, limits: &Limits) -> Result<Self, Error> {
        let mut folder = Folder::new(folder);
        let shape = Shape::read(&mut folder)?;
        let tokens = Tokens::read(&mut folder, &shape, limits.tokens_max)?;
        folder.note("tokens", &(tokens.tokens_max() as u64).to_le_bytes());
        let mut weights = Weights::read(&mut folder, limits)?;
        if !weights.has("classifier.weight") {
            let what = "it has no tensor classifier.weight: it is no cross-encoder, but perhaps an embedder";
            return Err(Error::Unsupported { file: weights.file(), what: what.to_owned() });
        }
        let (kernel, hidden) = (Kernel::detect(), shape.hidden);
        let pooler = bert::linear(kernel, &mut weights, "pooler.dense", hidden, hidden)?;
        let classifier = bert::linear(kernel, &mut weights, "classifier", 1, hidden)?;
        Ok(Self {
            network: Bert::new(kernel, shape, &mut weights)?,
            pooler,
            classifier,
            tokens,
            schedule: Schedule::new(limits.threads),
            name: folder.name(),
            fingerprint: folder.fingerprint(),
        })
    }

    /// As [`SentenceEncoder::name`](crate::SentenceEncoder::name).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As [`SentenceEncoder::fingerprint`](crate::SentenceEncoder::fingerprint).
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The most tokens of a query and a passage together; the longer of the two is cut first.
    pub fn tokens_max(&self) -> usize {
        self.tokens.tokens_max()
    }

    /// One score for each passage, in their order: the model's logit, of any size and sign; more is better. Its logistic
    /// function is between 0 and 1.
    ///
    /// Fails as a whole, as [`SentenceEncoder::encode`](crate::SentenceEncoder::encode) does.
    pub fn score(&self, query: &str, passages: &[&str], until: Instant) -> Result<Vec<f32>, Error> {
        let tokens = |passage: &&str| self.tokens.pair(query, passage);
        self.schedule.run(passages, until, tokens, |texts| self.logits(texts))
    }

    /// Ends the calls under way with [`Error::Closed`], and every later one.
    pub fn close(&self) {
        self.schedule.close();
    }

    fn logits(&self, texts: &[&Encoded]) -> Result<Vec<f32>, Error> {
        let states = self.network.forward(texts);
        let hidden = self.network.hidden();
        let mut firsts = Vec::with_capacity(texts.len() * hidden);
        let mut token = 0;
        for text in texts {
            firsts.extend(&states[token * hidden..][..hidden]);
            token += text.len();
        }
        let mut room = Vec::new();
        let mut pooled = vec![0.0; firsts.len()];
        self.pooler.apply(&firsts, texts.len(), Over::Replace, &mut pooled, &mut room);
        for x in &mut pooled {
            *x = x.tanh();
        }
        let mut logits = vec![0.0; texts.len()];
        self.classifier.apply(&pooled, texts.len(), Over::Replace, &mut logits, &mut room);
        if logits.iter().all(|logit| logit.is_finite()) { Ok(logits) } else { Err(Error::NotFinite) }
    }
}
