//! What a passage of an extracted file is, and where it stands in its source.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use loom_extract::contract::{Block, BlockKind, BoundingBox, Locator};
use loom_storage::Place;

use super::{Laid, LaidRows};
use crate::chunk::cut::{Cut, Piece};
use crate::keys;

/// The block type of a passage of several kinds of blocks.
/// The block type of a passage whose blocks are of several.
pub const MIXED: &str = "mixed";

/// What a passage of an extracted file is, beside its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// The kind of its blocks; `mixed` where they are of several, headings beside others not counted.
    pub block_type: &'static str,
    /// Where it stands in the source; `None`: at its lines of the document's text.
    pub locator: Option<Locator>,
    /// The names that its blocks define or read.
    pub keys: Vec<String>,
    /// The number of the table that it has rows of; the first where there are several.
    pub table: Option<u32>,
}

/// A mark for each piece.
pub(super) fn marks(text: &str, cut: &Cut, blocks: &[Laid<'_>]) -> Vec<Mark> {
    let mut spelt = BTreeMap::new();
    cut.pieces.iter().map(|piece| mark(text, piece, blocks, &mut spelt)).collect()
}

/// The names of a block by the first word of their last parts, in lower case.
type Spelt = HashMap<String, Vec<usize>>;

fn spelt(block: &Block) -> Spelt {
    let mut spelt = Spelt::new();
    for (at, name) in block.keys.iter().enumerate() {
        let last = last_part(name);
        spelt.entry(words(&last).next().unwrap_or_default().to_owned()).or_default().push(at);
    }
    spelt
}

fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_lowercase()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn mark(text: &str, piece: &Piece, blocks: &[Laid<'_>], spelt: &mut BTreeMap<usize, Spelt>) -> Mark {
    let range = range_of(piece.place);
    let first = blocks.partition_point(|laid| laid.end <= range.start);
    let end = first + blocks[first..].partition_point(|laid| laid.start < range.end);
    // Those of blocks that end before this piece are of no more use.
    *spelt = spelt.split_off(&first);
    Mark {
        block_type: block_type(&blocks[first..end]),
        locator: locator(&blocks[first..end], &range, piece.place),
        keys: names(text, piece, (&blocks[first..end], first), &range, spelt),
        table: blocks[first..end].iter().find_map(|laid| laid.block.table),
    }
}

fn range_of(place: Place) -> Range<usize> {
    let byte = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX);
    byte(place.byte_start)..byte(place.byte_end)
}

fn block_type(blocks: &[Laid<'_>]) -> &'static str {
    let mut kinds = blocks.iter().map(|laid| laid.block.kind).filter(|kind| *kind != BlockKind::Heading);
    let Some(first) = kinds.next() else {
        return if blocks.is_empty() { BlockKind::Paragraph.name() } else { BlockKind::Heading.name() };
    };
    if kinds.all(|kind| kind == first) { first.name() } else { MIXED }
}

/// The names of the piece's own code and of its blocks, which are counted from `first`; of a block that goes on outside the
/// piece, those that the piece spells.
fn names(
    text: &str,
    piece: &Piece,
    (blocks, first): (&[Laid<'_>], usize),
    range: &Range<usize>,
    cut: &mut BTreeMap<usize, Spelt>,
) -> Vec<String> {
    let passage = text.get(range.clone()).unwrap_or_default().to_lowercase();
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    let mut add = |name: &str| {
        let fits = !name.is_empty() && name.len() <= keys::KEY_BYTES_MAX && names.len() < keys::CHUNK_KEYS_MAX;
        if fits && seen.insert(name.to_lowercase()) {
            names.push(name.to_owned());
        }
    };
    for name in &piece.keys {
        add(name);
    }
    for (at, laid) in blocks.iter().enumerate().filter(|(_, laid)| !laid.block.keys.is_empty()) {
        let keys = &laid.block.keys;
        if range.start <= laid.start && laid.end <= range.end {
            for name in keys {
                add(name);
            }
            continue;
        }
        let spelt = cut.entry(first + at).or_insert_with(|| spelt(laid.block));
        let mut here: Vec<usize> = words(&passage).filter_map(|word| spelt.get(word)).flatten().copied().collect();
        here.sort_unstable();
        here.dedup();
        here.into_iter().filter(|at| passage.contains(&last_part(&keys[*at]))).for_each(|at| add(&keys[at]));
    }
    names
}

/// The locator around the blocks, cut to the rows of a table that the piece holds.
fn locator(blocks: &[Laid<'_>], range: &Range<usize>, place: Place) -> Option<Locator> {
    let mut around: Option<Locator> = None;
    for laid in blocks {
        let own = match &laid.rows {
            Some(rows) => rows_within(rows, laid, range).or_else(|| laid.block.locator.clone()),
            None => laid.block.locator.clone(),
        };
        around = match (around, own) {
            // A heading that the reader made, such as a sheet's name, stands nowhere.
            (around, None) if laid.block.kind == BlockKind::Heading => around,
            (_, None) => return None,
            (None, own) => own,
            (Some(around), Some(own)) => Some(union(around, own, place)?),
        };
    }
    around
}

fn rows_within(rows: &LaidRows<'_>, laid: &Laid<'_>, range: &Range<usize>) -> Option<Locator> {
    let sheet = rows.sheet?;
    let first = rows.ends.partition_point(|(end, _)| *end <= range.start);
    // A row is held when the piece has any of its text: it starts where the row before it ends.
    let started = |at: usize| at.checked_sub(1).map_or(laid.start, |before| rows.ends[before].0 + 1);
    let last = (first..rows.ends.len()).take_while(|at| started(*at) < range.end).last()?;
    Some(Locator::Rows { sheet: sheet.to_owned(), start: rows.ends[first].1, end: rows.ends[last].1 })
}

/// The locator around passages that follow each other and cover `place`; `None` where one has none or they do not go
/// together.
pub fn around(locators: impl IntoIterator<Item = Option<Locator>>, place: Place) -> Option<Locator> {
    let mut locators = locators.into_iter();
    let first = locators.next()??;
    locators.try_fold(first, |around, locator| union(around, locator?, place))
}

/// The locator around both; `None` where they are of different kinds or files.
fn union(one: Locator, other: Locator, place: Place) -> Option<Locator> {
    match (one, other) {
        (
            Locator::Lines { start, end, char_start, char_end },
            Locator::Lines { start: s, end: e, char_start: cs, char_end: ce },
        ) => Some(Locator::Lines {
            start: start.min(s),
            end: end.max(e),
            char_start: char_start.min(cs),
            char_end: char_end.max(ce),
        }),
        (Locator::Key { path, line_start, line_end }, Locator::Key { path: other, line_start: s, line_end: e }) => {
            let path = common_path(&path, &other);
            let (line_start, line_end) = (line_start.min(s), line_end.max(e));
            if path.is_empty() {
                let Place { char_start, char_end, .. } = place;
                return Some(Locator::Lines { start: line_start, end: line_end, char_start, char_end });
            }
            Some(Locator::Key { path, line_start, line_end })
        }
        (Locator::Pages { start, end, bbox }, Locator::Pages { start: s, end: e, bbox: other }) => {
            let (start, end) = (start.min(s), end.max(e));
            let bbox = bbox.zip(other).filter(|_| start == end).map(|(one, other)| BoundingBox::around(one, other));
            Some(Locator::Pages { start, end, bbox })
        }
        (Locator::Slides { start, end }, Locator::Slides { start: s, end: e }) => {
            Some(Locator::Slides { start: start.min(s), end: end.max(e) })
        }
        (Locator::Rows { sheet, start, end }, Locator::Rows { sheet: other, start: s, end: e }) if sheet == other => {
            Some(Locator::Rows { sheet, start: start.min(s), end: end.max(e) })
        }
        _ => None,
    }
}

/// The segments that both dotted paths begin with.
fn common_path(one: &str, other: &str) -> String {
    let same = one.split('.').zip(other.split('.')).take_while(|(one, other)| one == other);
    same.map(|(segment, _)| segment).collect::<Vec<_>>().join(".")
}
