//! Headings written as one line of HTML.

use pulldown_cmark::{Event, Parser};

/// The most bytes of a line that is looked at as a heading.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// The level and the text of a line that is `<h1>`...`</h1>` (to `<h6>`) and nothing else, attributes allowed.
///
/// Tags inside are left out and entities decoded; the text is not yet cleaned.
pub(super) fn read(line: &str) -> Option<(u8, String)> {
    let line = line.trim_matches([' ', '\t', '\r', '\n']);
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let rest = strip_prefix_any_case(line, "<h")?;
    let level = rest.bytes().next().filter(|digit| (b'1'..=b'6').contains(digit))? - b'0';
    let attributes = &rest[1..];
    if !attributes.starts_with(['>', ' ', '\t']) {
        return None;
    }
    let inner = &attributes[tag_length(attributes)?..];
    let closing = inner.to_ascii_lowercase().find(&format!("</h{level}"))?;
    let end = inner[closing + "</h1".len()..].trim_start_matches([' ', '\t']);
    (end == ">").then(|| (level, decoded(&without_tags(&inner[..closing]))))
}

fn strip_prefix_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// How far the tag that `rest` is the inside of goes, its `>` included. A `>` between quotes does not end it.
fn tag_length(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let opens = after.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        if let Some(length) = tag_length(after).filter(|_| opens) {
            rest = &after[length..];
        } else {
            text.push('<');
            rest = after;
            if opens {
                break;
            }
        }
    }
    text.push_str(rest);
    text
}

/// `text` with HTML entities decoded: read as Markdown in which everything else is escaped.
fn decoded(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    // The first letter keeps a line that starts like a block from being one.
    let mut markdown = String::from("x");
    for char in text.chars() {
        if char.is_ascii_punctuation() && !matches!(char, '&' | '#' | ';') {
            markdown.push('\\');
        }
        markdown.push(char);
    }
    let plain: String = Parser::new(&markdown)
        .filter_map(|event| if let Event::Text(text) = event { Some(text.into_string()) } else { None })
        .collect();
    plain.strip_prefix('x').map_or_else(|| text.to_owned(), str::to_owned)
}
