//! The change log: what each commit did to a namespace, in order, for the projections to follow.

use serde::{Deserialize, Serialize};

use crate::id::{Seq, VersionId};

/// What one commit did to one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEntry {
    /// The commit.
    pub seq: Seq,
    /// Its changes, in the order in which they were made.
    pub changes: Vec<Change>,
}

/// One change that a projection must follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A new version is served.
    Added(VersionId),
    /// A version is no longer served.
    Retired(VersionId),
    /// A retired version is served again.
    Restored(VersionId),
    /// A live version's document fields (title, description, tags) changed; its chunks did not.
    Edited(VersionId),
    /// The namespace's live embedding model changed to the one named.
    ModelSwitched(String),
    /// Versions were erased: what was derived from them can only be made anew.
    Erased,
}
