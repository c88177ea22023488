//! What a document's styles say of its paragraphs.

use std::collections::HashMap;

use crate::contract::{BlockKind, Refusal};
use crate::readers::office::{Element, Package, Xml};

/// How many styles one may be based on, one on another.
const CHAIN_MAX: usize = 32;
/// The outline level that says "no heading".
const BODY_LEVEL: u8 = 9;

/// A document's styles by their names.
#[derive(Default)]
pub struct Styles(HashMap<String, Style>);

#[derive(Default)]
struct Style {
    /// Its name in lower case: English for the built-in ones whatever the language.
    name: String,
    based_on: String,
    properties: Properties,
    is_hidden: Option<bool>,
}

/// What a style or a paragraph says of paragraphs, where it says it.
#[derive(Clone, Default)]
pub struct Properties {
    /// The style's name in the document.
    pub style: String,
    /// The outline level, from 0; 9 is running text.
    pub outline: Option<u8>,
    /// The list; an empty name is no list.
    pub list: Option<String>,
    /// The level in it, from 0.
    pub list_level: Option<usize>,
    /// Whether the mark at the paragraph's end was deleted, so that the next one goes on with it.
    pub is_joined: bool,
    /// What the section that ends here names its headers and footers.
    pub margins: Vec<String>,
}

impl Styles {
    /// Reads the part of styles.
    pub fn read(package: &Package<'_>, part: Option<&str>) -> Result<Self, Refusal> {
        let mut styles = HashMap::new();
        let Some(text) = part.map(|part| package.text(part)).transpose()?.flatten() else { return Ok(Self(styles)) };
        let mut xml = Xml::new(&text, "the part of styles", package.bounds);
        xml.root()?;
        while let Some(element) = xml.child(1)? {
            if element.name() == "style" {
                let id = element.attribute("styleId").unwrap_or_default().into_owned();
                styles.insert(id, Style::read(&mut xml)?);
            }
        }
        Ok(Self(styles))
    }

    /// What holds of a paragraph: what it says itself, else its style, else the one that is based on.
    pub fn resolve(&self, own: Properties) -> Resolved {
        let mut found = Resolved { properties: own, kind: BlockKind::Paragraph, is_title: false, is_hidden: false };
        let own_style = found.properties.style.clone();
        let mut id = own_style.as_str();
        for _ in 0..CHAIN_MAX {
            if id.is_empty() {
                break;
            }
            let Some(style) = self.0.get(id) else {
                // A document may name built-in styles without having them.
                let named = heading_level(&id.to_lowercase().replace("heading", "heading "));
                found.properties.outline = found.properties.outline.or(named);
                break;
            };
            let properties = &mut found.properties;
            properties.outline = properties.outline.or(style.properties.outline).or(heading_level(&style.name));
            if properties.list.is_none() {
                properties.list.clone_from(&style.properties.list);
                id.clone_into(&mut properties.style);
            }
            properties.list_level = properties.list_level.or(style.properties.list_level);
            found.is_title |= style.name == "title";
            found.is_hidden |= style.is_hidden == Some(true);
            if found.kind == BlockKind::Paragraph {
                found.kind = kind(&style.name);
            }
            id = &style.based_on;
        }
        found.properties.outline = found.properties.outline.filter(|level| *level < BODY_LEVEL);
        found
    }

    /// Whether text in that character style is hidden.
    pub fn hides(&self, id: &str) -> bool {
        let mut id = id;
        for _ in 0..CHAIN_MAX {
            let Some(style) = self.0.get(id) else { return false };
            if let Some(is_hidden) = style.is_hidden {
                return is_hidden;
            }
            id = &style.based_on;
        }
        false
    }
}

/// What holds of a paragraph.
pub struct Resolved {
    pub properties: Properties,
    pub kind: BlockKind,
    pub is_title: bool,
    pub is_hidden: bool,
}

impl Style {
    fn read(xml: &mut Xml<'_>) -> Result<Self, Refusal> {
        let mut style = Self::default();
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            let value = || element.attribute("val").unwrap_or_default().into_owned();
            match element.name() {
                "name" => style.name = value().to_lowercase(),
                "basedOn" => style.based_on = value(),
                "pPr" => style.properties = Properties::read(xml)?,
                "rPr" => style.is_hidden = is_hidden(xml)?,
                _ => {}
            }
        }
        Ok(style)
    }
}

impl Properties {
    /// Reads a paragraph's properties, whose element has just begun.
    pub fn read(xml: &mut Xml<'_>) -> Result<Self, Refusal> {
        let mut properties = Self::default();
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "pStyle" => properties.style = value(&element),
                "outlineLvl" => properties.outline = element.number("val"),
                "numPr" => {
                    while let Some(element) = xml.child(depth + 1)? {
                        match element.name() {
                            "numId" => {
                                let id = value(&element);
                                properties.list = Some(if id == "0" { String::new() } else { id });
                            }
                            "ilvl" => properties.list_level = element.number("val"),
                            _ => {}
                        }
                    }
                }
                "sectPr" => properties.margins = margins(xml)?,
                "rPr" => {
                    while let Some(element) = xml.child(depth + 1)? {
                        properties.is_joined |= matches!(element.name(), "del" | "moveFrom");
                    }
                }
                _ => {}
            }
        }
        Ok(properties)
    }
}

/// What a section, whose element has just begun, names its headers and footers.
pub fn margins(xml: &mut Xml<'_>) -> Result<Vec<String>, Refusal> {
    let depth = xml.depth();
    let mut ids = Vec::new();
    while let Some(element) = xml.child(depth)? {
        if matches!(element.name(), "headerReference" | "footerReference") {
            ids.extend(element.foreign("id").map(std::borrow::Cow::into_owned));
        }
    }
    Ok(ids)
}

/// Whether the properties of a run, whose element has just begun, hide it or show it.
fn is_hidden(xml: &mut Xml<'_>) -> Result<Option<bool>, Refusal> {
    let depth = xml.depth();
    let mut hidden = None;
    while let Some(element) = xml.child(depth)? {
        if element.name() == "vanish" {
            hidden = Some(element.is_on());
        }
    }
    Ok(hidden)
}

fn value(element: &Element<'_>) -> String {
    element.attribute("val").unwrap_or_default().into_owned()
}

/// The outline level of a built-in heading style.
fn heading_level(name: &str) -> Option<u8> {
    let level: u8 = name.strip_prefix("heading ")?.trim().parse().ok()?;
    (1..=9).contains(&level).then(|| level - 1)
}

/// The kind of paragraphs in a style of that name.
fn kind(name: &str) -> BlockKind {
    match name {
        "quote" | "intense quote" | "block text" | "quotations" => BlockKind::Quote,
        "caption" | "table caption" | "image caption" => BlockKind::Caption,
        "html preformatted" | "source code" | "preformatted text" | "macro text" | "code" | "code block" => {
            BlockKind::Code
        }
        _ => BlockKind::Paragraph,
    }
}
