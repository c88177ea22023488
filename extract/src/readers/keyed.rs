//! Structured data as blocks: values with the paths to them, short neighbours together.

use std::collections::HashSet;
use std::ops::Range;

use super::spans::{Places, trimmed};
use crate::contract::{Block, BlockKind, Locator};

/// The most bytes of values that share a block.
const PACKED_BYTES_MAX: usize = 1000;
/// The most values that are told apart. What follows belongs to the last of them.
pub const NODES_MAX: usize = 1_000_000;
/// The deepest value that is told apart.
const DEPTH_MAX: usize = 100;
/// The most names of a block.
const KEYS_MAX: usize = 2000;
/// A longer path is no name, and is cut where it is a place.
const PATH_BYTES_MAX: usize = 1024;

const NONE: u32 = u32::MAX;

struct Node {
    range: Range<usize>,
    parent: u32,
    /// The node after the last inside this one.
    after: u32,
    /// A key as it is written in a path, or `[3]`.
    name: Box<str>,
}

/// The values of a text, each with its place, in their order.
#[derive(Default)]
pub struct Tree {
    nodes: Vec<Node>,
    open: Vec<u32>,
    /// How many values are open that were not noted.
    unnoted: usize,
    is_cut: bool,
}

impl Tree {
    /// Begins a value at a byte; [`Tree::close`] ends it.
    pub fn open(&mut self, name: impl Into<Box<str>>, start: usize) {
        if self.nodes.len() >= NODES_MAX || self.open.len() >= DEPTH_MAX || self.unnoted > 0 {
            self.unnoted += 1;
            self.is_cut = true;
            return;
        }
        let at = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let parent = self.open.last().copied().unwrap_or(NONE);
        self.nodes.push(Node { range: start..start, parent, after: at + 1, name: name.into() });
        self.open.push(at);
    }

    /// Ends the value that was begun last.
    pub fn close(&mut self, end: usize) {
        if self.unnoted > 0 {
            self.unnoted -= 1;
            return;
        }
        let count = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        if let Some(node) = self.open.pop().and_then(|at| self.nodes.get_mut(at as usize)) {
            node.range.end = end.max(node.range.start);
            node.after = count;
        }
    }

    /// Whether values were too many or too deep to be told apart.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The path to a value; no more of it is written than tells that it is longer than [`PATH_BYTES_MAX`].
    fn path(&self, at: u32, with_indexes: bool) -> String {
        let mut names = Vec::new();
        let mut next = at;
        while let Some(node) = self.nodes.get(next as usize) {
            names.push(&*node.name);
            next = node.parent;
        }
        let mut path = String::new();
        for name in names.into_iter().rev().filter(|name| !name.is_empty()) {
            let is_index = name.starts_with('[');
            if is_index && !with_indexes {
                continue;
            }
            if path.len() > PATH_BYTES_MAX {
                break;
            }
            if !is_index && !path.is_empty() {
                path.push('.');
            }
            // A table of TOML has its whole path as its name, and the numbers of items in it, which may be left out below.
            path.push_str(&name[..name.floor_char_boundary(2 * PATH_BYTES_MAX)]);
        }
        if with_indexes { path } else { without_indexes(&path) }
    }
}

/// A path without the numbers of items.
fn without_indexes(path: &str) -> String {
    let mut kept = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('[') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let is_index = digits > 0 && rest[at + 1 + digits..].starts_with(']');
        let end = if is_index { at + digits + 2 } else { at + 1 };
        kept.push_str(&rest[..if is_index { at } else { end }]);
        rest = &rest[end..];
    }
    kept.push_str(rest);
    kept
}

/// A part of the text that becomes a block.
struct Cut {
    start: usize,
    /// The values in it, siblings.
    nodes: Range<u32>,
    parent: u32,
    /// The value, or what the values lie in.
    place: u32,
    is_leaf: bool,
}

