//! The blocks of a document: its body, a table's cell, a text box, a note.

use std::collections::{HashMap, HashSet};

use crate::contract::{BlockKind, Refusal};
use crate::readers::Bounds;
use crate::readers::html::{self, Page};
use crate::readers::office::{Grid, Package, Relation, Xml};

use super::numbering::Numbering;
use super::run::Field;
use super::styles::{Properties, Styles, margins};
use super::table::CellProperties;

/// The most parts with headers and footers that are read.
const MARGINS_MAX: usize = 200;

/// The state of reading one document.
pub struct Walk<'a> {
    pub package: &'a Package<'a>,
    pub styles: Styles,
    pub numbering: Numbering,
    /// Those of the part that is being read.
    pub relations: HashMap<String, Relation>,
    pub notes: Notes,
    pub changes: Changes,
    /// The fields that have begun and not ended, the innermost last.
    pub fields: Vec<Field>,
    /// What the cell that is being read says of itself.
    pub cell: CellProperties,
    /// The text of paragraphs that the next one goes on with.
    pub carried: String,
    /// The parts of headers and footers, each once.
    pub margins: Vec<String>,
    /// Parts that were read where they are referred to; each is read once.
    pub used_parts: HashSet<String>,
    /// How many cells the tables of pages of HTML may still have.
    pub page_cells: usize,
    /// The parts of pictures, in the order of the text.
    pub pictures: Vec<String>,
    /// How many parts in other formats were left out.
    pub unread_parts: u64,
}

/// A block in the making.
pub enum Item {
    /// Text, its kind and level.
    Block(BlockKind, u8, String),
    /// A table.
    Table(Grid),
    /// The content of a page of HTML.
    Page(Page),
    /// What stands in a table of a single cell, which is only a frame.
    Frame(Vec<Item>),
}

/// What was changed, or is not shown.
#[derive(Default)]
pub struct Changes {
    pub inserted: u64,
    pub deleted: u64,
    pub moved: u64,
    pub hidden: u64,
}

/// The texts of notes; each is given out once.
#[derive(Default)]
pub struct Notes {
    texts: HashMap<(&'static str, String), String>,
    given: u32,
}

/// A paragraph in the making.
#[derive(Default)]
pub struct Paragraph {
    pub properties: Properties,
    pub text: String,
    /// What stands after it: text boxes and notes.
    pub after: Vec<Item>,
}

impl Notes {
    /// Keeps a note.
    pub fn insert(&mut self, kind: &'static str, id: String, text: String) {
        if !text.is_empty() {
            self.texts.insert((kind, id), text);
        }
    }

    /// A note with its number, which it is referred to by.
    pub fn take(&mut self, kind: &'static str, id: &str) -> Option<(u32, String)> {
        let text = self.texts.remove(&(kind, id.to_owned()))?;
        self.given += 1;
        Some((self.given, text))
    }
}

impl Walk<'_> {
    /// Reads the blocks in the element that has just begun, to its end.
    pub fn items(&mut self, xml: &mut Xml<'_>, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let outer = std::mem::take(&mut self.carried);
        self.more_items(xml, items)?;
        let left = std::mem::replace(&mut self.carried, outer);
        items.push(Item::Block(BlockKind::Paragraph, 0, left));
        Ok(())
    }

