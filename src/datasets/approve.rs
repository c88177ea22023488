//! Approving a dataset's schema, typing its rows again where types change.

use std::collections::BTreeMap;

use loom_datasets::type_table;
use loom_extract::contract::{Artifact, CellType};
use loom_storage::{BlobRow, DocId, Hash, Scope};

use super::snapshots::SnapshotBlob;
use super::stored::{Approval, StoredDataset};
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::extracted::{ArtifactRow, artifact_key};

/// What a changed type made of a dataset.
pub(crate) struct Retyping {
    /// The row of its new rows, to be catalogued.
    pub blob: BlobRow,
}

/// Approves a dataset of a live version, its columns typed as `types` says; what is to be stored beside it where that
/// changed a type.
pub(crate) fn approve(
    planning: &Planning<'_>,
    scope: &Scope,
    doc_id: DocId,
    dataset: &mut StoredDataset,
    types: &BTreeMap<String, CellType>,
) -> Result<Option<Retyping>, Error> {
    let columns = &dataset.description.columns;
    if let Some(unknown) = types.keys().find(|name| !columns.iter().any(|column| column.name == **name)) {
        return Err(no_column(unknown, dataset));
    }
    let changes = columns.iter().any(|column| types.get(&column.name).is_some_and(|to| *to != column.column_type));
    let approval = Approval { by: planning.actor().to_owned(), at: planning.now() };
    if !changes {
        dataset.description.settle();
        dataset.approval = Some(approval);
        return Ok(None);
    }
    let mut all: BTreeMap<String, CellType> =
        columns.iter().map(|column| (column.name.clone(), column.column_type)).collect();
    all.extend(types.iter().map(|(name, to)| (name.clone(), *to)));
    let artifact = artifact(planning, scope, doc_id)?;
    let table = usize::try_from(dataset.table).ok().and_then(|at| artifact.tables.get(at));
    let table = table.ok_or_else(|| Error::internal("an artifact lacks the table of a dataset"))?;
    let mut retyped = type_table(table, &all).map_err(Error::internal)?;
    retyped.description.settle();
    let blob = planning.store_blob(scope, &retyped.to_parquet().map_err(Error::internal)?)?;
    dataset.description = retyped.description;
    dataset.snapshot_id = planning.config().ids.fresh().to_string();
    dataset.blob = SnapshotBlob { sha256: blob.hash.hex(), size: blob.size };
    dataset.approval = Some(approval);
    Ok(Some(Retyping { blob }))
}

/// The stored extraction of a version.
fn artifact(planning: &Planning<'_>, scope: &Scope, doc_id: DocId) -> Result<Artifact, Error> {
    let gone = || Error::new(Code::BlobGone, "the stored extraction was removed: ingest the file again");
    let record = planning.snapshot().record(&artifact_key(scope, doc_id))?.ok_or_else(gone)?;
    let row: ArtifactRow = serde_json::from_slice(&record.value).map_err(Error::internal)?;
    let hash = Hash::from_hex(&row.sha256).ok_or_else(|| Error::internal("an artifact's row has no hash"))?;
    if planning.snapshot().blob(scope, &hash)?.is_none() {
        return Err(gone());
    }
    serde_json::from_slice(&planning.read_blob(scope, &hash)?).map_err(Error::internal)
}

fn no_column(name: &str, dataset: &StoredDataset) -> Error {
    let names = dataset.description.columns.iter().take(30).map(|column| format!("{:?}", column.name));
    let names = names.collect::<Vec<_>>().join(", ");
    Error::invalid("columns", format!("the dataset has no column {name:?}; it has {names}"))
}
