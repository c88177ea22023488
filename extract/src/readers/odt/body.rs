//! The blocks of a document.

use crate::contract::{BlockKind, Refusal};
use crate::readers::office::{Continued, Element, Grid, GridCell, Node, Xml, described};

use super::styles::{LEVELS, Styles};

/// The most spaces that one element stands for.
const SPACES_MAX: usize = 100;
/// The most cells or rows that one element stands for, where they hold something.
const REPEATS_MAX: usize = 1000;

/// The state of reading one document.
pub struct Walk {
    styles: Styles,
    pub comments: u64,
    pub changes: u64,
    /// The last number of each level of the list that is being read, or was last.
    numbers: [u32; LEVELS],
    notes: u32,
}

/// A block in the making.
pub enum Item {
    /// Text, its kind and level.
    Block(BlockKind, u8, String),
    /// A table with its name.
    Table(String, Grid),
    /// What stands in a table of a single cell, which is only a frame.
    Frame(Vec<Item>),
}

/// Where a list is.
struct List {
    style: String,
    level: usize,
}

impl Walk {
    /// Nothing read yet.
    pub fn new(styles: Styles) -> Self {
        Self { styles, comments: 0, changes: 0, numbers: [0; LEVELS], notes: 0 }
    }

    /// Reads the blocks in the element that has just begun, to its end.
    pub fn items(&mut self, xml: &mut Xml<'_>, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "h" => {
                    let level = element.number("outline-level").unwrap_or(1);
                    self.paragraph(xml, items, |text| Item::Block(BlockKind::Heading, level, text))?;
                }
                "p" => {
                    let (kind, level) = self.kind(&element);
                    self.paragraph(xml, items, |text| Item::Block(kind, level, text))?;
                }
                "list" => {
                    let style = element.attribute("style-name").unwrap_or_default().into_owned();
                    let continues = element.attribute("continue-numbering").is_some_and(|on| on == "true")
                        || element.attribute("continue-list").is_some();
                    self.list(xml, &List { style, level: 0 }, continues, items)?;
                }
                "table" => self.table(xml, &element, items)?,
                "tracked-changes" => {
                    while let Some(element) = xml.child(depth + 1)? {
                        self.changes += u64::from(element.name() == "changed-region");
                    }
                }
                "section" | "text-box" | "frame" | "index-body" | "table-of-content" | "alphabetical-index"
                | "illustration-index" | "table-index" | "bibliography" | "user-index" | "object-index"
                | "custom-shape" | "g" | "index-title" | "numbered-paragraph" | "a" => self.items(xml, items)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn kind(&self, element: &Element<'_>) -> (BlockKind, u8) {
        let style = element.attribute("style-name").unwrap_or_default();
        match self.styles.named(&style) {
            "Title" => (BlockKind::Heading, 1),
            "Quotations" => (BlockKind::Quote, 0),
            "Preformatted_20_Text" => (BlockKind::Code, 0),
            "Caption" | "Illustration" | "Table" | "Figure" => (BlockKind::Caption, 0),
            _ => (BlockKind::Paragraph, 0),
        }
    }

    fn paragraph(
        &mut self,
        xml: &mut Xml<'_>,
        items: &mut Vec<Item>,
        block: impl FnOnce(String) -> Item,
    ) -> Result<(), Refusal> {
        let mut text = String::new();
        let mut after = Vec::new();
        self.inline(xml, &mut text, &mut after)?;
        items.push(block(text));
        items.append(&mut after);
        Ok(())
    }

    /// Reads what stands in a paragraph. Runs of white space are one space, as the format has them.
    fn inline(&mut self, xml: &mut Xml<'_>, text: &mut String, after: &mut Vec<Item>) -> Result<(), Refusal> {
        let depth = xml.depth();
        loop {
            match xml.next()? {
                Node::Text(piece) => push_words(text, &piece),
                Node::End if xml.depth() < depth => return Ok(()),
                Node::Eof => return Ok(()),
                Node::End => {}
                Node::Start(element) => match element.name() {
                    "s" => {
                        let count: usize = element.number("c").unwrap_or(1);
                        text.extend(std::iter::repeat_n(' ', count.min(SPACES_MAX)));
                    }
                    "tab" => text.push('\t'),
                    "line-break" => text.push('\n'),
                    "note" => self.note(xml, text, after)?,
                    "annotation" => {
                        self.comments += 1;
                        xml.skip()?;
                    }
                    "frame" | "custom-shape" | "g" | "rect" => self.frame(xml, after)?,
                    "ruby-text" | "page-number" | "page-count" | "tracked-changes" | "script" => xml.skip()?,
                    // Others only group. Fields show what they last held; marks hold nothing.
                    _ => self.inline(xml, text, after)?,
                },
            }
        }
    }

