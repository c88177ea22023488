//! Uploading one file and asking for its ingest.

use std::io::Read;

use serde_json::{Value, json};

use crate::cli::client::Client;
use crate::cli::failure::{Failure, Refusal};

/// A file and what is said of it.
pub struct Request<'a> {
    /// Its name, which selects its format.
    pub filename: &'a str,
    /// Its media type; empty where nobody says.
    pub content_type: &'a str,
    /// The source URI, title, tags and whatever else `knowledge.ingest` takes.
    pub input: Value,
}

impl Request<'_> {
    /// Uploads `body` and asks for its ingest: the job's id, or why the engine refuses the file.
    pub fn send(mut self, client: &Client, body: &mut dyn Read) -> Result<Result<String, Refusal>, Failure> {
        let asked = client.upload(self.filename, self.content_type, body).and_then(|uploaded| {
            self.input["upload_id"] = uploaded["upload_id"].clone();
            client.call("knowledge.ingest", self.input)
        });
        match asked {
            Ok(answer) => Ok(Ok(answer["ingestion_id"].as_str().unwrap_or_default().to_owned())),
            Err(Failure::Refused(refusal)) => Ok(Err(refusal)),
            Err(failure) => Err(failure),
        }
    }
}

/// A title for a file that does not name itself: its name without its extension.
pub fn title_of(filename: &str) -> String {
    let stem = filename.rsplit_once('.').map_or(filename, |(stem, _)| stem);
    if stem.is_empty() { filename.to_owned() } else { stem.to_owned() }
}

/// What the caller says of every file: its fields of `knowledge.ingest`.
pub fn labelled(source_uri: &str, filename: &str, label: &crate::cli::add::Label) -> Value {
    json!({
        "source_uri": source_uri,
        "title": label.title.clone().unwrap_or_else(|| title_of(filename)),
        "description": label.description.as_deref().unwrap_or_default(),
        "tags": label.tags,
    })
}
