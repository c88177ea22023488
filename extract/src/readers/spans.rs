//! From places in bytes to places in characters and lines.

use crate::contract::Span;

/// Counts characters and lines of a text up to ascending byte places, each byte looked at once.
pub struct Places<'a> {
    text: &'a str,
    byte: usize,
    chars: u64,
    line: u64,
}

impl<'a> Places<'a> {
    /// At the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, byte: 0, chars: 0, line: 1 }
    }

    /// The characters before byte `at`, which is a character's border and not before the last one asked for.
    pub fn chars(&mut self, at: usize) -> u64 {
        self.advance(at);
        self.chars
    }

    /// The number of the line that holds byte `at`, from 1.
    pub fn line(&mut self, at: usize) -> u64 {
        self.advance(at);
        self.line
    }

    /// The characters of a range of bytes.
    pub fn span(&mut self, range: std::ops::Range<usize>) -> Span {
        let start = self.chars(range.start);
        Span { start, end: self.chars(range.end) }
    }

    fn advance(&mut self, at: usize) {
        let Some(passed) = self.text.as_bytes().get(self.byte..at) else { return };
        self.chars += passed.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
        self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.byte = at;
    }
}

/// The range without the blanks at both ends; `None` where nothing else is in it.
pub fn trimmed(text: &str, range: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    let part = text.get(range.clone())?;
    let start = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    (start < end).then_some(start..end)
}

/// The lines of a text, a last one without an end counted.
pub fn lines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + u64::from(!text.is_empty() && !text.ends_with('\n'))
}
