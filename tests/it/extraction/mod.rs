//! How files are read: by confined processes, by processes that misbehave, and by services.

#[cfg(unix)]
mod hostile;
mod ocr;
mod process;
#[cfg(target_os = "linux")]
mod sandbox;
mod schema;
mod served;
mod service;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use loom::extraction::contract::{Artifact, CONTRACT_VERSION, Request};
use loom::extraction::{ExtractionSettings, Extractors, Failure, FailureCode};

/// The settings of an engine whose extractor is this repository's program.
pub fn settings() -> ExtractionSettings {
    ExtractionSettings { program: Some(PathBuf::from(env!("CARGO_BIN_EXE_loom"))), ..ExtractionSettings::default() }
}

pub fn request(format: &str) -> Request {
    let filename = format!("a file.{format}");
    Request { contract: CONTRACT_VERSION, format: format.into(), filename, ..Request::default() }
}

/// A time that no test reaches.
pub fn later() -> Instant {
    Instant::now() + Duration::from_mins(2)
}

/// Reads `bytes` as `format`.
pub fn read(extractors: &Extractors, format: &str, bytes: &[u8]) -> Result<Artifact, Failure> {
    extractors.extract(&request(format), bytes.len() as u64, &mut &bytes[..], later(), &AtomicBool::new(false))
}

/// The code and the message of a failure for good; `None` as the code of one that may pass.
pub fn failed(outcome: Result<Artifact, Failure>) -> (Option<FailureCode>, String) {
    match outcome.expect_err("it fails") {
        Failure::Refused { code, message } => (Some(code), message),
        Failure::Transient(message) => (None, message),
    }
}
