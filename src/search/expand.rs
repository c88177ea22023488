//! Expanding hits: the passages around one, as one text with its exact place.

use std::collections::HashMap;

use loom_storage::{Chunk, ChunkId, Place, Scope, Snapshot, Version, VersionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hit::{Hit, lines};
use crate::chunk::{MIXED, locator_around, stored_locator};
use crate::error::Error;

/// The most chunks before a hit, and after it, that an expansion takes.
pub const EXPAND_CHUNKS_MAX: u32 = 10;
/// An expanded passage takes no further chunk that would make it longer than so many characters.
pub const EXPAND_CHARS_MAX: u64 = 20_000;

/// How many chunks before a hit, and after it, are read first when its section is asked for.
const SECTION_CHUNKS: u32 = 8;

/// How far hits are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Expand {
    /// To all of their section.
    Section(WholeSection),
    /// By neighbouring chunks of the document.
    Neighbours {
        /// Chunks before the hit: 0 to 10.
        #[serde(default)]
        before: u32,
        /// Chunks after the hit: 0 to 10.
        #[serde(default)]
        after: u32,
    },
}

/// The word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WholeSection {
    /// All of the section.
    Section,
}

/// The chunks that an expanded passage is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SearchExpansion")]
pub struct Expansion {
    /// The index of the first.
    pub first_chunk_idx: u32,
    /// The index of the last.
    pub last_chunk_idx: u32,
    /// Whether more was left out, since a passage has at most 20,000 characters.
    pub truncated: bool,
}

/// The texts of documents, each read once.
pub type Texts = HashMap<(Scope, VersionId), String>;

/// Expands a hit. What follows one of an extracted file is taken from the text that was made of the file, and cited where
/// it stands in the file.
pub fn expand(
    hit: &mut Hit,
    scope: &Scope,
    snapshot: &dyn Snapshot,
    how: Expand,
    texts: &mut Texts,
) -> Result<(), Error> {
    let Some(version) = snapshot.version(scope, hit.version)? else { return Ok(()) };
    let Some((chunks, at, (first, last))) = around(hit, scope, &version, snapshot, how)? else { return Ok(()) };
    let (from, to) = fitting(&chunks, at, (first, last));
    let text = match texts.entry((scope.clone(), version.id)) {
        std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
        std::collections::hash_map::Entry::Vacant(entry) => {
            entry.insert(snapshot.text(scope, version.id)?.unwrap_or_default())
        }
    };
    let place = covering(&chunks[from..=to]);
    let slice = usize::try_from(place.byte_start).ok().zip(usize::try_from(place.byte_end).ok());
    let Some(passage) = slice.and_then(|(start, end)| text.get(start..end)) else {
        return Err(Error::internal("a chunk's place is not in its text"));
    };
    if let Some(span) = &mut hit.span {
        let shift = usize::try_from(chunks[at].place.char_start - place.char_start).map_err(Error::internal)?;
        (span.start, span.end) = (span.start + shift, span.end + shift);
    }
    passage.clone_into(&mut hit.content);
    hit.locator = match locator_around(chunks[from..=to].iter().map(|chunk| chunk.locator.as_str()), place) {
        Some(locator) => serde_json::from_str(&stored_locator(Some(&locator))).map_err(Error::internal)?,
        None => lines(place),
    };
    if chunks[from..=to].iter().any(|chunk| chunk.block_type != hit.block_type) {
        MIXED.clone_into(&mut hit.block_type);
    }
    hit.expansion = Some(Expansion {
        first_chunk_idx: chunks[from].idx,
        last_chunk_idx: chunks[to].idx,
        truncated: (from, to) != (first, last),
    });
    Ok(())
}

/// Chunks that follow each other, which of them is the hit's, and the first and the last that are wanted.
type Around = (Vec<Chunk>, usize, (usize, usize));

/// The chunks around the hit that are asked for, and perhaps others: which of them is the hit, and which are the first and
/// the last that are asked for, of a long section as many as fill a passage. `None` when the hit is not among them.
fn around(
    hit: &Hit,
    scope: &Scope,
    version: &Version,
    snapshot: &dyn Snapshot,
    how: Expand,
) -> Result<Option<Around>, Error> {
    let (mut before, mut after) = match how {
        Expand::Neighbours { before, after } => (before, after),
        Expand::Section(WholeSection::Section) => (SECTION_CHUNKS, SECTION_CHUNKS),
    };
    loop {
        let from = hit.chunk_idx.saturating_sub(before);
        let to = hit.chunk_idx.saturating_add(after).min(version.chunk_count.saturating_sub(1));
        let first = ChunkId(version.first_chunk.0 + u64::from(from));
        let chunks = snapshot.chunks(scope, first, (to + 1).saturating_sub(from))?;
        let Some(at) = chunks.iter().position(|chunk| chunk.idx == hit.chunk_idx) else { return Ok(None) };
        let (first, last) = wanted(&chunks, at, how);
        // A section that reaches the edge of what was read may go on, unless it is too long already.
        let goes_on = (first == 0 && from > 0) || (last + 1 == chunks.len() && to + 1 < version.chunk_count);
        if matches!(how, Expand::Neighbours { .. }) || !goes_on || chars(&chunks[first..=last]) > 2 * EXPAND_CHARS_MAX {
            return Ok(Some((chunks, at, (first, last))));
        }
        (before, after) = (before.saturating_mul(4), after.saturating_mul(4));
    }
}

/// The chunks that are asked for, as indexes of `chunks`.
fn wanted(chunks: &[Chunk], at: usize, how: Expand) -> (usize, usize) {
    match how {
        Expand::Neighbours { before, after } => {
            (at.saturating_sub(before as usize), (at + after as usize).min(chunks.len() - 1))
        }
        Expand::Section(WholeSection::Section) => {
            let same = |chunk: &&Chunk| chunk.section_path == chunks[at].section_path;
            let before = chunks[..at].iter().rev().take_while(same).count();
            (at - before, at + chunks[at + 1..].iter().take_while(same).count())
        }
    }
}

/// As many of them, the nearest first, as a passage may have.
fn fitting(chunks: &[Chunk], at: usize, (first, last): (usize, usize)) -> (usize, usize) {
    let (mut from, mut to) = (at, at);
    loop {
        let before = from;
        let after = to;
        if to < last && chars(&chunks[from..=to + 1]) <= EXPAND_CHARS_MAX {
            to += 1;
        }
        if from > first && chars(&chunks[from - 1..=to]) <= EXPAND_CHARS_MAX {
            from -= 1;
        }
        if (before, after) == (from, to) {
            return (from, to);
        }
    }
}

/// How many characters they cover.
fn chars(chunks: &[Chunk]) -> u64 {
    let place = covering(chunks);
    place.char_end - place.char_start
}

/// From the start of the first chunk to the end of the last.
fn covering(chunks: &[Chunk]) -> Place {
    let (first, last) = (chunks[0].place, chunks[chunks.len() - 1].place);
    Place { byte_end: last.byte_end, char_end: last.char_end, line_end: last.line_end, ..first }
}
