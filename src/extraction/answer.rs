//! From the bytes that an extractor answered to an artifact that keeps the contract.

use loom_extract::contract::{Artifact, ArtifactLimits, check};

use super::failure::{Failure, FailureCode};

/// Decodes an artifact of `format` and holds it against the contract.
///
/// # Errors
/// [`FailureCode::InvalidArtifact`], which says where it broke and repeats nothing of it.
pub fn artifact(bytes: &[u8], format: &str) -> Result<Artifact, Failure> {
    let invalid =
        |what: String| Failure::refused(FailureCode::InvalidArtifact, format!("the extractor's answer {what}"));
    let mut artifact: Artifact = serde_json::from_slice(bytes).map_err(|error| {
        invalid(format!("is no artifact: it goes wrong at line {}, column {}", error.line(), error.column()))
    })?;
    check(&mut artifact, format, &ArtifactLimits::default())
        .map_err(|violation| invalid(format!("breaks the contract: {violation}")))?;
    Ok(artifact)
}
