//! A cross-encoder in a folder of this machine, run on its CPU.

use std::path::Path;
use std::time::Instant;

use loom_transformer::CrossEncoder;

use super::{RerankError, Reranker};
use crate::embed::LocalLimits;
use crate::error::Error;

/// The name that searches ask for it by.
pub const NAME: &str = "builtin:local";

/// A model that was read from a folder.
pub struct Local(CrossEncoder);

impl Local {
    /// Reads and checks the folder.
    pub fn open(folder: &Path, limits: &LocalLimits) -> Result<Self, Error> {
        let encoder = CrossEncoder::open(folder, &limits.into()).map_err(|error| {
            let folder = folder.display();
            Error::invalid("LOOM_RERANK_LOCAL_MODEL", format!("the reranker in {folder} cannot be used: {error}"))
        })?;
        tracing::info!(model = encoder.name(), fingerprint = encoder.fingerprint(), "the reranker was read");
        Ok(Self(encoder))
    }
}

impl Reranker for Local {
    fn name(&self) -> &str {
        NAME
    }

    fn score(&self, query: &str, passages: &[String], until: Instant) -> Result<Vec<f64>, RerankError> {
        let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
        let scores = self.0.score(query, &passages, until).map_err(|error| RerankError(error.to_string()))?;
        Ok(scores.into_iter().map(f64::from).collect())
    }
}
