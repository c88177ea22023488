//! The names in a statement.

use std::collections::HashSet;

use super::dialect::Dialect;
use super::lex::{Kind, Lexer, Piece};
use super::words::{is_everyday, is_reserved};

/// The most names of one statement.
pub const NAMES_MAX: usize = 2000;
/// A longer name is left out.
const NAME_BYTES_MAX: usize = 256;

/// The names in a statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Tables, views, indexes and functions, with their schema and without, and columns, each once, in order.
    pub names: Vec<String>,
    /// Whether there were more.
    pub is_cut: bool,
}

/// The names that a statement creates, reads or writes.
pub fn of(text: &str, pieces: &[Piece], dialect: Dialect) -> Names {
    let mut reader =
        Reader { text, pieces, dialect, at: 0, found: Names::default(), known: HashSet::new(), hidden: HashSet::new() };
    reader.statement(true);
    reader.found
}

struct Reader<'a> {
    text: &'a str,
    pieces: &'a [Piece],
    dialect: Dialect,
    at: usize,
    found: Names,
    known: HashSet<String>,
    /// Names that stand for others inside the statement: aliases and common table expressions.
    hidden: HashSet<String>,
}

impl<'a> Reader<'a> {
    fn statement(&mut self, reads_bodies: bool) {
        self.hide_expressions();
        let has_columns = self.has_columns();
        let makes_table = self.makes_table();
        // For each open parenthesis, whether `FROM` inside it belongs to a function.
        let mut calls: Vec<bool> = Vec::new();
        let mut in_from: Vec<bool> = vec![false];
        while let Some(piece) = self.pieces.get(self.at) {
            let word = &self.text[piece.range.clone()];
            match piece.kind {
                Kind::Mark if word == "(" => {
                    calls.push(
                        self.at > 0
                            && self.is_any(self.at - 1, &["EXTRACT", "SUBSTRING", "TRIM", "OVERLAY", "POSITION"]),
                    );
                    in_from.push(false);
                    self.at += 1;
                }
                Kind::Mark if word == ")" => {
                    calls.pop();
                    if in_from.len() > 1 {
                        in_from.pop();
                    }
                    self.at += 1;
                }
                Kind::Mark if word == "," && in_from.last() == Some(&true) => {
                    self.at += 1;
                    self.table(false);
                }
                Kind::Mark if word == ":" && self.mark(self.at + 1) == ":" => self.at += 3,
                Kind::Word if is_reserved(word) || self.is_opening(word) => {
                    let in_call = calls.last() == Some(&true);
                    if let Some(from) = in_from.last_mut() {
                        *from = *from && matches!(word.to_ascii_uppercase().as_str(), "AS" | "ON" | "ONLY" | "LATERAL")
                            || (word.eq_ignore_ascii_case("FROM") && !in_call);
                    }
                    self.keyword(word, in_call, makes_table);
                }
                Kind::Word | Kind::Name if has_columns => self.expression(),
                Kind::Body if reads_bodies => {
                    self.body(piece);
                    self.at += 1;
                }
                Kind::Word
                | Kind::Name
                | Kind::Text
                | Kind::Body
                | Kind::Number
                | Kind::Comment
                | Kind::Mark
                | Kind::Open => self.at += 1,
            }
        }
    }

    /// Words that are no keywords everywhere but here begin a statement or name what it makes.
    fn is_opening(&self, word: &str) -> bool {
        let may_open = ["COPY", "SEQUENCE", "SCHEMA", "TYPE", "PACKAGE", "DICTIONARY", "EVENT"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(word));
        may_open && (self.at == 0 || self.is_any(0, &["CREATE", "ALTER", "DROP", "COMMENT"]) && self.at < 6)
    }