    fn frame(&mut self, xml: &mut Xml<'_>, after: &mut Vec<Item>) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "text-box" | "g" | "custom-shape" => self.items(xml, after)?,
                "p" => self.paragraph(xml, after, |text| Item::Block(BlockKind::Paragraph, 0, text))?,
                "desc" => after.push(Item::Block(BlockKind::Caption, 0, described(&xml.text()?).to_owned())),
                _ => {}
            }
        }
        Ok(())
    }

    fn note(&mut self, xml: &mut Xml<'_>, text: &mut String, after: &mut Vec<Item>) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            if element.name() == "note-body" {
                let mut items = Vec::new();
                self.items(xml, &mut items)?;
                self.notes += 1;
                let note = flattened(&items, &mut Vec::new());
                let sign = format!("[{}]", self.notes);
                text.push_str(&sign);
                after.push(Item::Block(BlockKind::Note, 0, format!("{sign} {note}")));
            }
        }
        Ok(())
    }

    fn list(&mut self, xml: &mut Xml<'_>, list: &List, continues: bool, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let depth = xml.depth();
        let level = list.level.min(LEVELS - 1);
        let start = self.styles.start(&list.style, level);
        if !continues {
            self.numbers[level] = start.unwrap_or(1).saturating_sub(1);
        }
        while let Some(element) = xml.child(depth)? {
            if !matches!(element.name(), "list-item" | "list-header") {
                continue;
            }
            let mut marker = None;
            if element.name() == "list-item" {
                let given = element.number::<u32>("start-value");
                self.numbers[level] = given.unwrap_or_else(|| self.numbers[level].saturating_add(1));
                marker = self.styles.marker(&list.style, level, self.numbers[level]);
            }
            while let Some(element) = xml.child(depth + 1)? {
                match element.name() {
                    "p" | "h" => {
                        let marker = marker.take();
                        let depth = u8::try_from(level).unwrap_or(0) + 1;
                        let heading = element.number("outline-level").filter(|_| element.name() == "h");
                        self.paragraph(xml, items, |text| {
                            let text = match marker {
                                Some(marker) if !text.trim().is_empty() => format!("{marker} {}", text.trim_start()),
                                _ => text,
                            };
                            match heading {
                                Some(level) => Item::Block(BlockKind::Heading, level, text),
                                None => Item::Block(BlockKind::ListItem, depth, text),
                            }
                        })?;
                    }
                    "list" => {
                        let own = element.attribute("style-name").map(std::borrow::Cow::into_owned);
                        let style = own.unwrap_or_else(|| list.style.clone());
                        self.list(xml, &List { style, level: list.level + 1 }, false, items)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn table(&mut self, xml: &mut Xml<'_>, element: &Element<'_>, items: &mut Vec<Item>) -> Result<(), Refusal> {
        // Programs call every table Table1, Table2 and so on.
        let name = element.attribute("name").unwrap_or_default().into_owned();
        let is_given = !name.trim_start_matches(|c: char| c.is_alphabetic()).chars().all(|c| c.is_ascii_digit());
        let mut making = Making::default();
        self.rows(xml, false, &mut making)?;
        if let Some(blocks) = making.only {
            items.push(Item::Frame(blocks));
        } else {
            items.push(Item::Table(if is_given { name } else { String::new() }, making.grid));
            items.extend(making.notes);
        }
        Ok(())
    }

    fn rows(&mut self, xml: &mut Xml<'_>, in_header: bool, making: &mut Making) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "table-header-rows" => self.rows(xml, true, making)?,
                "table-rows" | "table-row-group" => self.rows(xml, in_header, making)?,
                "table-row" => {
                    let row = self.row(xml, making)?;
                    making.grid.header_rows += usize::from(in_header);
                    making.grid.push(row);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn row(&mut self, xml: &mut Xml<'_>, making: &mut Making) -> Result<Vec<GridCell>, Refusal> {
        let depth = xml.depth();
        let mut row = Vec::new();
        // How many columns on the right the last cell still covers.
        let mut covered = 0_usize;
        while let Some(element) = xml.child(depth)? {
            let columns = element.number("number-columns-repeated").unwrap_or(1).clamp(1, REPEATS_MAX);
            match element.name() {
                "table-cell" => {
                    covered = element.number("number-columns-spanned").unwrap_or(1_usize).saturating_sub(1);
                    row.push(self.cell(xml, columns, making)?);
                }
                "covered-table-cell" => {
                    let continues = Some(if covered > 0 { Continued::Left } else { Continued::Above });
                    covered = covered.saturating_sub(columns);
                    row.push(GridCell { columns, continues, ..GridCell::default() });
                }
                _ => {}
            }
        }
        Ok(row)
    }

    /// Reads a cell. One that is repeated stands once, in the first of its columns.
    fn cell(&mut self, xml: &mut Xml<'_>, columns: usize, making: &mut Making) -> Result<GridCell, Refusal> {
        let mut blocks = Vec::new();
        self.items(xml, &mut blocks)?;
        let text = flattened(&blocks, &mut making.notes);
        making.cells += 1;
        making.only = (making.cells == 1 && columns == 1).then_some(blocks);
        Ok(GridCell { text, columns, continues: None })
    }
}

/// A table in the making.
#[derive(Default)]
struct Making {
    grid: Grid,
    notes: Vec<Item>,
    /// The blocks of the first cell, kept while it is the only one.
    only: Option<Vec<Item>>,
    cells: usize,
}

/// Adds text whose white space is one space, and none after another.
fn push_words(text: &mut String, piece: &str) {
    for character in piece.chars() {
        if !character.is_ascii_whitespace() {
            text.push(character);
        } else if !text.is_empty() && !text.ends_with([' ', '\n', '\t']) {
            text.push(' ');
        }
    }
}

/// The text of blocks as lines. Notes go to `notes`.
pub fn flattened(items: &[Item], notes: &mut Vec<Item>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match item {
            Item::Block(BlockKind::Note, level, text) => notes.push(Item::Block(BlockKind::Note, *level, text.clone())),
            Item::Block(_, _, text) => lines.push(text.trim().to_owned()),
            Item::Table(_, grid) => lines.push(grid.flat()),
            Item::Frame(items) => lines.push(flattened(items, notes)),
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}
