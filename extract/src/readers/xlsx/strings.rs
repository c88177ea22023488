//! The strings that a workbook's cells share.

use crate::contract::Refusal;
use crate::readers::office::{Package, Xml, xml_escaped};

/// Reads the part of shared strings.
pub fn read(package: &Package<'_>, part: Option<&str>) -> Result<Vec<String>, Refusal> {
    let mut strings = Vec::new();
    let Some(text) = part.map(|part| package.text(part)).transpose()?.flatten() else { return Ok(strings) };
    let mut xml = Xml::new(&text, "the part of strings", package.bounds);
    xml.root()?;
    while let Some(element) = xml.child(1)? {
        if element.name() == "si" {
            strings.push(rich(&mut xml)?);
        }
    }
    Ok(strings)
}

/// The text of a string, whose element has just begun: of all its runs, without how it is pronounced.
pub fn rich(xml: &mut Xml<'_>) -> Result<String, Refusal> {
    let depth = xml.depth();
    let mut all = String::new();
    let mut add = |piece: String| {
        if all.is_empty() {
            all = piece;
        } else {
            all.push_str(&piece);
        }
    };
    while let Some(element) = xml.child(depth)? {
        match element.name() {
            "t" => add(xml.text()?),
            "r" => {
                while let Some(element) = xml.child(depth + 1)? {
                    if element.name() == "t" {
                        add(xml.text()?);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(if all.contains("_x") { xml_escaped(&all) } else { all })
}
