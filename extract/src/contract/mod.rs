//! What an extractor is asked and what it answers.
//!
//! An extractor gets a file's bytes, the name of its format and options, and answers an [`Artifact`] or a
//! [`Refusal`]. The engine trusts neither: [`check`] holds an artifact against the contract before anything is made of it.
//! The contract has a number, [`CONTRACT_VERSION`]; fields may be added to it without a new one, and a reader ignores
//! the fields it does not know.

mod artifact;
mod capabilities;
mod check;
mod locator;
mod refusal;
mod request;
mod table;

pub use artifact::{Artifact, Block, BlockKind, Coverage, CoverageUnit, LIST_LEVEL_MAX, Parser, Span, lost};
pub use capabilities::{Capabilities, FormatCapability};
pub use check::{ArtifactLimits, Violation, check};
pub use locator::{BoundingBox, Locator};
pub use refusal::{Refusal, RefusalCode};
pub use request::{Options, Request};
pub use table::{Cell, CellType, Column, Row, Table, Value};

/// The contract's number.
pub const CONTRACT_VERSION: u32 = 1;
