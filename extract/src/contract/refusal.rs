//! Why a file was not read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why an extractor did not read a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[error("{code}: {message}", code = code.name())]
pub struct Refusal {
    /// The kind of failure.
    pub code: RefusalCode,
    /// The failure in words, for a person: what is wrong and what would help. Nothing of the file's content.
    pub message: String,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The kinds of failure that an extractor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// This extractor does not read the format.
    FormatUnavailable,
    /// The bytes are of no format that it reads, or the named format is unknown.
    UnsupportedFormat,
    /// The bytes are of another format than the one that was named.
    FormatMismatch,
    /// The file is damaged, encrypted, or its parser fails on it.
    Corrupt,
    /// The extraction took longer than the extractor allows.
    Timeout,
    /// The extraction passed the extractor's limit of memory or output.
    ResourceLimit,
    /// The text is not valid in its encoding, or the encoding cannot be told.
    Encoding,
    /// An option has a value that is unknown.
    InvalidOption,
    /// The file holds no text.
    NoText,
    /// The file is larger than the extractor reads.
    TooLarge,
}

impl RefusalCode {
    /// Every code.
    pub const ALL: [Self; 10] = [
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
    ];

    /// Its name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FormatUnavailable => "format_unavailable",
            Self::UnsupportedFormat => "unsupported_format",
            Self::FormatMismatch => "format_mismatch",
            Self::Corrupt => "corrupt",
            Self::Timeout => "timeout",
            Self::ResourceLimit => "resource_limit",
            Self::Encoding => "encoding",
            Self::InvalidOption => "invalid_option",
            Self::NoText => "no_text",
            Self::TooLarge => "too_large",
        }
    }
}
