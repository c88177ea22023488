//! HTML: headings, paragraphs, lists, code and tables of a page's content.

use super::decode::{Decoded, Guess, decode};
use super::{Bounds, Context, no_text, parser};
use crate::contract::{Artifact, Block, BlockKind, Coverage, CoverageUnit, Refusal, Request, Table, lost};

mod charset;
mod grid;
mod inline;
mod shown;
mod table;
mod tags;
mod tree;
mod walk;

use grid::Room;
use shown::{Shown, content};
use tree::{NodeId, Tree};
use walk::Walker;

/// The longest title that becomes a heading, in characters.
const TITLE_CHARS_MAX: usize = 300;

/// Reads a page. Its encoding is looked for in its markup too.
///
/// # Errors
/// Those of decoding and of [`blocks`], and [`crate::contract::RefusalCode::NoText`].
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let declared = charset::declared(bytes);
    let Decoded { text, warning } = decode(bytes, &request.options, declared.as_deref(), Guess::Allowed)?;
    context.bounds.check_text(text.len())?;
    let page = blocks(&text, &context.bounds)?;
    if page.blocks.is_empty() {
        return Err(no_text());
    }
    let mut coverage = Coverage::complete(CoverageUnit::Bytes, bytes.len() as u64);
    let mut warnings: Vec<String> = warning.into_iter().collect();
    if page.is_cut {
        coverage.lose(lost::TABLES);
        warnings.push("tables were cut: the page has more cells than one extraction may hold".into());
    }
    Ok(Artifact {
        parser: parser("loom-html"),
        coverage,
        blocks: page.blocks,
        tables: page.tables,
        warnings,
        ..Artifact::default()
    })
}

/// What a page holds.
#[derive(Debug, Default)]
pub struct Page {
    /// Its blocks; those of tables name one of [`Page::tables`].
    pub blocks: Vec<Block>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Whether tables were cut at the bound of cells.
    pub is_cut: bool,
}

impl Page {
    /// The cells of its tables.
    pub fn cells(&self) -> usize {
        self.tables.iter().map(|table| table.rows.len() * table.columns.len()).sum()
    }
}

/// The blocks of a page: of its content, its title as the first heading where the content has none of the first level.
///
/// # Errors
/// [`crate::contract::RefusalCode::ResourceLimit`] where the markup multiplies, and
/// [`crate::contract::RefusalCode::Timeout`].
pub fn blocks(html: &str, bounds: &Bounds) -> Result<Page, Refusal> {
    page(html, bounds, 0, Room::of(bounds.cells)).map(|(page, _)| page)
}

/// As [`blocks`], of a page that stands in `frames` others and whose tables have so much room; and the room that is left.
fn page(html: &str, bounds: &Bounds, frames: usize, room: Room) -> Result<(Page, Room), Refusal> {
    let tree = Tree::parse(html, bounds)?;
    let body = tree.inside(0).find(|id| tree.name(*id) == "body").unwrap_or(0);
    let mut walker = Walker::new(&tree, Shown { menus_dropped: true }, bounds, frames, room);
    for root in content(&tree, body) {
        walker.walk(root)?;
    }
    let (mut page, mut left) = walker.done();
    if page.blocks.is_empty() {
        let mut walker = Walker::new(&tree, Shown { menus_dropped: false }, bounds, frames, room);
        walker.walk(body)?;
        (page, left) = walker.done();
    }
    if !page.blocks.iter().any(|block| block.kind == BlockKind::Heading && block.level == 1)
        && let Some(title) = title(&tree)
    {
        page.blocks.insert(0, Block { kind: BlockKind::Heading, level: 1, text: title, ..Block::default() });
    }
    Ok((page, left))
}

/// The words of the page's title.
fn title(tree: &Tree) -> Option<String> {
    let is_title = |id: &NodeId| {
        tree.name(*id) == "title" && tree.parent(*id).is_some_and(|parent| matches!(tree.name(parent), "head" | "body"))
    };
    let title = tree.inside(0).find(is_title)?;
    let mut words = inline::Inline::default();
    for child in tree.children(title) {
        if let tree::Data::Text(text) = tree.data(child) {
            words.push(text);
        }
    }
    let title: String = words.take().chars().take(TITLE_CHARS_MAX).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests;
