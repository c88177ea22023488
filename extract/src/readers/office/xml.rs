//! XML as a stream of elements and text, bounded in depth and time.

use std::borrow::Cow;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::contract::{Refusal, RefusalCode};
use crate::readers::Bounds;

use super::archive::corrupt;

/// The deepest nesting of elements. Every recursion of a reader goes down one element at least, so it bounds them all.
pub const DEPTH_MAX: usize = 200;
/// How many events pass between two looks at the clock.
const EVENTS_PER_CLOCK: u32 = 4096;

/// A part's XML, read forward.
///
/// Of entities only the five of XML and characters by number are expanded; any other stands as it is written. A document type
/// that declares entities is refused, for it is a bomb or a leak and never needed.
pub struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    bounds: &'a Bounds,
    part: &'a str,
    depth: usize,
    events: u32,
}

/// What comes next.
pub enum Node<'a> {
    /// An element begins; [`Xml::depth`] is its depth until it ends.
    Start(Element<'a>),
    /// The innermost element ends.
    End,
    /// A piece of text; one text may come in several.
    Text(Cow<'a, str>),
    /// The part ends.
    Eof,
}

/// An element's name and attributes.
pub struct Element<'a>(BytesStart<'a>);

impl<'a> Xml<'a> {
    /// Reads `text`, whose name in messages is `part`.
    pub fn new(text: &'a str, part: &'a str, bounds: &'a Bounds) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.allow_dangling_amp = true;
        Self { reader, bounds, part, depth: 0, events: 0 }
    }

    /// How many elements are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The next node.
    pub fn next(&mut self) -> Result<Node<'a>, Refusal> {
        loop {
            self.events = self.events.wrapping_add(1);
            if self.events.is_multiple_of(EVENTS_PER_CLOCK) {
                self.bounds.check_time()?;
            }
            let event = self.reader.read_event().map_err(|_| self.malformed())?;
            return Ok(match event {
                Event::Start(start) | Event::Empty(start) => {
                    self.depth += 1;
                    if self.depth > DEPTH_MAX {
                        let message = format!("{} nests elements deeper than {DEPTH_MAX}", self.part);
                        return Err(Refusal::new(RefusalCode::ResourceLimit, message));
                    }
                    Node::Start(Element(start))
                }
                Event::End(_) => {
                    self.depth = self.depth.checked_sub(1).ok_or_else(|| self.malformed())?;
                    Node::End
                }
                Event::Text(text) => Node::Text(text.xml10_content()),
                Event::CData(text) => Node::Text(text.xml10_content()),
                Event::GeneralRef(reference) => Node::Text(resolved(&reference)),
                Event::DocType(declaration) => {
                    if declaration.contains("<!ENTITY") {
                        let message = format!("{} declares entities of its own, which are not expanded", self.part);
                        return Err(Refusal::new(RefusalCode::ResourceLimit, message));
                    }
                    continue;
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
                Event::Eof if self.depth > 0 => return Err(self.malformed()),
                Event::Eof => Node::Eof,
            });
        }
    }

    /// The next child of the element at depth `parent`, or `None` once that has ended. Text between is passed over, and so is
    /// whatever is left of the child before.
    pub fn child(&mut self, parent: usize) -> Result<Option<Element<'a>>, Refusal> {
        loop {
            match self.next()? {
                Node::Start(element) if self.depth == parent + 1 => return Ok(Some(element)),
                Node::End if self.depth < parent => return Ok(None),
                Node::Eof => return Ok(None),
                Node::Start(_) | Node::End | Node::Text(_) => {}
            }
        }
    }

    /// The root element.
    pub fn root(&mut self) -> Result<Element<'a>, Refusal> {
        self.child(0)?.ok_or_else(|| self.malformed())
    }

    /// Passes over the rest of the element at the present depth.
    pub fn skip(&mut self) -> Result<(), Refusal> {
        let depth = self.depth;
        while self.child(depth)?.is_some() {}
        Ok(())
    }

    /// All text in the rest of the element at the present depth.
    pub fn text(&mut self) -> Result<String, Refusal> {
        let depth = self.depth;
        let mut all = String::new();
        loop {
            match self.next()? {
                Node::Text(text) if all.is_empty() => all = text.into_owned(),
                Node::Text(text) => all.push_str(&text),
                Node::End if self.depth < depth => return Ok(all),
                Node::Eof => return Ok(all),
                Node::Start(_) | Node::End => {}
            }
        }
    }

    fn malformed(&self) -> Refusal {
        corrupt(&format!("{} is not well-formed XML", self.part))
    }
}

impl Element<'_> {
    /// Its name without the prefix.
    pub fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// The value of an attribute that is the element's own: without a prefix, or with the element's.
    pub fn attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|own, prefix, local| local == name && (prefix.is_none() || prefix == own))
    }

    /// The value of an attribute with another prefix than the element's, such as `r:id`.
    pub fn foreign(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|own, prefix, local| local == name && prefix.is_some() && prefix != own)
    }

    /// The value of an attribute of that name, whatever its prefix.
    pub fn any(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|_, _, local| local == name)
    }

    /// Gives each attribute that has no prefix, its value as it is written, to `take`.
    pub fn each(&self, mut take: impl FnMut(&str, &str)) {
        let mut attributes = self.0.attributes();
        attributes.with_checks(false);
        for attribute in attributes.flatten() {
            take(attribute.key.into_inner(), &attribute.value);
        }
    }

    /// An attribute read as a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.attribute(name)?.trim().parse().ok()
    }

    /// The element's own `val`: on where it is absent or says so.
    pub fn is_on(&self) -> bool {
        self.attribute("val").is_none_or(|value| !matches!(value.as_ref(), "0" | "false" | "off" | "none"))
    }

    fn find(&self, is_it: impl Fn(Option<&str>, Option<&str>, &str) -> bool) -> Option<Cow<'_, str>> {
        let own = self.0.name().prefix().map(quick_xml::name::Prefix::into_inner);
        let mut attributes = self.0.attributes();
        // The check for repeated names takes time by the square of their number.
        attributes.with_checks(false);
        for attribute in attributes.flatten() {
            let (local, prefix) = attribute.key.decompose();
            if is_it(own, prefix.map(quick_xml::name::Prefix::into_inner), local.into_inner()) {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                return Some(value.unwrap_or(attribute.value));
            }
        }
        None
    }
}

/// What a reference stands for, or the reference as it is written.
fn resolved<'a>(reference: &BytesRef<'a>) -> Cow<'a, str> {
    let name: &str = reference;
    let known = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => match reference.resolve_char_ref() {
            Ok(Some(character)) => return Cow::Owned(character.to_string()),
            _ => return Cow::Owned(format!("&{name};")),
        },
    };
    Cow::Borrowed(known)
}
