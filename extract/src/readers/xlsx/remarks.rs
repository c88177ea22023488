//! What stands on a sheet beside its cells: comments, text boxes, charts.

use std::collections::HashSet;

use crate::contract::{BlockKind, Refusal};
use crate::readers::office::{Grid, Node, Package, Xml, chart, targets, text_body};

use super::sheet::place;
use super::strings::rich;

/// A remark.
pub struct Remark {
    /// The row of the cell that it is about.
    pub row: Option<u64>,
    pub kind: BlockKind,
    pub text: String,
}

/// What stands beside the cells.
#[derive(Default)]
pub struct Beside {
    pub remarks: Vec<Remark>,
    /// Charts by their titles, with what they draw.
    pub charts: Vec<(String, Grid)>,
}

/// Reads what stands on the sheet of that part beside its cells.
pub fn read(package: &Package<'_>, part: &str) -> Result<Beside, Refusal> {
    let relations = package.relations(part)?;
    let of = |kind: &'static str| relations.iter().filter(move |relation| relation.kind == kind);
    let mut remarks = Vec::new();
    let mut told = HashSet::new();
    // A thread is also kept as a comment for old programs, with a word of advice before it.
    for relation in of("threadedComment") {
        comments(package, &relation.target, "threadedComment", &mut remarks)?;
    }
    told.extend(remarks.iter().map(|remark| remark.text.split(':').next().unwrap_or_default().to_owned()));
    let threads = remarks.len();
    for relation in of("comments") {
        comments(package, &relation.target, "comment", &mut remarks)?;
    }
    let mut at = 0;
    remarks.retain(|remark| {
        at += 1;
        at <= threads || !told.contains(remark.text.split(':').next().unwrap_or_default())
    });
    let mut beside = Beside { remarks, charts: Vec::new() };
    for relation in of("drawing") {
        drawn(package, &relation.target, &mut beside)?;
    }
    Ok(beside)
}

/// Reads the elements `name` of a part of comments, each to its cell, a colon and its text.
fn comments(package: &Package<'_>, part: &str, name: &str, remarks: &mut Vec<Remark>) -> Result<(), Refusal> {
    let Some(text) = package.text(part)? else { return Ok(()) };
    let mut xml = Xml::new(&text, "the part of comments", package.bounds);
    loop {
        match xml.next()? {
            Node::Start(element) if element.name() == name => {
                let cell = element.attribute("ref").unwrap_or_default().into_owned();
                let depth = xml.depth();
                let mut said = String::new();
                while let Some(element) = xml.child(depth)? {
                    if element.name() == "text" {
                        said = if name == "comment" { rich(&mut xml)? } else { xml.text()? };
                    }
                }
                let row = place(&cell).map(|(_, row)| row).filter(|row| *row > 0);
                if !said.trim().is_empty() {
                    let text = format!("{cell}: {}", said.trim());
                    remarks.push(Remark { row, kind: BlockKind::Note, text });
                }
            }
            Node::Eof => return Ok(()),
            Node::Start(_) | Node::End | Node::Text(_) => {}
        }
    }
}

/// Reads the paragraphs of text boxes, and charts.
fn drawn(package: &Package<'_>, part: &str, beside: &mut Beside) -> Result<(), Refusal> {
    let Some(text) = package.text(part)? else { return Ok(()) };
    let relations = package.relations(part)?;
    let mut parts = targets(&relations);
    let mut xml = Xml::new(&text, "a drawing", package.bounds);
    loop {
        match xml.next()? {
            Node::Start(element) if element.name() == "txBody" => {
                for line in text_body(&mut xml)? {
                    beside.remarks.push(Remark { row: None, kind: BlockKind::Paragraph, text: line.text });
                }
            }
            Node::Start(element) if element.name() == "chart" => {
                // Each is read once, however often it is drawn.
                let part = element.foreign("id").and_then(|id| parts.remove(id.as_ref()));
                beside.charts.extend(part.map(|part| chart(package, part)).transpose()?.flatten());
            }
            Node::Eof => return Ok(()),
            Node::Start(_) | Node::End | Node::Text(_) => {}
        }
    }
}
