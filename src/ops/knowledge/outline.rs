//! `knowledge.outline`: a document's table of contents, and the text of one of its sections.

use loom_storage::{Chunk, Scope, Section, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Reading;
use crate::datasets::{Brief, Briefs};
use crate::error::Error;
use crate::ingest;
use crate::limits;
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct Outline;

/// The input of `knowledge.outline`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The document.
    source_uri: String,
    /// The path of the section to return the text of, as `sections` lists it; empty returns the outline only.
    #[serde(default)]
    section_path: Vec<String>,
    /// Whether the section's text includes its subsections.
    #[serde(default = "include_children_default")]
    include_children: bool,
}

fn include_children_default() -> bool {
    true
}

/// The output of `knowledge.outline`.
#[derive(Default, Serialize, JsonSchema)]
pub struct Output {
    /// Whether there is such a live document.
    found: bool,
    /// The document's identifier.
    source_uri: String,
    /// Its title.
    title: String,
    /// Whether it has headings; without any, `sections` is empty.
    structured: bool,
    /// How many chunks it has.
    chunk_count: u32,
    /// Its headings in document order.
    sections: Vec<Entry>,
    /// The datasets that its tables are, for `knowledge.query`; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    datasets: Vec<Brief>,
    /// The text of the section asked for; null when none was or none matched.
    section_content: Option<String>,
    /// The chunks that the text was assembled from.
    section_chunk_idxs: Vec<u32>,
}

/// One heading.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "_OutlineEntry")]
struct Entry {
    /// The headings above it, and itself last.
    path: Vec<String>,
    /// Its text.
    title: String,
    /// Its level, 1 to 6.
    depth: u8,
    /// The chunks of its own text, subsections excluded.
    chunk_idxs: Vec<u32>,
    /// The length of that text in characters.
    chars: u64,
}

impl Query for Outline {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "knowledge.outline",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "A document's table of contents, and optionally the text of one of its sections.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope(&input.org, &input.namespace)?;
        limits::source_uri("source_uri", &input.source_uri)?;
        let Some(version) = ingest::live_in(reading.snapshot(), &scope, &input.source_uri)? else {
            return Ok(Output { source_uri: input.source_uri, ..Output::default() });
        };
        let sections = reading.snapshot().sections(&scope, version.id)?;
        let (section_content, section_chunk_idxs) = section(reading, &scope, &version, &sections, &input)?;
        Ok(Output {
            found: true,
            source_uri: input.source_uri,
            title: version.document.title,
            structured: !sections.is_empty(),
            chunk_count: version.chunk_count,
            sections: sections.into_iter().map(entry).collect(),
            datasets: Briefs::default().of_version(reading.snapshot(), &scope, version.doc_id)?,
            section_content,
            section_chunk_idxs,
        })
    }
}

fn entry(section: Section) -> Entry {
    Entry {
        title: section.path.last().cloned().unwrap_or_default(),
        depth: section.depth,
        chunk_idxs: (section.chunks.0..section.chunks.1).collect(),
        chars: section.chars,
        path: section.path,
    }
}

/// The text of the sections at the path asked for, and the chunks it came from.
fn section(
    reading: &Reading<'_>,
    scope: &Scope,
    version: &Version,
    sections: &[Section],
    input: &Input,
) -> Result<(Option<String>, Vec<u32>), Error> {
    let wanted = &input.section_path;
    if wanted.is_empty() {
        return Ok((None, Vec::new()));
    }
    let mut idxs: Vec<u32> = sections
        .iter()
        .filter(|section| section.path == *wanted || (input.include_children && section.path.starts_with(wanted)))
        .flat_map(|section| section.chunks.0..section.chunks.1)
        .collect();
    idxs.sort_unstable();
    idxs.dedup();
    if idxs.is_empty() {
        return Ok((None, Vec::new()));
    }
    let chunks = reading.snapshot().chunks(scope, version.first_chunk, version.chunk_count)?;
    let chosen: Vec<&Chunk> = chunks.iter().filter(|chunk| idxs.binary_search(&chunk.idx).is_ok()).collect();
    let content = if version.document.format.is_empty() {
        let text = reading.snapshot().text(scope, version.id)?;
        let text = text.ok_or_else(|| Error::internal("a live version has no text"))?;
        slices(&text, &chosen)
    } else {
        chosen.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>().join("\n\n")
    };
    Ok((Some(content), idxs))
}

/// The places of the chunks in the text, each character once: windows overlap, and what stands between two chunks
/// that follow each other is blank.
fn slices(text: &str, chunks: &[&Chunk]) -> String {
    let mut content = String::new();
    let mut last: Option<&Chunk> = None;
    for chunk in chunks {
        let (start, end) = (chunk.place.byte_start, chunk.place.byte_end);
        let from = match last {
            Some(last) if last.idx + 1 == chunk.idx => last.place.byte_end,
            Some(_) => {
                content.push_str("\n\n");
                start
            }
            None => start,
        };
        let slice = usize::try_from(from).ok().zip(usize::try_from(end).ok());
        content.push_str(slice.and_then(|(from, end)| text.get(from..end)).unwrap_or_default());
        last = Some(chunk);
    }
    content
}
