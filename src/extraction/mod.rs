//! How the engine has files read.
//!
//! It parses no byte of a file itself. [`Extractors`] sends each to the extractor that its format is routed to: a service
//! behind HTTP, or the `loom` program run as a process that confines itself. Whoever read it, the answer is held against the
//! contract of `loom_extract` before anything is made of it.

mod answer;
mod extractors;
mod failure;
mod known;
mod service;
mod settings;

#[cfg(feature = "extract")]
pub mod child;
#[cfg(feature = "extract")]
mod findings;
#[cfg(feature = "extract")]
mod frames;
#[cfg(feature = "extract")]
mod local;

use std::io;

pub use loom_extract::contract;

pub use extractors::Extractors;
pub use failure::{Failure, FailureCode};
#[cfg(feature = "extract")]
pub use frames::{Attempt, Layer};
#[cfg(feature = "extract")]
pub use local::LocalReport;
pub use settings::{ExtractionSettings, LocalExtractionLimits, SandboxMode, ServiceSettings};

/// The failure of an extraction that was told to stop.
fn stopped() -> Failure {
    Failure::Transient("the extraction was stopped".into())
}

/// The failure when the file itself cannot be read to its end.
fn unreadable(error: &io::Error) -> Failure {
    Failure::Transient(format!("the file cannot be read to its end: {}", error.kind()))
}
