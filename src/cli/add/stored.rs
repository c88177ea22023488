//! What is stored already of the files to add.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::Label;
use super::read::FILE_HASH;
use super::walk::Root;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::limits::{LIST_LIMIT_MAX, URI_PREFIXES_MAX};

/// The documents whose source URIs start like those of the files to add.
#[derive(Default)]
pub struct Stored {
    documents: HashMap<String, Version>,
}

/// What of a document's live version tells whether a file is the same.
struct Version {
    file_hash: Option<String>,
    title: String,
    description: String,
    tags: Vec<String>,
}

impl Stored {
    /// Asks for the documents below `roots`, page by page.
    pub fn of(client: &Client, roots: &[Root]) -> Result<Self, Failure> {
        let prefixes = covering(roots.iter().filter_map(Root::prefix));
        let mut stored = Self::default();
        if prefixes.is_empty() {
            return Ok(stored);
        }
        let mut cursor = Value::Null;
        loop {
            let answer = client.call(
                "knowledge.list",
                json!({
                    "uri_prefix": prefixes, "limit": LIST_LIMIT_MAX, "cursor": cursor,
                    "fields": ["source_uri", "title", "description", "tags", "metadata"],
                }),
            )?;
            for row in answer["rows"].as_array().into_iter().flatten() {
                let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                let version = Version {
                    file_hash: row["metadata"][FILE_HASH].as_str().map(str::to_owned),
                    title: text("title"),
                    description: text("description"),
                    tags: row["tags"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect(),
                };
                stored.documents.insert(text("source_uri"), version);
            }
            cursor = answer["next_cursor"].clone();
            if cursor.is_null() {
                return Ok(stored);
            }
        }
    }

    /// Whether there is a live document.
    pub fn has(&self, source_uri: &str) -> bool {
        self.documents.contains_key(source_uri)
    }

    /// Whether storing the file again would store the same: the same bytes, and nothing else said of it.
    pub fn is_unchanged(&self, source_uri: &str, file_hash: &str, label: &Label) -> bool {
        self.documents.get(source_uri).is_some_and(|version| {
            version.file_hash.as_deref() == Some(file_hash)
                && label.title.as_ref().is_none_or(|title| *title == version.title)
                && label.description.as_ref().is_none_or(|description| *description == version.description)
                && (label.tags.is_empty() || label.tags == version.tags)
        })
    }
}

/// At most [`URI_PREFIXES_MAX`] prefixes that every one of `source_uris` starts with one of: the URIs themselves, else the
/// folders they are in, else what all have in common.
fn covering<'a>(source_uris: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut prefixes: BTreeSet<&str> = source_uris.collect();
    for _ in 0..2 {
        prefixes = without_covered(prefixes);
        if prefixes.len() <= URI_PREFIXES_MAX {
            return prefixes.into_iter().map(str::to_owned).collect();
        }
        prefixes = prefixes.iter().map(|uri| uri.rfind('/').map_or("", |slash| &uri[..=slash])).collect();
    }
    let (Some(first), Some(last)) = (prefixes.first(), prefixes.last()) else { return Vec::new() };
    // Of sorted texts, the first and the last differ soonest.
    let common =
        first.char_indices().zip(last.chars()).find(|((_, a), b)| a != b).map_or(first.len(), |((at, _), _)| at);
    vec![first[..common.min(last.len())].to_owned()]
}

/// Drops what starts with another; in sorted order that other one stands before it.
fn without_covered(prefixes: BTreeSet<&str>) -> BTreeSet<&str> {
    let mut kept: Vec<&str> = Vec::new();
    for prefix in prefixes {
        if kept.last().is_none_or(|last| !prefix.starts_with(last)) {
            kept.push(prefix);
        }
    }
    kept.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_prefixes_cover_many_files() {
        let covered = |uris: &[&str]| covering(uris.iter().copied());
        assert_eq!(covered(&["f:/a/", "f:/a/b.md", "f:/c.md"]), ["f:/a/", "f:/c.md"]);
        let one_folder: Vec<String> = (0..40).map(|n| format!("f:/a/{n:02}.md")).collect();
        assert_eq!(covering(one_folder.iter().map(String::as_str)), ["f:/a/"]);
        let folders: Vec<String> = (0..40).map(|n| format!("f:/a{n:02}/x.md")).collect();
        assert_eq!(covering(folders.iter().map(String::as_str)), ["f:/a"]);
        let strangers: Vec<String> = ('a'..='z').map(|letter| format!("{letter}.md")).collect();
        assert_eq!(covering(strangers.iter().map(String::as_str)), [""]);
    }
}
