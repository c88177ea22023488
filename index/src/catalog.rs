//! What the legs filter by: the versions that a namespace serves.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use loom_storage::{ChunkId, Timestamp, Version, VersionId};
use unicode_normalization::UnicodeNormalization;

use crate::metadata::MetadataFilter;
use crate::selection::{ChunkRange, Selection};

/// Which chunks a search may return. An empty list filters nothing.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Source addresses that start with one of these, byte for byte.
    pub uri_prefixes: Vec<String>,
    /// Documents that carry any of these tags, in any case.
    pub tags: Vec<String>,
    /// Versions ingested at this time or later.
    pub ingested_from: Option<Timestamp>,
    /// Documents written in one of these sessions.
    pub session_ids: Vec<String>,
    /// Documents of one of these classes.
    pub source_classes: Vec<String>,
    /// Documents of one of these formats; the empty string means a text write.
    pub formats: Vec<String>,
    /// Chunks of one of these block types; a text write's chunks have none.
    pub block_types: Vec<String>,
    /// Documents whose metadata meets these conditions.
    pub metadata: MetadataFilter,
}

impl Filter {
    /// Whether it lets every chunk through.
    pub fn is_empty(&self) -> bool {
        self.ingested_from.is_none()
            && self.metadata.is_empty()
            && [
                &self.uri_prefixes,
                &self.tags,
                &self.session_ids,
                &self.source_classes,
                &self.formats,
                &self.block_types,
            ]
            .iter()
            .all(|list| list.is_empty())
    }
}

/// A tag as it is compared: composed, in lower case.
pub fn fold_tag(tag: &str) -> String {
    tag.nfc().collect::<String>().to_lowercase().nfc().collect()
}

#[derive(Debug)]
struct Entry {
    range: ChunkRange,
    source_uri: String,
    tags: Vec<String>,
    /// As JSON; `None` where there is none.
    metadata: Option<Box<str>>,
    ingested_at: Timestamp,
    session_id: String,
    source_class: String,
    format: String,
    /// The block type of each chunk; empty for a text write.
    block_types: Vec<String>,
}

/// The versions that a namespace serves, with what they are filtered by.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: BTreeMap<VersionId, Entry>,
    all: OnceLock<Selection>,
}

impl Catalog {
    /// Serves `version` from now on. `block_types` has one entry a chunk, or none for a text write.
    pub fn serve(&mut self, version: &Version, block_types: Vec<String>) {
        let document = &version.document;
        let entry = Entry {
            range: ChunkRange { first: version.first_chunk, count: version.chunk_count },
            source_uri: version.source_uri.clone(),
            tags: document.tags.iter().map(|tag| fold_tag(tag)).collect(),
            metadata: metadata_of(version),
            ingested_at: version.ingested_at,
            session_id: document.session_id.clone(),
            source_class: document.source_class.clone(),
            format: document.format.clone(),
            block_types,
        };
        self.entries.insert(version.id, entry);
        self.all = OnceLock::new();
    }

    /// Takes over the edited fields of a served version.
    pub fn edit(&mut self, version: &Version) {
        if let Some(entry) = self.entries.get_mut(&version.id) {
            entry.tags = version.document.tags.iter().map(|tag| fold_tag(tag)).collect();
            entry.metadata = metadata_of(version);
        }
    }

    /// Stops serving a version.
    pub fn retire(&mut self, version: VersionId) {
        if self.entries.remove(&version).is_some() {
            self.all = OnceLock::new();
        }
    }

    /// How many versions are served.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The chunks that a search may return under `filter`.
    pub fn select(&self, filter: &Filter) -> Selection {
        if filter.is_empty() {
            return self.all.get_or_init(|| self.collect(filter)).clone();
        }
        self.collect(filter)
    }

    fn collect(&self, filter: &Filter) -> Selection {
        let tags: Vec<String> = filter.tags.iter().map(|tag| fold_tag(tag)).collect();
        let mut ranges = Vec::new();
        for entry in self.entries.values() {
            if entry.passes(filter, &tags) {
                entry.push_ranges(&filter.block_types, &mut ranges);
            }
        }
        Selection::new(ranges)
    }
}

fn metadata_of(version: &Version) -> Option<Box<str>> {
    let metadata = version.document.metadata.as_str();
    (!matches!(metadata, "" | "{}")).then(|| metadata.into())
}

impl Entry {
    fn passes(&self, filter: &Filter, tags: &[String]) -> bool {
        let listed = |list: &[String], value: &String| list.is_empty() || list.contains(value);
        filter.ingested_from.is_none_or(|from| self.ingested_at >= from)
            && (tags.is_empty() || tags.iter().any(|tag| self.tags.contains(tag)))
            && listed(&filter.session_ids, &self.session_id)
            && listed(&filter.source_classes, &self.source_class)
            && listed(&filter.formats, &self.format)
            && (filter.uri_prefixes.is_empty()
                || filter.uri_prefixes.iter().any(|prefix| self.source_uri.starts_with(prefix.as_str())))
            && (filter.metadata.is_empty() || self.metadata.as_ref().is_some_and(|own| filter.metadata.passes(own)))
    }

    fn push_ranges(&self, block_types: &[String], ranges: &mut Vec<ChunkRange>) {
        if block_types.is_empty() {
            ranges.push(self.range);
            return;
        }
        for (id, block_type) in (self.range.first.0..self.range.end()).zip(&self.block_types) {
            if block_types.contains(block_type) {
                ranges.push(ChunkRange { first: ChunkId(id), count: 1 });
            }
        }
    }
}
