//! `audit.list`: who did what, and who was refused, newest first.

use jiff::Timestamp as Instant;
use loom_storage::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::ANY_NAMESPACE;
use crate::audit::{AUDIT, newest_first};
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// Records read at a time.
const PAGE: usize = 512;
/// The most records that one call looks at; a call that matches few of them says where to go on.
const LOOKED_AT_MAX: usize = 20_000;

/// See the module.
pub struct List;

/// The input of `audit.list`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace; `*` for all of the tenant.
    #[serde(default)]
    namespace: String,
    /// Only records of this operation.
    #[serde(default)]
    op: String,
    /// Only records of this actor, such as `user:local`.
    #[serde(default)]
    actor: String,
    /// Only refusals.
    #[serde(default)]
    refused: bool,
    /// Only records of this time (RFC 3339) and before.
    #[serde(default)]
    until: Option<String>,
    /// At most this many records (1-500).
    #[serde(default = "limit_default")]
    limit: u32,
    /// Where to go on: `next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

fn limit_default() -> u32 {
    100
}

/// The output of `audit.list`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The records, newest first.
    records: Vec<Entry>,
    /// The cursor of the next page; null after the last.
    next_cursor: Option<String>,
}

/// One record.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditEntry")]
struct Entry {
    /// When.
    at: String,
    /// The operation.
    op: String,
    /// Who called; empty where no token told.
    actor: String,
    /// The namespace that the call named; empty where it named none.
    #[serde(default)]
    namespace: String,
    /// `done` or `refused`.
    outcome: String,
    /// What the operation changed.
    #[serde(default)]
    what: Map<String, Value>,
    /// The error code of a refusal.
    #[serde(default)]
    code: String,
    /// How often the same was refused, up to `at`.
    #[serde(default)]
    count: u64,
    /// The first of these refusals.
    #[serde(default)]
    since: String,
}

impl Query for List {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "audit.list",
        role: Role::Admin,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "Who did what and who was refused in a namespace, or with `*` in all, newest first.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        limits::name("org", &input.org)?;
        if input.namespace != ANY_NAMESPACE {
            reading.scope_in_any_state(&input.org, &input.namespace)?;
        }
        limits::range("limit", input.limit, 1, limits::LIST_LIMIT_MAX)?;
        let prefix = format!("{AUDIT}{}/", input.org);
        let mut after = start(&input, &prefix)?;
        let (mut records, mut looked_at) = (Vec::new(), 0);
        loop {
            let page = reading.snapshot().records(&prefix, after.as_deref(), PAGE)?;
            for record in page.items {
                let entry: Entry = serde_json::from_slice(&record.value).map_err(Error::internal)?;
                if matches(&input, &entry) {
                    records.push(entry);
                }
                looked_at += 1;
                let rest = record.key.strip_prefix(&prefix).unwrap_or_default().to_owned();
                after = Some(record.key);
                if records.len() == input.limit as usize || looked_at == LOOKED_AT_MAX {
                    return Ok(Output { records, next_cursor: Some(rest) });
                }
            }
            reading.check_deadline()?;
            if !page.more {
                return Ok(Output { records, next_cursor: None });
            }
        }
    }
}

/// The key after which the page begins.
fn start(input: &Input, prefix: &str) -> Result<Option<String>, Error> {
    if let Some(cursor) = input.cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
        let is_cursor = cursor.len() < 128 && cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !is_cursor {
            return Err(Error::invalid("cursor", "cursor is not one that this operation answered"));
        }
        return Ok(Some(format!("{prefix}{cursor}")));
    }
    let Some(until) = input.until.as_deref().filter(|until| !until.is_empty()) else { return Ok(None) };
    let at: Instant = until.parse().map_err(|_| {
        Error::invalid("until", "until must be a time as RFC 3339 writes it, such as 2026-11-30T12:00:00Z")
    })?;
    Ok(Some(format!("{prefix}{}", newest_first(Timestamp(at.as_millisecond())))))
}

fn matches(input: &Input, entry: &Entry) -> bool {
    (input.namespace == ANY_NAMESPACE || input.namespace == entry.namespace)
        && (input.op.is_empty() || input.op == entry.op)
        && (input.actor.is_empty() || input.actor == entry.actor)
        && (!input.refused || entry.outcome == "refused")
}
