//! What callers see of Loom, in one test binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cli;
mod conformance;
mod corpus;
mod harness;
mod house;
mod http;
mod library;
mod properties;
mod readme;
mod server;
