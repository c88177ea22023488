//! Operations on namespaces.

pub mod list;
