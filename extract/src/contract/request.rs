//! What an extractor is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What goes with a file's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The contract's number that the caller speaks.
    pub contract: u32,
    /// The format to read the bytes as: the one its name selects, or the one that was asked for.
    pub format: String,
    /// The file's name, for messages and for nothing else.
    #[serde(default)]
    pub filename: String,
    /// What the file cannot say about itself.
    #[serde(default)]
    pub options: Options,
}

/// What a file cannot say about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// The encoding of a text by one of the names of the WHATWG Encoding Standard; empty: found out.
    #[serde(default)]
    pub encoding: String,
    /// The dialect of SQL, such as `postgres`; empty: found out or generic.
    #[serde(default)]
    pub sql_dialect: String,
}
