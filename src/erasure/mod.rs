//! Erasure: everything of a namespace, or of one person's documents, goes from storage, from what is searched and from the
//! records about it.
//!
//! A request is a record `erasure/<org>/<id>`, the ledger, which a background thread works off and which is kept for 90 days
//! after it is done. Each step can be repeated, so that an erasure that was cut off goes on from its start. What is erased
//! leaves the files with the next compaction.

mod ledger;
mod namespace;
mod person;
mod records;
mod retention;

pub(crate) use ledger::{Erased, Erasure, Reach, Stage, Turn, covers, each, find, key, pass};
pub use retention::RetentionSettings;
pub(crate) use retention::{Looked, pass as retain};
