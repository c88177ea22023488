//! Electronic books: the pages of the spine, one after another, as HTML.

use std::collections::HashMap;

use crate::contract::{Artifact, BlockKind, Coverage, CoverageUnit, Refusal, RefusalCode, Request, lost};

use super::office::{Output, Package, Xml, corrupt, encrypted, joined};
use super::{Bounds, Context, html};

const WHAT: &str = "an electronic book";
/// The most pages of a book.
const PAGES_MAX: usize = 20_000;
/// Encryption that only hides fonts, by parts of its names.
const FONT_METHODS: [&str; 2] = ["obfuscation", "font"];

#[cfg(test)]
mod tests;

/// Reads a book.
///
/// # Errors
/// [`RefusalCode::FormatMismatch`], [`RefusalCode::Corrupt`] (of an encrypted one too), [`RefusalCode::NoText`],
/// [`RefusalCode::ResourceLimit`] and [`RefusalCode::Timeout`].
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let package = Package::open(bytes, WHAT, &context.bounds)?;
    let Some(container) = package.text("META-INF/container.xml")? else {
        let message = format!("the file is a zip archive, but not {WHAT}");
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    };
    if is_encrypted(&package)? {
        return Err(encrypted());
    }
    let book = Book::read(&package, &package_part(&package, &container)?)?;
    let coverage = Coverage::complete(CoverageUnit::Bytes, bytes.len() as u64);
    let mut output = Output::new(&context.bounds, coverage);
    output.push(BlockKind::Heading, 1, &book.title)?;
    let mut missing = 0_u64;
    let before = output.len();
    for part in &book.pages {
        match package.text(part)? {
            Some(text) => {
                let bounds = Bounds { cells: output.cells_left(), ..context.bounds.clone() };
                output.push_page(html::blocks(&text, &bounds)?)?;
            }
            None => missing += 1,
        }
    }
    if output.len() == before {
        return Err(super::no_text());
    }
    if missing > 0 {
        output.lose(lost::TEXT, format!("{missing} pages that the book lists are not in the file"));
    }
    output.finish("loom-epub")
}

/// A book's title and the parts of its pages in order.
struct Book {
    title: String,
    pages: Vec<String>,
}

impl Book {
    fn read(package: &Package<'_>, part: &str) -> Result<Self, Refusal> {
        let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
        let text = package.required(part)?;
        let mut xml = Xml::new(&text, "the book's contents", package.bounds);
        xml.root()?;
        let mut book = Self { title: String::new(), pages: Vec::new() };
        let mut manifest: HashMap<String, String> = HashMap::new();
        while let Some(element) = xml.child(1)? {
            match element.name() {
                "metadata" => {
                    while let Some(element) = xml.child(2)? {
                        if element.name() == "title" && book.title.is_empty() {
                            book.title = xml.text()?;
                        }
                    }
                }
                "manifest" => {
                    while let Some(element) = xml.child(2)? {
                        let value = |name| element.attribute(name).unwrap_or_default();
                        if value("media-type").contains("html") {
                            let target = percent_decoded(&value("href"));
                            manifest.insert(value("id").into_owned(), joined(folder, &target));
                        }
                    }
                }
                "spine" => {
                    while let Some(element) = xml.child(2)? {
                        let page = element.attribute("idref").and_then(|id| manifest.remove(id.as_ref()));
                        if book.pages.len() == PAGES_MAX {
                            let message = format!("the book has more than {PAGES_MAX} pages");
                            return Err(Refusal::new(RefusalCode::ResourceLimit, message));
                        }
                        book.pages.extend(page);
                    }
                }
                _ => {}
            }
        }
        Ok(book)
    }
}

/// The name of the part that lists the book's.
fn package_part(package: &Package<'_>, container: &str) -> Result<String, Refusal> {
    let mut xml = Xml::new(container, "the list of books", package.bounds);
    xml.root()?;
    while let Some(element) = xml.child(1)? {
        if element.name() == "rootfiles"
            && let Some(element) = xml.child(2)?
        {
            return Ok(joined("", &element.attribute("full-path").unwrap_or_default()));
        }
    }
    Err(corrupt("the file names no book in it"))
}

/// Whether more than fonts is encrypted.
fn is_encrypted(package: &Package<'_>) -> Result<bool, Refusal> {
    let Some(text) = package.text("META-INF/encryption.xml")? else { return Ok(false) };
    let mut xml = Xml::new(&text, "the list of what is encrypted", package.bounds);
    xml.root()?;
    while let Some(element) = xml.child(1)? {
        if element.name() != "EncryptedData" {
            continue;
        }
        while let Some(element) = xml.child(2)? {
            let method = element.attribute("Algorithm").unwrap_or_default().to_ascii_lowercase();
            if element.name() == "EncryptionMethod" && !FONT_METHODS.iter().any(|font| method.contains(font)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// A reference with each `%20` as the byte that it stands for.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = text_of(after.get(..2)).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) if *first == b'%' => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text_of(digits: Option<&[u8]>) -> Option<&str> {
    std::str::from_utf8(digits?).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