    /// As [`Walk::items`], in an element that stands among blocks and is none.
    fn more_items(&mut self, xml: &mut Xml<'_>, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "p" => self.paragraph(xml, items)?,
                "tbl" => self.table(xml, items)?,
                "sdt" | "sdtContent" | "customXml" | "smartTag" => self.more_items(xml, items)?,
                "ins" => {
                    self.changes.inserted += 1;
                    self.more_items(xml, items)?;
                }
                "moveTo" => {
                    self.changes.moved += 1;
                    self.more_items(xml, items)?;
                }
                "del" => self.changes.deleted += 1,
                "AlternateContent" => {
                    let before = items.len();
                    while let Some(element) = xml.child(depth + 1)? {
                        if items.len() == before && matches!(element.name(), "Choice" | "Fallback") {
                            self.more_items(xml, items)?;
                        }
                    }
                }
                "altChunk" => {
                    if let Some(id) = element.foreign("id") {
                        self.embedded(&id, items)?;
                    }
                }
                "tcPr" => self.cell_properties(xml)?,
                "sectPr" => {
                    for id in margins(xml)? {
                        self.margin(&id);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn paragraph(&mut self, xml: &mut Xml<'_>, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let mut paragraph = Paragraph { text: std::mem::take(&mut self.carried), ..Paragraph::default() };
        self.inline(xml, &mut paragraph)?;
        // A field whose instruction goes on past its paragraph is broken: what follows is text again.
        self.fields.iter_mut().for_each(Field::end_instruction);
        let Paragraph { properties, text, after } = paragraph;
        if properties.is_joined {
            self.carried = text;
        } else {
            self.finish(properties, text, items);
        }
        items.extend(after);
        Ok(())
    }

    /// Makes a block of a paragraph.
    fn finish(&mut self, own: Properties, text: String, items: &mut Vec<Item>) {
        let resolved = self.styles.resolve(own);
        if resolved.is_hidden {
            self.changes.hidden += u64::from(!text.trim().is_empty());
            return;
        }
        let properties = resolved.properties;
        let list = properties.list.as_deref().filter(|list| !list.is_empty());
        let mut marker = None;
        let mut level = 0;
        if let Some(list) = list {
            let by_style = || self.numbering.level_of_style(list, &properties.style);
            level = properties.list_level.or_else(by_style).unwrap_or(0);
            marker = self.numbering.next(list, level);
        }
        let words = match marker.as_deref() {
            Some(marker) if !marker.is_empty() && !text.trim().is_empty() => format!("{marker} {}", text.trim_start()),
            _ => text,
        };
        let list_level = u8::try_from(level).unwrap_or(u8::MAX).saturating_add(1);
        let item = match properties.outline {
            Some(outline) => Item::Block(BlockKind::Heading, outline + 1, words),
            None if resolved.is_title => Item::Block(BlockKind::Heading, 1, words),
            None if marker.is_some() => Item::Block(BlockKind::ListItem, list_level, words),
            None => match items.last_mut() {
                Some(Item::Block(BlockKind::Code, _, before)) if resolved.kind == BlockKind::Code => {
                    before.push('\n');
                    before.push_str(&words);
                    return;
                }
                _ => Item::Block(resolved.kind, 0, words),
            },
        };
        items.push(item);
    }

    /// Notes a header or footer, to be read after the body.
    pub fn margin(&mut self, id: &str) {
        if let Some(part) = self.relations.get(id).map(|relation| relation.target.clone())
            && self.margins.len() < MARGINS_MAX
            && !self.margins.contains(&part)
        {
            self.margins.push(part);
        }
    }

    /// Reads an embedded document where it is a page of HTML or plain text.
    fn embedded(&mut self, id: &str, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let Some(relation) = self.relations.get(id) else { return Ok(()) };
        let part = relation.target.clone();
        if part.is_empty() || !self.used_parts.insert(part.clone()) {
            return Ok(());
        }
        let extension = part.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        if !matches!(extension.as_str(), "html" | "htm" | "xhtml" | "txt") {
            self.unread_parts += 1;
            return Ok(());
        }
        let Some(text) = self.package.text(&part)? else { return Ok(()) };
        items.push(if extension == "txt" {
            Item::Block(BlockKind::Paragraph, 0, text)
        } else {
            let bounds = Bounds { cells: self.page_cells, ..self.package.bounds.clone() };
            let page = html::blocks(&text, &bounds)?;
            self.page_cells -= page.cells().min(self.page_cells);
            Item::Page(page)
        });
        Ok(())
    }
}

/// The text of blocks as lines. Notes go to `notes`.
pub fn flattened(items: &[Item], notes: &mut Vec<Item>) -> String {
    let mut text = String::new();
    let mut add = |piece: &str| {
        let piece = piece.trim();
        if !piece.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(piece);
        }
    };
    for item in items {
        match item {
            Item::Block(BlockKind::Note, level, text) => notes.push(Item::Block(BlockKind::Note, *level, text.clone())),
            Item::Block(_, _, text) => add(text),
            Item::Table(grid) => add(&grid.flat()),
            Item::Page(page) => page.blocks.iter().for_each(|block| add(&block.text)),
            Item::Frame(items) => add(&flattened(items, notes)),
        }
    }
    text
}
