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
/// What the term of a name as it is spelled begins with; no word's does.
const SPELLED: char = '\u{1}';
/// What the term of a name with capitals in small letters begins with.
const FOLDED: char = '\u{2}';

/// The terms of a name: as it is spelled, and in small letters where that is another spelling.
pub(super) fn terms_of(name: &str) -> impl Iterator<Item = String> {
    let folded = name.to_lowercase();
    let other = (folded != name).then(|| format!("{FOLDED}{folded}"));
    std::iter::once(format!("{SPELLED}{name}")).chain(other)
}

/// Which of the names of a lookup a chunk holds, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// In any case.
    pub names: u64,
    /// In the same case.
    pub spelled: u64,
}

impl LexicalIndex {
    /// The chunks in `selection` that hold any of the first [`NAMES_MAX`] of `names`: for each, which of them.
    pub fn named(&self, names: &[&str], selection: &Selection) -> Result<HashMap<ChunkId, Held>, Error> {
        let mut found: HashMap<ChunkId, Held> = HashMap::new();
        for (at, name) in names.iter().take(NAMES_MAX).enumerate() {
            let (bit, folded) = (1 << at, name.to_lowercase());
            let spellings = [format!("{SPELLED}{name}"), format!("{SPELLED}{folded}"), format!("{FOLDED}{folded}")];
            for (spelling, term) in spellings.iter().enumerate() {
                if spelling > 0 && *term == spellings[0] {
                    continue;
                }
                self.each_holder(term, |chunk| {
                    if selection.contains(chunk) {
                        let held = found.entry(chunk).or_default();
                        held.names |= bit;
                        held.spelled |= if spelling == 0 { bit } else { 0 };
                    }
                })?;
            }
        }
        Ok(found)
    }

    fn each_holder(&self, term: &str, mut each: impl FnMut(ChunkId)) -> Result<(), Failure> {
        self.active.each_holder(term.as_bytes(), &mut each);
        if let Some(frozen) = &self.frozen {
            frozen.memtable.each_holder(term.as_bytes(), |chunk| {
                if !self.removed.contains_chunk(chunk) {
                    each(chunk);
                }
            });
        }
        self.each_holder_on_disk(term, each)
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
