//! Text to words, numbers, marks and sentences.

use std::borrow::Cow;
use std::iter::Peekable;

/// The most tokens of a sentence; a longer one is read in parts.
const SENTENCE_TOKENS_MAX: usize = 256;
/// Marks that part clauses; so does a dash that stands alone.
const CLAUSE_MARKS: [&str; 9] = [",", ";", ":", "(", ")", "\u{2013}", "\u{2014}", "\u{2192}", "="];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, with apostrophes among them.
    Word,
    /// Digits of ASCII.
    Number,
    /// Any other character, or an address.
    Mark,
}

#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    /// In lower case, with plain apostrophes. Empty for an address.
    pub text: Cow<'a, str>,
    pub kind: Kind,
    /// Whether it stands right behind the token before it.
    pub glued: bool,
}

impl Token<'_> {
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub fn is_any(&self, texts: &[&str]) -> bool {
        texts.contains(&self.text.as_ref())
    }

    /// The value of a number of at most `digits_max` digits.
    pub fn number(&self, digits_max: usize) -> Option<u32> {
        let fits = self.kind == Kind::Number && self.text.len() <= digits_max;
        fits.then(|| self.text.parse().ok()).flatten()
    }
}

/// The tokens of a text. The target of a Markdown link is part of its bracket, and an address is one mark.
pub(super) fn tokens(text: &str) -> Tokens<'_> {
    Tokens { text, at: 0 }
}

pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        let glued = start == self.at && start > 0;
        let first = rest.chars().next()?;
        if first.is_ascii_digit() {
            return Some(self.take(start, run(rest, |char| char.is_ascii_digit()), Kind::Number, glued));
        }
        if first.is_alphanumeric() {
            let length = word_length(rest);
            if rest[length..].starts_with("://") {
                self.at = start + run(rest, |char| !char.is_whitespace() && !matches!(char, ')' | ']' | '>'));
                return Some(Token { text: Cow::Borrowed(""), kind: Kind::Mark, glued });
            }
            return Some(self.take(start, length, Kind::Word, glued));
        }
        let mark = self.take(start, first.len_utf8(), Kind::Mark, glued);
        if rest.starts_with("](") {
            let target = run(rest, |char| !char.is_whitespace() && char != ')');
            self.at = start + target + usize::from(rest[target..].starts_with(')'));
        }
        Some(mark)
    }
}

impl<'a> Tokens<'a> {
    fn take(&mut self, start: usize, length: usize, kind: Kind, glued: bool) -> Token<'a> {
        self.at = start + length;
        let slice = &self.text[start..self.at];
        let is_lower = slice.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let text =
            if is_lower { Cow::Borrowed(slice) } else { Cow::Owned(slice.to_lowercase().replace('\u{2019}', "'")) };
        Token { text, kind, glued }
    }
}

/// The length of the start of `text` whose characters all satisfy `is_in`.
fn run(text: &str, is_in: impl Fn(char) -> bool) -> usize {
    text.find(|char| !is_in(char)).unwrap_or(text.len())
}

/// The length of the word that `text` starts with: an apostrophe belongs to it when a letter follows.
fn word_length(text: &str) -> usize {
    let is_letter = |char: char| char.is_alphanumeric() && !char.is_ascii_digit();
    let mut length = run(text, is_letter);
    loop {
        let after = &text[length..];
        let Some(apostrophe) = after.chars().next().filter(|char| matches!(char, '\'' | '\u{2019}')) else { break };
        let letters = run(&after[apostrophe.len_utf8()..], is_letter);
        if letters == 0 {
            break;
        }
        length += apostrophe.len_utf8() + letters;
    }
    length
}

/// A sentence, or a part of a very long one.
pub(super) struct Sentence<'a> {
    pub tokens: Vec<Token<'a>>,
    /// Whether it ends with a question mark.
    pub asks: bool,
}

impl Sentence<'_> {
    /// Words and numbers in order, with "," for each mark that parts clauses.
    pub fn words(&self) -> Vec<&str> {
        let mut words = Vec::with_capacity(self.tokens.len());
        for token in &self.tokens {
            if token.kind != Kind::Mark {
                words.push(token.text.as_ref());
            } else if token.is_any(&CLAUSE_MARKS) || token.is("-") && !token.glued {
                words.push(",");
            }
        }
        words
    }
}

/// The sentences of a block of text. Lines do not end them, nor do points behind a single letter, as in "i.e.".
pub(super) fn sentences(text: &str) -> Sentences<'_> {
    Sentences { tokens: tokens(text).peekable() }
}

pub(super) struct Sentences<'a> {
    tokens: Peekable<Tokens<'a>>,
}

impl<'a> Iterator for Sentences<'a> {
    type Item = Sentence<'a>;

    fn next(&mut self) -> Option<Sentence<'a>> {
        let mut sentence = Sentence { tokens: Vec::new(), asks: false };
        while let Some(token) = self.tokens.next() {
            let before = sentence.tokens.last();
            let abbreviates =
                token.is(".") && before.is_some_and(|last| last.kind == Kind::Word && last.text.len() == 1);
            let ends = !abbreviates
                && token.is_any(&[".", "!", "?", "\u{2026}"])
                && self.tokens.peek().is_none_or(|next| !next.glued || next.kind == Kind::Mark);
            sentence.asks |= ends && token.is("?");
            sentence.tokens.push(token);
            if ends {
                self.closing(&mut sentence);
                return Some(sentence);
            }
            if sentence.tokens.len() == SENTENCE_TOKENS_MAX {
                return Some(sentence);
            }
        }
        (!sentence.tokens.is_empty()).then_some(sentence)
    }
}

impl<'a> Sentences<'a> {
    /// Takes what closes a sentence: further points, quotes, brackets, emphasis.
    fn closing(&mut self, sentence: &mut Sentence<'a>) {
        let closes = |token: &Token<'a>| {
            token.glued
                && token.is_any(&[".", "!", "?", ")", "]", "\"", "'", "\u{201d}", "\u{2019}", "*", "_", "`", "~"])
        };
        while sentence.tokens.len() < SENTENCE_TOKENS_MAX
            && let Some(token) = self.tokens.next_if(closes)
        {
            sentence.asks |= token.is("?");
            sentence.tokens.push(token);
        }
    }
}
