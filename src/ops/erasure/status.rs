//! `erasure.status`: how far erasures have come, and those of the last 90 days.

use loom_storage::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::{self, ANY_NAMESPACE, Addresses};
use crate::clock::rfc3339;
use crate::context::Reading;
use crate::erasure::{self, Erasure, Reach, Stage};
use crate::error::{Code, Error};
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct Status;

/// The input of `erasure.status`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// One erasure; empty: the newest.
    #[serde(default)]
    erasure_id: String,
    /// At most this many, newest first (1-500).
    #[serde(default = "limit_default")]
    limit: u32,
}

fn limit_default() -> u32 {
    50
}

/// The output of `erasure.status`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The erasures that the caller could have asked for, newest first.
    erasures: Vec<Entry>,
}

/// One erasure.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ErasureEntry")]
struct Entry {
    /// Its id.
    erasure_id: String,
    /// `namespace` or `user`.
    scope: &'static str,
    /// The namespace, or the actor whose documents it reaches.
    target: String,
    /// `pending`, `running` or `done`. What failed is tried again until it is done.
    state: &'static str,
    /// When it was asked for.
    requested_at: String,
    /// By whom.
    requested_by: String,
    /// When it was done; null before.
    finished_at: Option<String>,
    /// Source addresses that it reached.
    documents: u64,
    /// Document versions that it removed.
    versions: u64,
    /// Originals and artifacts that it removed.
    originals: u64,
    /// Uploads, ingests and other records that it removed.
    records: u64,
    /// How often it was begun.
    attempts: u32,
    /// Why it did not get to its end the last time; empty otherwise.
    error: String,
}

impl Query for Status {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "erasure.status",
        role: Role::Admin,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "How far erasures have come; each is listed for 90 days after it was done.",
    };
    const ADDRESSES: Addresses = Addresses::Organisation;

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        limits::name("org", &input.org)?;
        limits::range("limit", input.limit, 1, limits::LIST_LIMIT_MAX)?;
        if !input.erasure_id.is_empty() {
            let id = Uuid::try_parse(&input.erasure_id);
            let found = id.ok().map(|id| erasure::find(reading.snapshot(), &input.org, id)).transpose()?.flatten();
            let visible = found.map(|erasure| Ok::<_, Error>((is_theirs(reading, &erasure)?, erasure))).transpose()?;
            let Some((true, erasure)) = visible else {
                let message = "there is no such erasure: without erasure_id those of the last 90 days are listed";
                return Err(Error { field: Some("erasure_id".into()), ..Error::new(Code::NotFound, message) });
            };
            return Ok(Output { erasures: vec![entry(erasure)] });
        }
        let mut erasures = Vec::new();
        erasure::each(reading.snapshot(), Some(&input.org), |erasure, _| {
            if is_theirs(reading, &erasure)? {
                erasures.push(erasure);
            }
            Ok(())
        })?;
        erasures.sort_by_key(|erasure| std::cmp::Reverse((erasure.requested_at, erasure.id)));
        erasures.truncate(input.limit as usize);
        Ok(Output { erasures: erasures.into_iter().map(entry).collect() })
    }
}

/// Whether the caller could have asked for it.
fn is_theirs(reading: &Reading<'_>, erasure: &Erasure) -> Result<bool, Error> {
    let namespace = match &erasure.reach {
        Reach::Namespace(namespace) => namespace,
        Reach::Person(_) => ANY_NAMESPACE,
    };
    let scope = Scope::new(&erasure.org, namespace);
    Ok(access::role_in(reading.caller(), reading.snapshot(), &scope)? == Some(Role::Admin))
}

fn entry(erasure: Erasure) -> Entry {
    let (scope, target) = match erasure.reach {
        Reach::Namespace(namespace) => ("namespace", namespace),
        Reach::Person(actor) => ("user", actor),
    };
    Entry {
        erasure_id: erasure.id.to_string(),
        scope,
        target,
        state: match erasure.stage {
            Stage::Pending => "pending",
            Stage::Running => "running",
            Stage::Done => "done",
        },
        requested_at: rfc3339(erasure.requested_at),
        requested_by: erasure.requested_by,
        finished_at: erasure.finished_at.map(rfc3339),
        documents: erasure.erased.documents,
        versions: erasure.erased.versions,
        originals: erasure.erased.originals,
        records: erasure.erased.records,
        attempts: erasure.attempts,
        error: erasure.error,
    }
}
