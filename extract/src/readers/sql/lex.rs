//! The words, names, quotes and marks of SQL.

use std::ops::Range;

use super::dialect::Dialect;

/// What a piece of SQL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in quotes.
    Name,
    /// Text in quotes.
    Text,
    /// Text between dollar signs: often the body of a function.
    Body,
    Number,
    Comment,
    /// One character of any other kind.
    Mark,
    /// A quote or a comment that the text ends in.
    Open,
}

/// A piece of SQL and its bytes, quotes included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: Kind,
    /// Where it lies.
    pub range: Range<usize>,
}

/// Cuts SQL into pieces; blanks are left out. Every byte is looked at a bounded number of times.
pub struct Lexer<'a> {
    text: &'a str,
    dialect: Dialect,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// From byte `at` on.
    pub fn new(text: &'a str, dialect: Dialect, at: usize) -> Self {
        Self { text, dialect, at }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn find(&self, what: &[u8], from: usize) -> Option<usize> {
        memchr::memmem::find(self.text.as_bytes().get(from..)?, what).map(|at| from + at)
    }

    /// The kind of the piece at `at`, which is no blank, and its end.
    fn piece(&self, at: usize) -> (Kind, usize) {
        let (byte, next) = (self.byte(at), self.byte(at + 1));
        match byte {
            b'-' if next == b'-' => (Kind::Comment, self.line_end(at)),
            b'#' if self.dialect.has_hash_comments() => (Kind::Comment, self.line_end(at)),
            b'/' if next == b'*' => self.comment(at),
            b'\'' => self.quoted(at, b'\'', Kind::Text, self.has_backslashes_at(at)),
            b'"' if self.dialect == Dialect::BigQuery && self.text[at..].starts_with("\"\"\"") => {
                self.find(b"\"\"\"", at + 3).map_or((Kind::Open, self.text.len()), |end| (Kind::Text, end + 3))
            }
            b'"' => {
                let is_text = self.dialect.quotes_text_twice();
                let kind = if is_text { Kind::Text } else { Kind::Name };
                self.quoted(at, b'"', kind, is_text && self.dialect.has_backslashes())
            }
            b'`' => self.quoted(at, b'`', Kind::Name, false),
            b'[' => self.bracket(at),
            b'$' if self.dialect.has_dollar_quotes() => self.dollar(at),
            b'q' | b'Q' if next == b'\'' && self.dialect == Dialect::Oracle => self.oracle_quote(at),
            b'0'..=b'9' => (Kind::Number, self.end_of(at, |byte| byte.is_ascii_alphanumeric() || byte == b'.')),
            _ if is_word(byte) || matches!(byte, b'@' | b'#') => {
                (Kind::Word, self.end_of(at + 1, |byte| is_word(byte) || matches!(byte, b'$' | b'#' | b'@')))
            }
            _ => (Kind::Mark, at + 1),
        }
    }

    fn end_of(&self, from: usize, goes_on: impl Fn(u8) -> bool) -> usize {
        self.text.as_bytes()[from..]
            .iter()
            .position(|byte| !goes_on(*byte))
            .map_or(self.text.len(), |length| from + length)
    }

    fn line_end(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.text.as_bytes()[at..]).map_or(self.text.len(), |length| at + length)
    }

    /// `E'it\'s'` has backslashes where other quotes have none.
    fn has_backslashes_at(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or(0, |at| self.byte(at));
        let alone = at.checked_sub(2).is_none_or(|at| !is_word(self.byte(at)));
        self.dialect.has_backslashes() || (matches!(before, b'e' | b'E') && alone)
    }

    fn comment(&self, at: usize) -> (Kind, usize) {
        let mut depth = 1_usize;
        let mut from = at + 2;
        loop {
            let Some(end) = self.find(b"*/", from) else { return (Kind::Open, self.text.len()) };
            if self.dialect.nests_comments() {
                depth += memchr::memmem::find_iter(&self.text.as_bytes()[from..end], b"/*").count();
            }
            depth -= 1;
            from = end + 2;
            if depth == 0 {
                return (Kind::Comment, from);
            }
        }
    }

    /// What is quoted by `quote`, which is written twice inside.
    fn quoted(&self, at: usize, quote: u8, kind: Kind, has_backslashes: bool) -> (Kind, usize) {
        let bytes = self.text.as_bytes();
        let mut from = at + 1;
        while let Some(length) = memchr::memchr2(quote, b'\\', bytes.get(from..).unwrap_or_default()) {
            let found = from + length;
            if bytes[found] == b'\\' {
                from = found + 1 + usize::from(has_backslashes);
            } else if self.byte(found + 1) == quote {
                from = found + 2;
            } else {
                return (kind, found + 1);
            }
        }
        (Kind::Open, self.text.len())
    }

    /// `[a name]`, as opposed to `an_array[1]`.
    fn bracket(&self, at: usize) -> (Kind, usize) {
        let before = at.checked_sub(1).map_or(0, |at| self.byte(at));
        let follows_value = is_word(before) || matches!(before, b']' | b')' | b'"');
        let end = self.end_of(at + 1, |byte| is_word(byte) || matches!(byte, b' ' | b'-' | b'$' | b'#' | b'/'));
        let is_name = !follows_value && self.byte(end) == b']' && self.byte(at + 1).is_ascii_alphabetic();
        if is_name { (Kind::Name, end + 1) } else { (Kind::Mark, at + 1) }
    }

    fn dollar(&self, at: usize) -> (Kind, usize) {
        let end = self.end_of(at + 1, is_word);
        if self.byte(end) != b'$' || self.byte(at + 1).is_ascii_digit() {
            return (Kind::Mark, at + 1);
        }
        let tag = &self.text.as_bytes()[at..=end];
        self.find(tag, end + 1).map_or((Kind::Open, self.text.len()), |close| (Kind::Body, close + tag.len()))
    }

    /// `q'[text]'`
    fn oracle_quote(&self, at: usize) -> (Kind, usize) {
        let close = match self.byte(at + 2) {
            b'[' => b']',
            b'{' => b'}',
            b'(' => b')',
            b'<' => b'>',
            other => other,
        };
        self.find(&[close, b'\''], at + 3).map_or((Kind::Open, self.text.len()), |end| (Kind::Text, end + 2))
    }
}

impl Iterator for Lexer<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let bytes = self.text.as_bytes();
        let blanks = bytes.get(self.at..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let start = self.at + blanks;
        let (kind, end) = self.piece(start);
        self.at = self.text.ceil_char_boundary(end);
        Some(Piece { kind, range: start..self.at })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
