//! From the tree of a page to its blocks.

use super::super::Bounds;
use super::grid::Room;
use super::inline::Inline;
use super::shown::Shown;
use super::tree::{Data, NodeId, Tree};
use super::{Page, page, table};
use crate::contract::{Block, BlockKind, LIST_LEVEL_MAX, Refusal};

/// Elements that begin and end a block.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "legend",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "plaintext",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
    "ul",
    "xmp",
];

/// Marks that stand for a list's item where a page draws its lists with paragraphs or tables.
const BULLETS: &[&str] = &["•", "·", "▪", "●", "○", "■", "□", "◦", "–", "-", "*", "§"];

/// How deep pages inside pages are read.
const FRAMES_MAX: usize = 3;

/// The most tables of a page.
const TABLES_MAX: usize = 10_000;

/// How many nodes are walked between two looks at the clock.
const NODES_PER_LOOK: usize = 10_000;

/// Writes the blocks of a page.
pub struct Walker<'a> {
    tree: &'a Tree,
    shown: Shown,
    bounds: &'a Bounds,
    frames: usize,
    /// What its tables may still have.
    room: Room,
    page: Page,
    inline: Inline,
    containers: Vec<(NodeId, Container)>,
    lists: Vec<List>,
    /// A bullet that stood alone: what follows is its item.
    has_bullet: bool,
}

/// What running text belongs to.
enum Container {
    Heading(u8),
    Item { level: u8, number: Option<i64>, is_begun: bool },
    Quote,
    Code { language: String },
    Caption,
}

struct List {
    /// The number of the next item; `None` for a list without numbers.
    next: Option<i64>,
}

impl<'a> Walker<'a> {
    /// Writes what `shown` leaves of the tree, whose tables have so much room.
    pub fn new(tree: &'a Tree, shown: Shown, bounds: &'a Bounds, frames: usize, room: Room) -> Self {
        Self {
            tree,
            shown,
            bounds,
            frames,
            room,
            page: Page::default(),
            inline: Inline::default(),
            containers: Vec::new(),
            lists: Vec::new(),
            has_bullet: false,
        }
    }

    /// Writes all inside a node.
    pub fn walk(&mut self, root: NodeId) -> Result<(), Refusal> {
        let tree = self.tree;
        let mut at = Some(root);
        let mut count = 0_usize;
        while let Some(id) = at {
            count += 1;
            if count.is_multiple_of(NODES_PER_LOOK) {
                self.bounds.check_time()?;
            }
            let goes_in = self.enter(id)?;
            at = tree.after(id, root, goes_in, |left| self.leave(left));
        }
        self.flush();
        Ok(())
    }

    /// What was written, and the room that is left.
    pub fn done(self) -> (Page, Room) {
        (self.page, self.room)
    }

    /// Begins a node; whether what is inside it is walked.
    fn enter(&mut self, id: NodeId) -> Result<bool, Refusal> {
        match self.tree.data(id) {
            Data::Other => return Ok(true),
            Data::Text(text) => {
                if let Some((_, Container::Code { .. })) = self.containers.last() {
                    self.inline.push_preformatted(text);
                } else {
                    self.inline.push(text);
                }
                return Ok(false);
            }
            Data::Element(..) => {}
        }
        let name = self.tree.name(id);
        if self.shown.is_left_out(self.tree, id) {
            self.inline.space();
            return Ok(false);
        }
        if BLOCKS.contains(&name) {
            self.flush();
        }
        match name {
            "br" => self.line(),
            "img" => self.picture(id),
            "td" | "th" => self.inline.space(),
            "q" => self.inline.push("\""),
            "rt" | "rp" | "button" => return Ok(false),
            "iframe" => {
                self.frame(id)?;
                return Ok(false);
            }
            "table" if table::is_data(self.tree, &self.shown, id) => {
                self.table(id);
                return Ok(false);
            }
            "ul" | "menu" | "dir" | "dl" => self.lists.push(List { next: None }),
            "ol" => self.lists.push(List { next: Some(self.number(id, "start").unwrap_or(1)) }),
            _ => self.contain(id, name),
        }
        Ok(true)
    }

