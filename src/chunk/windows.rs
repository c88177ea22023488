//! Covering a section with windows.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::border::Borders;
use super::outline::{Zone, ZoneKind};
use super::plain::head;
use super::settings::ChunkSettings;

/// The most bytes of a table's header row and separator in a context; longer ones are cut on a grapheme border.
pub const TABLE_HEADER_BYTES_MAX: usize = 1024;

/// A border is looked for in the last part of a window: one in this many of its characters.
const END_RANGE: usize = 5;
/// Indentation is kept at a window's start when it takes at most one in this many of its characters.
const INDENT_SHARE: usize = 4;

/// A window as it is stored: trimmed, at most `size` characters, never blank.
pub(super) struct Window {
    pub range: Range<usize>,
    pub table_header: Option<String>,
}

/// Cuts a text's sections into windows.
pub(super) struct Windows<'a> {
    text: &'a str,
    borders: Borders<'a>,
    settings: ChunkSettings,
}

/// Something that a cut goes around when it can: a table's row, a line of code, a code block.
struct Atom {
    start: usize,
    /// Where its last line's text ends; a line end follows.
    ink_end: usize,
    /// Where the next line starts.
    end: usize,
}

impl<'a> Windows<'a> {
    pub fn new(text: &'a str, zones: &'a [Zone], settings: ChunkSettings) -> Self {
        Self { text, borders: Borders::new(text, zones), settings }
    }

    /// The windows over `start..end`, in order. Every character there that is not white space is in one; each
    /// starts after the one before it starts and ends after that one ends.
    pub fn over(&self, start: usize, end: usize) -> Vec<Window> {
        let end = self.ink_end(start, end);
        let mut windows = Vec::new();
        let mut at = self.ink_start(start, end);
        while let Some(from) = at {
            let (stop, next) = self.window(from, end);
            let range = from..self.ink_end(from, stop);
            let covered = windows.last().map_or(start, |last: &Window| last.range.end);
            if !range.is_empty() && range.end > covered {
                windows.push(Window { table_header: self.table_header(from), range });
            }
            at = next.and_then(|next| self.ink_start(next, end));
        }
        windows
    }

    /// Where the window that starts at `from` stops, and where the next one starts unless this one is the last.
    ///
    /// The next start is after `from` and at most at the stop.
    fn window(&self, from: usize, end: usize) -> (usize, Option<usize>) {
        let size = self.settings.size();
        let Some(limit) = self.forward(from, size, end) else { return (end, None) };
        // A line end is trimmed, so one more does not make the piece longer.
        let limit = limit + line_end_length(&self.text[limit..]);
        if let Some(atom) = self.atom_to_spare(from, limit) {
            return (atom.start, Some(self.next_start(from, atom.start, Some(&atom))));
        }
        let lo = self.forward(from, size - size / END_RANGE, limit).unwrap_or(limit);
        // Without any border one grapheme is longer than a window: the size is kept rather than the grapheme.
        let stop = self.borders.best(from, lo, limit).unwrap_or(limit);
        (stop, Some(self.next_start(from, stop, None)))
    }

    /// Where the window after `from..stop` starts: a stride after `from`, or up to half the overlap before that at a
    /// better border. Half of the overlap always remains, less before an atom that would then not fit.
    fn next_start(&self, from: usize, stop: usize, before: Option<&Atom>) -> usize {
        let (size, overlap) = (self.settings.size(), self.settings.overlap());
        if overlap == 0 {
            return stop;
        }
        let chars = self.text[from..stop].chars().count();
        let hi = self.settings.stride().min(chars - (overlap / 2).min(chars / 4)).max(1);
        let mut lo = (hi - (size / END_RANGE).min(overlap / 2).min(hi / 2)).max(1);
        if let Some(atom) = before {
            let room = size.saturating_sub(self.text[atom.start..atom.ink_end].chars().count());
            lo = lo.max(chars.saturating_sub(room));
        }
        if lo > hi {
            return stop;
        }
        let byte_of = |chars| self.forward(from, chars, stop).unwrap_or(stop);
        let (lo, hi) = (byte_of(lo), byte_of(hi));
        let start = self.borders.best(from, lo, hi).unwrap_or(stop);
        match self.line_around(from, start) {
            Some(line) if line.start >= lo => line.start,
            Some(line) => line.end.min(stop),
            None => start,
        }
    }

