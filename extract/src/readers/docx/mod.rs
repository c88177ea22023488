//! Word documents: headings by style and outline level, lists with their markers, tables, notes, text boxes, equations; as the
//! document reads once every tracked change is accepted.

use std::collections::{HashMap, HashSet};

use crate::contract::{Artifact, BlockKind, Coverage, CoverageUnit, Refusal, RefusalCode, Request, lost};
use crate::readers::Context;
use crate::readers::office::{Output, Package, Pictures, Relation, Xml};

mod body;
mod numbering;
mod run;
mod styles;
mod table;
#[cfg(test)]
mod tests;

use body::{Item, Notes, Walk, flattened};
use numbering::Numbering;
use styles::Styles;

const WHAT: &str = "a Word document";

/// Reads a document.
///
/// # Errors
/// [`RefusalCode::FormatMismatch`], [`RefusalCode::Corrupt`] (of an encrypted one too), [`RefusalCode::NoText`],
/// [`RefusalCode::ResourceLimit`] and [`RefusalCode::Timeout`].
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let package = Package::open(bytes, WHAT, &context.bounds)?;
    let main = package.main("word/document.xml", WHAT)?;
    let text = package.required(&main)?;
    let mut xml = Xml::new(&text, "the document", &context.bounds);
    if xml.root()?.name() != "document" {
        let message = format!("the file is another kind of office file, not {WHAT}");
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    }
    let relations = package.relations(&main)?;
    let part = |kind: &str| relations.iter().find(|relation| relation.kind == kind).map(|found| found.target.clone());
    let mut walk = Walk {
        package: &package,
        styles: Styles::read(&package, part("styles").as_deref())?,
        numbering: Numbering::read(&package, part("numbering").as_deref())?,
        relations: by_id(&relations),
        notes: Notes::default(),
        changes: body::Changes::default(),
        fields: Vec::new(),
        cell: table::CellProperties::default(),
        carried: String::new(),
        margins: Vec::new(),
        used_parts: HashSet::new(),
        page_cells: context.bounds.cells,
        pictures: Vec::new(),
        unread_parts: 0,
    };
    for (kind, element) in [("footnotes", "footnote"), ("endnotes", "endnote")] {
        if let Some(part) = part(kind) {
            walk.read_notes(&part, element)?;
        }
    }
    let mut items = Vec::new();
    while let Some(element) = xml.child(1)? {
        if element.name() == "body" {
            walk.items(&mut xml, &mut items)?;
        }
    }
    let margins = walk.read_margins()?;
    let comments = part("comments").map(|part| count_comments(&package, &part)).transpose()?.unwrap_or(0);
    let coverage = Coverage::complete(CoverageUnit::Bytes, bytes.len() as u64);
    let mut output = Output::new(&context.bounds, coverage);
    push(&mut output, items)?;
    for margin in margins {
        output.push(BlockKind::Margin, 0, &margin)?;
    }
    let pictures = Pictures::read(&package, &walk.pictures, context.ocr, &mut output)?;
    warn(&mut output, &walk, comments);
    if output.is_empty() && pictures.unread > 0 {
        let message = "the document holds only pictures, and no OCR program is installed to read them";
        return Err(Refusal::new(RefusalCode::NoText, message));
    }
    output.finish("loom-docx")
}

fn by_id(relations: &[Relation]) -> HashMap<String, Relation> {
    relations.iter().map(|relation| (relation.id.clone(), relation.clone())).collect()
}

fn push(output: &mut Output<'_>, items: Vec<Item>) -> Result<(), Refusal> {
    for item in items {
        match item {
            Item::Block(kind, level, text) => output.push(kind, level, &text)?,
            Item::Table(grid) => output.push_grid(String::new(), grid)?,
            Item::Page(page) => output.push_page(page)?,
            Item::Frame(items) => push(output, items)?,
        }
    }
    Ok(())
}

fn warn(output: &mut Output<'_>, walk: &Walk<'_>, comments: u64) {
    let changes = &walk.changes;
    if changes.inserted + changes.deleted + changes.moved > 0 {
        let counted = |count: u64, of: &str| format!("{count} {of}{}", if count == 1 { "" } else { "s" });
        output.warn(format!(
            "tracked changes were taken as accepted: {} kept, {} left out, {} read where it was moved to",
            counted(changes.inserted, "insertion"),
            counted(changes.deleted, "deletion"),
            counted(changes.moved, "moved part")
        ));
    }
    output.warn_count(comments, "1 comment was left out", "{} comments were left out");
    output.warn_count(changes.hidden, "1 piece of hidden text was left out", "{} pieces of hidden text were left out");
    if walk.package.archive.duplicates > 0 {
        output.warn("parts of the file have the same name: the last of each was read".into());
    }
    if walk.unread_parts > 0 {
        output.lose(lost::TEXT, format!("{} embedded documents were left out", walk.unread_parts));
    }
}

fn count_comments(package: &Package<'_>, part: &str) -> Result<u64, Refusal> {
    let Some(text) = package.text(part)? else { return Ok(0) };
    let mut xml = Xml::new(&text, "the part of comments", package.bounds);
    xml.root()?;
    let mut count = 0;
    while let Some(element) = xml.child(1)? {
        count += u64::from(element.name() == "comment");
    }
    Ok(count)
}

impl Walk<'_> {
    /// Reads the notes of a part, to stand where they are referred to.
    fn read_notes(&mut self, part: &str, kind: &'static str) -> Result<(), Refusal> {
        let Some(text) = self.package.text(part)? else { return Ok(()) };
        let relations = by_id(&self.package.relations(part)?);
        let outer = std::mem::replace(&mut self.relations, relations);
        let mut xml = Xml::new(&text, "the part of notes", self.package.bounds);
        xml.root()?;
        while let Some(element) = xml.child(1)? {
            // Others are the lines between the text and its notes.
            let is_note = element.attribute("type").is_none_or(|kind| kind == "normal");
            if element.name() == kind && is_note {
                let id = element.attribute("id").unwrap_or_default().into_owned();
                let mut items = Vec::new();
                self.items(&mut xml, &mut items)?;
                self.notes.insert(kind, id, flattened(&items, &mut Vec::new()));
            }
        }
        self.relations = outer;
        Ok(())
    }

    /// The texts of headers and footers, each once.
    fn read_margins(&mut self) -> Result<Vec<String>, Refusal> {
        let mut texts: Vec<String> = Vec::new();
        for part in std::mem::take(&mut self.margins) {
            let Some(text) = self.package.text(&part)? else { continue };
            self.relations = by_id(&self.package.relations(&part)?);
            let mut xml = Xml::new(&text, "a header or footer", self.package.bounds);
            xml.root()?;
            let mut items = Vec::new();
            self.items(&mut xml, &mut items)?;
            let text = flattened(&items, &mut Vec::new());
            // Without a letter it is the number of a page.
            if text.chars().any(char::is_alphabetic) && !texts.contains(&text) {
                texts.push(text);
            }
        }
        Ok(texts)
    }
}
