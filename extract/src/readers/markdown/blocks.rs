//! The blocks of a Markdown text and where each lies.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::super::spans::trimmed;
use crate::commonmark::for_parser;
use crate::contract::{BlockKind, LIST_LEVEL_MAX};

/// The shortest line of `=` or `-` that makes a heading of the line above it, as where the engine cuts.
const UNDERLINE_MIN: usize = 3;

/// A block of a Markdown text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: BlockKind,
    /// The level of a heading, the depth of a list item, and 0 otherwise.
    pub level: u8,
    /// The language of code, as its fence names it.
    pub language: String,
    /// Its bytes, without blanks at the ends.
    pub range: Range<usize>,
}

/// The blocks of `text`, ascending, with every character that is not blank in one of them. What lies in a quote is the
/// quote's; what lies in a list item is the item's up to the first item inside it.
pub fn parts(text: &str) -> Vec<Part> {
    let source = for_parser(text);
    let mut cutter = Cutter { text, parts: Vec::new(), lists: 0, quotes: 0, item: None };
    for (event, range) in Parser::new_ext(&source, Options::ENABLE_TABLES).into_offset_iter() {
        cutter.take(&event, range);
    }
    fill(text, cutter.parts)
}

struct Cutter<'a> {
    text: &'a str,
    parts: Vec<Part>,
    lists: usize,
    quotes: usize,
    /// The part of the list item that is open, as long as nothing else came after its start.
    item: Option<usize>,
}

impl Cutter<'_> {
    fn take(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => {
                if self.quotes == 0 && self.lists == 0 {
                    self.push(BlockKind::Quote, 0, "", range);
                }
                self.quotes += 1;
            }
            Event::End(TagEnd::BlockQuote(_)) => self.quotes = self.quotes.saturating_sub(1),
            Event::Start(Tag::List(_)) if self.quotes == 0 => self.lists += 1,
            Event::End(TagEnd::List(_)) if self.quotes == 0 => self.lists = self.lists.saturating_sub(1),
            Event::Start(Tag::Item) if self.quotes == 0 => self.start_item(range),
            Event::End(TagEnd::Item) if self.quotes == 0 => self.item = None,
            Event::Start(tag) if self.quotes == 0 => self.leaf(tag, range),
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    fn start_item(&mut self, range: Range<usize>) {
        if let Some(outer) = self.item.and_then(|item| self.parts.get_mut(item)) {
            outer.range.end = outer.range.end.min(range.start);
        }
        let level = u8::try_from(self.lists).unwrap_or(LIST_LEVEL_MAX).clamp(1, LIST_LEVEL_MAX);
        self.push(BlockKind::ListItem, level, "", range);
        self.item = self.parts.len().checked_sub(1);
    }

    fn leaf(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        if self.item.is_some() {
            return;
        }
        if let Tag::Heading { level, .. } = tag
            && self.lists == 0
            && !has_short_underline(&self.text[range.clone()])
        {
            self.push(BlockKind::Heading, *level as u8, "", range);
        } else if let Tag::Paragraph | Tag::Heading { .. } = tag {
            self.push(BlockKind::Paragraph, 0, "", range);
        } else if let Tag::CodeBlock(CodeBlockKind::Fenced(info)) = tag {
            let language = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
            self.push(BlockKind::Code, 0, language, range);
        } else if let Tag::CodeBlock(CodeBlockKind::Indented) = tag {
            self.push(BlockKind::Code, 0, "", range);
        } else if let Tag::Table(_) = tag {
            self.push(BlockKind::Table, 0, "", range);
        } else if let Tag::HtmlBlock = tag {
            self.html(range);
        }
    }

    /// An HTML block: heading elements on lines of their own are headings as long as nothing else came before.
    fn html(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some(line) = self.text.get(at..range.end).and_then(|rest| rest.split_inclusive('\n').next()) {
            let Some(level) = html_heading(line.trim()) else { break };
            self.push(BlockKind::Heading, level, "", at..at + line.len());
            at += line.len();
        }
        self.push(BlockKind::Paragraph, 0, "", at..range.end);
    }

    fn push(&mut self, kind: BlockKind, level: u8, language: &str, range: Range<usize>) {
        let after = self.parts.last().map_or(0, |part| part.range.end);
        if kind != BlockKind::ListItem && range.start < after {
            return;
        }
        self.parts.push(Part { kind, level, language: language.to_owned(), range });
    }
}

/// The parts without blanks at their ends, and what lies between them (link definitions, rules) as paragraphs.
fn fill(text: &str, parts: Vec<Part>) -> Vec<Part> {
    let mut filled = Vec::with_capacity(parts.len());
    let mut at = 0;
    let add = |part: Part, filled: &mut Vec<Part>| {
        if let Some(range) = trimmed(text, part.range.clone()) {
            filled.push(Part { range, ..part });
        }
    };
    let between = |range| Part { kind: BlockKind::Paragraph, level: 0, language: String::new(), range };
    for mut part in parts {
        part.range.start = part.range.start.max(at);
        if part.range.start >= part.range.end {
            continue;
        }
        // The marks of a line before a block, such as the indentation of code, are the block's.
        let gap = &text[at..part.range.start];
        let line = gap.rfind('\n').map_or(0, |end| end + 1);
        if gap[line..].trim().is_empty() {
            part.range.start = at + line;
        }
        add(between(at..part.range.start), &mut filled);
        at = part.range.end;
        let code = part.kind == BlockKind::Code;
        let start = part.range.start;
        add(part, &mut filled);
        if code && let Some(last) = filled.last_mut().filter(|last| last.kind == BlockKind::Code) {
            last.range.start = start;
        }
    }
    add(between(at..text.len()), &mut filled);
    filled
}

/// Whether a heading's source is a line over an underline that is too short for Loom.
fn has_short_underline(source: &str) -> bool {
    let source = source.trim_end();
    source.rfind(['\n', '\r']).is_some_and(|end| source[end + 1..].trim_start().len() < UNDERLINE_MIN)
}

/// The level of the heading element that a line is.
fn html_heading(line: &str) -> Option<u8> {
    let lower = line.to_ascii_lowercase();
    let level = lower.strip_prefix("<h")?.bytes().next().filter(u8::is_ascii_digit)? - b'0';
    let rest = &lower[3..];
    let is_whole = rest.starts_with(['>', ' ']) && rest.ends_with(&format!("</h{level}>"));
    let inside = &rest[rest.find('>')? + 1..];
    ((1..=6).contains(&level) && is_whole && inside.matches("</h").count() == 1).then_some(level)
}
