//! `knowledge.dedup_resolve`: of two documents of one text, one goes.

use loom_storage::{Batch, Cause, Scope, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Planning;
use crate::error::{Code, Error};
use crate::ingest;
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct DedupResolve;

/// Which of the two goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The duplicate.
    KeepCanonical,
    /// The canonical one.
    Swap,
}

/// The input of `knowledge.dedup_resolve`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The document that `keep_canonical` keeps.
    canonical_uri: String,
    /// The document that `keep_canonical` retires.
    duplicate_uri: String,
    /// `keep_canonical` retires the duplicate, `swap` the canonical one.
    decision: Decision,
    /// `duplicate_uri` once more; otherwise nothing changes.
    confirm_duplicate_uri: String,
}

/// The output of `knowledge.dedup_resolve`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// As it was given.
    canonical_uri: String,
    /// As it was given.
    duplicate_uri: String,
    /// As it was given.
    decision: Decision,
    /// The document that was retired.
    superseded_uri: String,
}

impl Command for DedupResolve {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.dedup_resolve",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Retire one of two documents of the same text.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        limits::source_uri("canonical_uri", &input.canonical_uri)?;
        limits::source_uri("duplicate_uri", &input.duplicate_uri)?;
        if input.confirm_duplicate_uri != input.duplicate_uri {
            let message = "confirm_duplicate_uri must repeat duplicate_uri: nothing changed";
            let field = Some("confirm_duplicate_uri".into());
            return Err(Error { field, ..Error::new(Code::ConfirmMismatch, message) });
        }
        if input.canonical_uri == input.duplicate_uri {
            let message = "duplicate_uri must name another document than canonical_uri";
            return Err(Error::invalid("duplicate_uri", message));
        }
        let mut batch = Batch::default();
        let mut hashes = Vec::new();
        for (field, source_uri) in [("canonical_uri", &input.canonical_uri), ("duplicate_uri", &input.duplicate_uri)] {
            let (head, live) = ingest::current(planning, &scope, source_uri)?;
            let Some(live) = live else { return Err(not_live(&scope, field, source_uri)) };
            hashes.push(live.content_hash);
            batch.preconditions.push(ingest::head_unchanged(&scope, source_uri, head.as_ref()));
        }
        if hashes[0] != hashes[1] {
            let message = "the two documents no longer have the same text: read them again before one of them goes";
            return Err(Error { field: Some("duplicate_uri".into()), ..Error::new(Code::PreconditionFailed, message) });
        }
        let superseded_uri = match input.decision {
            Decision::KeepCanonical => input.duplicate_uri.clone(),
            Decision::Swap => input.canonical_uri.clone(),
        };
        batch.writes.push(Write::Retire {
            scope,
            source_uri: superseded_uri.clone(),
            cause: Cause::Duplicate,
            at: planning.now(),
        });
        let audit = json!({
            "canonical_uri": input.canonical_uri, "duplicate_uri": input.duplicate_uri, "decision": input.decision,
        });
        let (canonical_uri, duplicate_uri) = (input.canonical_uri.clone(), input.duplicate_uri.clone());
        let decision = input.decision;
        let answer = move |_: &_| Output { canonical_uri, duplicate_uri, decision, superseded_uri };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}

fn not_live(scope: &Scope, field: &str, source_uri: &str) -> Error {
    let message = format!("{scope} has no live document {source_uri:?}: knowledge.dedup_list shows those that are");
    Error { field: Some(field.into()), ..Error::new(Code::NotFound, message) }
}
