//! Datasets as callers see them.

use std::collections::HashMap;

use loom_datasets::schema::{Clarification, Held, Rejected, Totals};
use loom_datasets::{Snapshot as Rows, sample};
use loom_storage::{DocId, Revision, Scope, Snapshot};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::stored::{Stored, StoredDataset, find};
use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;

/// A dataset.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DatasetOut {
    /// Its id among the datasets of its source.
    pub dataset_id: String,
    /// The table's name: the sheet's, or a caption; possibly empty.
    pub name: String,
    /// Its place among the tables of the file, from 1.
    pub position: u32,
    /// The revision of the document that holds it.
    pub revision: u64,
    /// The id of the rows that serve it.
    pub snapshot_id: String,
    /// Whether its schema can be trusted: `inferred`, `needs_clarification` or `approved`.
    pub schema_state: SchemaState,
    /// What is to be answered about its schema.
    pub clarifications: Vec<Clarification>,
    /// Its columns in the order of the table.
    pub columns: Vec<ColumnOut>,
    /// The rows it holds.
    pub row_count: u64,
    /// The rows it left out because a value of theirs is none of its column's type.
    pub rejected_rows: Rejected,
    /// The rows that state totals of others; a query leaves them out unless it has `include_totals`.
    pub total_rows: Totals,
    /// What a person should know of its values, such as totals that are not the sums of their rows.
    pub warnings: Vec<String>,
    /// Whether it has every value of the table, the rejected rows aside.
    pub complete: bool,
    /// Why it has not.
    pub incomplete: Vec<String>,
    /// Who approved its schema; null when nobody did.
    pub approved_by: Option<String>,
    /// When its schema was approved; null when it was not.
    pub approved_at: Option<String>,
    /// Its first rows, the values in the columns' order; null when none were asked for.
    pub sample: Option<Vec<Vec<Value>>>,
}

/// Whether a schema can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SchemaState {
    /// Every column has the type that the extractor told, and nothing is unclear.
    Inferred,
    /// Something is to be answered before a query reads it.
    NeedsClarification,
    /// A writer approved it.
    Approved,
}

/// A column of a dataset.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "DatasetColumn")]
pub(crate) struct ColumnOut {
    /// Its name.
    pub name: String,
    /// The type that its values are held as.
    #[serde(rename = "type")]
    pub column_type: &'static str,
    /// The type that the extractor told from its values.
    pub inferred: &'static str,
    /// Whether its values are stored.
    pub stored: bool,
    /// Whether its numbers are doubles, because the places for exact ones were taken.
    pub double: bool,
}

/// A stored dataset as callers see it, with its first `rows` rows.
pub(crate) fn show(
    reading: &Reading<'_>,
    scope: &Scope,
    revision: Revision,
    dataset: &StoredDataset,
    rows: usize,
) -> Result<DatasetOut, Error> {
    let is_gone = reading.snapshot().blob(scope, &dataset.hash()?)?.is_none();
    let sample = match rows {
        0 => None,
        _ if is_gone => Some(Vec::new()),
        rows => {
            let stored = Rows::open(reading.read_blob(scope, &dataset.hash()?)?).map_err(Error::internal)?;
            Some(sample(&dataset.description, &stored, rows).map_err(Error::internal)?)
        }
    };
    Ok(described(revision, dataset, dataset.incomplete(is_gone), sample))
}

/// A dataset as callers see it once it is stored.
pub(crate) fn described(
    revision: Revision,
    dataset: &StoredDataset,
    incomplete: Vec<String>,
    sample: Option<Vec<Vec<Value>>>,
) -> DatasetOut {
    let description = &dataset.description;
    let columns = description.columns.iter().map(|column| ColumnOut {
        name: column.name.clone(),
        column_type: column.column_type.name(),
        inferred: column.inferred.name(),
        stored: column.held != Held::Not,
        double: column.held == Held::Double,
    });
    DatasetOut {
        dataset_id: dataset.dataset_id.clone(),
        name: dataset.name.clone(),
        position: dataset.position,
        revision: revision.0,
        snapshot_id: dataset.snapshot_id.clone(),
        schema_state: state(dataset),
        clarifications: description.clarifications.clone(),
        columns: columns.collect(),
        row_count: description.row_count,
        rejected_rows: description.rejected.clone(),
        total_rows: description.totals.clone(),
        warnings: description.warnings.clone(),
        complete: incomplete.is_empty(),
        incomplete,
        approved_by: dataset.approval.as_ref().map(|approval| approval.by.clone()),
        approved_at: dataset.approval.as_ref().map(|approval| rfc3339(approval.at)),
        sample,
    }
}

fn state(dataset: &StoredDataset) -> SchemaState {
    if dataset.approval.is_some() {
        SchemaState::Approved
    } else if dataset.is_clear() {
        SchemaState::Inferred
    } else {
        SchemaState::NeedsClarification
    }
}

/// A dataset in brief, as an outline lists it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "OutlineDataset")]
pub(crate) struct Brief {
    /// Its id among the datasets of its source.
    pub dataset_id: String,
    /// The table's name; possibly empty.
    pub name: String,
    /// Whether its schema can be trusted: `inferred`, `needs_clarification` or `approved`.
    pub schema_state: SchemaState,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The rows it holds.
    pub row_count: u64,
}

/// The datasets of versions, read once each.
#[derive(Default)]
pub(crate) struct Briefs {
    read: HashMap<(Scope, DocId), Option<Stored>>,
}

impl Briefs {
    /// The id of the dataset that a passage of a version is of.
    pub fn of_chunk(
        &mut self,
        snapshot: &dyn Snapshot,
        scope: &Scope,
        doc_id: DocId,
        idx: u32,
    ) -> Result<Option<String>, Error> {
        let stored = self.read(snapshot, scope, doc_id)?;
        Ok(stored.and_then(|stored| stored.of_chunk(idx)).map(|dataset| dataset.dataset_id.clone()))
    }

    /// The datasets of a version.
    pub fn of_version(&mut self, snapshot: &dyn Snapshot, scope: &Scope, doc_id: DocId) -> Result<Vec<Brief>, Error> {
        let stored = self.read(snapshot, scope, doc_id)?;
        let brief = |dataset: &StoredDataset| Brief {
            dataset_id: dataset.dataset_id.clone(),
            name: dataset.name.clone(),
            schema_state: state(dataset),
            columns: dataset.description.columns.iter().map(|column| column.name.clone()).collect(),
            row_count: dataset.description.row_count,
        };
        Ok(stored.iter().flat_map(|stored| &stored.datasets).map(brief).collect())
    }

    fn read(&mut self, snapshot: &dyn Snapshot, scope: &Scope, doc_id: DocId) -> Result<Option<&Stored>, Error> {
        let key = (scope.clone(), doc_id);
        if !self.read.contains_key(&key) {
            let stored = find(snapshot, scope, doc_id)?.map(|(stored, _)| stored);
            self.read.insert(key.clone(), stored);
        }
        Ok(self.read.get(&key).and_then(Option::as_ref))
    }
}
