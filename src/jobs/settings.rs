//! The bounds of ingesting files.

use crate::config::number;
use crate::error::Error;

/// How files are ingested.
#[derive(Clone, Debug)]
pub struct IngestSettings {
    /// Jobs that run at once: `LOOM_KNOWLEDGE_INGEST_WORKERS`, default twice the cores, since each waits for the disk half of
    /// its time; 0 leaves every job pending.
    pub workers: usize,
    /// Runs of a job that fails for a while before it is given up: `LOOM_KNOWLEDGE_INGEST_MAX_ATTEMPTS`, default 8.
    pub attempts_max: u32,
    /// How long one run may take, in seconds: `LOOM_KNOWLEDGE_INGEST_MAX_PASS_SECONDS`, default 15 minutes.
    pub pass_s: u64,
    /// How long a job waits after its first failed run, in seconds; the wait doubles with each, up to an hour:
    /// `LOOM_KNOWLEDGE_INGEST_RETRY_SECONDS`, default 5.
    pub retry_s: u64,
    /// The most chunks of one file: `LOOM_KNOWLEDGE_INGEST_MAX_CHUNKS`, default 50,000.
    pub chunks_max: usize,
    /// The most jobs of all namespaces that are not over: `LOOM_KNOWLEDGE_INGEST_MAX_OPEN`, default 100,000.
    pub open_max: usize,
    /// How long an upload can be ingested, in seconds: `LOOM_KNOWLEDGE_UPLOAD_TTL_SECONDS`, default a day.
    pub upload_ttl_s: u64,
}

impl Default for IngestSettings {
    fn default() -> Self {
        Self {
            workers: 2 * std::thread::available_parallelism().map_or(2, usize::from),
            attempts_max: 8,
            pass_s: 15 * 60,
            retry_s: 5,
            chunks_max: 50_000,
            open_max: 100_000,
            upload_ttl_s: 24 * 60 * 60,
        }
    }
}

impl IngestSettings {
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        number(lookup, "LOOM_KNOWLEDGE_INGEST_WORKERS", &mut self.workers, 0)?;
        number(lookup, "LOOM_KNOWLEDGE_INGEST_MAX_ATTEMPTS", &mut self.attempts_max, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_INGEST_MAX_PASS_SECONDS", &mut self.pass_s, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_INGEST_RETRY_SECONDS", &mut self.retry_s, 0)?;
        number(lookup, "LOOM_KNOWLEDGE_INGEST_MAX_CHUNKS", &mut self.chunks_max, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_INGEST_MAX_OPEN", &mut self.open_max, 1)?;
        number(lookup, "LOOM_KNOWLEDGE_UPLOAD_TTL_SECONDS", &mut self.upload_ttl_s, 1)
    }
}
