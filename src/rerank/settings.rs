//! What an operator can set about reranking, and the defaults.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::embed::ApiKey;
use crate::error::{Code, Error};

/// How hits are reranked.
#[derive(Clone, Debug)]
pub struct RerankSettings {
    /// The reranker of searches that name none: `LOOM_KNOWLEDGE_SEARCH_RERANK_DEFAULT`, default none.
    pub default: String,
    /// How many hits it orders: `LOOM_KNOWLEDGE_SEARCH_RERANK_TOP`, default 30.
    pub top: usize,
    /// How many characters of each it reads: `LOOM_KNOWLEDGE_SEARCH_RERANK_EXCERPT_CHARS`, default 800.
    pub excerpt_chars: usize,
    /// How long it may take, in seconds: `LOOM_KNOWLEDGE_SEARCH_RERANK_TIMEOUT_S`, default 8.
    pub timeout_s: u64,
    /// Whether reads go without language models: `LOOM_READS_LLM_FREE`, default off.
    pub llm_free: bool,
    /// The folder of the cross-encoder of `builtin:local`: `LOOM_RERANK_LOCAL_MODEL`.
    pub local_model: String,
    /// Named endpoints: `LOOM_RERANK_ENDPOINTS_JSON`, an object of `{"url", "shape", "model", "api_key"}`.
    pub endpoints: BTreeMap<String, EndpointSettings>,
    /// What comes before `/chat/completions` for `builtin:openai`: `LOOM_OPENAI_BASE_URL`.
    pub openai_base_url: String,
    /// `LOOM_OPENAI_API_KEY`.
    pub openai_key: ApiKey,
    /// What comes before `/v2/rerank` for `builtin:cohere`: `LOOM_COHERE_BASE_URL`.
    pub cohere_base_url: String,
    /// `LOOM_COHERE_API_KEY`.
    pub cohere_key: ApiKey,
}

/// An endpoint that reranks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointSettings {
    /// The whole address that requests go to.
    pub url: String,
    /// What requests and answers look like.
    pub shape: Shape,
    /// The model to name, where the shape has one.
    #[serde(default)]
    pub model: String,
    /// The bearer token; empty for none.
    #[serde(default)]
    pub api_key: ApiKey,
}

/// What the requests and answers of a reranker look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// `{model, query, documents, top_n}`, answered by `{results: [{index, relevance_score}]}`: Cohere.
    Cohere,
    /// The same: Jina and what follows it.
    Jina,
    /// `{query, texts}`, answered by `[{index, score}]`: text-embeddings-inference.
    Tei,
}

impl Default for RerankSettings {
    fn default() -> Self {
        Self {
            default: String::new(),
            top: 30,
            excerpt_chars: 800,
            timeout_s: 8,
            llm_free: false,
            local_model: String::new(),
            endpoints: BTreeMap::new(),
            openai_base_url: "https://api.openai.com/v1".into(),
            openai_key: ApiKey::default(),
            cohere_base_url: "https://api.cohere.com".into(),
            cohere_key: ApiKey::default(),
        }
    }
}

impl RerankSettings {
    /// Takes what the environment says beside numbers; a setting that does not parse is an error that names it.
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let text = |name: &str, value: &mut String| {
            if let Some(given) = given(name) {
                *value = given;
            }
        };
        text("LOOM_KNOWLEDGE_SEARCH_RERANK_DEFAULT", &mut self.default);
        text("LOOM_RERANK_LOCAL_MODEL", &mut self.local_model);
        text("LOOM_OPENAI_BASE_URL", &mut self.openai_base_url);
        text("LOOM_COHERE_BASE_URL", &mut self.cohere_base_url);
        for (name, key) in
            [("LOOM_OPENAI_API_KEY", &mut self.openai_key), ("LOOM_COHERE_API_KEY", &mut self.cohere_key)]
        {
            if let Some(given) = given(name) {
                *key = ApiKey::new(&given);
            }
        }
        if let Some(given) = given("LOOM_READS_LLM_FREE") {
            self.llm_free = match given.to_ascii_lowercase().as_str() {
                "on" | "true" | "1" => true,
                "off" | "false" | "0" => false,
                _ => return Err(refused("LOOM_READS_LLM_FREE", "on or off")),
            };
        }
        if let Some(given) = given("LOOM_RERANK_ENDPOINTS_JSON") {
            // What serde says may repeat a key that is in the value.
            self.endpoints = serde_json::from_str(&given).map_err(|_| {
                let wanted =
                    "an object of endpoints by name, each with url, shape (cohere, jina or tei), model and api_key";
                refused("LOOM_RERANK_ENDPOINTS_JSON", wanted)
            })?;
        }
        Ok(())
    }
}

fn refused(name: &str, wanted: &str) -> Error {
    let message = format!("the setting {name} must be {wanted}");
    Error { field: Some(name.into()), ..Error::new(Code::ValidationFailed, message) }
}
