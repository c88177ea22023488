//! What callers see of datasets, in one test binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::wildcard_enum_match_arm, reason = "what is not expected is a failure, whatever it is")]

mod damage;
mod digits;
mod harness;
mod limits;
mod names;
mod reference;
