//! What callers see of datasets, in one test binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod digits;
mod harness;
mod limits;
mod names;
mod reference;
