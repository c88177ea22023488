//! `erasure.*`.

pub mod request;
pub mod status;
