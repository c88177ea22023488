//! Ordering the best hits once more, by a model that reads query and passage together.

mod answer;
#[cfg(feature = "transformer")]
mod local;
mod provider;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use ureq::Agent;

use crate::embed::LocalLimits;
use crate::error::Error;
use provider::Provider;

pub use settings::{EndpointSettings, RerankSettings, Shape};

/// No reranker, said by name.
pub const NONE: &str = "none";
/// What comes before the name of a reranker that is always there.
const BUILT_IN: &str = "builtin:";

/// Why passages were not scored. No message holds a key, an address or what a provider wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RerankError(String);

/// Scores passages for a query.
pub trait Reranker: Send + Sync {
    /// Its name, as a search asks for it and is told.
    fn name(&self) -> &str;

    /// A finite score for each passage, in their order: the higher, the better. It blocks until `until` at most.
    fn score(&self, query: &str, passages: &[String], until: Instant) -> Result<Vec<f64>, RerankError>;
}

/// The rerankers of a deployment.
pub struct Rerankers {
    settings: RerankSettings,
    agent: Agent,
    /// The model of `builtin:local`.
    local: Option<Arc<dyn Reranker>>,
}

impl Rerankers {
    /// The rerankers that the settings name; an endpoint that cannot be one is refused, and so is a folder.
    pub fn new(settings: &RerankSettings, limits: &LocalLimits) -> Result<Self, Error> {
        let agent = provider::agent();
        for (name, endpoint) in &settings.endpoints {
            Provider::of_endpoint(&agent, name, endpoint)?;
        }
        let local = if settings.local_model.is_empty() { None } else { Some(local(&settings.local_model, limits)?) };
        let rerankers = Self { settings: settings.clone(), agent, local };
        if !settings.default.is_empty() {
            rerankers
                .named(&settings.default)
                .map_err(|error| Error { field: Some("LOOM_KNOWLEDGE_SEARCH_RERANK_DEFAULT".into()), ..error })?;
        }
        Ok(rerankers)
    }

    /// How reranking is bounded.
    pub fn settings(&self) -> &RerankSettings {
        &self.settings
    }

    /// The reranker that a search asks for: by name, the deployment's default when it names none, or none.
    pub fn asked(&self, name: &str) -> Result<Option<Arc<dyn Reranker>>, Error> {
        match name {
            NONE => Ok(None),
            "" if self.settings.default.is_empty() || self.settings.llm_free => Ok(None),
            "" => self.named(&self.settings.default),
            name => self.named(name),
        }
    }

    fn named(&self, name: &str) -> Result<Option<Arc<dyn Reranker>>, Error> {
        if name == NONE {
            return Ok(None);
        }
        if let Some(endpoint) = self.settings.endpoints.get(name) {
            return Ok(Some(Arc::new(Provider::of_endpoint(&self.agent, name, endpoint)?)));
        }
        let built_in = name.strip_prefix(BUILT_IN).map(|rest| rest.split_once(':').unwrap_or((rest, "")));
        match built_in {
            Some(("openai", _)) if self.settings.llm_free => {
                let message = "this deployment reads without language models (LOOM_READS_LLM_FREE): leave rerank empty, \
                               say none, or name another reranker";
                Err(Error::invalid("rerank", message))
            }
            Some(("openai", model)) => Ok(Some(Arc::new(Provider::openai(&self.agent, name, model, &self.settings)?))),
            Some(("local", "")) => {
                let needed =
                    "builtin:local needs a model: set LOOM_RERANK_LOCAL_MODEL to the folder of a cross-encoder";
                self.local.clone().map(Some).ok_or_else(|| Error::invalid("rerank", needed))
            }
            Some(("cohere", model)) => Ok(Some(Arc::new(Provider::cohere(&self.agent, name, model, &self.settings)?))),
            _ => Err(Error::invalid("rerank", self.unknown(name))),
        }
    }

    fn unknown(&self, name: &str) -> String {
        if name.contains("://") {
            return "rerank is the name of a reranker, never an address: name the address in LOOM_RERANK_ENDPOINTS_JSON"
                .to_owned();
        }
        let mut known = vec!["builtin:local", "builtin:openai", "builtin:cohere"];
        known.extend(self.settings.endpoints.keys().map(String::as_str));
        format!("there is no reranker {name:?}: leave rerank empty, say none, or one of {}", known.join(", "))
    }
}

#[cfg(feature = "transformer")]
fn local(folder: &str, limits: &LocalLimits) -> Result<Arc<dyn Reranker>, Error> {
    Ok(Arc::new(local::Local::open(std::path::Path::new(folder), limits)?))
}

#[cfg(not(feature = "transformer"))]
fn local(_: &str, _: &LocalLimits) -> Result<Arc<dyn Reranker>, Error> {
    Err(Error::invalid(
        "LOOM_RERANK_LOCAL_MODEL",
        "this build has no transformers: build it with the feature transformer",
    ))
}

/// What a reranker reads of a hit: its context, at most half of `chars_max` characters, and its text.
pub fn excerpt(context: &str, text: &str, chars_max: usize) -> String {
    let context: String = context.trim().chars().take(chars_max / 2).collect();
    if context.is_empty() {
        return text.chars().take(chars_max).collect();
    }
    let left = chars_max.saturating_sub(context.chars().count() + 1);
    format!("{context}\n{}", text.chars().take(left).collect::<String>())
}
