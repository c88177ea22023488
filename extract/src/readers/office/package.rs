//! The parts of an office file and how they name each other.

use std::collections::HashMap;

use crate::contract::{Refusal, RefusalCode};
use crate::readers::magic::magic;
use crate::readers::{Bounds, no_text};

use super::archive::{Archive, corrupt, encrypted};
use super::xml::Xml;

/// What a compound file of old office programs begins with; an encrypted document is one.
const COMPOUND: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
/// The largest number of relations of one part that is read.
const RELATIONS_MAX: usize = 100_000;

/// An office file.
pub struct Package<'a> {
    pub archive: Archive<'a>,
    pub bounds: &'a Bounds,
}

/// One part's reference to another.
#[derive(Clone, Debug, Default)]
pub struct Relation {
    /// What the part names it by.
    pub id: String,
    /// The last segment of its kind, such as `styles`.
    pub kind: String,
    /// The other part's name; empty where it is outside the file.
    pub target: String,
}

/// The names of the parts that relations lead to, by the relations' own.
pub fn targets(relations: &[Relation]) -> HashMap<&str, &str> {
    relations.iter().map(|relation| (relation.id.as_str(), relation.target.as_str())).collect()
}

impl<'a> Package<'a> {
    /// Opens the archive.
    ///
    /// # Errors
    /// Those of [`Archive::open`]; [`RefusalCode::FormatMismatch`] for bytes that are no zip archive, in words that name
    /// `what` was expected.
    pub fn open(bytes: &'a [u8], what: &str, bounds: &'a Bounds) -> Result<Self, Refusal> {
        let mismatch =
            |found: &str| Err(Refusal::new(RefusalCode::FormatMismatch, format!("the file is {found}, not {what}")));
        if bytes.starts_with(b"PK") {
            return Ok(Self { archive: Archive::open(bytes, bounds)?, bounds });
        }
        if bytes.is_empty() {
            return Err(no_text());
        }
        if bytes.starts_with(COMPOUND) {
            let name: Vec<u8> = "EncryptedPackage".bytes().flat_map(|letter| [letter, 0]).collect();
            let is_encrypted = bytes.windows(name.len()).any(|window| window == name);
            return if is_encrypted { Err(encrypted()) } else { mismatch("of an old office program") };
        }
        mismatch(magic(bytes).unwrap_or("of another format"))
    }

    /// A part's text, or `None` where there is no such part.
    ///
    /// # Errors
    /// Those of [`Archive::read`]; [`RefusalCode::Corrupt`] where it is neither UTF-8 nor UTF-16.
    pub fn text(&self, part: &str) -> Result<Option<String>, Refusal> {
        let Some(bytes) = self.archive.read(part)? else { return Ok(None) };
        decoded(bytes).map(Some).ok_or_else(|| corrupt(&format!("{} is not text", last_segment(part))))
    }

    /// A part's text, which there must be.
    pub fn required(&self, part: &str) -> Result<String, Refusal> {
        self.text(part)?.ok_or_else(|| corrupt(&format!("the file has no part {}", last_segment(part))))
    }

    /// The main part: the one the package names so, else the one where such a file has it.
    ///
    /// # Errors
    /// [`RefusalCode::FormatMismatch`] where there is neither.
    pub fn main(&self, usual: &str, what: &str) -> Result<String, Refusal> {
        let named = self.relations("")?.into_iter().find(|relation| relation.kind == "officeDocument");
        let part = named.map(|relation| relation.target).filter(|part| self.archive.has(part));
        if let Some(part) = part.or_else(|| self.archive.has(usual).then(|| usual.to_owned())) {
            return Ok(part);
        }
        let message = format!("the file is a zip archive, but not {what}");
        Err(Refusal::new(RefusalCode::FormatMismatch, message))
    }

    /// The relations of a part; of the package where `part` is empty.
    pub fn relations(&self, part: &str) -> Result<Vec<Relation>, Refusal> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let separator = if folder.is_empty() { "" } else { "/" };
        let path = format!("{folder}{separator}_rels/{name}.rels");
        let Some(text) = self.text(&path)? else { return Ok(Vec::new()) };
        let mut xml = Xml::new(&text, "a list of relations", self.bounds);
        xml.root()?;
        let mut relations = Vec::new();
        while let Some(element) = xml.child(1)? {
            if relations.len() == RELATIONS_MAX {
                let message = format!("a part has more than {RELATIONS_MAX} relations");
                return Err(Refusal::new(RefusalCode::ResourceLimit, message));
            }
            let of = |name: &str| element.attribute(name).unwrap_or_default().into_owned();
            let target = if of("TargetMode") == "External" { String::new() } else { joined(folder, &of("Target")) };
            relations.push(Relation { id: of("Id"), kind: last_segment(&of("Type")).to_owned(), target });
        }
        Ok(relations)
    }
}

/// A reference taken from a part in `folder`: `..` goes up, never above the top; a leading `/` begins at the top.
pub fn joined(folder: &str, target: &str) -> String {
    let target = target.replace('\\', "/");
    let mut segments: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    segments.retain(|segment| !segment.is_empty());
    segments.join("/")
}

fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// UTF-8, or UTF-16 by its mark or the zero bytes of its first `<`.
fn decoded(bytes: Vec<u8>) -> Option<String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
        char::decode_utf16(units).collect::<Result<String, _>>().ok()
    };
    match *bytes {
        [0xFF, 0xFE, ref rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, ref rest @ ..] => utf16(rest, u16::from_be_bytes),
        [b'<', 0, ..] => utf16(&bytes, u16::from_le_bytes),
        [0, b'<', ..] => utf16(&bytes, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, ref rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes).ok(),
    }
}
