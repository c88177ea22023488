//! The block structure of a text: its headings, and the blocks that windows treat apart.

use std::ops::Range;

use loom_extract::commonmark::for_parser;
use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Options, Parser, Tag, TagEnd};

use super::html_heading;
use super::plain::one_line;
use crate::keys::{Code, CodeKind, toml};

/// The most bytes of a heading in a breadcrumb; a longer one is cut on a grapheme border.
pub const HEADING_BYTES_MAX: usize = 256;
/// The most sections of a document. What would be a heading past it is text of the last section, so that
/// breadcrumbs cannot outgrow the text they are about.
pub const SECTIONS_MAX: usize = 50_000;

/// The shortest line of `=` or `-` that makes a heading of the line above it.
const UNDERLINE_MIN: usize = 3;

/// Headings and zones in the order of the text. Offsets are bytes.
pub(super) struct Outline {
    pub headings: Vec<Heading>,
    pub zones: Vec<Zone>,
    pub code: Vec<Code>,
}

/// A heading that is in no other block: not in a list, a quote, code or other HTML.
pub(super) struct Heading {
    /// Where its first line starts.
    pub start: usize,
    /// 1 to 6.
    pub level: u8,
    /// Its plain text on one line, never empty.
    pub text: String,
}

/// A block with borders of its own, whole lines. Zones do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    pub start: usize,
    pub end: usize,
    pub kind: ZoneKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneKind {
    /// Lines of code: kept whole where that leaves a window half full, else cut between lines.
    Code,
    /// Something that is understood only whole, such as a statement: kept so wherever it fits in a window.
    Whole,
    Table {
        /// Where the first row after the header and its separator starts.
        body: usize,
    },
}

/// Reads the blocks of `text` by `CommonMark`'s rules and GFM's for tables, with Loom's two differences: an underline
/// shorter than three characters makes no heading, and a heading element on a line of its own does.
///
/// A heading without any text names nothing and is text.
pub(super) fn read(text: &str) -> Outline {
    let blocks = for_parser(text);
    let mut reader = Reader {
        text,
        events: Parser::new_ext(&blocks, Options::ENABLE_TABLES).into_offset_iter(),
        outline: Outline { headings: Vec::new(), zones: Vec::new(), code: Vec::new() },
    };
    reader.run();
    reader.outline
}

struct Reader<'a, 'b> {
    text: &'a str,
    events: OffsetIter<'b>,
    outline: Outline,
}

impl Reader<'_, '_> {
    fn run(&mut self) {
        let mut containers = 0_usize;
        while let Some((event, range)) = self.events.next() {
            if let Event::Start(Tag::BlockQuote(_) | Tag::List(_)) = event {
                containers += 1;
            } else if let Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) = event {
                containers -= 1;
            } else if let Event::Start(tag) = event {
                self.block(&tag, &range, containers == 0);
            } else if let Event::Code(_) = event {
                self.outline.code.push(Code { range, kind: CodeKind::Inline });
            }
        }
    }

    fn block(&mut self, tag: &Tag<'_>, range: &Range<usize>, is_top: bool) {
        if let Tag::Heading { level, .. } = tag {
            let text = self.heading_text();
            if is_top && !has_short_underline(&self.text[range.clone()]) {
                self.push(range.start, *level as u8, &text);
            }
        } else if let Tag::HtmlBlock = tag {
            if is_top {
                self.html_block(range);
            }
        } else if let Tag::CodeBlock(block) = tag {
            self.zone(range, ZoneKind::Code);
            let kind = match block {
                CodeBlockKind::Fenced(language) if is_toml(language) => {
                    CodeKind::Toml(toml::Headers::read(self.text, range.clone()))
                }
                CodeBlockKind::Fenced(_) | CodeBlockKind::Indented => CodeKind::Block,
            };
            self.outline.code.push(Code { range: range.clone(), kind });
        } else if let Tag::Table(_) = tag {
            let separator = next_line(self.text, range.start);
            self.zone(range, ZoneKind::Table { body: next_line(self.text, separator).min(range.end) });
        }
    }

    /// The text of the heading whose start was just read; its events are read to their end.
    fn heading_text(&mut self) -> String {
        let mut text = String::new();
        for (event, range) in self.events.by_ref() {
            if let Event::End(TagEnd::Heading(_)) = event {
                break;
            }
            if let Event::Code(_) = event {
                self.outline.code.push(Code { range, kind: CodeKind::Inline });
            }
            // Cleaning shortens, so that more is kept here than a breadcrumb takes.
            if text.len() > 16 * HEADING_BYTES_MAX {
                continue;
            }
            if let Event::Text(part) | Event::Code(part) = event {
                text.push_str(&part);
            } else if let Event::SoftBreak | Event::HardBreak = event {
                text.push(' ');
            }
        }
        text
    }

    /// The heading elements an HTML block starts with. Everything after its first other line is HTML.
    fn html_block(&mut self, range: &Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let next = next_line(self.text, at);
            let Some((level, text)) = html_heading::read(&self.text[at..next]) else { break };
            self.push(at, level, &text);
            at = next;
        }
    }

    fn push(&mut self, start: usize, level: u8, text: &str) {
        let text = one_line(without_anchor(text), HEADING_BYTES_MAX);
        if !text.is_empty() && self.outline.headings.len() < SECTIONS_MAX {
            self.outline.headings.push(Heading { start: line_start(self.text, start), level, text });
        }
    }

    fn zone(&mut self, range: &Range<usize>, kind: ZoneKind) {
        let after = self.outline.zones.last().map_or(0, |zone| zone.end);
        let start = line_start(self.text, range.start).max(after);
        if start < range.end {
            self.outline.zones.push(Zone { start, end: range.end, kind });
        }
    }
}

/// Whether the words behind a fence say that it holds TOML.
fn is_toml(language: &str) -> bool {
    let first = language.split(|c: char| !c.is_alphanumeric()).next();
    first.is_some_and(|first| first.eq_ignore_ascii_case("toml"))
}

/// Whether a heading's source is a setext heading whose underline is too short for Loom.
fn has_short_underline(source: &str) -> bool {
    let source = source.trim_end();
    let underline = source.rfind(['\n', '\r']).map(|end| source[end + 1..].trim_start());
    underline.is_some_and(|underline| underline.len() < UNDERLINE_MIN)
}

/// A heading's text without the `{#name}` that renderers take for its anchor.
fn without_anchor(text: &str) -> &str {
    let trimmed = text.trim_end();
    let anchor = trimmed.strip_suffix('}').and_then(|inside| inside.rfind('{').map(|at| (at, &inside[at + 1..])));
    match anchor {
        Some((at, name)) if name.starts_with('#') && !name.contains(char::is_whitespace) => &trimmed[..at],
        Some(_) | None => text,
    }
}

/// Where the line that holds byte `at` starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1)
}

/// Where the line after the one that holds byte `at` starts, or the text's end.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let Some(length) = bytes[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) else { return text.len() };
    let end = at + length;
    if bytes[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 }
}