    /// Does what a keyword says of the names behind it.
    fn keyword(&mut self, word: &str, in_call: bool, makes_table: bool) {
        let before = self.at.checked_sub(1);
        let follows = |words: &[&str]| before.is_some_and(|before| self.is_any(before, words));
        let is_first = self.at == 0;
        let begins = |words: &[&str]| self.is_any(0, words);
        let upper = word.to_ascii_uppercase();
        let definition = begins(&["CREATE", "ALTER", "DROP", "COMMENT", "REPLACE", "TRUNCATE"]) && self.at < 8;
        let names = match upper.as_str() {
            "FROM" => !in_call && !follows(&["DISTINCT"]),
            "JOIN" | "INTO" | "REFERENCES" | "OVERWRITE" => true,
            "UPDATE" => !follows(&["FOR", "ON", "KEY", "OR", "THEN", "BEFORE", "AFTER", "NO", ","]),
            "TABLE" | "VIEW" | "INDEX" | "FUNCTION" | "PROCEDURE" | "TRIGGER" | "SEQUENCE" | "SCHEMA" | "DATABASE"
            | "TYPE" | "PACKAGE" | "DICTIONARY" | "EVENT" | "CURSOR" => {
                definition || (upper == "TABLE" && (is_first || follows(&["LOCK", "INSERT", "OVERWRITE", "INTO"])))
            }
            "COPY" | "CALL" | "EXEC" | "EXECUTE" | "DESCRIBE" | "TRUNCATE" => is_first,
            "ON" => {
                begins(&["CREATE", "DROP", "COMMENT", "ALTER", "GRANT", "REVOKE"])
                    && !self.has_before(&["SELECT", "JOIN", "FROM"])
            }
            "USING" => begins(&["MERGE"]),
            "COLUMN" | "ADD" | "CONSTRAINT" => {
                self.at += 1;
                if self.is_any(0, &["ALTER"]) && upper != "CONSTRAINT" {
                    self.added_column();
                } else if upper == "CONSTRAINT" && self.name_at(self.at).is_some() {
                    self.at += 1;
                }
                return;
            }
            "AS" => {
                self.at += 1;
                self.alias();
                return;
            }
            "VALUES" if begins(&["INSERT", "REPLACE"]) => return self.skip_values(),
            _ => false,
        };
        self.at += 1;
        if names {
            let lists =
                matches!(upper.as_str(), "INTO" | "OVERWRITE") || (upper == "TABLE" && makes_table) || upper == "COPY";
            self.table(lists && upper != "TABLE");
            if upper == "TABLE" && makes_table {
                self.definitions();
            }
        }
    }

    /// Reads the name of a table or another thing that has one, with the columns in parentheses behind it where `lists`.
    fn table(&mut self, lists: bool) {
        while self.is_any(
            self.at,
            &["IF", "NOT", "EXISTS", "ONLY", "LATERAL", "TABLE", "CONCURRENTLY", "OR", "REPLACE", "COLUMN"],
        ) {
            self.at += 1;
        }
        if self.is_any(self.at, &["STDIN", "STDOUT", "CLUSTER"]) {
            return;
        }
        let Some((full, last)) = self.qualified() else { return };
        if !self.hidden.contains(&last.to_ascii_lowercase()) || full != last {
            self.add(&full);
            self.add(&last);
        }
        if self.is_any(self.at, &["AS"]) {
            self.at += 1;
        }
        if let Some(alias) = self.name_at(self.at)
            && !lists
        {
            self.hidden.insert(alias.to_ascii_lowercase());
            self.at += 1;
        }
        if lists && self.mark(self.at) == "(" {
            self.at += 1;
            while let Some(column) = self.name_at(self.at) {
                self.add(&column);
                self.at += 1;
                if self.mark(self.at) != "," {
                    break;
                }
                self.at += 1;
            }
        }
    }

