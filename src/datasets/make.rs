//! From an artifact's tables to datasets that a revision publishes.

use std::collections::{BTreeMap, HashSet};

use loom_datasets::{Dataset, type_table};
use loom_extract::contract::{Artifact, CellType, Coverage, Table, lost};
use loom_storage::{BlobRow, DocId, Scope, Seq, Snapshot, Version, Write};

use super::snapshots::SnapshotBlob;
use super::stored::{Approval, Stored, StoredDataset, find};
use crate::chunk::Mark;
use crate::engine::Inner;
use crate::error::Error;

/// The formats whose every table is a dataset; of others those are that have a header and a column that is not text.
const TABULAR: &[&str] = &["csv", "tsv", "xlsx", "xls", "ods", "parquet"];
/// The longest part of a dataset's id that its table's name makes, in characters.
const ID_CHARS_MAX: usize = 60;

/// The tables of a file that are datasets.
pub(crate) struct Tables {
    all: Vec<Table>,
    /// The numbers of those that are datasets.
    chosen: Vec<usize>,
    /// What of all tables was not extracted.
    lost: Vec<String>,
    /// Whether parts of some table were left out.
    is_cut: bool,
}

/// Datasets whose rows are stored and that wait for the version they are of.
pub(crate) struct Prepared {
    stored: Stored,
    blobs: Vec<BlobRow>,
    /// The approvals of the revision before that they were typed by.
    carried: Vec<Carried>,
}

/// An approved schema.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Carried {
    dataset_id: String,
    columns: Vec<(String, CellType)>,
    approval: Approval,
}

impl Tables {
    /// The tables of an artifact, which it has no more afterwards, and a warning about those that are no datasets.
    pub fn take(artifact: &mut Artifact, per_file_max: usize) -> (Self, Option<String>) {
        let tables = std::mem::take(&mut artifact.tables);
        let is_tabular = TABULAR.contains(&artifact.format.as_str());
        let is_dataset = |table: &Table| {
            let is_typed = table.columns.iter().any(|column| column.column_type != CellType::String);
            !table.columns.is_empty() && (is_tabular || (is_typed && table.header_rows > 0 && table.total_rows > 1))
        };
        let mut chosen: Vec<usize> =
            tables.iter().enumerate().filter(|(_, table)| is_dataset(table)).map(|(at, _)| at).collect();
        let count = chosen.len();
        chosen.truncate(per_file_max);
        let warning = (count > per_file_max)
            .then(|| format!("the first {per_file_max} of {count} tables are datasets (LOOM_DATASETS_MAX)"));
        let coverage = &artifact.coverage;
        (Self { all: tables, chosen, lost: lost_of_all(coverage), is_cut: is_lost(coverage, lost::TABLES) }, warning)
    }

    /// All tables, for the document's text.
    pub fn all(&self) -> &[Table] {
        &self.all
    }

    /// The datasets, typed by the approvals of the live version, their rows stored. `earlier` is given back where it is that
    /// already. The second is the commit that last changed the live version's datasets.
    pub fn prepare(
        &self,
        engine: &Inner,
        snapshot: &dyn Snapshot,
        scope: &Scope,
        live: Option<&Version>,
        earlier: Option<Prepared>,
    ) -> Result<(Option<Prepared>, Option<Seq>), Error> {
        if self.chosen.is_empty() {
            return Ok((None, None));
        }
        let before = match live {
            Some(live) => find(snapshot, scope, live.doc_id)?,
            None => None,
        };
        let changed = before.as_ref().map(|(_, changed)| *changed);
        let carried: Vec<Carried> =
            before.iter().flat_map(|(stored, _)| &stored.datasets).filter_map(Carried::of).collect();
        if let Some(earlier) = earlier.filter(|earlier| earlier.carried == carried) {
            return Ok((Some(earlier), changed));
        }
        let mut prepared = Prepared { stored: Stored::default(), blobs: Vec::new(), carried };
        let mut ids = HashSet::new();
        for (position, at) in self.chosen.iter().enumerate() {
            let (table, position) = (&self.all[*at], position + 1);
            let dataset_id = dataset_id(&table.name, position, &mut ids);
            let approved =
                prepared.carried.iter().find(|carried| carried.dataset_id == dataset_id && carried.is_of(table));
            let types = approved.map(Carried::types).unwrap_or_default();
            let mut dataset = type_table(table, &types).map_err(Error::internal)?;
            let approval = approved.map(|carried| carried.approval.clone());
            if approval.is_some() {
                dataset.description.settle();
            }
            let blob = store(engine, scope, &dataset)?;
            prepared.stored.datasets.push(StoredDataset {
                dataset_id,
                name: table.name.clone(),
                position: u32::try_from(position).unwrap_or(u32::MAX),
                table: u32::try_from(*at).unwrap_or(u32::MAX),
                snapshot_id: engine.config.ids.fresh().to_string(),
                blob: SnapshotBlob { sha256: blob.hash.hex(), size: blob.size },
                approval,
                lost: self.lost_of(table, &dataset),
                chunks: Vec::new(),
                description: dataset.description,
            });
            prepared.blobs.push(blob);
        }
        Ok((Some(prepared), changed))
    }

