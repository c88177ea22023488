//! `audit.*`.

pub mod list;