    /// `a.b.c` as it is written without quotes, and `c`.
    fn qualified(&mut self) -> Option<(String, String)> {
        let mut last = self.name_at(self.at)?;
        let mut full = last.clone();
        self.at += 1;
        while self.mark(self.at) == "." {
            let Some(part) = self.name_at(self.at + 1).or_else(|| self.word_at(self.at + 1)) else { break };
            full.push('.');
            full.push_str(&part);
            last = part;
            self.at += 2;
            if full.len() > NAME_BYTES_MAX {
                break;
            }
        }
        Some((full, last))
    }

    /// The columns of a table that is made: the first name of each definition.
    fn definitions(&mut self) {
        if self.mark(self.at) != "(" {
            return;
        }
        let mut depth = 0_usize;
        let mut is_start = false;
        while let Some(piece) = self.pieces.get(self.at) {
            match self.mark(self.at) {
                "(" => {
                    depth += 1;
                    is_start = depth == 1;
                }
                ")" => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                "," => is_start = depth == 1,
                _ => {
                    if is_start
                        && !self.is_any(
                            self.at,
                            &[
                                "CONSTRAINT",
                                "PRIMARY",
                                "FOREIGN",
                                "UNIQUE",
                                "CHECK",
                                "KEY",
                                "INDEX",
                                "EXCLUDE",
                                "LIKE",
                                "PERIOD",
                                "FULLTEXT",
                                "SPATIAL",
                                "PROJECTION",
                            ],
                        )
                        && let Some(column) = self.name_at(self.at)
                    {
                        self.add(&column);
                    } else if is_start && self.is_any(self.at, &["CONSTRAINT"]) {
                        self.at += 1;
                    } else if piece.kind == Kind::Word && self.is_any(self.at, &["REFERENCES"]) {
                        self.at += 1;
                        if let Some((full, last)) = self.qualified() {
                            self.add(&full);
                            self.add(&last);
                        }
                        continue;
                    }
                    is_start = false;
                }
            }
            self.at += 1;
        }
    }

