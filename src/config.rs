//! The settings of an engine: defaults, and what the environment says instead.

use crate::access::AccessSettings;
use crate::chunk::ChunkSettings;
use crate::clock::Clock;
use crate::datasets::DatasetSettings;
use crate::disk::FreeSpace;
use crate::embed::{ApiKey, EmbedSettings};
use crate::erasure::RetentionSettings;
use crate::error::{Code, Error};
use crate::extraction::ExtractionSettings;
use crate::id::Ids;
use crate::jobs::IngestSettings;
use crate::mcp::McpSettings;
use crate::rerank::RerankSettings;
use crate::search::SearchSettings;
use crate::sweep::SweepSettings;

/// The settings of an engine. `Config::default()` needs no environment and no network.
#[derive(Clone, Debug)]
pub struct Config {
    /// The tenant of a call that names none: `LOOM_ORG`, default `dev`.
    pub org: String,
    /// The namespace of a call that names none: `LOOM_NAMESPACE`, default `local`.
    pub namespace: String,
    /// The agent of a call that names none: `LOOM_AGENT`, default empty.
    pub agent: String,
    /// How callers are told apart, and what each may use.
    pub access: AccessSettings,
    /// How documents are cut: `LOOM_KNOWLEDGE_CHUNK_SIZE` and `LOOM_KNOWLEDGE_CHUNK_STRIDE`, in characters.
    pub chunks: ChunkSettings,
    /// The embedding model and where it is: `LOOM_EMBEDDING_MODEL`, `LOOM_EMBEDDING_BASE_URL`, `LOOM_EMBEDDING_API_KEY`;
    /// the bounds of local models.
    pub embedding: EmbedSettings,
    /// The bounds of one document.
    pub documents: DocumentLimits,
    /// How files are ingested.
    pub ingest: IngestSettings,
    /// What datasets and the calculations over them may use.
    pub datasets: DatasetSettings,
    /// When originals that nothing needs are removed.
    pub sweep: SweepSettings,
    /// How long what was written is kept.
    pub retention: RetentionSettings,
    /// How searches rank and how far they reach.
    pub search: SearchSettings,
    /// What agents are shown.
    pub mcp: McpSettings,
    /// How hits are reranked.
    pub rerank: RerankSettings,
    /// How files are read.
    pub extraction: ExtractionSettings,
    /// What the indexes of all namespaces may take together, and how long they are waited for.
    pub index: IndexLimits,
    /// How long one call may take.
    pub deadlines: Deadlines,
    /// The bounds of the HTTP server.
    pub http: HttpLimits,
    /// Below this many free bytes on the data folder's disk nothing is stored: `LOOM_DISK_FREE_MIN_BYTES`, default
    /// 256 MiB; 0 turns it off.
    pub disk_free_min_bytes: u64,
    /// Where the number of free bytes comes from.
    pub free_space: FreeSpace,
    /// Where the time comes from.
    pub clock: Clock,
    /// Where fresh ids come from.
    pub ids: Ids,
}

/// The bounds of one document.
#[derive(Clone, Debug)]
pub struct DocumentLimits {
    /// The longest text in bytes: `LOOM_KNOWLEDGE_MAX_CONTENT_BYTES`, default 16 MiB.
    pub content_bytes: usize,
    /// The most chunks of one document: `LOOM_KNOWLEDGE_MAX_CHUNKS`, default 50,000.
    pub chunks: usize,
    /// The largest original in bytes: `LOOM_KNOWLEDGE_UPLOAD_MAX_BYTES`, default 64 MiB.
    pub original_bytes: usize,
    /// The most bytes of originals and artifacts that a namespace keeps, each content once:
    /// `LOOM_DOCUMENT_BLOB_QUOTA_BYTES`, default 0, without a bound.
    pub blob_quota_bytes: u64,
}

/// What the indexes of all namespaces may take together. They are opened when a namespace is used, and the least recently
/// used are closed; one in use stays.
#[derive(Clone, Debug)]
pub struct IndexLimits {
    /// How many namespaces have theirs open: `LOOM_INDEX_OPEN_MAX`, default 64.
    pub open_max: usize,
    /// About how many bytes of memory the open ones hold: `LOOM_INDEX_MEMORY_MAX_BYTES`, default 1 GiB.
    pub memory_bytes: u64,
    /// How long one stays open without use, in milliseconds: `LOOM_INDEX_IDLE_MS`, default five minutes.
    pub idle_ms: u64,
    /// How many are opened or built at once, large namespaces at most half of them: `LOOM_INDEX_BUILDS_MAX`, default 4.
    pub builds_max: usize,
    /// How long a call waits for one that is being opened or built, in milliseconds: `LOOM_INDEX_WAIT_MS`, default ten
    /// minutes. Over HTTP `LOOM_HTTP_INDEX_WAIT_MS` counts.
    pub wait_ms: u64,
}

