//! `knowledge.ingest_cancel`: stop a job before it publishes.

use std::sync::Arc;

use loom_storage::{Batch, Committed};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::ingest_status::Input;
use crate::context::Planning;
use crate::error::Error;
use crate::jobs::{self, State};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct IngestCancel;

/// The output of `knowledge.ingest_cancel`.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "KnowledgeIngestCancelOutput")]
pub struct Output {
    /// Whether the namespace has such a job.
    found: bool,
    /// Its state after the call: `cancelled` when it had not begun; its running state when it will stop before it
    /// publishes; or how it ended already.
    state: String,
    /// Whether this call stopped the job, or asked it to stop.
    cancelled: bool,
}

impl Command for IngestCancel {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.ingest_cancel",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: false,
        mcp_all_listed: false,
        summary: "Stop an ingest: a pending one at once, a running one before it publishes.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        let found = match input.ingestion_id.parse::<Uuid>() {
            Ok(id) => jobs::find(planning.snapshot(), &scope, id)?,
            Err(_) => None,
        };
        let unchanged = |output: Output| Plan {
            batch: Batch::default(),
            answer: Box::new(move |_: &Committed| output),
            audit: Value::Null,
        };
        let Some((mut job, changed)) = found else { return Ok(unchanged(Output::default())) };
        if job.state.is_over() {
            return Ok(unchanged(Output { found: true, state: job.state.name().to_owned(), cancelled: false }));
        }
        job.cancel_requested = true;
        job.updated_at = planning.now();
        if job.state == State::Pending {
            job.state = State::Cancelled;
            (job.error_code, job.error_message) = (String::new(), String::new());
        }
        let (precondition, writes) = job.writes(Some(changed))?;
        let (queue, bell) = (Arc::clone(planning.queue()), planning.ingest_bell());
        let answer = move |_: &Committed| {
            queue.stop(&scope, job.id);
            bell.ring();
            Output { found: true, state: job.state.name().to_owned(), cancelled: true }
        };
        let batch = Batch { preconditions: vec![precondition], writes };
        Ok(Plan { batch, answer: Box::new(answer), audit: Value::Null })
    }
}
