//! `token.revoke`: a key is refused from now on.

use loom_storage::{Batch, Precondition, RecordWrite, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{decode, may_give};
use crate::access::{self, Addresses};
use crate::clock::rfc3339;
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Revoke;

/// The input of `token.revoke`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The token, as `token.create` and `token.list` name it.
    token_id: String,
}

/// The output of `token.revoke`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether this call revoked it; false when it was revoked before.
    revoked: bool,
    /// Whom it was for.
    subject: String,
    /// Since when it is refused.
    revoked_at: String,
}

impl Command for Revoke {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "token.revoke",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Have a key refused from now on.",
    };
    const ADDRESSES: Addresses = Addresses::Organisation;

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let id = Uuid::try_parse(&input.token_id)
            .map_err(|_| Error::invalid("token_id", "token_id must be an id that token.list shows"))?;
        let record = planning.snapshot().record(&access::token_key(id))?;
        let token = record.as_ref().map(|record| decode(&record.value)).transpose()?;
        let mut found = None;
        if let (Some(record), Some(token)) = (record, token)
            && token.identity.org == input.org
            && may_give(planning, &input.org, &token.identity.roles)?
        {
            found = Some((record, token));
        }
        let Some((record, mut token)) = found else {
            let message = "there is no such token: token.list shows those that you may revoke";
            return Err(Error { field: Some("token_id".into()), ..Error::new(Code::NotFound, message) });
        };
        let subject = token.identity.subject.clone();
        let audit = json!({ "token_id": id, "subject": subject });
        let mut batch = Batch::default();
        let revoked = token.revoked_at.is_none();
        let at = *token.revoked_at.get_or_insert(planning.now());
        if revoked {
            let value = serde_json::to_vec(&token).map_err(Error::internal)?;
            batch.preconditions.push(Precondition::Record { key: record.key.clone(), changed: Some(record.changed) });
            batch.writes.push(Write::Record(RecordWrite { key: record.key, value: Some(value) }));
        }
        let answer = move |_: &_| Output { revoked, subject, revoked_at: rfc3339(at) };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}
