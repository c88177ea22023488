//! Running plans.

mod answer;
mod bind;
mod cache;
mod compile;
mod functions;
mod statement;

use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SessionContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::prelude::SessionConfig;
use serde_json::Value;
use tokio::runtime::Runtime;

pub use answer::ResultColumn;

use crate::error::Error;
use crate::plan::{Function, Plan};
use crate::schema::{Description, Held};
use crate::snapshot::Snapshot;
use crate::typing::stored_name;
use bind::Bound;
use cache::{Cache, Kept};
use compile::{Columns, Needed};

/// The stack of threads that make and run plans: many times what the longest plan was seen to take.
const STACK_BYTES: usize = 32 << 20;

/// What plans may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most rows that the datasets of one plan may have together.
    pub rows: u64,
    /// The most memory that one plan may take, in bytes: for the columns it reads, and as much again for its work.
    pub memory_bytes: usize,
    /// The most memory for columns that were read lately, in bytes.
    pub cache_bytes: usize,
    /// How many threads work on plans.
    pub threads: usize,
}

/// A dataset that a plan reads.
pub struct Source<'a> {
    /// The id of its snapshot.
    pub snapshot_id: &'a str,
    /// What it is.
    pub description: &'a Description,
    /// Reads the bytes of its snapshot; called where a column of it was not read lately.
    pub load: &'a dyn Fn() -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>>,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its columns.
    pub columns: Vec<ResultColumn>,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
    /// Of each row its number in each dataset; empty where the plan calculates.
    pub row_ids: Vec<Vec<u64>>,
    /// Whether there are more rows than the plan's limit.
    pub truncated: bool,
    /// The plan as a statement of SQL for people to read.
    pub statement: String,
    /// The values in the statement.
    pub parameters: Vec<Value>,
    /// The rows of the datasets that were read.
    pub rows_read: u64,
}

/// Runs plans.
pub struct Calculator {
    limits: Limits,
    runtime: OnceLock<Runtime>,
    cache: Cache,
}

/// The name and version of what runs plans.
pub fn engine() -> String {
    format!("datafusion {}", datafusion::DATAFUSION_VERSION)
}

impl Calculator {
    /// With these limits. Threads are started with the first plan.
    pub fn new(limits: Limits) -> Self {
        let cache = Cache::new(limits.cache_bytes);
        Self { limits, runtime: OnceLock::new(), cache }
    }

    /// Forgets the columns that were read lately.
    pub fn forget(&self) {
        self.cache.clear();
    }

    /// Runs a plan over the datasets in the order of its aliases, until it is done or `until` has come.
    ///
    /// # Errors
    /// [`Error::Plan`] of a plan that cannot be run, [`Error::Limit`] of one that needs more than it may use,
    /// [`Error::Damaged`], and [`Error::Load`] with what a source's `load` failed with.
    pub fn run(&self, plan: &Plan, sources: &[Source<'_>], until: Instant) -> Result<Answer, Error> {
        let descriptions: Vec<&Description> = sources.iter().map(|source| source.description).collect();
        let bound = bind::bind(plan, &descriptions)?;
        let rows_read: u64 = descriptions.iter().map(|description| description.row_count).sum();
        if rows_read > self.limits.rows {
            let max = self.limits.rows;
            return Err(Error::Limit(format!("the plan's datasets have {rows_read} rows; a query may read {max}")));
        }
        let needed = compile::needed(&bound, &descriptions, plan.include_totals);
        let mut bytes = 0;
        let columns = sources.iter().zip(&needed).map(|(source, needed)| self.columns(source, needed, &mut bytes));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let parts = if adds_doubles(&bound, &descriptions) { 1 } else { self.limits.threads.max(1) };
        if Instant::now() >= until {
            return Err(out_of_time());
        }
        let batches = on_deep_stack(|| {
            let context = self.context(parts)?;
            let frame = compile::compile(&context, &bound, &descriptions, &needed, &columns, (plan.limit, parts))?;
            self.collect(frame, until)
        })?;
        let (mut rows, mut row_ids) = answer::rows(&bound, &batches)?;
        let truncated = rows.len() > plan.limit;
        rows.truncate(plan.limit);
        row_ids.truncate(plan.limit);
        let (statement, parameters) = statement::statement(plan);
        let columns = answer::columns(plan, &bound, &descriptions);
        Ok(Answer { columns, rows, row_ids, truncated, statement, parameters, rows_read })
    }

    fn context(&self, parts: usize) -> Result<SessionContext, Error> {
        let config = SessionConfig::new().with_target_partitions(parts).with_information_schema(false);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(GreedyMemoryPool::new(self.limits.memory_bytes)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled))
            .build_arc()
            .map_err(Error::defect)?;
        Ok(SessionContext::new_with_config_rt(config, runtime))
    }

    fn collect(&self, frame: DataFrame, until: Instant) -> Result<Vec<RecordBatch>, Error> {
        let runtime = self.runtime()?;
        let left = until.saturating_duration_since(Instant::now());
        let collected = runtime.block_on(async { tokio::time::timeout(left, calculate(frame)).await });
        match collected {
            Err(_) => Err(out_of_time()),
            Ok(Ok(batches)) => Ok(batches),
            Ok(Err(error)) => match error.find_root() {
                DataFusionError::ResourcesExhausted(_) => {
                    let max = self.limits.memory_bytes;
                    Err(Error::Limit(format!("the plan needs more than the {max} bytes of memory that one may take")))
                }
                _ => Err(Error::defect(error)),
            },
        }
    }

