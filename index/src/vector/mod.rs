//! The vector leg: cosine similarity by exact scan or graph.
//!
//! One [`VectorIndex`] holds the vectors of one namespace under one embedding model, normalised, as rows in order of
//! arrival. A scan, of one index or of several together, passes over the rows whose signs say that they are far away. A
//! removed chunk's row stays, marked, until enough rows are: then the rows are compacted. Past a number of rows an HNSW
//! graph finds candidates, and what it finds is scored again from the rows, so that a similarity never depends on the
//! path that found it. Rows newer than the graph are scanned. Everything slow (building a graph, writing files) is a job
//! taken from the index, run without it, and installed.

mod dot;
mod file;
mod fixed;
mod flush;
mod graph;
mod inventory;
mod likely;
mod links;
mod lookup;
mod manifest;
mod open;
mod projection;
mod rows;
mod scan;
mod search;
mod signs;
mod table;
#[cfg(test)]
mod tests;
mod upkeep;

pub use flush::{VectorFlush, VectorFlushed};
pub(crate) use inventory::VectorInventory;
pub use likely::{Unscored, nearest};
pub use open::DIMENSIONS;
pub use projection::{Settings, Statistics, VectorIndex};
pub use search::{Begun, VectorHit};
pub use table::Refused;
pub use upkeep::{Graph, GraphJob};

use crate::Error;

/// What the errors of this projection are about.
const WHAT: &str = "vector";

/// The files cannot be used: they are to be rebuilt from storage.
fn damaged(detail: impl Into<String>) -> Error {
    Error::Rebuild { what: WHAT, detail: detail.into() }
}

/// The graph library failed, or the caller broke a rule of this index.
fn failed(message: impl Into<String>) -> Error {
    Error::Backend { what: WHAT, message: message.into(), disk_full: false }
}

/// The file system failed at `path`.
fn io_failed(path: &std::path::Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let disk_full = matches!(error.kind(), StorageFull | QuotaExceeded);
    Error::Backend { what: WHAT, message: format!("{}: {error}", path.display()), disk_full }
}