    /// The atom that a stop at `limit` would cut and that can be left to the next window whole.
    fn atom_to_spare(&self, from: usize, limit: usize) -> Option<Atom> {
        let half = from + (limit - from) / 2;
        let least = |kind: ZoneKind| match kind {
            ZoneKind::Code => Some(half),
            ZoneKind::Whole => Some(from + 1),
            ZoneKind::Table { .. } => None,
        };
        let block = self.borders.zone_at(limit);
        let is_spared = |zone: &Zone| least(zone.kind).is_some_and(|least| zone.start >= least) && zone.start < limit;
        let block = block.filter(is_spared).map(|zone| Atom {
            start: zone.start,
            ink_end: zone.end - self.text[zone.start..zone.end].len()
                + self.text[zone.start..zone.end].trim_end().len(),
            end: zone.end,
        });
        block.filter(|block| self.fits(block)).or_else(|| self.line_around(from, limit))
    }

    /// The row or line of code that byte `at` is inside of, if it starts after `from` and fits in a window. A
    /// table's header and separator are one row.
    fn line_around(&self, from: usize, at: usize) -> Option<Atom> {
        let zone = self.borders.zone_at(at)?;
        let header_end = match zone.kind {
            ZoneKind::Table { body } if at < body => Some(body),
            ZoneKind::Table { .. } | ZoneKind::Code | ZoneKind::Whole => None,
        };
        let start = match header_end {
            Some(_) => zone.start,
            None => from + self.text.as_bytes()[from..at].iter().rposition(|b| matches!(b, b'\n' | b'\r'))? + 1,
        };
        if start <= from || start >= at {
            return None;
        }
        // A line that fits ends within as many bytes as a window can have.
        let reach = at.saturating_add(self.settings.size().saturating_mul(4)).min(zone.end);
        let rest = &self.text.as_bytes()[at..reach];
        let ink_end = match header_end {
            Some(body) => body - line_end_length_before(&self.text[..body]),
            None => at + rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len()),
        };
        let ink_end = self.text.floor_char_boundary(ink_end);
        let end = ink_end + line_end_length(&self.text[ink_end..]);
        Some(Atom { start, ink_end, end }).filter(|line| self.fits(line))
    }

    fn fits(&self, atom: &Atom) -> bool {
        let (size, bytes) = (self.settings.size(), atom.ink_end - atom.start);
        bytes <= size || bytes <= size.saturating_mul(4) && self.forward(atom.start, size, atom.ink_end).is_none()
    }

    /// The byte `chars` characters after `from`, if there is text between it and `end`.
    fn forward(&self, from: usize, chars: usize, end: usize) -> Option<usize> {
        if end - from <= chars {
            return None;
        }
        if self.text.as_bytes()[from..from + chars].is_ascii() {
            return Some(from + chars);
        }
        self.text[from..end].char_indices().nth(chars).map(|(at, _)| from + at)
    }

    /// Where a window that may start at `from` does: at its first line that is not blank, with its indentation.
    fn ink_start(&self, from: usize, end: usize) -> Option<usize> {
        let blank = &self.text[from..end];
        let ink = from + blank.find(|c: char| !c.is_whitespace())?;
        let blank = &self.text[from..ink];
        let line = from + blank.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        if ink - line <= self.settings.size() / INDENT_SHARE {
            return Some(line);
        }
        let joined = blank.chars().next_back().filter(|last| are_joined(*last, &self.text[ink..]));
        Some(ink - joined.map_or(0, char::len_utf8))
    }

    /// Where the text of `start..end` ends, white space that belongs to a grapheme of it included.
    fn ink_end(&self, start: usize, end: usize) -> usize {
        let ink = start + self.text[start..end].trim_end().len();
        let joined = self.text[start..ink].chars().next_back().filter(|last| are_joined(*last, &self.text[ink..end]));
        ink + joined.and_then(|_| self.text[ink..end].chars().next()).map_or(0, char::len_utf8)
    }

    fn table_header(&self, at: usize) -> Option<String> {
        let zone = self.borders.zone_at(at)?;
        match zone.kind {
            ZoneKind::Table { body } if body <= at => {
                let lines = head(&self.text[zone.start..body], TABLE_HEADER_BYTES_MAX).split(['\n', '\r']);
                let lines: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
                Some(lines.join("\n"))
            }
            ZoneKind::Table { .. } | ZoneKind::Code | ZoneKind::Whole => None,
        }
    }
}

/// Whether `last` and the first character of `rest` are one grapheme.
fn are_joined(last: char, rest: &str) -> bool {
    rest.chars().next().is_some_and(|next| String::from_iter([last, next]).graphemes(true).count() == 1)
}

/// The length of the line end that `rest` starts with.
fn line_end_length(rest: &str) -> usize {
    match rest.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// The length of the line end that `text` ends with.
fn line_end_length_before(text: &str) -> usize {
    match text.as_bytes() {
        [.., b'\r', b'\n'] => 2,
        [.., b'\r' | b'\n'] => 1,
        _ => 0,
    }
}