    fn runtime(&self) -> Result<&Runtime, Error> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.limits.threads.max(1))
            .thread_name("loom-datasets")
            .thread_stack_size(STACK_BYTES)
            .enable_time()
            .build()
            .map_err(Error::defect)?;
        Ok(self.runtime.get_or_init(|| runtime))
    }

    /// The columns of a dataset that a plan reads; `bytes` counts the memory they take.
    fn columns(&self, source: &Source<'_>, needed: &Needed, bytes: &mut usize) -> Result<Columns, Error> {
        let mut opened: Option<Snapshot> = None;
        let mut columns = Columns { names: Vec::new(), types: Vec::new(), arrays: Vec::new() };
        for name in &needed.columns {
            let kept = if let Some(kept) = self.cache.get(source.snapshot_id, name) {
                kept
            } else {
                let snapshot = match opened.take() {
                    Some(snapshot) => snapshot,
                    None => Snapshot::open((source.load)().map_err(Error::Load)?)?,
                };
                snapshot.check(source.description)?;
                let kept = self.read(opened.insert(snapshot), name, *bytes)?;
                self.cache.put(source.snapshot_id, name, &kept);
                kept
            };
            *bytes += kept.bytes;
            if *bytes > self.limits.memory_bytes {
                return Err(self.too_much());
            }
            columns.names.push(name.clone());
            columns.types.push(kept.of.clone());
            columns.arrays.push(kept.batches);
        }
        Ok(columns)
    }

    fn read(&self, snapshot: &Snapshot, name: &str, held: usize) -> Result<Kept, Error> {
        let of = snapshot.schema().field_with_name(name).map_err(|error| Error::Damaged(error.to_string()))?;
        let mut kept = Vec::new();
        let (mut bytes, mut rows) = (0, 0);
        for array in snapshot.column(name)? {
            let array = in_plan_type(&array?);
            bytes += array.get_array_memory_size();
            if held + bytes > self.limits.memory_bytes {
                return Err(self.too_much());
            }
            rows += array.len();
            kept.push(array);
        }
        if rows != snapshot.rows() {
            return Err(Error::Damaged(format!("{rows} of {} values of {name} are there", snapshot.rows())));
        }
        let of = match of.data_type() {
            DataType::Decimal128(..) => compile::NARROW,
            other => other.clone(),
        };
        Ok(Kept { of, batches: Arc::new(kept), bytes })
    }

    fn too_much(&self) -> Error {
        let max = self.limits.memory_bytes;
        Error::Limit(format!("the columns of the plan take more than the {max} bytes of memory that one may take"))
    }
}

/// Runs a plan so that it can be left at any time. What reads yields now and then by itself, but a join makes many batches of
/// one that it reads.
async fn calculate(frame: DataFrame) -> Result<Vec<RecordBatch>, DataFusionError> {
    let context = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await?;
    let yielding = plan.transform_up(|node| {
        let is_join = node.children().len() > 1;
        Ok(if is_join { Transformed::yes(Arc::new(CooperativeExec::new(node)) as _) } else { Transformed::no(node) })
    })?;
    physical_plan::collect(yielding.data, context).await
}

/// Does what recurses by a plan's depth: the library does, in large frames, when it makes a plan better.
fn on_deep_stack<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let deep = thread::Builder::new().name("loom-plan".into()).stack_size(STACK_BYTES);
        let deep = deep.spawn_scoped(scope, work).map_err(Error::defect)?;
        deep.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn out_of_time() -> Error {
    Error::Limit("the plan needs more time than one may take: narrow it with conditions, or join fewer rows".into())
}

/// Numbers of few digits as the other narrow ones.
fn in_plan_type(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Decimal128(..) => {
            Arc::new(array.as_primitive::<Decimal128Type>().clone().with_data_type(compile::NARROW))
        }
        _ => Arc::clone(array),
    }
}

/// Whether doubles are added: their sum depends on the order.
fn adds_doubles(bound: &Bound, datasets: &[&Description]) -> bool {
    let mut sums =
        bound.aggregates.iter().filter(|aggregate| matches!(aggregate.function, Function::Sum | Function::Avg));
    sums.any(|sum| sum.at.is_some_and(|(dataset, column)| datasets[dataset].columns[column].held == Held::Double))
}

/// The first rows of a snapshot, `null` for the columns that are not stored.
///
/// # Errors
/// [`Error::Damaged`].
pub fn sample(description: &Description, snapshot: &Snapshot, rows: usize) -> Result<Vec<Vec<Value>>, Error> {
    snapshot.check(description)?;
    let batches = snapshot.first_rows(rows)?;
    let mut sample = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let values = description.columns.iter().enumerate().map(|(at, _)| {
                batch.column_by_name(&stored_name(at)).map_or(Ok(Value::Null), |array| answer::values(array, row))
            });
            sample.push(values.collect::<Result<_, _>>()?);
        }
    }
    Ok(sample)
}
