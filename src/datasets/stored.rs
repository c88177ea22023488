//! A version's datasets as they are stored.

use loom_datasets::schema::{Description, Held};
use loom_storage::{DocId, Hash, RecordWrite, Scope, Seq, Snapshot, Timestamp, Write};
use serde::{Deserialize, Serialize};

use super::snapshots::{SnapshotBlob, datasets_key};
use crate::error::Error;

/// The datasets of a version: the value of their record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub datasets: Vec<StoredDataset>,
}

/// A dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredDataset {
    /// Its id among those of its source.
    pub dataset_id: String,
    /// The table's name; possibly empty.
    pub name: String,
    /// Its place among the tables of the file, from 1.
    pub position: u32,
    /// The number of the table in the artifact.
    pub table: u32,
    /// The id of the rows that serve it.
    pub snapshot_id: String,
    /// Where those rows are.
    pub blob: SnapshotBlob,
    pub description: Description,
    /// Who approved its schema.
    pub approval: Option<Approval>,
    /// What of the table was not extracted, a sentence each.
    pub lost: Vec<String>,
    /// The passages of the table: runs of chunk numbers, each from its first up to before its second.
    pub chunks: Vec<(u32, u32)>,
}

/// That somebody approved a schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Approval {
    pub by: String,
    pub at: Timestamp,
}

/// The datasets of a version, and the commit that last changed them.
pub(crate) fn find(snapshot: &dyn Snapshot, scope: &Scope, doc_id: DocId) -> Result<Option<(Stored, Seq)>, Error> {
    let Some(record) = snapshot.record(&datasets_key(scope, doc_id))? else { return Ok(None) };
    let stored = serde_json::from_slice(&record.value).map_err(Error::internal)?;
    Ok(Some((stored, record.changed)))
}

impl Stored {
    /// What writes it as the datasets of a version.
    pub fn write(&self, scope: &Scope, doc_id: DocId) -> Result<Write, Error> {
        let value = serde_json::to_vec(self).map_err(Error::internal)?;
        Ok(Write::Record(RecordWrite { key: datasets_key(scope, doc_id), value: Some(value) }))
    }

    /// The dataset that a passage is of.
    pub fn of_chunk(&self, idx: u32) -> Option<&StoredDataset> {
        self.datasets.iter().find(|dataset| dataset.chunks.iter().any(|(start, end)| (*start..*end).contains(&idx)))
    }
}

impl StoredDataset {
    /// Whether its schema is answered for: nothing is unclear, or somebody approved it.
    pub fn is_clear(&self) -> bool {
        self.approval.is_some() || self.description.is_clear()
    }

    /// The hash of its rows.
    pub fn hash(&self) -> Result<Hash, Error> {
        Hash::from_hex(&self.blob.sha256).ok_or_else(|| Error::internal("a dataset's blob has no hash"))
    }

    /// Why it does not have every value of its table, a sentence each.
    pub fn incomplete(&self, is_gone: bool) -> Vec<String> {
        let mut reasons = self.lost.clone();
        let past = self.description.columns.iter().filter(|column| column.held == Held::Not);
        let past: Vec<String> = past.map(|column| format!("{:?}", column.name)).collect();
        if !past.is_empty() {
            reasons.push(format!("columns past the capacity are not stored: {}", past.join(", ")));
        }
        if is_gone {
            reasons.push("its rows were removed while the document was deleted: ingest the file again".into());
        }
        reasons
    }
}
