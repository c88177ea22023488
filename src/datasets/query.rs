//! Running a plan over datasets of live versions.

use std::time::Instant;

use loom_datasets::{Answer, Calculator, Error as Wrong, Limits, Plan, Source};
use loom_storage::{Revision, Scope, Snapshot};
use serde_json::{Value, json};

use super::settings::DatasetSettings;
use super::stored::{StoredDataset, find};
use crate::context::Reading;
use crate::engine::Inner;
use crate::error::{Code, Error};
use crate::ingest;

/// A dataset that a plan names.
pub(crate) struct Asked {
    pub source_uri: String,
    /// Empty where the source has one.
    pub dataset_id: String,
    pub alias: String,
}

/// What a plan was calculated from, and what came of it.
pub(crate) struct Calculated {
    pub answer: Answer,
    pub plan: Plan,
    /// The datasets in the plan's order.
    pub read: Vec<Read>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

/// A dataset that was read.
pub(crate) struct Read {
    /// What the plan calls it: its id where the caller gave it no other name.
    pub alias: String,
    pub revision: Revision,
    pub dataset: StoredDataset,
}

/// What runs plans, within the settings.
pub(crate) fn calculator(settings: &DatasetSettings) -> Calculator {
    Calculator::new(Limits {
        rows: settings.rows_max,
        memory_bytes: settings.memory_bytes,
        cache_bytes: settings.cache_bytes,
        threads: settings.threads,
    })
}

/// Forgets what was read of datasets lately.
pub(crate) fn forget(engine: &Inner) {
    engine.calculator.forget();
}

/// Runs a plan over the live snapshots of the datasets it names.
pub(crate) fn query(
    reading: &Reading<'_>,
    scope: &Scope,
    asked: &[Asked],
    mut plan: Plan,
) -> Result<Calculated, Error> {
    let read = asked.iter().enumerate().map(|(at, asked)| live(reading, scope, at, asked));
    let read = read.collect::<Result<Vec<_>, _>>()?;
    plan.datasets = read.iter().map(|read| read.alias.clone()).collect();
    let loads: Vec<_> = read.iter().map(|read| load(reading, scope, &read.dataset)).collect();
    let sources = read.iter().zip(&loads).map(|(read, load)| Source {
        snapshot_id: &read.dataset.snapshot_id,
        description: &read.dataset.description,
        load,
    });
    let sources: Vec<Source<'_>> = sources.collect();
    let started = Instant::now();
    let answer = reading.calculator().run(&plan, &sources, reading.deadline());
    let elapsed_ms = started.elapsed().as_secs_f64() * 1e3;
    reading.time("calculate", elapsed_ms);
    drop(sources);
    drop(loads);
    let answer = answer.map_err(told)?;
    // Both the reading's and what is stored now: a replaced dataset is no longer the one the caller asked for.
    let now = reading.fresh()?;
    for (at, (asked, read)) in asked.iter().zip(&read).enumerate() {
        let still = live_of(now.as_ref(), scope, &asked.source_uri)?.is_some_and(|(_, datasets)| {
            datasets.iter().any(|dataset| dataset.snapshot_id == read.dataset.snapshot_id)
        });
        if !still {
            let message = format!("{:?} was replaced while the query ran: run it again", asked.source_uri);
            let field = Some(format!("datasets[{at}].source_uri"));
            return Err(Error { field, ..Error::new(Code::PreconditionFailed, message) });
        }
    }
    Ok(Calculated { answer, plan, read, elapsed_ms })
}

type Load<'a> = Box<dyn Fn() -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> + 'a>;

fn load<'a>(reading: &'a Reading<'_>, scope: &'a Scope, dataset: &'a StoredDataset) -> Load<'a> {
    Box::new(move || Ok(reading.read_blob(scope, &dataset.hash()?)?))
}

/// The datasets of what is live at a source address.
fn live_of(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    source_uri: &str,
) -> Result<Option<(Revision, Vec<StoredDataset>)>, Error> {
    let Some(version) = ingest::live_in(snapshot, scope, source_uri)? else { return Ok(None) };
    let datasets = find(snapshot, scope, version.doc_id)?.map(|(stored, _)| stored.datasets);
    Ok(Some((version.revision, datasets.unwrap_or_default())))
}

/// The dataset that a plan names.
fn live(reading: &Reading<'_>, scope: &Scope, at: usize, asked: &Asked) -> Result<Read, Error> {
    let field = |name: &str| Some(format!("datasets[{at}].{name}"));
    let refused = |code, name: &str, message: String| Err(Error { field: field(name), ..Error::new(code, message) });
    let source_uri = &asked.source_uri;
    let Some((revision, datasets)) = live_of(reading.snapshot(), scope, source_uri)? else {
        return refused(Code::NotFound, "source_uri", format!("nothing is live at {source_uri:?}"));
    };
    let ids = || datasets.iter().map(|dataset| format!("{:?}", dataset.dataset_id)).collect::<Vec<_>>().join(", ");
    let dataset = match (asked.dataset_id.as_str(), datasets.as_slice()) {
        (_, []) => {
            let message = format!("{source_uri:?} has no datasets: ingest a file that holds tables");
            return refused(Code::NotFound, "source_uri", message);
        }
        ("", [only]) => only,
        ("", _) => {
            let message = format!("{source_uri:?} has several datasets, name one: {}", ids());
            return refused(Code::ValidationFailed, "dataset_id", message);
        }
        (id, datasets) => {
            let Some(dataset) = datasets.iter().find(|dataset| dataset.dataset_id == id) else {
                let message = format!("{source_uri:?} has no dataset {id:?}; it has {}", ids());
                return refused(Code::NotFound, "dataset_id", message);
            };
            dataset
        }
    };
    if !dataset.is_clear() {
        let questions =
            dataset.description.clarifications.iter().take(5).map(|clarification| clarification.detail.as_str());
        let message = format!(
            "the schema of {:?} in {source_uri:?} needs approval first (knowledge.dataset_approve): {}",
            dataset.dataset_id,
            questions.collect::<Vec<_>>().join("; ")
        );
        return refused(Code::NeedsClarification, "dataset_id", message);
    }
    if reading.snapshot().blob(scope, &dataset.hash()?)?.is_none() {
        let message = format!("the rows of {source_uri:?} were removed while it was deleted: ingest the file again");
        return refused(Code::BlobGone, "source_uri", message);
    }
    let alias = if asked.alias.is_empty() { &dataset.dataset_id } else { &asked.alias };
    Ok(Read { alias: alias.clone(), revision, dataset: dataset.clone() })
}

/// What a caller is told of a plan that was not run to its end.
fn told(error: Wrong) -> Error {
    match error {
        Wrong::Plan { field, message } => Error::invalid(field, message),
        Wrong::Limit(message) => Error::new(Code::QueryLimit, format!("{message}, so nothing is returned")),
        Wrong::Load(cause) => match cause.downcast::<Error>() {
            Ok(error) => *error,
            Err(cause) => Error::internal(cause),
        },
        other @ (Wrong::NoSuchColumn(_) | Wrong::Damaged(_) | Wrong::Defect(_)) => Error::internal(other),
    }
}

impl Calculated {
    /// Why the result may not cover its sources, a sentence for each dataset that left something out.
    pub fn incomplete(&self) -> Vec<String> {
        let reasons = self.read.iter().filter_map(|read| {
            let mut reasons = read.dataset.incomplete(false);
            let rejected = read.dataset.description.rejected.count;
            if rejected > 0 {
                let rows = if rejected == 1 { "row was" } else { "rows were" };
                reasons.push(format!("{rejected} {rows} rejected (knowledge.dataset_get lists the first)"));
            }
            (!reasons.is_empty()).then(|| format!("{}: {}", read.alias, reasons.join("; ")))
        });
        reasons.collect()
    }

    /// A plan as it was run, for the receipt.
    pub fn shown_plan(&self, asked: &[Asked]) -> Result<Value, Error> {
        let mut value = serde_json::to_value(&self.plan).map_err(Error::internal)?;
        value["datasets"] = asked
            .iter()
            .zip(&self.read)
            .map(|(asked, read)| {
                json!({ "source_uri": asked.source_uri, "dataset_id": read.dataset.dataset_id, "alias": read.alias })
            })
            .collect();
        Ok(value)
    }
}