impl Default for IndexLimits {
    fn default() -> Self {
        Self { open_max: 64, memory_bytes: 1 << 30, idle_ms: 300_000, builds_max: 4, wait_ms: 600_000 }
    }
}

/// How long a call may take, waiting for a worker and for an index not counted. A commit that was begun is finished.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// A call that only reads, in milliseconds: `LOOM_READ_DEADLINE_MS`, default 30 seconds.
    pub read_ms: u64,
    /// A call that writes, in milliseconds: `LOOM_WRITE_DEADLINE_MS`, default ten minutes.
    pub write_ms: u64,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { read_ms: 30_000, write_ms: 600_000 }
    }
}

/// The bounds of the HTTP server.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// The largest JSON body in bytes: `LOOM_HTTP_MAX_BODY_BYTES`, default 96 MiB.
    pub max_body_bytes: usize,
    /// Operations that run at once: `LOOM_HTTP_WORKERS`, default twice the cores, at least 8.
    pub workers: usize,
    /// How many of them may be of one namespace: `LOOM_HTTP_NAMESPACE_WORKERS`, default three quarters of the workers.
    pub namespace_workers: Option<usize>,
    /// Operations that wait for a worker: `LOOM_HTTP_QUEUE`, default 256.
    pub queue: usize,
    /// How many of them may be of one namespace: `LOOM_HTTP_NAMESPACE_QUEUE`, default half of the queue.
    pub namespace_queue: Option<usize>,
    /// How long one waits before it is refused, in milliseconds: `LOOM_HTTP_QUEUE_WAIT_MS`, default 2000.
    pub queue_wait_ms: u64,
    /// How long an operation waits for an index that is being opened or built, in milliseconds:
    /// `LOOM_HTTP_INDEX_WAIT_MS`, default 5000.
    pub index_wait_ms: u64,
    /// How long requests that were begun may take to end when the server stops, in milliseconds: `LOOM_HTTP_DRAIN_MS`,
    /// default ten seconds.
    pub drain_ms: u64,
    /// Files that are sent at once: `LOOM_HTTP_UPLOADS`, default 8. The next ones wait as calls do.
    pub uploads: usize,
    /// How many connections may be open: `LOOM_HTTP_CONNECTIONS`, default 512. The next ones wait in the system's backlog.
    pub connections: usize,
    /// Host names beside the loopback's that requests may name: `LOOM_ALLOWED_HOSTS`, separated by commas.
    pub allowed_hosts: Vec<String>,
    /// Origins beside the server's own that browsers may come from: `LOOM_ALLOWED_ORIGINS`, separated by commas.
    pub allowed_origins: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            org: "dev".into(),
            namespace: "local".into(),
            agent: String::new(),
            access: AccessSettings::default(),
            chunks: ChunkSettings::default(),
            embedding: EmbedSettings::default(),
            documents: DocumentLimits {
                content_bytes: 16 << 20,
                chunks: 50_000,
                original_bytes: 64 << 20,
                blob_quota_bytes: 0,
            },
            ingest: IngestSettings::default(),
            datasets: DatasetSettings::default(),
            sweep: SweepSettings::default(),
            retention: RetentionSettings::default(),
            search: SearchSettings::default(),
            mcp: McpSettings::default(),
            rerank: RerankSettings::default(),
            extraction: ExtractionSettings::default(),
            index: IndexLimits::default(),
            deadlines: Deadlines::default(),
            http: HttpLimits::default(),
            disk_free_min_bytes: 256 << 20,
            free_space: FreeSpace::system(),
            clock: Clock::system(),
            ids: Ids::system(),
        }
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            max_body_bytes: 96 << 20,
            workers: (2 * cores).max(8),
            namespace_workers: None,
            queue: 256,
            namespace_queue: None,
            queue_wait_ms: 2_000,
            index_wait_ms: 5_000,
            drain_ms: 10_000,
            uploads: 8,
            connections: 512,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
        }
    }
}

impl Config {
    /// The defaults with what the environment sets instead. A setting that does not parse is an error that names it.
    pub fn from_env() -> Result<Self, Error> {
        Self::from_lookup(&|name| std::env::var(name).ok())
    }

