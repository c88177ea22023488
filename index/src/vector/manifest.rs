//! The file that says which files count: written last, it makes a flush whole.

use loom_storage::{Hash, Seq};
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use super::file::{Folder, Kind, Reader};
use super::{damaged, failed};
use crate::Error;

/// A file of consecutive rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    /// The number in its name.
    pub number: u64,
    /// How many rows it holds.
    pub rows: u32,
    pub identity: Hash,
}

/// A file that holds a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedGraph {
    /// The number in its name.
    pub number: u64,
    /// How many rows, from the first on, it connects.
    pub rows: u32,
    pub identity: Hash,
}

/// What the files of an index hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The commit up to which the index had followed the log.
    pub watermark: Seq,
    /// The number of the next file.
    pub next: u64,
    /// The files of rows; together, in this order, all rows.
    pub segments: Vec<Segment>,
    pub graph: Option<SavedGraph>,
}

impl Manifest {
    /// How many rows the segments hold; saturating, since a damaged one may claim any number.
    pub fn rows(&self) -> u32 {
        self.segments.iter().fold(0, |sum: u32, segment| sum.saturating_add(segment.rows))
    }

    /// Whether the file `number` of `kind` belongs to the state this describes.
    pub fn names(&self, kind: Kind, number: u64) -> bool {
        match kind {
            Kind::Manifest => true,
            Kind::Rows => self.segments.iter().any(|segment| segment.number == number),
            Kind::Graph => self.graph.as_ref().is_some_and(|graph| graph.number == number),
        }
    }

    /// The manifest in `folder` with the removed rows; `None` when there is none.
    pub fn read(folder: &Folder) -> Result<Option<(Self, RoaringBitmap)>, Error> {
        let Some(reader) = Reader::open(folder, Kind::Manifest, 0)? else { return Ok(None) };
        let (mut description, mut removed) = (Vec::new(), Vec::new());
        reader.part(0, &mut description)?;
        reader.part(1, &mut removed)?;
        let manifest: Self =
            serde_json::from_slice(&description).map_err(|error| damaged(format!("the manifest is wrong: {error}")))?;
        let removed = RoaringBitmap::deserialize_from(removed.as_slice())
            .map_err(|error| damaged(format!("the removed rows are wrong: {error}")))?;
        if manifest.graph.as_ref().is_some_and(|graph| graph.rows > manifest.rows()) {
            return Err(damaged("the graph has more rows than there are"));
        }
        if removed.max().is_some_and(|row| row >= manifest.rows()) {
            return Err(damaged("a removed row is none of the rows"));
        }
        Ok(Some((manifest, removed)))
    }

    /// Replaces the manifest in `folder`.
    pub fn write(&self, folder: &Folder, removed: &RoaringBitmap) -> Result<(), Error> {
        let description = serde_json::to_vec(self).map_err(|error| failed(format!("no manifest: {error}")))?;
        let mut bitmap = Vec::with_capacity(removed.serialized_size());
        removed.serialize_into(&mut bitmap).map_err(|error| failed(format!("no removed rows: {error}")))?;
        folder.write(Kind::Manifest, 0, [description, bitmap].into_iter())?;
        Ok(())
    }
}
