//! Typed datasets of tables, and exact calculations over them.
//!
//! A table of cells ([`loom_extract::contract::Table`]) becomes a [`Dataset`]: columns of one type each, rows that fit or are
//! rejected and counted ([`type_table`]). Its rows are stored as a Parquet file ([`Snapshot`]). A [`Plan`] is run over
//! snapshots by a [`Calculator`]: sums and averages are exact, and one that needs more than it may use fails instead of
//! answering a part. Nothing here knows where snapshots are kept or who asks.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "most matches are over types of the libraries, few of which are used"
)]

mod convert;
mod decimal;
mod error;
mod moment;
pub mod plan;
mod query;
pub mod schema;
mod snapshot;
mod totals;
mod typing;

pub use error::Error;
pub use plan::Plan;
pub use query::{Answer, Calculator, Limits, ResultColumn, Source, engine, sample};
pub use snapshot::Snapshot;
pub use typing::{Dataset, type_table};