    /// As [`Config::from_env`], with `lookup` for the environment.
    pub fn from_lookup(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let mut config = Self::default();
        let text = |name: &str, value: &mut String| {
            if let Some(given) = lookup(name).filter(|given| !given.is_empty()) {
                *value = given;
            }
        };
        text("LOOM_ORG", &mut config.org);
        text("LOOM_NAMESPACE", &mut config.namespace);
        text("LOOM_AGENT", &mut config.agent);
        crate::limits::name("LOOM_ORG", &config.org)?;
        crate::limits::name("LOOM_NAMESPACE", &config.namespace)?;
        config.access.set(lookup)?;
        text("LOOM_EMBEDDING_MODEL", &mut config.embedding.model);
        text("LOOM_EMBEDDING_BASE_URL", &mut config.embedding.base_url);
        if let Some(key) = lookup("LOOM_EMBEDDING_API_KEY").filter(|key| !key.is_empty()) {
            config.embedding.api_key = ApiKey::new(&key);
        }
        let local = &mut config.embedding.local;
        number(lookup, "LOOM_LOCAL_MODEL_MAX_BYTES", &mut local.weights_bytes_max, 1)?;
        number(lookup, "LOOM_LOCAL_MODEL_MAX_TOKENS", &mut local.tokens_max, 8)?;
        number(lookup, "LOOM_LOCAL_MODEL_THREADS", &mut local.threads, 0)?;

        let documents = &mut config.documents;
        number(lookup, "LOOM_KNOWLEDGE_MAX_CONTENT_BYTES", &mut documents.content_bytes, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_MAX_CHUNKS", &mut documents.chunks, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_UPLOAD_MAX_BYTES", &mut documents.original_bytes, 1)?;
        number(lookup, "LOOM_DOCUMENT_BLOB_QUOTA_BYTES", &mut documents.blob_quota_bytes, 0)?;
        config.ingest.set(lookup)?;
        config.datasets.set(lookup)?;
        config.sweep.set(lookup)?;
        config.retention.set(lookup)?;
        let fanout_max = &mut config.search.fanout_namespaces_max;
        number(lookup, "LOOM_MEMORY_SEARCH_FANOUT_MAX_NAMESPACES", fanout_max, 0)?;
        config.search.set(lookup)?;
        let rerank = &mut config.rerank;
        number(lookup, "LOOM_KNOWLEDGE_SEARCH_RERANK_TOP", &mut rerank.top, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_SEARCH_RERANK_EXCERPT_CHARS", &mut rerank.excerpt_chars, 2)?;
        number(lookup, "LOOM_KNOWLEDGE_SEARCH_RERANK_TIMEOUT_S", &mut rerank.timeout_s, 1)?;
        rerank.set(lookup)?;
        config.mcp.set(lookup)?;
        config.extraction.set(lookup)?;
        config.index.set(lookup)?;
        number(lookup, "LOOM_READ_DEADLINE_MS", &mut config.deadlines.read_ms, 1)?;
        number(lookup, "LOOM_WRITE_DEADLINE_MS", &mut config.deadlines.write_ms, 1)?;
        config.http.set(lookup)?;
        config.http.allowed_hosts = list(lookup, "LOOM_ALLOWED_HOSTS");
        config.http.allowed_origins = list(lookup, "LOOM_ALLOWED_ORIGINS");

        number(lookup, "LOOM_DISK_FREE_MIN_BYTES", &mut config.disk_free_min_bytes, 0)?;
        let (mut size, mut stride) = (config.chunks.size(), config.chunks.stride());
        number(lookup, "LOOM_KNOWLEDGE_CHUNK_SIZE", &mut size, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_CHUNK_STRIDE", &mut stride, 1)?;
        config.chunks = ChunkSettings::new(size, stride)
            .map_err(|error| Error::invalid("LOOM_KNOWLEDGE_CHUNK_SIZE", error.to_string()))?;
        Ok(config)
    }
}

impl IndexLimits {
    fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        number(lookup, "LOOM_INDEX_OPEN_MAX", &mut self.open_max, 1)?;
        number(lookup, "LOOM_INDEX_MEMORY_MAX_BYTES", &mut self.memory_bytes, 1)?;
        number(lookup, "LOOM_INDEX_IDLE_MS", &mut self.idle_ms, 0)?;
        number(lookup, "LOOM_INDEX_BUILDS_MAX", &mut self.builds_max, 1)?;
        number(lookup, "LOOM_INDEX_WAIT_MS", &mut self.wait_ms, 0)
    }
}

impl HttpLimits {
    fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        number(lookup, "LOOM_HTTP_MAX_BODY_BYTES", &mut self.max_body_bytes, 1)?;
        number(lookup, "LOOM_HTTP_WORKERS", &mut self.workers, 1)?;
        self.namespace_workers = optional(lookup, "LOOM_HTTP_NAMESPACE_WORKERS", 1)?;
        number(lookup, "LOOM_HTTP_QUEUE", &mut self.queue, 0)?;
        self.namespace_queue = optional(lookup, "LOOM_HTTP_NAMESPACE_QUEUE", 0)?;
        number(lookup, "LOOM_HTTP_QUEUE_WAIT_MS", &mut self.queue_wait_ms, 0)?;
        number(lookup, "LOOM_HTTP_INDEX_WAIT_MS", &mut self.index_wait_ms, 0)?;
        number(lookup, "LOOM_HTTP_DRAIN_MS", &mut self.drain_ms, 0)?;
        number(lookup, "LOOM_HTTP_UPLOADS", &mut self.uploads, 1)?;
        number(lookup, "LOOM_HTTP_CONNECTIONS", &mut self.connections, 1)
    }
}

