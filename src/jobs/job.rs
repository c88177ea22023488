//! What is recorded of a job.

use loom_extract::contract::{Coverage, Options};
use loom_storage::{Precondition, RecordWrite, Scope, Seq, Snapshot, Timestamp, Write};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::Error;

/// The start of every job's key.
pub(crate) const JOBS: &str = "ingest/";
/// The start of the keys of jobs that are not over.
pub(crate) const OPEN: &str = "ingest-open/";

/// A job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub id: Uuid,
    pub org: String,
    pub namespace: String,
    pub ask: Ask,
    pub file: File,
    pub state: State,
    /// Where it is or last was; `None` before it ran and once it published.
    pub stage: Option<Stage>,
    pub attempts: u32,
    /// Why it failed or waits for its next run; empty otherwise.
    pub error_code: String,
    pub error_message: String,
    /// The format the file was read as; empty before.
    pub format: String,
    pub coverage: Option<Coverage>,
    pub warnings: Vec<String>,
    /// What it published.
    pub chunks: u64,
    pub revision: u64,
    pub cancel_requested: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When it may run next.
    pub due_at: Timestamp,
}

/// What the caller asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub upload_id: Uuid,
    pub source_uri: String,
    pub title: String,
    pub description: String,
    pub tags: Vec<String>,
    /// A JSON object as text; empty where none was given.
    pub metadata: String,
    pub expected_revision: Option<u64>,
    pub allow_partial: bool,
    /// The format that was asked for; empty: the one the file's name selects.
    pub format: String,
    pub options: Options,
    pub agent: String,
    pub session_id: String,
    pub source_class: Option<String>,
    /// Who asked.
    pub actor: String,
}

/// The file, as its upload says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct File {
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
    pub size: u64,
    pub filename: String,
    pub content_type: String,
    /// The format to read it as.
    pub format: String,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It waits for its turn, or for its next run.
    Pending,
    /// It runs.
    Processing,
    /// It published the whole file.
    Ready,
    /// It published what could be read of the file.
    Partial,
    /// It published nothing and never will.
    Failed,
    /// It was stopped before it published.
    Cancelled,
}

/// What a running job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// The extractor reads the file.
    Parse,
    /// Its passages are embedded.
    Embed,
    /// Its revision is written.
    Publish,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Ready => "ready",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more happens to the job.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Processing)
    }
}

impl Stage {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Embed => "embed",
            Self::Publish => "publish",
        }
    }
}

impl Job {
    /// Its namespace.
    pub fn scope(&self) -> Scope {
        Scope::new(&self.org, &self.namespace)
    }

    /// What writes it over the record that was read as of `changed`: the record, and the row that keeps it open or no
    /// more.
    pub fn writes(&self, changed: Option<Seq>) -> Result<(Precondition, Vec<Write>), Error> {
        let key = key(&self.scope(), self.id);
        let value = serde_json::to_vec(self).map_err(Error::internal)?;
        let mut writes = vec![Write::Record(RecordWrite { key: key.clone(), value: Some(value) })];
        if changed.is_none() || self.state.is_over() {
            let open = super::OpenJob {
                org: &self.org,
                namespace: &self.namespace,
                source_uri: (&self.ask.source_uri).into(),
            };
            let value =
                if self.state.is_over() { None } else { Some(serde_json::to_vec(&open).map_err(Error::internal)?) };
            writes.push(Write::Record(RecordWrite { key: open_key(self.id), value }));
        }
        Ok((Precondition::Record { key, changed }, writes))
    }
}

/// What the keys of a namespace's jobs start with.
pub(crate) fn prefix(scope: &Scope) -> String {
    format!("{JOBS}{}/{}/", scope.org, scope.namespace)
}

/// The key of a job's record.
pub(crate) fn key(scope: &Scope, id: Uuid) -> String {
    format!("{}{id}", prefix(scope))
}

/// The key of the row of a job that is not over.
pub(crate) fn open_key(id: Uuid) -> String {
    format!("{OPEN}{id}")
}

/// The job of that id in a namespace, and the commit that last wrote it.
pub(crate) fn find(snapshot: &dyn Snapshot, scope: &Scope, id: Uuid) -> Result<Option<(Job, Seq)>, Error> {
    let Some(record) = snapshot.record(&key(scope, id))? else { return Ok(None) };
    Ok(Some((serde_json::from_slice(&record.value).map_err(Error::internal)?, record.changed)))
}