/// The blocks of a text: a value with all inside it where it is short, its parts otherwise, and short values beside each other in
/// one where they lie in the same value. Each begins with the comments right above it, which `comment` starts, and ends before
/// the next one.
pub fn blocks(text: &str, tree: &Tree, kind: BlockKind, comment: Option<char>) -> Vec<Block> {
    let mut cuts = cuts(tree);
    let mut floor = 0;
    for cut in &mut cuts {
        cut.start = lifted(text, cut.start, floor, comment).max(floor);
        floor = tree.nodes[(cut.nodes.end - 1) as usize].range.end.max(cut.start);
    }
    if let Some(first) = cuts.first_mut() {
        first.start = 0;
    }
    let mut places = Places::new(text);
    let mut blocks = Vec::with_capacity(cuts.len());
    for (at, cut) in cuts.iter().enumerate() {
        let end = cuts.get(at + 1).map_or(text.len(), |next| next.start);
        let Some(range) = trimmed(text, cut.start..end) else { continue };
        let line_start = places.line(range.start);
        let start = places.chars(range.start);
        let span = crate::contract::Span { start, end: places.chars(range.end) };
        let line_end = places.line(range.end);
        let mut path = tree.path(cut.place, true);
        path.truncate(path.floor_char_boundary(PATH_BYTES_MAX));
        let locator = Some(Locator::Key { path, line_start, line_end });
        blocks.push(Block { kind, span: Some(span), locator, keys: keys(tree, &cut.nodes), ..Block::default() });
    }
    blocks
}

fn cuts(tree: &Tree) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    // The outermost value that is taken apart and has no cut yet.
    let mut pending: Option<(usize, u32)> = None;
    let mut at = 0_u32;
    while let Some(node) = tree.nodes.get(at as usize) {
        let is_leaf = node.after == at + 1;
        if !is_leaf && node.range.len() > PACKED_BYTES_MAX {
            pending.get_or_insert((node.range.start, at));
            at += 1;
            continue;
        }
        let joins = cuts.last().is_some_and(|last| {
            let both = (is_leaf && last.is_leaf) || node.name.starts_with('[');
            let is_short = node.range.end.saturating_sub(last.start) <= PACKED_BYTES_MAX;
            pending.is_none()
                && last.parent == node.parent
                && node.parent != NONE
                && both
                && is_short
                && last.nodes.end == at
        });
        match cuts.last_mut() {
            Some(last) if joins => {
                last.nodes.end = node.after;
                last.place = node.parent;
            }
            Some(_) | None => {
                let (start, first) = pending.take().unwrap_or((node.range.start, at));
                cuts.push(Cut { start, nodes: first..node.after, parent: node.parent, place: at, is_leaf });
            }
        }
        at = node.after;
    }
    cuts
}

/// The paths to the values of some nodes, each once.
fn keys(tree: &Tree, nodes: &Range<u32>) -> Vec<String> {
    let mut known = HashSet::new();
    let mut keys = Vec::new();
    for at in nodes.clone() {
        if keys.len() >= KEYS_MAX {
            break;
        }
        let path = tree.path(at, false);
        if !path.is_empty() && path.len() <= PATH_BYTES_MAX && known.insert(path.clone()) {
            keys.push(path);
        }
    }
    keys
}

/// The start of a value's line where nothing else is on it, and of the comment lines right above it, no earlier than `floor`.
fn lifted(text: &str, start: usize, floor: usize, comment: Option<char>) -> usize {
    let before = &text[floor..start];
    let line_start = |at: usize| before[..at].rfind('\n').map_or(0, |end| end + 1);
    let mut at = line_start(before.len());
    if !before[at..].trim().is_empty() {
        return start;
    }
    while let Some(comment) = comment
        && at > 0
    {
        let above = line_start(at - 1);
        if !before[above..at].trim_start().starts_with(comment) {
            break;
        }
        at = above;
    }
    floor + at
}

/// A key as it is written in a path: in quotes where it has other characters than names have.
pub fn segment(key: &str) -> Box<str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@' | '/' | ':');
    if !key.is_empty() && key.chars().all(is_name) { key.into() } else { format!("{key:?}").into() }
}
