//! Telling statements apart.

use std::ops::Range;

use super::dialect::Dialect;
use super::lex::{Kind, Lexer, Piece};

/// A statement: its bytes with the comments before it, and its pieces without comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Where it lies.
    pub range: Range<usize>,
    /// What it is made of; empty where there are comments alone.
    pub pieces: Vec<Piece>,
}

/// The statements of a text, and whether its last quote or comment is closed.
pub fn split(text: &str, dialect: Dialect) -> (Vec<Statement>, bool) {
    let mut splitter = Splitter {
        text,
        dialect,
        statements: Vec::new(),
        start: None,
        pieces: Vec::new(),
        body: Body::default(),
        delimiter: ";".to_owned(),
        is_closed: true,
        no_rows_end: false,
    };
    splitter.run();
    (splitter.statements, splitter.is_closed)
}

/// What is known of the blocks of a procedure.
#[derive(Default)]
struct Body {
    /// Whether the statement may hold others.
    may_hold: bool,
    /// Whether it goes on until a block has begun and ended.
    awaits_block: bool,
    /// Whether it goes on to the end of its batch.
    takes_batch: bool,
    /// Blocks that are open.
    depth: usize,
    /// Parentheses that are open.
    parentheses: usize,
}

struct Splitter<'a> {
    text: &'a str,
    dialect: Dialect,
    statements: Vec<Statement>,
    start: Option<usize>,
    pieces: Vec<Piece>,
    body: Body,
    /// What ends a statement.
    delimiter: String,
    is_closed: bool,
    /// Whether no line after this ends the rows of a `COPY`.
    no_rows_end: bool,
}

