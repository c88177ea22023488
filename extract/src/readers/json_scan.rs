//! JSON piece by piece: nothing is built, nothing recurses.

use std::ops::Range;

/// A piece of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// `{` or `[`.
    Open { at: usize, is_object: bool },
    /// `}` or `]`.
    Close { at: usize },
    /// The name of the value that follows, with its quotes.
    Key(Range<usize>),
    /// A string with its quotes, a number, or one of the three words.
    Scalar(Range<usize>),
}

/// Where a text is no JSON, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The byte.
    pub at: usize,
    /// What is wrong there.
    pub problem: &'static str,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value, or the end of an array that has just begun.
    FirstItem,
    Key,
    /// A key, or the end of an object that has just begun.
    FirstKey,
    CommaOrEnd,
    Nothing,
}

/// Reads one JSON value, and nothing but blanks behind it.
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
    expect: Expect,
    /// For each open bracket, whether it is an object's.
    open: Vec<bool>,
}

impl<'a> Scanner<'a> {
    /// At the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, expect: Expect::Value, open: Vec::new() }
    }

    fn fault<T>(&self, problem: &'static str) -> Result<T, Fault> {
        Err(Fault { at: self.at, problem })
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    /// The next piece; `None` at the end of a value that is whole.
    ///
    /// # Errors
    /// [`Fault`]; nothing can be read behind it.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Fault> {
        self.skip_blanks();
        let Some(byte) = self.text.as_bytes().get(self.at).copied() else {
            return if self.expect == Expect::Nothing { Ok(None) } else { self.fault("it ends too early") };
        };
        match (self.expect, byte) {
            (Expect::Nothing, _) => self.fault("there is something behind its end"),
            (Expect::CommaOrEnd, b',') => {
                self.at += 1;
                self.expect = if self.open.last() == Some(&true) { Expect::Key } else { Expect::Value };
                self.next_piece()
            }
            (Expect::CommaOrEnd | Expect::FirstKey, b'}') if self.open.last() == Some(&true) => Ok(Some(self.close())),
            (Expect::CommaOrEnd | Expect::FirstItem, b']') if self.open.last() == Some(&false) => {
                Ok(Some(self.close()))
            }
            (Expect::CommaOrEnd, _) => self.fault("a comma or a closing bracket is missing"),
            (Expect::Key | Expect::FirstKey, b'"') => {
                let key = self.string()?;
                self.skip_blanks();
                if self.text.as_bytes().get(self.at) != Some(&b':') {
                    return self.fault("a colon is missing");
                }
                self.at += 1;
                self.expect = Expect::Value;
                Ok(Some(Piece::Key(key)))
            }
            (Expect::Key | Expect::FirstKey, _) => self.fault("a key in double quotes is missing"),
            (Expect::Value | Expect::FirstItem, b'{' | b'[') => {
                let is_object = byte == b'{';
                self.open.push(is_object);
                self.expect = if is_object { Expect::FirstKey } else { Expect::FirstItem };
                self.at += 1;
                Ok(Some(Piece::Open { at: self.at - 1, is_object }))
            }
            (Expect::Value | Expect::FirstItem, b'"') => {
                let range = self.string()?;
                Ok(Some(self.scalar(range)))
            }
            (Expect::Value | Expect::FirstItem, _) => self.plain(),
        }
    }

    fn close(&mut self) -> Piece {
        self.open.pop();
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
        self.at += 1;
        Piece::Close { at: self.at }
    }

    fn scalar(&mut self, range: Range<usize>) -> Piece {
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
        Piece::Scalar(range)
    }

    fn string(&mut self) -> Result<Range<usize>, Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start + 1;
        while let Some(length) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
            if bytes[at + length] == b'"' {
                self.at = at + length + 1;
                return Ok(start..self.at);
            }
            at += length + 2;
        }
        self.fault("a string is never closed")
    }

    fn plain(&mut self) -> Result<Option<Piece>, Fault> {
        let rest = &self.text.as_bytes()[self.at..];
        let length =
            rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')).count();
        let word = &self.text[self.at..self.at + length];
        let is_value = matches!(word, "true" | "false" | "null" | "NaN" | "Infinity" | "-Infinity")
            || word.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_value {
            return self.fault("a value is missing");
        }
        self.at += length;
        Ok(Some(self.scalar(self.at - length..self.at)))
    }
}

/// The characters of a string in quotes; what it holds as it is where it is not valid.
pub fn unquoted(text: &str) -> String {
    serde_json::from_str(text)
        .unwrap_or_else(|_| text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned())
}
