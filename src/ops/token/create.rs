//! `token.create`: an opaque key for a subject, shown once.

use loom_storage::{Batch, RecordWrite, Timestamp, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::may_give;
use crate::access::{self, Addresses, Identity, Roles, Token};
use crate::clock::rfc3339;
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// The longest life of a token, in days.
const DAYS_MAX: u32 = 3_650;
const DAY_MS: i64 = 86_400_000;

/// See the module.
pub struct Create;

/// The input of `token.create`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant, the only one that the token reaches.
    #[serde(default)]
    org: String,
    /// Whom the token is for; rates are counted by it.
    subject: String,
    /// Its role by namespace, `*` for all: `viewer`, `writer` or `admin`. No higher than the caller's own.
    roles: Roles,
    /// The agent that writes with it, in place of the one that a call names.
    #[serde(default)]
    token_agent: String,
    /// The person it acts for.
    #[serde(default)]
    token_user_id: String,
    /// The session it writes in.
    #[serde(default)]
    token_session_id: String,
    /// After how many days it is refused (1-3650); absent: never.
    #[serde(default)]
    expires_in_days: Option<u32>,
    /// What it is for, in the maker's words.
    #[serde(default)]
    note: String,
}

/// The output of `token.create`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its id, for `token.revoke`.
    token_id: String,
    /// The key itself. It is stored nowhere and shown only here.
    token: String,
    /// Whom it is for.
    subject: String,
    /// From when on it is refused; null: never.
    expires_at: Option<String>,
}

impl Command for Create {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "token.create",
        role: Role::Admin,
        kind: Kind::Write,
        audited: true,
        mcp_all_listed: false,
        summary: "Make a key for a subject, with a role by namespace; it is shown once.",
    };
    const ADDRESSES: Addresses = Addresses::Organisation;

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
        let identity = Identity {
            subject: input.subject.clone(),
            org: input.org.clone(),
            roles: input.roles.clone(),
            agent: filled(&input.token_agent),
            user_id: filled(&input.token_user_id),
            session_id: filled(&input.token_session_id),
        };
        access::check(&identity)?;
        limits::text("note", &input.note, limits::LABEL_CHARS_MAX)?;
        if input.roles.is_empty() {
            return Err(Error::invalid("roles", "roles must give a role in a namespace, or in * for all"));
        }
        if let Some(days) = input.expires_in_days {
            limits::range("expires_in_days", days, 1, DAYS_MAX)?;
        }
        if !may_give(planning, &input.org, &input.roles)? {
            let message =
                "token.create gives no role in a namespace where its caller is no admin: leave it out of roles";
            return Err(Error { field: Some("roles".into()), ..Error::new(Code::Forbidden, message) });
        }
        let id = planning.config().ids.fresh();
        let (secret, shown) = access::fresh_secret(id)?;
        let now = planning.now();
        let token = Token {
            identity,
            note: input.note.clone(),
            created_at: now,
            created_by: planning.actor().to_owned(),
            expires_at: input.expires_in_days.map(|days| Timestamp(now.0 + i64::from(days) * DAY_MS)),
            revoked_at: None,
            hash: access::hash_of(&secret),
        };
        let value = serde_json::to_vec(&token).map_err(Error::internal)?;
        let write = Write::Record(RecordWrite { key: access::token_key(id), value: Some(value) });
        let expires_at = token.expires_at.map(rfc3339);
        let subject = input.subject.clone();
        let audit = json!({ "token_id": id, "subject": subject, "roles": input.roles, "expires_at": expires_at });
        let answer = move |_: &_| Output { token_id: id.to_string(), token: shown, subject, expires_at };
        Ok(Plan { batch: Batch { preconditions: Vec::new(), writes: vec![write] }, answer: Box::new(answer), audit })
    }
}
