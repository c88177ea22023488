//! `knowledge.reads`: how often agents opened each document.

use std::collections::{BTreeMap, BTreeSet};

use loom_storage::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};
use crate::reads;

/// The most documents of an answer.
const ROWS_MAX: usize = 1_000;

/// See the module.
pub struct Reads;

/// The input of `knowledge.reads`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The days to look back (1-30); others count as the nearest of these.
    #[serde(default = "days_default")]
    days: i64,
    /// Only these documents; empty: all that were read.
    #[serde(default)]
    source_uris: Vec<String>,
}

fn days_default() -> i64 {
    7
}

/// The output of `knowledge.reads`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The days that the counts cover.
    window_days: u32,
    /// The documents, most read first; at most 1,000.
    reads: Vec<Row>,
}

/// A document and its reads.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReadsRow")]
struct Row {
    /// The document.
    source_uri: String,
    /// How often it was opened with `knowledge.get`.
    reads: u64,
    /// By how many agents; those that gave no name count as one.
    agents: usize,
    /// When it was last opened.
    last_read_at: String,
}

#[derive(Default)]
struct Sum {
    reads: u64,
    agents: BTreeSet<String>,
    last: Timestamp,
}

impl Query for Reads {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.reads",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "How often agents opened each document over the last days.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::list_len("source_uris", input.source_uris.len(), 0, limits::BULK_MAX)?;
        let window_days = u32::try_from(input.days.clamp(1, reads::DAYS_MAX)).unwrap_or(1);
        let since = reads::window(window_days, reading.now());
        let asked: BTreeSet<&str> = input.source_uris.iter().map(String::as_str).collect();
        let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
        reading.reads().rows(reading.snapshot(), &scope, since, |read| {
            if asked.is_empty() || asked.contains(read.source_uri.as_str()) {
                let sum = sums.entry(read.source_uri).or_default();
                sum.reads += read.count;
                sum.agents.insert(read.agent);
                sum.last = sum.last.max(read.last);
            }
            reading.check_deadline()
        })?;
        let mut reads: Vec<(String, Sum)> = sums.into_iter().filter(|(_, sum)| sum.last >= since).collect();
        reads.sort_by(|(uri, sum), (other_uri, other)| {
            (other.reads, other.last, uri).cmp(&(sum.reads, sum.last, other_uri))
        });
        let rows = reads.into_iter().take(ROWS_MAX).map(|(source_uri, sum)| Row {
            source_uri,
            reads: sum.reads,
            agents: sum.agents.len(),
            last_read_at: rfc3339(sum.last),
        });
        Ok(Output { window_days, reads: rows.collect() })
    }
}
