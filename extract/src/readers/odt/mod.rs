//! Text documents of `OpenDocument`: headings, lists, tables, notes, text boxes.

use crate::contract::{Artifact, BlockKind, Coverage, CoverageUnit, Refusal, RefusalCode, Request};
use crate::readers::Context;
use crate::readers::office::{Output, Package, Xml, encrypted};

mod body;
mod styles;
#[cfg(test)]
mod tests;

use body::{Item, Walk};
use styles::Styles;

const WHAT: &str = "a text document of OpenDocument";

/// Reads a document.
///
/// # Errors
/// [`RefusalCode::FormatMismatch`], [`RefusalCode::Corrupt`] (of an encrypted one too), [`RefusalCode::NoText`],
/// [`RefusalCode::ResourceLimit`] and [`RefusalCode::Timeout`].
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let package = Package::open(bytes, WHAT, &context.bounds)?;
    let mismatch =
        |what: &str| Err(Refusal::new(RefusalCode::FormatMismatch, format!("the file is {what}, but not {WHAT}")));
    if !package.archive.has("content.xml") {
        return mismatch("a zip archive");
    }
    if package.text("META-INF/manifest.xml")?.is_some_and(|manifest| manifest.contains("encryption-data")) {
        return Err(encrypted());
    }
    let mut styles = Styles::default();
    let mut margins = Vec::new();
    if let Some(text) = package.text("styles.xml")? {
        margins = styles.read(&text, package.bounds)?;
    }
    let text = package.required("content.xml")?;
    styles.read(&text, package.bounds)?;
    let mut walk = Walk::new(styles);
    let mut items = Vec::new();
    let mut is_text = false;
    let mut xml = Xml::new(&text, "the document", package.bounds);
    xml.root()?;
    while let Some(element) = xml.child(1)? {
        if element.name() != "body" {
            continue;
        }
        while let Some(element) = xml.child(2)? {
            if element.name() == "text" {
                is_text = true;
                walk.items(&mut xml, &mut items)?;
            }
        }
    }
    if !is_text {
        return mismatch("a document of OpenDocument");
    }
    let mut output = Output::new(&context.bounds, Coverage::complete(CoverageUnit::Bytes, bytes.len() as u64));
    push(&mut output, items)?;
    for margin in margins {
        output.push(BlockKind::Margin, 0, &margin)?;
    }
    output.warn_count(walk.comments, "1 comment was left out", "{} comments were left out");
    output.warn_count(
        walk.changes,
        "1 tracked change was taken as accepted: deleted text was left out",
        "{} tracked changes were taken as accepted: deleted text was left out",
    );
    output.finish("loom-odt")
}

fn push(output: &mut Output<'_>, items: Vec<Item>) -> Result<(), Refusal> {
    for item in items {
        match item {
            Item::Block(kind, level, text) => output.push(kind, level, &text)?,
            Item::Table(name, grid) => output.push_grid(name, grid)?,
            Item::Frame(items) => push(output, items)?,
        }
    }
    Ok(())
}
