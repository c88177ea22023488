//! Operations on namespaces.

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod restore;
pub mod update;

mod entry;

pub(super) use entry::{Entry, exists};
