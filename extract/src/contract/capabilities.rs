//! What an extractor says of itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an extractor reads, and within which limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// The contract's number that it speaks.
    pub contract: u32,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The formats that it reads.
    pub formats: Vec<FormatCapability>,
    /// The largest file that it takes, in bytes.
    pub max_bytes: u64,
}

/// One format that an extractor reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormatCapability {
    /// The format's name.
    pub format: String,
    /// The options that it heeds: `encoding`, `sql_dialect`.
    #[serde(default)]
    pub options: Vec<String>,
    /// What it cannot do here, by the names of lost capabilities: `ocr_text` where no OCR program is installed.
    #[serde(default)]
    pub missing: Vec<String>,
}

impl Capabilities {
    /// What it says of a format.
    pub fn of(&self, format: &str) -> Option<&FormatCapability> {
        self.formats.iter().find(|capability| capability.format == format)
    }
}
