//! `knowledge.query`: a calculation over datasets, every row of their live snapshots read.

use loom_datasets::plan::{QueryAggregate, QueryColumn, QueryFilter, QueryGroup, QueryJoin, QueryOrder};
use loom_datasets::{Plan, ResultColumn, engine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::Reading;
use crate::datasets::{Asked, query};
use crate::error::Error;
use crate::limits;
use crate::op::{self, Facts, Kind, Role};

/// The longest alias, in characters.
const ALIAS_CHARS_MAX: usize = 200;

/// See the module.
pub struct Query;

/// The input of `knowledge.query`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The datasets (1-4), each under its alias.
    datasets: Vec<QueryDataset>,
    /// Conditions that every row must meet, before any join.
    #[serde(default, rename = "where")]
    conditions: Vec<QueryFilter>,
    /// How each dataset past the first joins an earlier one.
    #[serde(default)]
    joins: Vec<QueryJoin>,
    /// What the aggregates are calculated for each value of; empty for one result row.
    #[serde(default)]
    group_by: Vec<QueryGroup>,
    /// What is calculated; empty to return the rows themselves.
    #[serde(default)]
    aggregates: Vec<QueryAggregate>,
    /// The columns of each row where nothing is calculated; empty for all. With several datasets each is called
    /// `<alias>.<column>`.
    #[serde(default)]
    select: Vec<QueryColumn>,
    /// The result's order by its own columns; otherwise that of the groups, or of the rows in their source.
    #[serde(default)]
    order_by: Vec<QueryOrder>,
    /// The most result rows (1 to `LOOM_QUERY_MAX_RESULT_ROWS`).
    #[serde(default = "limit_default")]
    limit: u32,
    /// Whether rows that state totals of others count too; without it they are left out, so that nothing is added twice.
    #[serde(default)]
    include_totals: bool,
}

fn limit_default() -> u32 {
    100
}

/// A dataset that a plan reads.
#[derive(Deserialize, JsonSchema)]
struct QueryDataset {
    /// The ingested file.
    source_uri: String,
    /// The dataset; may be empty where the file has one.
    #[serde(default)]
    dataset_id: String,
    /// What the plan calls it; may be empty where it has one.
    #[serde(default)]
    alias: String,
}

/// The output of `knowledge.query`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The result's columns.
    columns: Vec<ResultColumn>,
    /// The result's rows. A number with decimal places, or a whole one past 2^53, is its text.
    rows: Vec<Vec<Value>>,
    /// Where nothing is calculated, of each row its number in each dataset.
    row_ids: Vec<Vec<u64>>,
    /// Whether more rows matched than `limit` returned.
    truncated: bool,
    /// Whether every dataset holds every row of its source.
    complete: bool,
    /// Why the result is not complete, one reason for each dataset.
    incomplete: Vec<String>,
    /// What was read and how.
    receipt: QueryReceipt,
}

/// What was read and how.
#[derive(Serialize, JsonSchema)]
struct QueryReceipt {
    /// The snapshots, in the plan's order.
    snapshots: Vec<QuerySnapshot>,
    /// The plan as it was run.
    plan: Value,
    /// The plan as SQL, for people to read: it was not run as such.
    statement: String,
    /// The values in the statement, `$1` first.
    parameters: Vec<Value>,
    /// What ran it, and its version.
    engine: String,
    /// How long that took, in milliseconds.
    elapsed_ms: f64,
    /// The rows that the snapshots have together.
    rows_read: u64,
}

/// A snapshot that was read.
#[derive(Serialize, JsonSchema)]
struct QuerySnapshot {
    /// What the plan calls it.
    alias: String,
    /// The ingested file.
    source_uri: String,
    /// The dataset of it.
    dataset_id: String,
    /// The snapshot.
    snapshot_id: String,
    /// The revision of the document that holds it.
    revision: u64,
    /// The rows it has.
    row_count: u64,
    /// The rows of the table that it left out.
    rejected_rows: u64,
    /// The rows that state totals of others and were left out for that.
    total_rows_left_out: u64,
}

impl op::Query for Query {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.query",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "Calculate exactly over datasets: conditions, joins, groups and aggregates, or the rows themselves.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::range("limit", input.limit, 1, reading.config().datasets.result_rows_max)?;
        limits::list_len("datasets", input.datasets.len(), 1, loom_datasets::plan::DATASETS_MAX)?;
        let mut asked = Vec::new();
        for (at, dataset) in input.datasets.into_iter().enumerate() {
            limits::source_uri(&format!("datasets[{at}].source_uri"), &dataset.source_uri)?;
            limits::text(&format!("datasets[{at}].dataset_id"), &dataset.dataset_id, limits::LABEL_CHARS_MAX)?;
            limits::text(&format!("datasets[{at}].alias"), &dataset.alias, ALIAS_CHARS_MAX)?;
            asked.push(Asked { source_uri: dataset.source_uri, dataset_id: dataset.dataset_id, alias: dataset.alias });
        }
        let plan = Plan {
            datasets: Vec::new(),
            conditions: input.conditions,
            joins: input.joins,
            group_by: input.group_by,
            aggregates: input.aggregates,
            select: input.select,
            order_by: input.order_by,
            limit: input.limit as usize,
            include_totals: input.include_totals,
        };
        let calculated = query(reading, &scope, &asked, plan)?;
        let incomplete = calculated.incomplete();
        let snapshots = calculated.read.iter().zip(&asked).map(|(read, asked)| {
            let description = &read.dataset.description;
            QuerySnapshot {
                alias: read.alias.clone(),
                source_uri: asked.source_uri.clone(),
                dataset_id: read.dataset.dataset_id.clone(),
                snapshot_id: read.dataset.snapshot_id.clone(),
                revision: read.revision.0,
                row_count: description.row_count,
                rejected_rows: description.rejected.count,
                total_rows_left_out: if calculated.plan.include_totals { 0 } else { description.totals.count },
            }
        });
        let snapshots = snapshots.collect();
        let plan = calculated.shown_plan(&asked)?;
        let answer = calculated.answer;
        Ok(Output {
            columns: answer.columns,
            rows: answer.rows,
            row_ids: answer.row_ids,
            truncated: answer.truncated,
            complete: incomplete.is_empty(),
            incomplete,
            receipt: QueryReceipt {
                snapshots,
                plan,
                statement: answer.statement,
                parameters: answer.parameters,
                engine: engine(),
                elapsed_ms: calculated.elapsed_ms,
                rows_read: answer.rows_read,
            },
        })
    }
}