    fn lost_of(&self, table: &Table, dataset: &Dataset) -> Vec<String> {
        let read = dataset.description.row_count + dataset.description.rejected.count;
        let cut = (read < table.total_rows).then(|| {
            format!("{read} of the table's {} rows were read: it was cut at the extractor's bound", table.total_rows)
        });
        let of_some = (cut.is_none() && self.is_cut)
            .then(|| "the extractor left parts of the file's tables out, of this one or another".to_owned());
        cut.into_iter().chain(of_some).chain(self.lost.iter().cloned()).collect()
    }
}

/// What a coverage says of every table of its file.
fn lost_of_all(coverage: &Coverage) -> Vec<String> {
    let mut reasons = Vec::new();
    if coverage.failed > 0 {
        reasons.push(format!("{} of {} parts of the file could not be read", coverage.failed, coverage.total));
    }
    if is_lost(coverage, lost::BINARY_VALUES) {
        reasons.push("values that are bytes were left out".into());
    }
    if is_lost(coverage, lost::FORMULA_VALUES) {
        reasons.push("the workbook was saved without the values of its formulas".into());
    }
    reasons
}

fn is_lost(coverage: &Coverage, capability: &str) -> bool {
    coverage.lost.iter().any(|lost| lost == capability)
}

impl Carried {
    fn of(dataset: &StoredDataset) -> Option<Self> {
        let columns = dataset.description.columns.iter().map(|column| (column.name.clone(), column.column_type));
        let approval = dataset.approval.clone()?;
        Some(Self { dataset_id: dataset.dataset_id.clone(), columns: columns.collect(), approval })
    }

    /// Whether a table has the columns that were approved: the same names in the same order.
    fn is_of(&self, table: &Table) -> bool {
        let names = loom_datasets::schema::column_names(table);
        names.iter().eq(self.columns.iter().map(|(name, _)| name))
    }

    fn types(&self) -> BTreeMap<String, CellType> {
        self.columns.iter().cloned().collect()
    }
}

/// Stores the rows of a dataset.
pub(super) fn store(engine: &Inner, scope: &Scope, dataset: &Dataset) -> Result<BlobRow, Error> {
    let bytes = dataset.to_parquet().map_err(Error::internal)?;
    engine.disk.admit(bytes.len() as u64)?;
    let mut writer = engine.store.write_blob(scope)?;
    writer.write(&bytes)?;
    let (hash, size) = writer.finish()?;
    Ok(BlobRow { hash, size, stored_at: engine.config.clock.now() })
}

/// A dataset's id: what its table is called, in lower case and with dashes, or its place; no other of the source has it.
fn dataset_id(name: &str, position: usize, taken: &mut HashSet<String>) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let slug: String = words.collect::<Vec<_>>().join("-").chars().take(ID_CHARS_MAX).collect();
    let wanted = if slug.is_empty() { format!("table-{position}") } else { slug };
    let mut unique = wanted.clone();
    let mut number = 2;
    while !taken.insert(unique.clone()) {
        unique = format!("{wanted}-{number}");
        number += 1;
    }
    unique
}

impl Prepared {
    /// Says which passages of the version are of which dataset.
    pub fn place(&mut self, marks: &[Mark]) {
        for dataset in &mut self.stored.datasets {
            dataset.chunks.clear();
            for (idx, _) in marks.iter().enumerate().filter(|(_, mark)| mark.table == Some(dataset.table)) {
                let idx = u32::try_from(idx).unwrap_or(u32::MAX);
                match dataset.chunks.last_mut() {
                    Some((_, end)) if *end == idx => *end += 1,
                    _ => dataset.chunks.push((idx, idx + 1)),
                }
            }
        }
    }

    /// What publishes them as the datasets of a version.
    pub fn writes(&self, scope: &Scope, doc_id: DocId) -> Result<Vec<Write>, Error> {
        let blobs = self.blobs.iter().map(|row| Write::PutBlob { scope: scope.clone(), row: row.clone() });
        let mut writes: Vec<Write> = blobs.collect();
        writes.push(self.stored.write(scope, doc_id)?);
        Ok(writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names_that_can_be_typed_and_each_there_once() {
        let mut taken = HashSet::new();
        let ids: Vec<String> = ["Sales 2025", "sales-2025", "", "Übersicht (Q1)", "!!"]
            .iter()
            .enumerate()
            .map(|(at, name)| dataset_id(name, at + 1, &mut taken))
            .collect();
        assert_eq!(ids, ["sales-2025", "sales-2025-2", "table-3", "übersicht-q1", "table-5"]);
    }
}
