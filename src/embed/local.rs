//! A transformer in a folder of this machine, run on its CPU.

use std::path::Path;
use std::time::{Duration, Instant};

use loom_transformer::{Error, Limits, SentenceEncoder, Side};

use super::{Card, EmbedError, EmbedKind, Embedder, LOCAL_PREFIX, LocalLimits};

/// How long the measuring of a noise floor may take: a few short texts.
const NOISE_FLOOR_WAIT: Duration = Duration::from_secs(20);

/// A model that was read from a folder.
pub(super) struct Local {
    encoder: SentenceEncoder,
    /// As stored with the vectors: the folder's name and what it held, so that other weights are another model.
    model: String,
}

impl Local {
    /// Reads and checks the folder.
    pub(super) fn open(folder: &Path, limits: &LocalLimits) -> Result<Self, EmbedError> {
        let started = Instant::now();
        let encoder = SentenceEncoder::open(folder, &limits.into()).map_err(|error| EmbedError::Config {
            message: format!("the embedding model {LOCAL_PREFIX}{} cannot be used: {error}", folder.display()),
        })?;
        let model = format!("{LOCAL_PREFIX}{}@{}", encoder.name(), encoder.fingerprint());
        tracing::info!(model, dim = encoder.dim(), ms = started.elapsed().as_millis(), "the embedding model was read");
        Ok(Self { encoder, model })
    }
}

impl Embedder for Local {
    fn model(&self) -> &str {
        &self.model
    }

    fn dim(&self, _until: Instant) -> Result<usize, EmbedError> {
        Ok(self.encoder.dim())
    }

    fn embed(&self, inputs: &[&str], kind: EmbedKind, until: Instant) -> Result<Vec<Vec<f32>>, EmbedError> {
        let side = match kind {
            EmbedKind::Query => Side::Query,
            EmbedKind::Passage => Side::Passage,
        };
        Ok(self.encoder.encode(inputs, side, until)?)
    }

    fn close(&self) {
        self.encoder.close();
    }

    fn card(&self) -> Card {
        let noise_floor = self.encoder.noise_floor(Instant::now() + NOISE_FLOOR_WAIT).unwrap_or_else(|error| {
            tracing::warn!(%error, model = self.model, "the noise floor could not be measured; 0 is taken");
            0.0
        });
        Card { noise_floor, ..Card::UNKNOWN }
    }
}

impl From<&LocalLimits> for Limits {
    fn from(limits: &LocalLimits) -> Self {
        let LocalLimits { weights_bytes_max, tokens_max, threads } = *limits;
        Self { weights_bytes_max, tokens_max, threads }
    }
}

impl From<Error> for EmbedError {
    fn from(error: Error) -> Self {
        match error {
            Error::Late => Self::Late,
            Error::Closed => Self::Closed,
            Error::Read { .. }
            | Error::TooLarge { .. }
            | Error::Invalid { .. }
            | Error::Unsupported { .. }
            | Error::Tokenizer { .. }
            | Error::NotFinite
            | Error::Threads { .. } => Self::Invalid { message: error.to_string() },
        }
    }
}
