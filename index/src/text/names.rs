//! Exact names: terms of their own, beside the words and counted in no length, looked up whole.

use std::collections::HashMap;

use loom_storage::ChunkId;
use tantivy::{TERMINATED, Term};

use super::cursor::Cursor;
use super::error::Failure;
use super::lexical::LexicalIndex;
use crate::{Error, Selection};

/// The most names of one lookup: a bit for each.
pub const NAMES_MAX: usize = 64;
/// What the term of a name begins with; no word's does.
const MARK: char = '\u{1}';

/// The term of a name: the same for every way to write it in capitals and small letters.
pub(super) fn term_of(name: &str) -> String {
    let mut term = String::with_capacity(name.len() + 1);
    term.push(MARK);
    term.extend(name.chars().flat_map(char::to_lowercase));
    term
}

impl LexicalIndex {
    /// The chunks in `selection` that hold any of the first [`NAMES_MAX`] of `names`: for each, which of them, as bits.
    pub fn named(&self, names: &[&str], selection: &Selection) -> Result<HashMap<ChunkId, u64>, Error> {
        let mut found: HashMap<ChunkId, u64> = HashMap::new();
        for (at, name) in names.iter().take(NAMES_MAX).enumerate() {
            let term = term_of(name);
            let mut hold = |chunk| {
                if selection.contains(chunk) {
                    *found.entry(chunk).or_default() |= 1 << at;
                }
            };
            self.active.each_holder(term.as_bytes(), &mut hold);
            if let Some(frozen) = &self.frozen {
                frozen.memtable.each_holder(term.as_bytes(), |chunk| {
                    if !self.removed.contains_chunk(chunk) {
                        hold(chunk);
                    }
                });
            }
            self.each_holder_on_disk(&term, hold)?;
        }
        Ok(found)
    }

    fn each_holder_on_disk(&self, term: &str, mut each: impl FnMut(ChunkId)) -> Result<(), Failure> {
        let found = self.base.term(&Term::from_field_text(self.fields.text, term))?;
        for (segment, found) in self.base.segments.iter().zip(found) {
            let Some(found) = found else { continue };
            Cursor::new(segment.postings(&found)?).take_before(TERMINATED, |doc, _| {
                let chunk = segment.chunk(doc);
                if segment.is_live(doc) && self.keeps(chunk) {
                    each(chunk);
                }
            });
        }
        Ok(())
    }
}
