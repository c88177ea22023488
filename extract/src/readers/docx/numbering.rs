//! The markers of numbered lists, counted as they come.

use std::collections::HashMap;

use crate::contract::Refusal;
use crate::readers::office::{Package, Xml, letters, roman};

/// A list's levels.
pub const LEVELS: usize = 9;
/// The longest marker that is made, in bytes.
const MARKER_BYTES_MAX: usize = 64;

/// A document's lists and how far each has counted.
#[derive(Default)]
pub struct Numbering {
    lists: HashMap<String, List>,
    formats: HashMap<String, Format>,
    /// For each format the last numbers of its levels; lists of one format count on together.
    counts: HashMap<String, [Option<u32>; LEVELS]>,
    /// The lists that have been met: one that overrides a start restarts when it is first met.
    met: HashMap<String, [bool; LEVELS]>,
}

#[derive(Default)]
struct List {
    format: String,
    starts: [Option<u32>; LEVELS],
    levels: [Option<Level>; LEVELS],
}

#[derive(Default)]
struct Format {
    levels: [Level; LEVELS],
    /// The style of lists that has the levels instead.
    style_link: String,
    /// The style of lists that this is the format of.
    defines: String,
}

#[derive(Clone, Default)]
struct Level {
    start: Option<u32>,
    shape: Shape,
    text: String,
    /// The style of paragraphs that are of this level.
    style: String,
    /// The level, from 1, at or above which a step restarts this one; 0: none does.
    restart: Option<usize>,
    /// Whether all numbers are written as decimal ones.
    is_legal: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Shape {
    #[default]
    Decimal,
    PaddedDecimal,
    LowerLetter,
    UpperLetter,
    LowerRoman,
    UpperRoman,
    Bullet,
    None,
}

impl Numbering {
    /// Reads the part of lists.
    pub fn read(package: &Package<'_>, part: Option<&str>) -> Result<Self, Refusal> {
        let mut numbering = Self::default();
        let Some(text) = part.map(|part| package.text(part)).transpose()?.flatten() else { return Ok(numbering) };
        let mut xml = Xml::new(&text, "the part of lists", package.bounds);
        xml.root()?;
        while let Some(element) = xml.child(1)? {
            match element.name() {
                "abstractNum" => {
                    let id = element.attribute("abstractNumId").unwrap_or_default().into_owned();
                    numbering.formats.insert(id, Format::read(&mut xml)?);
                }
                "num" => {
                    let id = element.attribute("numId").unwrap_or_default().into_owned();
                    numbering.lists.insert(id, List::read(&mut xml)?);
                }
                _ => {}
            }
        }
        numbering.follow_links();
        Ok(numbering)
    }

    /// Lets each list that names a style of lists have the format which that style has.
    fn follow_links(&mut self) {
        let defining: HashMap<&str, &str> = self
            .formats
            .iter()
            .filter(|(_, format)| !format.defines.is_empty())
            .map(|(id, format)| (format.defines.as_str(), id.as_str()))
            .collect();
        for list in self.lists.values_mut() {
            let link = self.formats.get(&list.format).map_or("", |format| format.style_link.as_str());
            if let Some(format) = defining.get(link) {
                (*format).clone_into(&mut list.format);
            }
        }
    }

    /// The level of a list's paragraphs that are in a style.
    pub fn level_of_style(&self, list: &str, style: &str) -> Option<usize> {
        let format = self.formats.get(&self.lists.get(list)?.format)?;
        (!style.is_empty()).then(|| format.levels.iter().position(|level| level.style == style)).flatten()
    }

