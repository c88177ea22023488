//! Documents to sections and pieces.

use loom_storage::{Place, Section};

use super::front_matter::{self, FrontMatter};
use super::outline::{self, Outline};
use super::ruler::Ruler;
use super::settings::ChunkSettings;
use super::windows::Windows;
use crate::keys::{self, Code};

/// What a document is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its metadata block, in no section and no piece.
    pub front_matter: Option<FrontMatter>,
    /// Its headings in order, each with at least one piece. Text before the first heading is in none.
    pub sections: Vec<Section>,
    /// Its pieces in order. Each is a part of one section's own text, and every character that is not white space,
    /// front matter or a byte order mark at the start is in one or, where windows overlap, in several.
    pub pieces: Vec<Piece>,
    /// The length of the whole text in Unicode scalar values.
    pub chars: u64,
}

/// A passage that becomes a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it stands in the document's text. It neither starts with a blank line nor ends with white space.
    pub place: Place,
    /// The headings above it, outermost first, each at most [`HEADING_BYTES_MAX`](super::HEADING_BYTES_MAX) bytes;
    /// empty before the first heading.
    pub section_path: Vec<String>,
    /// The header row and separator of the table that it starts inside of, after its header.
    pub table_header: Option<String>,
    /// The names in its code.
    pub keys: Vec<String>,
}

impl Piece {
    /// The piece of a document without text, so that its title can be found: an empty place at the start.
    pub fn without_text() -> Self {
        let place = Place { byte_start: 0, byte_end: 0, char_start: 0, char_end: 0, line_start: 1, line_end: 1 };
        Self { place, section_path: Vec::new(), table_header: None, keys: Vec::new() }
    }

    /// Puts a name that its heading defines before those of its code.
    fn define(&mut self, name: &str) {
        if !self.keys.iter().any(|key| key.to_lowercase() == name.to_lowercase()) {
            self.keys.truncate(keys::CHUNK_KEYS_MAX - 1);
            self.keys.insert(0, name.to_owned());
        }
    }
}

/// Cuts a document into its sections and their windows.
///
/// A section's own text is its heading and what follows up to the next heading of any level. One that fits in
/// `settings.size()` characters is one piece; a longer one is covered by windows that overlap and are never longer.
/// A blank text has no pieces ([`Piece::without_text`] is for those with a title). A document of more pieces than
/// [`loom_storage::ORDINALS_MAX`] cannot be stored; that is for the caller to refuse.
pub fn cut(text: &str, settings: ChunkSettings) -> Cut {
    let front_matter = front_matter::read(text);
    let body_start = match &front_matter {
        Some(front_matter) => front_matter.byte_end,
        None => text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len(),
    };
    let outline = outline::read(&text[body_start..]);
    Cut { front_matter, ..cut_from(text, body_start, &outline, settings) }
}

/// Cuts a text whose headings and zones are known.
pub(super) fn cut_outlined(text: &str, outline: &Outline, settings: ChunkSettings) -> Cut {
    cut_from(text, 0, outline, settings)
}

/// Cuts the text from `body_start` on, which the offsets of `outline` count from.
fn cut_from(text: &str, body_start: usize, outline: &Outline, settings: ChunkSettings) -> Cut {
    let body = &text[body_start..];
    let mut builder = Builder {
        body,
        code: &outline.code,
        windows: Windows::new(body, &outline.zones, settings),
        ruler: Ruler::new(text),
        body_start,
        path: Vec::new(),
        sections: Vec::with_capacity(outline.headings.len()),
        pieces: Vec::new(),
    };
    let first = outline.headings.first().map_or(body.len(), |heading| heading.start);
    builder.pieces_of(0, first);
    for (at, heading) in outline.headings.iter().enumerate() {
        let end = outline.headings.get(at + 1).map_or(body.len(), |next| next.start);
        builder.section(heading, end);
    }
    let chars = builder.ruler.at(text.len()).chars;
    Cut { front_matter: None, sections: builder.sections, pieces: builder.pieces, chars }
}

struct Builder<'a> {
    body: &'a str,
    code: &'a [Code],
    windows: Windows<'a>,
    ruler: Ruler<'a>,
    /// What offsets into the body are moved by to become offsets into the text.
    body_start: usize,
    /// The open headings and their levels.
    path: Vec<(u8, String)>,
    sections: Vec<Section>,
    pieces: Vec<Piece>,
}

impl Builder<'_> {
    fn section(&mut self, heading: &outline::Heading, end: usize) {
        while self.path.last().is_some_and(|(level, _)| *level >= heading.level) {
            self.path.pop();
        }
        self.path.push((heading.level, heading.text.clone()));
        let first = self.piece_count();
        self.pieces_of(heading.start, end);
        if let (Some(name), Some(piece)) = (keys::of_heading(&heading.text), self.pieces.get_mut(first as usize)) {
            piece.define(name);
        }
        let chars_before = |byte| self.ruler.at(self.body_start + byte).chars;
        self.sections.push(Section {
            path: self.section_path(),
            depth: heading.level,
            chunks: (first, self.piece_count()),
            chars: chars_before(end) - chars_before(heading.start),
        });
    }

    fn pieces_of(&mut self, start: usize, end: usize) {
        for window in self.windows.over(start, end) {
            let from = self.body_start + window.range.start;
            let to = self.body_start + window.range.end;
            let (before, after) = (self.ruler.at(from), self.ruler.at(to));
            self.pieces.push(Piece {
                place: Place {
                    byte_start: from as u64,
                    byte_end: to as u64,
                    char_start: before.chars,
                    char_end: after.chars,
                    line_start: before.line_ends + 1,
                    line_end: after.line_ends + 1,
                },
                section_path: self.section_path(),
                table_header: window.table_header,
                keys: keys::of_passage(self.body, window.range, self.code),
            });
        }
    }

    fn section_path(&self) -> Vec<String> {
        self.path.iter().map(|(_, text)| text.clone()).collect()
    }

    /// Saturates: a document with so many pieces is never stored.
    fn piece_count(&self) -> u32 {
        u32::try_from(self.pieces.len()).unwrap_or(u32::MAX)
    }
}
