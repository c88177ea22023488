//! `knowledge.ingest`: have an uploaded file extracted and published.

use std::sync::Arc;

use loom_extract::contract::Options;
use loom_storage::{Batch, Committed, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::context::Planning;
use crate::error::{Code, Error};
use crate::ingest;
use crate::jobs::{Ask, File, Job, State};
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};
use crate::uploads::{self, Upload};

/// See the module.
pub struct Ingest;

/// The input of `knowledge.ingest`.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "KnowledgeIngestInput")]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// What `POST /v1/knowledge.upload` answered for the file. Only who uploaded it may ingest it.
    upload_id: String,
    /// The document's stable identifier in the namespace: 1 to 2048 characters, kept byte for byte. Its next revision is
    /// published.
    source_uri: String,
    /// Its title, at most 1000 characters; empty takes the file's name.
    #[serde(default)]
    title: String,
    /// What it is about, at most 4000 characters; searched with each of its passages.
    #[serde(default)]
    description: String,
    /// Labels to filter by, at most 100.
    #[serde(default)]
    tags: Vec<String>,
    /// A JSON object kept with the document, at most 64 KiB.
    #[serde(default)]
    metadata: Map<String, Value>,
    /// Publish only over this revision (0: no live document); null publishes over whatever is live.
    #[serde(default)]
    expected_revision: Option<u64>,
    /// Publish what could be read of the file when a part is lost, rather than fail.
    #[serde(default)]
    allow_partial: bool,
    /// What the file cannot say about itself.
    #[serde(default)]
    options: KnowledgeIngestOptions,
    /// The agent that writes.
    #[serde(default)]
    agent: String,
    /// The session (a chat, a run) it is written in.
    #[serde(default)]
    session_id: String,
    /// What the content is when it is not the writer's own: `derived`, `external` or `imported`.
    #[serde(default)]
    source_class: Option<String>,
}

/// What a file cannot say about itself.
#[derive(Default, Deserialize, JsonSchema)]
pub struct KnowledgeIngestOptions {
    /// The format to read it as, one of `knowledge.formats`; empty: the one its name selects.
    #[serde(default)]
    format: String,
    /// The encoding of a text, such as `shift_jis`; empty: found out.
    #[serde(default)]
    encoding: String,
    /// The dialect of SQL, such as `postgres`; empty: found out.
    #[serde(default)]
    sql_dialect: String,
}

/// The output of `knowledge.ingest`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KnowledgeIngestOutput")]
pub struct Output {
    /// The job's id, for `knowledge.ingest_status` and `knowledge.ingest_cancel`.
    ingestion_id: String,
    /// `pending` until a worker takes it.
    state: String,
    /// The document's identifier.
    source_uri: String,
    /// The namespace.
    namespace: String,
}

impl Command for Ingest {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.ingest",
        role: Role::Writer,
        kind: Kind::Write,
        audited: false,
        mcp_all_listed: false,
        summary: "Have an uploaded file extracted and published as a document's next revision, as a job.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        let ask = asked(planning, input)?;
        let upload = held(planning, &scope, ask.upload_id)?;
        let (open, open_max) = (planning.queue().len(), planning.config().ingest.open_max);
        if open >= open_max {
            let message = format!(
                "{open} ingests are not over yet, as many as LOOM_KNOWLEDGE_INGEST_MAX_OPEN allows: repeat this call later"
            );
            return Err(Error { retry_after_s: Some(10), ..Error::new(Code::Overloaded, message) });
        }
        let now = planning.now();
        let id = planning.config().ids.fresh();
        let format = if ask.format.is_empty() { upload.format } else { ask.format.clone() };
        let job = Job {
            id,
            org: scope.org.clone(),
            namespace: scope.namespace.clone(),
            file: File {
                sha256: upload.sha256,
                size: upload.size,
                filename: upload.filename,
                content_type: upload.content_type,
                format,
            },
            ask,
            state: State::Pending,
            stage: None,
            attempts: 0,
            error_code: String::new(),
            error_message: String::new(),
            format: String::new(),
            coverage: None,
            warnings: Vec::new(),
            chunks: 0,
            revision: 0,
            cancel_requested: false,
            created_at: now,
            updated_at: now,
            due_at: now,
        };
        let (precondition, writes) = job.writes(None)?;
        let (queue, bell) = (Arc::clone(planning.queue()), planning.ingest_bell());
        let source_uri = input.source_uri.clone();
        let answer = move |_: &Committed| {
            queue.add(&scope, id, &source_uri, now);
            bell.ring();
            Output {
                ingestion_id: id.to_string(),
                state: State::Pending.name().to_owned(),
                source_uri,
                namespace: scope.namespace,
            }
        };
        let batch = Batch { preconditions: vec![precondition], writes };
        Ok(Plan { batch, answer: Box::new(answer), audit: Value::Null })
    }
}

/// What the call asks for, checked.
fn asked(planning: &Planning<'_>, input: &Input) -> Result<Ask, Error> {
    limits::source_uri("source_uri", &input.source_uri)?;
    limits::text("title", &input.title, limits::TITLE_CHARS_MAX)?;
    limits::text("description", &input.description, limits::DESCRIPTION_CHARS_MAX)?;
    let KnowledgeIngestOptions { format, encoding, sql_dialect } = &input.options;
    for (field, value) in [
        ("agent", &input.agent),
        ("session_id", &input.session_id),
        ("options.format", format),
        ("options.encoding", encoding),
        ("options.sql_dialect", sql_dialect),
    ] {
        limits::text(field, value, limits::LABEL_CHARS_MAX)?;
    }
    ingest::source_class("source_class", input.source_class.as_deref())?;
    let upload_id = input.upload_id.parse::<Uuid>().map_err(|_| unknown_upload())?;
    Ok(Ask {
        upload_id,
        source_uri: input.source_uri.clone(),
        title: input.title.clone(),
        description: input.description.clone(),
        tags: limits::tags("tags", &input.tags)?,
        metadata: limits::metadata("metadata", &input.metadata)?,
        expected_revision: input.expected_revision,
        allow_partial: input.allow_partial,
        format: format.clone(),
        options: Options { encoding: encoding.clone(), sql_dialect: sql_dialect.clone() },
        agent: input.agent.clone(),
        session_id: input.session_id.clone(),
        source_class: input.source_class.clone(),
        actor: planning.actor().to_owned(),
    })
}

/// The upload, if the caller sent it and it has not expired. Whose else it may be is not told.
fn held(planning: &Planning<'_>, scope: &Scope, id: Uuid) -> Result<Upload, Error> {
    let upload = uploads::find(planning.snapshot(), scope, id)?;
    let upload = upload.filter(|upload| upload.actor == planning.actor()).ok_or_else(unknown_upload)?;
    if upload.expires_at <= planning.now() {
        let message = "the upload has expired (LOOM_KNOWLEDGE_UPLOAD_TTL_SECONDS): upload the file again";
        return Err(Error { field: Some("upload_id".into()), ..Error::new(Code::NotFound, message) });
    }
    Ok(upload)
}

fn unknown_upload() -> Error {
    let message =
        "there is no such upload of yours in this namespace: send the file to POST /v1/knowledge.upload first";
    Error { field: Some("upload_id".into()), ..Error::new(Code::NotFound, message) }
}
