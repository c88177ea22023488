//! Why nothing was made of a file.

use loom_extract::contract::{Refusal, RefusalCode};

/// Why nothing was made of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Asking again would end the same.
    #[error("{}: {message}", code.name())]
    Refused {
        /// The kind of failure.
        code: FailureCode,
        /// The failure in words, for a person. Of what a service wrote only a refusal's message gets here, bounded.
        message: String,
    },
    /// The extractor could not be asked, was cut off, or failed by itself: the same request may succeed later.
    #[error("{0}")]
    Transient(String),
}

/// The kinds of failure for good, by the names that a job's `error_code` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// No configured extractor reads the format.
    FormatUnavailable,
    /// The format is unknown, or the bytes are of none that the extractor reads.
    UnsupportedFormat,
    /// The bytes are of another format than the one that was named.
    FormatMismatch,
    /// The file is damaged, or the parser fails on it.
    Corrupt,
    /// The extraction took longer than the extractor allows.
    Timeout,
    /// The extraction passed the limit of memory, computing time or output.
    ResourceLimit,
    /// The text is not valid in its encoding.
    Encoding,
    /// An option has an unknown value.
    InvalidOption,
    /// The file holds no text.
    NoText,
    /// The file is larger than the extractor takes.
    TooLarge,
    /// The extractor's answer breaks the contract.
    InvalidArtifact,
    /// The extractor refused the file with no code of the contract.
    Refused,
}

impl FailureCode {
    /// Every code.
    pub const ALL: [Self; 12] = [
        Self::FormatUnavailable,
        Self::UnsupportedFormat,
        Self::FormatMismatch,
        Self::Corrupt,
        Self::Timeout,
        Self::ResourceLimit,
        Self::Encoding,
        Self::InvalidOption,
        Self::NoText,
        Self::TooLarge,
        Self::InvalidArtifact,
        Self::Refused,
    ];

    /// Its name in a job's `error_code`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FormatUnavailable => RefusalCode::FormatUnavailable.name(),
            Self::UnsupportedFormat => RefusalCode::UnsupportedFormat.name(),
            Self::FormatMismatch => RefusalCode::FormatMismatch.name(),
            Self::Corrupt => RefusalCode::Corrupt.name(),
            Self::Timeout => RefusalCode::Timeout.name(),
            Self::ResourceLimit => RefusalCode::ResourceLimit.name(),
            Self::Encoding => RefusalCode::Encoding.name(),
            Self::InvalidOption => RefusalCode::InvalidOption.name(),
            Self::NoText => RefusalCode::NoText.name(),
            Self::TooLarge => RefusalCode::TooLarge.name(),
            Self::InvalidArtifact => "invalid_artifact",
            Self::Refused => "refused",
        }
    }
}

impl From<RefusalCode> for FailureCode {
    fn from(code: RefusalCode) -> Self {
        match code {
            RefusalCode::FormatUnavailable => Self::FormatUnavailable,
            RefusalCode::UnsupportedFormat => Self::UnsupportedFormat,
            RefusalCode::FormatMismatch => Self::FormatMismatch,
            RefusalCode::Corrupt => Self::Corrupt,
            RefusalCode::Timeout => Self::Timeout,
            RefusalCode::ResourceLimit => Self::ResourceLimit,
            RefusalCode::Encoding => Self::Encoding,
            RefusalCode::InvalidOption => Self::InvalidOption,
            RefusalCode::NoText => Self::NoText,
            RefusalCode::TooLarge => Self::TooLarge,
        }
    }
}

/// The most characters of a refusal's message that are kept.
const MESSAGE_CHARS_MAX: usize = 1_000;

impl From<Refusal> for Failure {
    fn from(Refusal { code, message }: Refusal) -> Self {
        Self::refused(code.into(), message)
    }
}

impl Failure {
    /// A failure for good. Of the message what is printable and not too long is kept.
    pub(crate) fn refused(code: FailureCode, message: impl AsRef<str>) -> Self {
        Self::Refused { code, message: kept(message.as_ref()) }
    }

    /// A failure that may pass, with what an extractor said: of it what is printable and not too long is kept.
    #[cfg(feature = "extract")]
    pub(crate) fn told(message: &str) -> Self {
        Self::Transient(kept(message))
    }

    /// The failure of a file that is larger than `limit` bytes.
    pub(crate) fn too_large(size: u64, limit: u64) -> Self {
        Self::refused(
            FailureCode::TooLarge,
            format!("the file has {size} bytes, and the extractor takes at most {limit}"),
        )
    }

    /// The failure of an artifact of more than `limit` bytes.
    pub(crate) fn artifact_too_large(limit: u64) -> Self {
        let message = format!(
            "what the extractor made of the file is over the limit of {limit} bytes \
             (LOOM_DOCUMENT_EXTRACTOR_MAX_ARTIFACT_BYTES)"
        );
        Self::refused(FailureCode::ResourceLimit, message)
    }
}

/// What is kept of a message: printable, and not too long.
fn kept(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_of_the_contract_keeps_its_name() {
        for code in RefusalCode::ALL {
            assert_eq!(FailureCode::from(code).name(), code.name());
        }
    }

    #[test]
    fn a_message_is_kept_bounded_and_printable() {
        let failure = Failure::refused(FailureCode::Refused, format!("a\n\u{1b}[31m{}", "é".repeat(5_000)));
        let Failure::Refused { message, .. } = failure else { panic!("{failure}") };
        assert!(message.starts_with("a  [31mé"), "{message}");
        assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX);
    }
}