    /// The column behind `ADD` or `COLUMN`.
    fn added_column(&mut self) {
        while self.is_any(self.at, &["COLUMN", "IF", "NOT", "EXISTS"]) {
            self.at += 1;
        }
        let is_other =
            self.is_any(self.at, &["CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "INDEX", "KEY", "PARTITION"]);
        if !is_other && let Some(column) = self.name_at(self.at) {
            self.add(&column);
            self.at += 1;
        }
    }

    /// The name behind `AS`: what a value is called, except where a view gives it to its column, or what a query is called.
    fn alias(&mut self) {
        let Some(name) = self.name_at(self.at) else { return };
        if self.mark(self.at + 1) == "." {
            return;
        }
        let makes = self.is_any(0, &["CREATE"]);
        if makes && self.mark(self.at + 1) != "(" {
            self.add(&name);
        }
        self.hidden.insert(name.to_ascii_lowercase());
        self.at += 1;
    }

    /// Goes past rows of values: they name nothing.
    fn skip_values(&mut self) {
        self.at += 1;
        while self.at < self.pieces.len() && !self.is_any(self.at, &["ON", "RETURNING", "SELECT", "AS"]) {
            self.at += 1;
        }
    }

    /// A name inside an expression: a column, or a function.
    fn expression(&mut self) {
        let before = self.at.checked_sub(1).and_then(|before| self.pieces.get(before));
        let follows_value = before.is_some_and(|before| {
            matches!(before.kind, Kind::Name | Kind::Text | Kind::Number)
                || (before.kind == Kind::Word && !is_reserved(&self.text[before.range.clone()]))
                || &self.text[before.range.clone()] == ")"
        });
        let Some((full, last)) = self.qualified() else {
            self.at += 1;
            return;
        };
        if self.mark(self.at) == "(" {
            if !is_everyday(&full) && !follows_value {
                self.add(&full);
            }
        } else if self.mark(self.at) == "." || self.mark(self.at.wrapping_sub(1)) == "." || follows_value {
            self.hidden.insert(last.to_ascii_lowercase());
        } else if full != last || !self.hidden.contains(&last.to_ascii_lowercase()) {
            self.add(&last);
        }
    }

    /// The tables in the body of a function.
    fn body(&mut self, piece: &Piece) {
        let quoted = &self.text[piece.range.clone()];
        let tag = quoted[1..].find('$').map_or(1, |at| at + 2);
        let Some(inner) = quoted.get(tag..quoted.len().saturating_sub(tag)) else { return };
        let pieces: Vec<Piece> =
            Lexer::new(inner, self.dialect, 0).filter(|piece| piece.kind != Kind::Comment).collect();
        for statement in pieces.split(|piece| piece.kind == Kind::Mark && &inner[piece.range.clone()] == ";") {
            let found = std::mem::take(&mut self.found);
            let known = std::mem::take(&mut self.known);
            let mut reader = Reader {
                text: inner,
                pieces: statement,
                dialect: self.dialect,
                at: 0,
                found,
                known,
                hidden: HashSet::new(),
            };
            reader.statement(false);
            (self.found, self.known) = (reader.found, reader.known);
        }
    }

    /// Remembers the names of common table expressions.
    fn hide_expressions(&mut self) {
        for at in 0..self.pieces.len().saturating_sub(2) {
            if self.is_any(at + 1, &["AS"])
                && self.mark(at + 2) == "("
                && (at > 0 && (self.is_any(at - 1, &["WITH", "RECURSIVE"]) || self.mark(at - 1) == ","))
                && let Some(name) = self.name_at(at)
            {
                self.hidden.insert(name.to_ascii_lowercase());
            }
        }
    }

    /// Whether the names in its expressions are columns.
    fn has_columns(&self) -> bool {
        self.is_any(0, &["SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "FROM"])
            || self.mark(0) == "("
            || (self.is_any(0, &["CREATE"]) && (0..8).any(|at| self.is_any(at, &["VIEW", "INDEX"])))
    }

    fn makes_table(&self) -> bool {
        self.is_any(0, &["CREATE", "REPLACE"]) && (0..8).any(|at| self.is_any(at, &["TABLE"]))
    }

    fn has_before(&self, words: &[&str]) -> bool {
        (0..self.at.min(200)).any(|at| self.is_any(at, words))
    }

    fn add(&mut self, name: &str) {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.starts_with('@') || self.known.contains(name) {
            return;
        }
        if self.found.names.len() >= NAMES_MAX {
            self.found.is_cut = true;
            return;
        }
        self.known.insert(name.to_owned());
        self.found.names.push(name.to_owned());
    }

    /// The name at a place, without its quotes; `None` for a reserved word and for anything else.
    fn name_at(&self, at: usize) -> Option<String> {
        let piece = self.pieces.get(at)?;
        let text = &self.text[piece.range.clone()];
        match piece.kind {
            Kind::Name => {
                let inside = text.get(1..text.len() - 1)?;
                Some(match text.as_bytes()[0] {
                    b'"' => inside.replace("\"\"", "\""),
                    b'`' => inside.replace("``", "`"),
                    _ => inside.to_owned(),
                })
            }
            Kind::Word => (!is_reserved(text)).then(|| text.to_owned()),
            Kind::Text | Kind::Body | Kind::Number | Kind::Comment | Kind::Mark | Kind::Open => None,
        }
    }

    fn word_at(&self, at: usize) -> Option<String> {
        let piece = self.pieces.get(at).filter(|piece| piece.kind == Kind::Word)?;
        Some(self.text[piece.range.clone()].to_owned())
    }

    fn mark(&self, at: usize) -> &'a str {
        self.pieces.get(at).filter(|piece| piece.kind == Kind::Mark).map_or("", |piece| &self.text[piece.range.clone()])
    }

    fn is_any(&self, at: usize, words: &[&str]) -> bool {
        self.pieces.get(at).is_some_and(|piece| {
            piece.kind == Kind::Word
                && words.iter().any(|word| self.text[piece.range.clone()].eq_ignore_ascii_case(word))
        })
    }
}
