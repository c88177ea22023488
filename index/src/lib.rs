//! Finding chunks: the lexical and the vector projection of each namespace, and the fusion of what they find.
//!
//! Everything on disk here is derived from storage and may be deleted at any time; it is rebuilt with the same
//! answers. A projection remembers the commit up to which it has followed the change log (its watermark).

mod build;
mod catalog;
pub mod cores;
mod error;
pub mod fuse;
mod inventory;
mod places;
mod prepared;
mod progress;
mod projection;
mod projections;
mod selection;
pub mod text;
pub mod vector;
mod view;

pub use catalog::{Filter, fold_tag};
pub use error::Error;
pub use inventory::{Difference, Inventory, Miscount, Part};
pub use places::{Bounds, Counts};
pub use prepared::Announcement;
pub use progress::Progress;
pub use projection::{Model, Projection, UNSAVED_MAX};
pub use projections::{Projections, Source};
pub use selection::{ChunkRange, Cursor, Selection};
pub use view::{LegHits, LegQuery, ProjectionTotals, View};
