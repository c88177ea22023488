//! Datasets: typed tables of ingested files, published with the revision that holds them, and calculations over them.
//!
//! A version's datasets are one control record (`stored.rs`), the rows of each a blob (`snapshots.rs` for what only keeps or
//! removes them). An ingest makes them of the artifact's tables (`make.rs`), an approval may type one again (`approve.rs`), a
//! query reads those of live versions and makes sure afterwards that they still are (`query.rs`).

mod settings;
mod snapshots;

#[cfg(feature = "datasets")]
mod approve;
#[cfg(feature = "datasets")]
mod make;
#[cfg(feature = "datasets")]
mod query;
#[cfg(feature = "datasets")]
mod show;
#[cfg(feature = "datasets")]
mod stored;
#[cfg(not(feature = "datasets"))]
mod without;

#[cfg(feature = "datasets")]
pub(crate) use approve::approve;
#[cfg(feature = "datasets")]
pub(crate) use make::Tables;
#[cfg(feature = "datasets")]
pub(crate) use query::{Asked, calculator, forget, query};
pub use settings::DatasetSettings;
#[cfg(feature = "datasets")]
pub(crate) use show::{Brief, Briefs, DatasetOut, described, show};
pub(crate) use snapshots::{DATASETS, datasets_key, datasets_unchanged, snapshot_hashes, snapshots_of};
#[cfg(feature = "datasets")]
pub(crate) use stored::find;
#[cfg(not(feature = "datasets"))]
pub(crate) use without::{Brief, Briefs, Tables, forget};
