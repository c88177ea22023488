//! `token.list`: the keys of an organisation, without their secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{decode, may_give};
use crate::access::{Addresses, Roles, TOKENS};
use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// Records read at a time.
const PAGE: usize = 256;

/// See the module.
pub struct List;

/// The input of `token.list`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// Only the tokens of this subject.
    #[serde(default)]
    subject: String,
    /// Also those that are revoked or expired.
    #[serde(default)]
    include_ended: bool,
    /// At most this many (1-500).
    #[serde(default = "limit_default")]
    limit: u32,
    /// Where to go on: `next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

fn limit_default() -> u32 {
    100
}

/// The output of `token.list`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The tokens whose roles the caller could give, oldest first.
    tokens: Vec<Entry>,
    /// The cursor of the next page; null after the last.
    next_cursor: Option<String>,
}

/// One token.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TokenEntry")]
struct Entry {
    /// Its id.
    token_id: String,
    /// Whom it is for.
    subject: String,
    /// Its role by namespace, `*` for all.
    roles: Roles,
    /// The agent that writes with it; empty: the one that a call names.
    token_agent: String,
    /// The person it acts for; possibly empty.
    token_user_id: String,
    /// The session it writes in; empty: the one that a call names.
    token_session_id: String,
    /// What it is for.
    note: String,
    /// When it was made.
    created_at: String,
    /// Who made it.
    created_by: String,
    /// From when on it is refused; null: never.
    expires_at: Option<String>,
    /// Since when it is refused; null: it is not revoked.
    revoked_at: Option<String>,
    /// Whether it is accepted now.
    active: bool,
}

impl Query for List {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "token.list",
        role: Role::Admin,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "The keys of an organisation: whom they are for and what they may do, without their secrets.",
    };
    const ADDRESSES: Addresses = Addresses::Organisation;

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        limits::name("org", &input.org)?;
        limits::range("limit", input.limit, 1, limits::LIST_LIMIT_MAX)?;
        let mut after = match input.cursor.as_deref() {
            None | Some("") => None,
            Some(cursor) => match uuid::Uuid::try_parse(cursor) {
                Ok(id) => Some(crate::access::token_key(id)),
                Err(_) => return Err(Error::invalid("cursor", "cursor is not one that this operation answered")),
            },
        };
        let (now, mut tokens) = (reading.now(), Vec::new());
        loop {
            let page = reading.snapshot().records(TOKENS, after.as_deref(), PAGE)?;
            for record in page.items {
                let token = decode(&record.value)?;
                let id = record.key.strip_prefix(TOKENS).unwrap_or_default().to_owned();
                after = Some(record.key);
                let active = token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end);
                let is_asked_for = token.identity.org == input.org
                    && (input.subject.is_empty() || input.subject == token.identity.subject)
                    && (active || input.include_ended);
                if !is_asked_for || !may_give(reading, &input.org, &token.identity.roles)? {
                    continue;
                }
                tokens.push(Entry {
                    token_id: id.clone(),
                    subject: token.identity.subject,
                    roles: token.identity.roles,
                    token_agent: token.identity.agent.unwrap_or_default(),
                    token_user_id: token.identity.user_id.unwrap_or_default(),
                    token_session_id: token.identity.session_id.unwrap_or_default(),
                    note: token.note,
                    created_at: rfc3339(token.created_at),
                    created_by: token.created_by,
                    expires_at: token.expires_at.map(rfc3339),
                    revoked_at: token.revoked_at.map(rfc3339),
                    active,
                });
                if tokens.len() == input.limit as usize {
                    return Ok(Output { tokens, next_cursor: Some(id) });
                }
            }
            reading.check_deadline()?;
            if !page.more {
                return Ok(Output { tokens, next_cursor: None });
            }
        }
    }
}
