//! YAML front matter: what a document says of itself before its text.

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::plain::one_line;

/// The most bytes front matter has, its fences included. A longer block is text.
pub const FRONT_MATTER_BYTES_MAX: usize = 64 * 1024;

/// The metadata block at the start of a document.
///
/// It starts with a `---` line (a byte order mark before it is fine), ends with the next `---` or `...` line, and
/// holds one YAML mapping. Anything else at that place, broken YAML too, is text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// Its `title`, when that is a scalar.
    pub title: Option<String>,
    /// Its `description`, when that is a scalar.
    pub description: Option<String>,
    /// Its `tags`: the scalars of a list, or a string's parts between commas, without a comma between blanks.
    pub tags: Vec<String>,
    /// The byte of the document after its closing line, a byte order mark counted.
    pub byte_end: usize,
}

/// The front matter of `text`.
pub(super) fn read(text: &str) -> Option<FrontMatter> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (yaml, length) = fenced(body)?;
    let front_matter = mapping(yaml)?;
    Some(FrontMatter { byte_end: text.len() - body.len() + length, ..front_matter })
}

/// The text between the fences at the start of `body`, and the length of all three.
fn fenced(body: &str) -> Option<(&str, usize)> {
    let (opening, start) = line(body, 0)?;
    if opening.trim_end_matches([' ', '\t']) != "---" {
        return None;
    }
    let mut at = start;
    while let Some((content, next)) = line(body, at) {
        if next > FRONT_MATTER_BYTES_MAX {
            return None;
        }
        if matches!(content.trim_end_matches([' ', '\t']), "---" | "...") {
            return Some((&body[start..at], next));
        }
        at = next;
    }
    None
}

/// The line of `text` at `start` without its end, and where the next one starts. Only as much is looked at as front
/// matter may have.
fn line(text: &str, start: usize) -> Option<(&str, usize)> {
    let window = &text.as_bytes()[start..text.len().min(start + FRONT_MATTER_BYTES_MAX + 1)];
    if window.is_empty() {
        return None;
    }
    let Some(length) = window.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
        return (start + window.len() == text.len()).then(|| (&text[start..], text.len()));
    };
    let end = start + length;
    let next = if text[end..].starts_with("\r\n") { end + 2 } else { end + 1 };
    Some((&text[start..end], next))
}

/// Reads `yaml` event by event: no tree is built, so neither nesting nor aliases cost more than their own bytes.
fn mapping(yaml: &str) -> Option<FrontMatter> {
    let mut reader = Reader { found: FrontMatter::default(), next: Next::Key, in_list: false };
    let mut depth = 0_usize;
    let mut is_mapping = false;
    for event in Parser::new_from_str(yaml) {
        match event.ok()?.0 {
            Event::MappingStart(..) => {
                is_mapping |= depth == 0;
                reader.in_list = false;
                depth += 1;
            }
            Event::SequenceStart(..) => {
                reader.in_list = depth == 1;
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                depth -= 1;
                reader.in_list = false;
                if depth == 1 {
                    reader.take(None);
                }
            }
            Event::Scalar(value, style, ..) if depth == 1 => reader.take(Some((&value, style))),
            Event::Scalar(value, style, ..) => reader.take_item(&value, style),
            Event::Alias(_) if depth == 1 => reader.take(None),
            Event::Alias(_)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }
    is_mapping.then_some(reader.found)
}

/// What the top mapping's next node is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Key,
    Title,
    Description,
    Tags,
    Other,
}

struct Reader {
    found: FrontMatter,
    next: Next,
    /// Whether scalars now are the items of a list that is a value of the top mapping.
    in_list: bool,
}

impl Reader {
    /// Takes a whole node of the top mapping, a key or a value; `None` is one that is not a scalar.
    fn take(&mut self, scalar: Option<(&str, ScalarStyle)>) {
        let value = || scalar.and_then(|(value, style)| stated(value, style));
        let found = &mut self.found;
        match self.next {
            Next::Key => {
                self.next = match scalar.map(|(key, _)| key) {
                    Some("title") => Next::Title,
                    Some("description") => Next::Description,
                    Some("tags") => Next::Tags,
                    Some(_) | None => Next::Other,
                };
                return;
            }
            Next::Title => found.title = found.title.take().or_else(value),
            Next::Description => found.description = found.description.take().or_else(value),
            Next::Tags => {
                let tags = value().unwrap_or_default();
                let between_commas = tags.contains(',');
                let parts = tags.split(|c: char| if between_commas { c == ',' } else { c.is_whitespace() });
                found.tags.extend(parts.map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned));
            }
            Next::Other => {}
        }
        self.next = Next::Key;
    }

    /// Takes a scalar that lies inside a value of the top mapping.
    fn take_item(&mut self, value: &str, style: ScalarStyle) {
        if self.in_list && self.next == Next::Tags {
            self.found.tags.extend(stated(value, style));
        }
    }
}

/// A scalar on one line; `None` for an empty one and for YAML's null.
fn stated(value: &str, style: ScalarStyle) -> Option<String> {
    let is_null = style == ScalarStyle::Plain && matches!(value, "~" | "null" | "Null" | "NULL");
    Some(one_line(value, FRONT_MATTER_BYTES_MAX)).filter(|line| !line.is_empty() && !is_null)
}
