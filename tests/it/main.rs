//! What callers see of Loom, in one test binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod calls;
mod cases;
mod cli;
mod conformance;
mod corpus;
mod doctor;
mod extraction;
mod extractor;
mod faults;
mod harness;
#[cfg(target_os = "linux")]
mod hostile;
mod house;
mod http;
mod library;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(target_os = "linux")]
mod memory;
mod operator;
mod ops;
mod properties;
mod readme;
mod regressions;
mod server;
mod uploads;
