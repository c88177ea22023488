//! What the styles of a document say of its lists and its headers.

use std::collections::HashMap;

use crate::contract::Refusal;
use crate::readers::Bounds;
use crate::readers::office::{Node, Xml, letters, roman};

use super::body::{Walk, flattened};

/// A list's levels.
pub const LEVELS: usize = 10;

/// The styles of lists by name, and of paragraphs by the style that they are based on.
#[derive(Default)]
pub struct Styles {
    lists: HashMap<String, Vec<Option<Numbered>>>,
    parents: HashMap<String, String>,
}

/// How one level of a list is numbered.
struct Numbered {
    format: String,
    prefix: String,
    suffix: String,
    start: u32,
}

impl Styles {
    /// Reads the styles of a part, and answers the texts of its headers and footers, each once.
    pub fn read(&mut self, text: &str, bounds: &Bounds) -> Result<Vec<String>, Refusal> {
        let mut xml = Xml::new(text, "a part of styles", bounds);
        let mut margins: Vec<String> = Vec::new();
        loop {
            match xml.next()? {
                Node::Start(element) => match element.name() {
                    "list-style" => {
                        let name = element.any("name").unwrap_or_default().into_owned();
                        let levels = levels(&mut xml)?;
                        self.lists.insert(name, levels);
                    }
                    "style" => {
                        let name = element.attribute("name").unwrap_or_default().into_owned();
                        let parent = element.attribute("parent-style-name").unwrap_or_default().into_owned();
                        self.parents.insert(name, parent);
                    }
                    "header" | "footer" | "header-first" | "footer-first" | "header-left" | "footer-left" => {
                        let mut items = Vec::new();
                        Walk::new(Self::default()).items(&mut xml, &mut items)?;
                        let text = flattened(&items, &mut Vec::new());
                        if text.chars().any(char::is_alphabetic) && !margins.contains(&text) {
                            margins.push(text);
                        }
                    }
                    // The text itself is no style.
                    "body" => xml.skip()?,
                    _ => {}
                },
                Node::Eof => return Ok(margins),
                Node::End | Node::Text(_) => {}
            }
        }
    }

    /// The named style of a paragraph: its own, or the one that its automatic style changes.
    pub fn named<'a>(&'a self, style: &'a str) -> &'a str {
        match self.parents.get(style) {
            Some(parent) if !parent.is_empty() && style.starts_with('P') => parent,
            _ => style,
        }
    }

    /// The first number of a list's level, if it is numbered.
    pub fn start(&self, list: &str, level: usize) -> Option<u32> {
        Some(self.numbered(list, level)?.start)
    }

    /// The marker of a number in a list's level.
    pub fn marker(&self, list: &str, level: usize, number: u32) -> Option<String> {
        let numbered = self.numbered(list, level)?;
        let written = match numbered.format.as_str() {
            "a" => letters(number, 'a'),
            "A" => letters(number, 'A'),
            "i" => roman(number).to_lowercase(),
            "I" => roman(number),
            _ => number.to_string(),
        };
        Some(format!("{}{written}{}", numbered.prefix, numbered.suffix).trim().to_owned())
    }

    fn numbered(&self, list: &str, level: usize) -> Option<&Numbered> {
        self.lists.get(list)?.get(level)?.as_ref()
    }
}

fn levels(xml: &mut Xml<'_>) -> Result<Vec<Option<Numbered>>, Refusal> {
    let depth = xml.depth();
    let mut levels: Vec<Option<Numbered>> = (0..LEVELS).map(|_| None).collect();
    while let Some(element) = xml.child(depth)? {
        let level: usize = element.number("level").unwrap_or(1);
        let value = |name| element.any(name).unwrap_or_default().into_owned();
        let format = value("num-format");
        if element.name() == "list-level-style-number"
            && !format.is_empty()
            && let Some(place) = levels.get_mut(level.saturating_sub(1))
        {
            let start = element.number("start-value").unwrap_or(1);
            *place = Some(Numbered { format, prefix: value("num-prefix"), suffix: value("num-suffix"), start });
        }
    }
    Ok(levels)
}