impl Splitter<'_> {
    fn run(&mut self) {
        let mut lexer = Lexer::new(self.text, self.dialect, 0);
        let mut line_seen = 0;
        while let Some(piece) = lexer.next() {
            let Range { start, end } = piece.range;
            // A line that is a command of the client, looked at where its first piece begins.
            if start >= line_seen {
                let line = self.line(start);
                line_seen = line.end;
                if self.text[line.start..start].trim().is_empty()
                    && let Some(next) = self.command(line)
                {
                    lexer = Lexer::new(self.text, self.dialect, next);
                    continue;
                }
            }
            self.start.get_or_insert(start);
            self.is_closed &= piece.kind != Kind::Open;
            let ends = self.ends_with(&piece);
            if piece.kind != Kind::Comment && !(ends && piece.kind == Kind::Mark) {
                self.follow(&piece);
                self.pieces.push(piece);
            }
            if ends {
                let end = self.finish(start + self.delimiter.len().max(end - start));
                lexer = Lexer::new(self.text, self.dialect, end);
            }
        }
        self.end(self.text.len());
    }

    /// The line around a byte, without its end.
    fn line(&self, at: usize) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |before| before + 1);
        start..memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length)
    }

    /// Where the text goes on after a line that ends a batch or speaks to the client; `None` for any other line.
    fn command(&mut self, line: Range<usize>) -> Option<usize> {
        let words = self.text[line.clone()].trim();
        let first = words.split_ascii_whitespace().next().unwrap_or_default();
        let is_go = first.eq_ignore_ascii_case("go")
            && words[2..].trim().trim_end_matches(';').bytes().all(|byte| byte.is_ascii_digit())
            && matches!(self.dialect, Dialect::SqlServer | Dialect::Generic);
        let is_slash = words == "/" && matches!(self.dialect, Dialect::Oracle | Dialect::Generic);
        if is_go || is_slash {
            // The mark belongs to the batch that it ends.
            if self.start.is_some() {
                self.end(line.end);
            } else if let Some(last) = self.statements.last_mut() {
                last.range.end = line.end;
            }
            return Some(line.end);
        }
        if first.eq_ignore_ascii_case("delimiter") && self.pieces.is_empty() {
            let delimiter = words[first.len()..].trim();
            if !delimiter.is_empty() && delimiter.len() <= 16 {
                self.start.get_or_insert(line.start);
                delimiter.clone_into(&mut self.delimiter);
                return Some(line.end);
            }
        }
        if words.starts_with('\\') && self.pieces.is_empty() {
            self.start.get_or_insert(line.start);
            self.end(line.end);
            return Some(line.end);
        }
        None
    }

    /// Whether a piece ends the statement.
    fn ends_with(&self, piece: &Piece) -> bool {
        if piece.kind == Kind::Comment
            || piece.kind == Kind::Open
            || !self.text[piece.range.start..].starts_with(&self.delimiter)
        {
            return false;
        }
        if self.delimiter != ";" {
            return true;
        }
        let body = &self.body;
        !body.takes_batch && !body.awaits_block && body.depth == 0 && (body.parentheses == 0 || !body.may_hold)
    }

    /// Follows the blocks of a procedure.
    fn follow(&mut self, piece: &Piece) {
        let word = &self.text[piece.range.clone()];
        if piece.kind == Kind::Mark {
            match word {
                "(" => self.body.parentheses += 1,
                ")" => self.body.parentheses = self.body.parentheses.saturating_sub(1),
                _ => {}
            }
        }
        if piece.kind != Kind::Word || word.len() > 12 {
            return;
        }
        let word = word.to_ascii_uppercase();
        let count = self.pieces.len();
        let starts = |first: &str| self.pieces.first().is_some_and(|piece| self.is(piece, first));
        match word.as_str() {
            "FUNCTION" | "PROCEDURE" | "PROC" | "TRIGGER" | "PACKAGE" | "EVENT"
                if count < 12 && (starts("CREATE") || starts("ALTER")) =>
            {
                self.body.may_hold = true;
                self.body.takes_batch = self.dialect == Dialect::SqlServer && word != "EVENT";
                if word == "PACKAGE" {
                    self.body.depth += 1;
                }
            }
            "DECLARE" if count == 0 && self.dialect == Dialect::Oracle => {
                self.body.may_hold = true;
                self.body.awaits_block = true;
            }
            "IS" | "AS" if self.body.may_hold && self.body.depth == 0 && self.dialect == Dialect::Oracle => {
                self.body.awaits_block = true;
            }
            "BEGIN" if count == 0 => {
                let next = Lexer::new(self.text, self.dialect, piece.range.end).find(|next| next.kind != Kind::Comment);
                let is_transaction = next.is_none_or(|next| {
                    next.kind == Kind::Mark
                        || ["TRANSACTION", "TRAN", "WORK", "DEFERRED", "IMMEDIATE", "EXCLUSIVE", "ISOLATION", "READ"]
                            .iter()
                            .any(|word| self.is(&next, word))
                });
                if !is_transaction {
                    self.body.may_hold = true;
                    self.body.depth = 1;
                }
            }
            "BEGIN" | "CASE" if self.body.may_hold => {
                self.body.depth += 1;
                self.body.awaits_block = false;
            }
            "END" if self.body.may_hold => {
                let next = Lexer::new(self.text, self.dialect, piece.range.end).next();
                let of_other = next.is_some_and(|next| {
                    ["IF", "LOOP", "WHILE", "REPEAT", "FOR"].iter().any(|word| self.is(&next, word))
                });
                if !of_other {
                    self.body.depth = self.body.depth.saturating_sub(1);
                }
            }
            // `END CASE` closes what `CASE` opened, once.
            _ => {}
        }
        if word == "CASE" && self.pieces.last().is_some_and(|last| self.is(last, "END")) {
            self.body.depth = self.body.depth.saturating_sub(1);
        }
    }

    fn is(&self, piece: &Piece, word: &str) -> bool {
        piece.kind == Kind::Word && self.text[piece.range.clone()].eq_ignore_ascii_case(word)
    }

    /// Ends a statement after its mark at `end`, with the comment on the rest of its line and with the rows that a `COPY` brings;
    /// where the text goes on.
    fn finish(&mut self, end: usize) -> usize {
        let end = self.text.ceil_char_boundary(end.min(self.text.len()));
        let rest = &self.text[end..];
        let line_end = || memchr::memchr(b'\n', rest.as_bytes()).map_or(self.text.len(), |length| end + length);
        let has_comment = rest.trim_start_matches([' ', '\t']).starts_with("--");
        let mut after = if has_comment { line_end() } else { end };
        let copies = self.pieces.first().is_some_and(|first| self.is(first, "COPY"));
        if copies && !self.no_rows_end && self.pieces.iter().any(|piece| self.is(piece, "STDIN")) {
            let rows = line_end();
            let last = memchr::memmem::find(&self.text.as_bytes()[rows..], b"\n\\.");
            // It is looked for once in vain: with many such statements each would look through all of the text.
            self.no_rows_end = last.is_none();
            after = last.map_or(after, |last| rows + last + 3);
        }
        self.end(after);
        after
    }

    fn end(&mut self, end: usize) {
        let pieces = std::mem::take(&mut self.pieces);
        self.body = Body::default();
        if let Some(start) = self.start.take() {
            self.statements.push(Statement { range: start..end, pieces });
        }
    }
}