    fn contain(&mut self, id: NodeId, name: &str) {
        let container = match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => Container::Heading(name.as_bytes()[1] - b'0'),
            "li" | "dt" => self.item(id, 0),
            "dd" => self.item(id, 1),
            "blockquote" => Container::Quote,
            "pre" | "listing" | "xmp" | "plaintext" => Container::Code { language: self.language(id) },
            "figcaption" | "caption" => Container::Caption,
            _ => return,
        };
        self.containers.push((id, container));
    }

    fn item(&mut self, id: NodeId, deeper: usize) -> Container {
        let level = u8::try_from(self.lists.len() + deeper).unwrap_or(LIST_LEVEL_MAX).clamp(1, LIST_LEVEL_MAX);
        let own = self.number(id, "value");
        let number = self.lists.last_mut().and_then(|list| {
            let number = own.or(list.next).filter(|_| list.next.is_some())?;
            list.next = number.checked_add(1);
            Some(number)
        });
        Container::Item { level, number, is_begun: false }
    }

    fn leave(&mut self, id: NodeId) {
        let name = self.tree.name(id);
        if name == "q" && !self.shown.is_left_out(self.tree, id) {
            self.inline.push("\"");
        }
        if !BLOCKS.contains(&name) {
            return;
        }
        self.flush();
        if self.containers.last().is_some_and(|(container, _)| *container == id) {
            self.containers.pop();
        }
        // A list that was left out or is no list of its own was never pushed: then there is nothing to pop.
        if matches!(name, "ul" | "menu" | "dir" | "dl" | "ol") && !self.shown.is_left_out(self.tree, id) {
            self.lists.pop();
        }
    }

    fn line(&mut self) {
        if let Some((_, Container::Heading(_))) = self.containers.last() {
            self.inline.space();
        } else {
            self.inline.line();
        }
    }

    fn picture(&mut self, id: NodeId) {
        if let Some(words) = self.tree.attribute(id, "alt") {
            self.inline.space();
            self.inline.push(words);
            self.inline.space();
        }
    }

    /// Writes the page inside a frame that brings it along.
    fn frame(&mut self, id: NodeId) -> Result<(), Refusal> {
        let Some(source) = self.tree.attribute(id, "srcdoc").filter(|_| self.frames < FRAMES_MAX) else {
            return Ok(());
        };
        self.flush();
        let (inner, room) = page(source, self.bounds, self.frames + 1, self.room)?;
        self.room = room;
        let shift = u32::try_from(self.page.tables.len()).unwrap_or(u32::MAX);
        self.page.blocks.extend(inner.blocks.into_iter().map(|mut block| {
            block.table = block.table.map(|table| table + shift);
            block
        }));
        self.page.tables.extend(inner.tables);
        self.page.is_cut |= inner.is_cut;
        Ok(())
    }

    fn table(&mut self, id: NodeId) {
        if self.page.tables.len() >= TABLES_MAX {
            self.page.is_cut = true;
            return;
        }
        let Some(table) = table::read(self.tree, &self.shown, id, &mut self.room) else { return };
        if !table.name.is_empty() {
            self.push(BlockKind::Caption, table.name.clone());
        }
        self.page.is_cut |= table.total_rows > table.rows.len() as u64;
        let at = u32::try_from(self.page.tables.len()).ok();
        self.page.blocks.push(Block { kind: BlockKind::Table, table: at, ..Block::default() });
        self.page.tables.push(table);
    }

    fn flush(&mut self) {
        if self.inline.is_blank() {
            self.inline.take();
            return;
        }
        let text = if let Some((_, Container::Code { .. })) = self.containers.last() {
            self.inline.take_preformatted()
        } else {
            self.inline.take()
        };
        match self.containers.last_mut() {
            Some((_, Container::Heading(level))) => {
                let level = *level;
                let text = text.replace('\n', " ");
                self.page.blocks.push(Block { kind: BlockKind::Heading, level, text, ..Block::default() });
            }
            Some((_, Container::Item { level, number, is_begun })) if !*is_begun => {
                *is_begun = true;
                let level = *level;
                let text = number.map_or(text.clone(), |number| format!("{number}. {text}"));
                self.page.blocks.push(Block { kind: BlockKind::ListItem, level, text, ..Block::default() });
            }
            Some((_, Container::Code { language })) => {
                let language = language.clone();
                self.page.blocks.push(Block { kind: BlockKind::Code, language, text, ..Block::default() });
            }
            Some((_, Container::Quote)) => self.push(BlockKind::Quote, text),
            Some((_, Container::Caption)) => self.push(BlockKind::Caption, text),
            Some((_, Container::Item { .. })) | None => self.paragraph(text),
        }
    }

    /// A paragraph, or the item of a list that is drawn with a bullet before it.
    fn paragraph(&mut self, text: String) {
        if BULLETS.contains(&text.as_str()) {
            self.has_bullet = true;
            return;
        }
        let item =
            text.split_once(' ').filter(|(mark, _)| BULLETS[..8].contains(mark)).map(|(_, item)| item.to_owned());
        let is_item = std::mem::take(&mut self.has_bullet) || item.is_some();
        let (kind, level) = if is_item { (BlockKind::ListItem, 1) } else { (BlockKind::Paragraph, 0) };
        self.page.blocks.push(Block { kind, level, text: item.unwrap_or(text), ..Block::default() });
    }

    fn push(&mut self, kind: BlockKind, text: String) {
        self.page.blocks.push(Block { kind, text, ..Block::default() });
    }

    fn number(&self, id: NodeId, attribute: &str) -> Option<i64> {
        self.tree.attribute(id, attribute)?.trim().parse().ok()
    }

    /// The language that the classes of preformatted text or of the code in it name.
    fn language(&self, id: NodeId) -> String {
        let code = self.tree.children(id).find(|child| self.tree.name(*child) == "code");
        let classes = [Some(id), code].into_iter().flatten().filter_map(|id| self.tree.attribute(id, "class"));
        classes
            .flat_map(str::split_ascii_whitespace)
            .find_map(|class| {
                let class = class.strip_prefix("highlight-").unwrap_or(class);
                ["language-", "lang-", "source-"].iter().find_map(|prefix| class.strip_prefix(prefix))
            })
            .filter(|language| language.len() <= 40)
            .unwrap_or_default()
            .to_owned()
    }
}
