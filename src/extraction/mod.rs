//! Stand-in until the branch with extractors is merged.
use crate::error::Error;
use loom_extract::contract::{Artifact, Request};
use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
#[derive(Clone, Debug, Default)]
pub struct ExtractionSettings;
pub struct Extractors;
pub enum Failure {
    Refused { code: FailureCode, message: String },
    Transient(String),
}
pub enum FailureCode {
    Corrupt,
}
impl FailureCode {
    pub fn name(&self) -> &'static str {
        "corrupt"
    }
}
impl Extractors {
    pub fn new(_: &ExtractionSettings) -> Result<Self, Error> {
        Ok(Self)
    }
    pub fn extract(
        &self,
        _: &Request,
        _: u64,
        _: &mut dyn Read,
        _: Instant,
        _: &AtomicBool,
    ) -> Result<Artifact, Failure> {
        Err(Failure::Transient(String::new()))
    }
}