/// A number that is only there when it is set.
fn optional(lookup: &dyn Fn(&str) -> Option<String>, name: &str, least: usize) -> Result<Option<usize>, Error> {
    let mut value = None;
    if lookup(name).is_some_and(|given| !given.is_empty()) {
        number(lookup, name, value.insert(least), least)?;
    }
    Ok(value)
}

/// Reads a whole number of at least `least` where the setting is given.
pub(crate) fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy>(
    lookup: &dyn Fn(&str) -> Option<String>,
    name: &str,
    value: &mut T,
    least: T,
) -> Result<(), Error> {
    let Some(given) = lookup(name).filter(|given| !given.is_empty()) else { return Ok(()) };
    match given.trim().parse() {
        Ok(parsed) if parsed >= least => *value = parsed,
        _ => {
            let message = format!("the setting {name} is {given:?}: it must be a whole number of at least {least}");
            return Err(Error { field: Some(name.into()), ..Error::new(Code::ValidationFailed, message) });
        }
    }
    Ok(())
}

fn list(lookup: &dyn Fn(&str) -> Option<String>, name: &str) -> Vec<String> {
    let given = lookup(name).unwrap_or_default();
    given.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Config, Error> {
        Config::from_lookup(&move |asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn settings_are_read_and_bad_ones_named() {
        assert_eq!(with("LOOM_HTTP_QUEUE", "7").expect("a number").http.queue, 7);
        assert_eq!(with("LOOM_NAMESPACE", "").expect("empty is unset").namespace, "local");
        assert_eq!(
            with("LOOM_ALLOWED_HOSTS", "a.test, b.test,").expect("a list").http.allowed_hosts,
            ["a.test", "b.test"]
        );
        assert_eq!(with("LOOM_HTTP_NAMESPACE_WORKERS", "3").expect("a number").http.namespace_workers, Some(3));
        assert_eq!(with("LOOM_HTTP_NAMESPACE_QUEUE", "").expect("empty is unset").http.namespace_queue, None);
        assert_eq!(with("LOOM_INDEX_IDLE_MS", "0").expect("a number").index.idle_ms, 0);
        for (name, value) in [
            ("LOOM_AUTH", "tokens"),
            ("LOOM_MCP_TOOLSET", "some"),
            ("LOOM_MCP_LOOM_SEARCH_KNOWLEDGE_MIN_SIMILARITY", "2"),
            ("LOOM_JWT_SECRET", "short"),
            ("LOOM_CONCURRENCY_PER_SUBJECT", "0"),
            ("LOOM_HTTP_WORKERS", "0"),
            ("LOOM_HTTP_NAMESPACE_WORKERS", "0"),
            ("LOOM_INDEX_OPEN_MAX", "0"),
            ("LOOM_READ_DEADLINE_MS", "-1"),
            ("LOOM_LOCAL_MODEL_MAX_TOKENS", "7"),
            ("LOOM_KNOWLEDGE_MAX_CHUNKS", "many"),
            ("LOOM_ORG", "../x"),
            ("LOOM_KNOWLEDGE_CHUNK_STRIDE", "9000"),
            ("LOOM_KNOWLEDGE_FUSION", "sum"),
            ("LOOM_READS_LLM_FREE", "perhaps"),
            ("LOOM_RERANK_ENDPOINTS_JSON", "{\"a\": {\"url\": \"x\", \"api_key\": \"secret\"}}"),
            ("LOOM_KNOWLEDGE_VECTOR_SHARE", "1.5"),
            ("LOOM_KNOWLEDGE_NOISE_FILTER", "maybe"),
        ] {
            let error = with(name, value).expect_err(name);
            assert!(error.message.contains(name), "{name}: {}", error.message);
        }
    }
}
