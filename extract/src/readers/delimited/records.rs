//! The records of delimited text.

use std::borrow::Cow;

use super::sniff::Dialect;
use crate::contract::Refusal;
use crate::readers::Bounds;

/// The most fields of a record that are told: one more than a table has columns.
const FIELDS_MAX: usize = 16_385;

/// Reads record by record. Blank lines are no records.
pub struct Records<'a> {
    text: &'a str,
    dialect: Dialect,
    at: usize,
    /// Whether a quote was found that is never closed: none counts from then on.
    is_open: bool,
}

impl<'a> Records<'a> {
    /// From where the dialect says that records start.
    pub fn new(text: &'a str, dialect: Dialect) -> Self {
        Self { text, dialect, at: dialect.start, is_open: false }
    }

    /// Whether a quote is never closed.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Where the next record starts.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Puts the fields of the next record in `fields`, the first [`FIELDS_MAX`] of them; false where there is none.
    pub fn next_into(&mut self, fields: &mut Vec<Cow<'a, str>>) -> bool {
        let bytes = self.text.as_bytes();
        fields.clear();
        while matches!(bytes.get(self.at), Some(b'\n' | b'\r')) {
            self.at += 1;
        }
        if self.at >= bytes.len() {
            return false;
        }
        loop {
            let field = self.field();
            if fields.len() < FIELDS_MAX {
                fields.push(field);
            }
            match bytes.get(self.at) {
                Some(byte) if *byte == self.dialect.delimiter => self.at += 1,
                Some(b'\r') if bytes.get(self.at + 1) == Some(&b'\n') => {
                    self.at += 2;
                    return true;
                }
                Some(_) => {
                    self.at += 1;
                    return true;
                }
                None => return true,
            }
        }
    }

    /// Counts the records that are left.
    pub fn count_rest(&mut self, bounds: &Bounds) -> Result<u64, Refusal> {
        let (mut count, mut fields) = (0_u64, Vec::new());
        while self.next_into(&mut fields) {
            count += 1;
            if count.is_multiple_of(8192) {
                bounds.check_time()?;
            }
        }
        Ok(count)
    }

    /// Reads a field up to the delimiter or line end after it.
    fn field(&mut self) -> Cow<'a, str> {
        let bytes = self.text.as_bytes();
        let blanks = bytes[self.at..].iter().take_while(|byte| **byte == b' ').count();
        if !self.is_open && bytes.get(self.at + blanks) == Some(&self.dialect.quote) {
            let start = self.at;
            if let Some(field) = self.quoted(start + blanks + 1) {
                return field;
            }
            self.at = start;
            self.is_open = true;
        }
        let start = self.at;
        self.at = self.plain_end(start);
        Cow::Borrowed(&self.text[start..self.at])
    }

    fn plain_end(&self, from: usize) -> usize {
        let rest = &self.text.as_bytes()[from..];
        memchr::memchr3(self.dialect.delimiter, b'\n', b'\r', rest).map_or(self.text.len(), |length| from + length)
    }

    /// Reads what is quoted from `start` on, and plain characters behind the quote; `None` where the quote is not closed.
    fn quoted(&mut self, start: usize) -> Option<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        let quote = self.dialect.quote;
        let mut field = Cow::Borrowed("");
        let mut from = start;
        let mut at = start;
        loop {
            let found = at + memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
            if bytes[found] == b'\\' {
                let is_escape = self.dialect.has_backslashes
                    && matches!(bytes.get(found + 1), Some(next) if *next == quote || *next == b'\\');
                if is_escape {
                    append(&mut field, &self.text[from..found]);
                    from = found + 1;
                }
                at = found + 1 + usize::from(is_escape);
            } else if bytes.get(found + 1) == Some(&quote) {
                append(&mut field, &self.text[from..=found]);
                from = found + 2;
                at = from;
            } else {
                append(&mut field, &self.text[from..found]);
                let end = self.plain_end(found + 1);
                append(&mut field, self.text[found + 1..end].trim_end_matches(' '));
                self.at = end;
                return Some(field);
            }
        }
    }
}

fn append<'a>(field: &mut Cow<'a, str>, part: &'a str) {
    if part.is_empty() {
        return;
    }
    if field.is_empty() {
        *field = Cow::Borrowed(part);
    } else {
        field.to_mut().push_str(part);
    }
}
