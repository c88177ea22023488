//! The blobs that a version's datasets are kept in, for what only keeps or removes them.

use loom_storage::{DocId, Hash, Precondition, Record, Scope, Seq, Snapshot};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The start of the keys of datasets.
pub(crate) const DATASETS: &str = "dataset/";

/// The key of the record of a version's datasets.
pub(crate) fn datasets_key(scope: &Scope, doc_id: DocId) -> String {
    format!("{DATASETS}{}/{}/{doc_id}", scope.org, scope.namespace)
}

/// That a version's datasets were last changed by a commit.
pub(crate) fn datasets_unchanged(scope: &Scope, doc_id: DocId, changed: Seq) -> Precondition {
    Precondition::Record { key: datasets_key(scope, doc_id), changed: Some(changed) }
}

/// The hashes of the snapshots that a record of datasets names.
pub(crate) fn snapshot_hashes(record: &Record) -> Result<Vec<Hash>, Error> {
    let kept: Kept = serde_json::from_slice(&record.value).map_err(Error::internal)?;
    Ok(kept.datasets.iter().filter_map(|dataset| Hash::from_hex(&dataset.blob.sha256)).collect())
}

/// The hashes of the snapshots of a version's datasets.
pub(crate) fn snapshots_of(snapshot: &dyn Snapshot, scope: &Scope, doc_id: DocId) -> Result<Vec<Hash>, Error> {
    match snapshot.record(&datasets_key(scope, doc_id))? {
        Some(record) => snapshot_hashes(&record),
        None => Ok(Vec::new()),
    }
}

/// The part of a record of datasets that says where their rows are.
#[derive(Deserialize)]
struct Kept {
    datasets: Vec<KeptDataset>,
}

#[derive(Deserialize)]
struct KeptDataset {
    blob: SnapshotBlob,
}

/// The blob of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotBlob {
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Their number.
    pub size: u64,
}