    /// Counts one more paragraph of a list, and answers its marker: empty for a bullet, `None` where there is no such
    /// list.
    pub fn next(&mut self, id: &str, level: usize) -> Option<String> {
        let list = self.lists.get(id)?;
        let level = level.min(LEVELS - 1);
        let format = self.formats.get(&list.format);
        let plain = Level::default();
        let at = |level: usize| {
            list.levels[level].as_ref().or_else(|| format.map(|format| &format.levels[level])).unwrap_or(&plain)
        };
        let counts = self.counts.entry(list.format.clone()).or_default();
        let met = self.met.entry(id.to_owned()).or_default();
        if !met[level] {
            met[level] = true;
            if list.starts[level].is_some() {
                counts[level] = None;
            }
        }
        let start = |level: usize| list.starts[level].or(at(level).start).unwrap_or(1);
        counts[level] = Some(counts[level].map_or_else(|| start(level), |count| count.saturating_add(1)));
        for (below, count) in counts.iter_mut().enumerate().skip(level + 1) {
            if at(below).restart.is_none_or(|restart| restart > level) {
                *count = None;
            }
        }
        let own = at(level);
        if matches!(own.shape, Shape::Bullet | Shape::None) {
            return Some(String::new());
        }
        Some(marker(&own.text, |level| {
            let count = counts[level].unwrap_or_else(|| start(level));
            let shape = if own.is_legal { Shape::Decimal } else { at(level).shape };
            written(count, shape)
        }))
    }
}

impl Format {
    fn read(xml: &mut Xml<'_>) -> Result<Self, Refusal> {
        let mut format = Self::default();
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "lvl" => {
                    let at: usize = element.number("ilvl").unwrap_or(0);
                    let level = Level::read(xml)?;
                    if let Some(place) = format.levels.get_mut(at) {
                        *place = level;
                    }
                }
                "numStyleLink" => format.style_link = element.attribute("val").unwrap_or_default().into_owned(),
                "styleLink" => format.defines = element.attribute("val").unwrap_or_default().into_owned(),
                _ => {}
            }
        }
        Ok(format)
    }
}

impl List {
    fn read(xml: &mut Xml<'_>) -> Result<Self, Refusal> {
        let mut list = Self::default();
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "abstractNumId" => list.format = element.attribute("val").unwrap_or_default().into_owned(),
                "lvlOverride" => {
                    let at: usize = element.number("ilvl").unwrap_or(0);
                    while let Some(element) = xml.child(depth + 1)? {
                        let at = at.min(LEVELS - 1);
                        match element.name() {
                            "startOverride" => list.starts[at] = element.number("val"),
                            "lvl" => list.levels[at] = Some(Level::read(xml)?),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(list)
    }
}

impl Level {
    fn read(xml: &mut Xml<'_>) -> Result<Self, Refusal> {
        let mut level = Self::default();
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            let value = || element.attribute("val").unwrap_or_default().into_owned();
            match element.name() {
                "start" => level.start = element.number("val"),
                "numFmt" => level.shape = Shape::named(&value()),
                "lvlText" => level.text = value(),
                "pStyle" => level.style = value(),
                "lvlRestart" => level.restart = element.number("val"),
                "isLgl" => level.is_legal = element.is_on(),
                _ => {}
            }
        }
        Ok(level)
    }
}

impl Shape {
    fn named(name: &str) -> Self {
        match name {
            "bullet" => Self::Bullet,
            "none" => Self::None,
            "decimalZero" => Self::PaddedDecimal,
            "lowerLetter" => Self::LowerLetter,
            "upperLetter" => Self::UpperLetter,
            "lowerRoman" => Self::LowerRoman,
            "upperRoman" => Self::UpperRoman,
            _ => Self::Decimal,
        }
    }
}

/// A level's text with each `%1` to `%9` replaced by that level's number.
fn marker(text: &str, number: impl Fn(usize) -> String) -> String {
    let mut marker = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let level = rest.peek().and_then(|digit| digit.to_digit(10)).filter(|digit| *digit > 0);
        match level {
            Some(level) if character == '%' => {
                rest.next();
                marker.push_str(&number(level as usize - 1));
            }
            _ => marker.push(character),
        }
        if marker.len() > MARKER_BYTES_MAX {
            break;
        }
    }
    marker.trim().to_owned()
}

fn written(number: u32, shape: Shape) -> String {
    match shape {
        Shape::Decimal => number.to_string(),
        Shape::PaddedDecimal => format!("{number:02}"),
        Shape::LowerLetter => letters(number, 'a'),
        Shape::UpperLetter => letters(number, 'A'),
        Shape::LowerRoman => roman(number).to_lowercase(),
        Shape::UpperRoman => roman(number),
        Shape::Bullet | Shape::None => String::new(),
    }
}
