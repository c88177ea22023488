//! What an operator can set about embedding, and the defaults.

use std::fmt;

use ureq::http::HeaderValue;

/// Where vectors come from. What is about an endpoint is ignored for the other models.
#[derive(Debug, Clone)]
pub struct EmbedSettings {
    /// `LOOM_EMBEDDING_MODEL`: empty or `loom-static-256` for the model in the binary, `local:<folder>` for a transformer in
    /// a folder, `openai:<model>` for an endpoint.
    pub model: String,
    /// `LOOM_EMBEDDING_BASE_URL`: what comes before `/embeddings`; a trailing slash is allowed, a user name, a
    /// query or a fragment is not. Default [`EmbedSettings::BASE_URL`].
    pub base_url: String,
    /// `LOOM_EMBEDDING_API_KEY`: sent as a bearer token, and to the base URL's host alone. Empty sends none.
    pub api_key: ApiKey,
    /// Milliseconds for one request, from resolving the name to the last byte. At least 1.
    pub timeout_ms: u64,
    /// Texts in one request. At least 1.
    pub batch_max: usize,
    /// Bytes of text in one request; a longer text travels alone.
    pub batch_bytes_max: usize,
    /// How often one request is sent while the endpoint is unreachable, too slow or failing. At least 1.
    pub attempts_max: u32,
    /// Milliseconds before the second attempt, doubled before each later one, unless the endpoint names a time.
    pub backoff_ms: u64,
    /// The longest wait between two attempts in milliseconds. An endpoint that asks for more is not tried again.
    pub wait_max_ms: u64,
    /// The most dimensions a vector may have; this bounds how much of an answer is read.
    pub dim_max: usize,
    /// The bounds of models that are read from folders.
    pub local: LocalLimits,
}

/// The bounds of a model that is read from a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalLimits {
    /// The largest file of weights in bytes, about what the model takes of memory: `LOOM_LOCAL_MODEL_MAX_BYTES`, default
    /// 2 GiB.
    pub weights_bytes_max: u64,
    /// The most tokens of one text, of which the rest is not read; a model that takes fewer has its own bound:
    /// `LOOM_LOCAL_MODEL_MAX_TOKENS`, default 512, at least 8. Part of the model's name, since vectors depend on it.
    pub tokens_max: usize,
    /// The threads that compute: `LOOM_LOCAL_MODEL_THREADS`, default 0 for one a core.
    pub threads: usize,
}

impl Default for LocalLimits {
    fn default() -> Self {
        Self { weights_bytes_max: 2 << 30, tokens_max: 512, threads: 0 }
    }
}

impl EmbedSettings {
    /// Base URL where none is set.
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";
    /// Default of `timeout_ms`.
    pub const TIMEOUT_MS: u64 = 30_000;
    /// Default of `batch_max`.
    pub const BATCH_MAX: usize = 64;
    /// Default of `batch_bytes_max`.
    pub const BATCH_BYTES_MAX: usize = 256 * 1024;
    /// Default of `attempts_max`.
    pub const ATTEMPTS_MAX: u32 = 4;
    /// Default of `backoff_ms`.
    pub const BACKOFF_MS: u64 = 250;
    /// Default of `wait_max_ms`.
    pub const WAIT_MAX_MS: u64 = 8_000;
    /// Default of `dim_max`.
    pub const DIM_MAX: usize = 8_192;
}

impl Default for EmbedSettings {
    fn default() -> Self {
        Self {
            model: String::new(),
            base_url: Self::BASE_URL.to_owned(),
            api_key: ApiKey::default(),
            timeout_ms: Self::TIMEOUT_MS,
            batch_max: Self::BATCH_MAX,
            batch_bytes_max: Self::BATCH_BYTES_MAX,
            attempts_max: Self::ATTEMPTS_MAX,
            backoff_ms: Self::BACKOFF_MS,
            wait_max_ms: Self::WAIT_MAX_MS,
            dim_max: Self::DIM_MAX,
            local: LocalLimits::default(),
        }
    }
}

/// A secret that no debug output shows.
#[derive(Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(from = "String")]
pub struct ApiKey(String);

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self::new(&key)
    }
}

impl ApiKey {
    /// Takes the key without the white space around it, which a file or a shell may have left there.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What sends it as a bearer token; `None` when it holds a character that no HTTP header can carry.
    pub(crate) fn bearer(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { "(hidden)" })
    }
}
