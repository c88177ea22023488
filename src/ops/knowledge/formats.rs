//! `knowledge.formats`: which files can be read, and how large they may be.

use loom_extract::formats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Reading;
use crate::error::Error;
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct Formats;

/// The input of `knowledge.formats`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
}

/// The output of `knowledge.formats`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Every format there is, by name.
    formats: Vec<Entry>,
    /// The largest file that is stored, in bytes.
    max_upload_bytes: u64,
    /// File name extensions for which an upload is refused.
    refused_extensions: Vec<&'static str>,
    /// The format of a file whose name and media type select none.
    default_format: &'static str,
}

/// One format.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KnowledgeFormat")]
struct Entry {
    /// Its name, as in `options.format`.
    format: &'static str,
    /// File name extensions that select it, in lower case without the dot.
    extensions: &'static [&'static str],
    /// Media types that select it where the name does not.
    media_types: &'static [&'static str],
    /// Whether the extractor that its files go to reads it; null while that one cannot be asked.
    available: Option<bool>,
}

impl Query for Formats {
    type Input = Input;
    type Output = Output;

    const FACTS: Facts = Facts {
        name: "knowledge.formats",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "List the file formats that can be read and the limits of an upload.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        reading.scope(&input.org, &input.namespace)?;
        let available = reading.extractors().available();
        let entry = |format: &formats::Format| Entry {
            format: format.name,
            extensions: format.extensions,
            media_types: format.media_types,
            available: available.get(format.name).copied().flatten(),
        };
        Ok(Output {
            formats: formats::ALL.iter().map(entry).collect(),
            max_upload_bytes: reading.config().documents.original_bytes as u64,
            refused_extensions: formats::REFUSED_EXTENSIONS.to_vec(),
            default_format: formats::DEFAULT,
        })
    }
}
