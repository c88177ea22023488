//! The tables and columns that the statements of an SQL file create.

use super::Definition;

/// What a column list has beside columns.
const CONSTRAINTS: [&str; 15] = [
    "constraint",
    "primary",
    "foreign",
    "unique",
    "key",
    "index",
    "check",
    "exclude",
    "like",
    "fulltext",
    "spatial",
    "period",
    "projection",
    "partition",
    "supplemental",
];

#[derive(PartialEq)]
enum Token<'a> {
    /// A word or a quoted name.
    Name(&'a str),
    Sign(u8),
}

/// The tables (each by its whole name and, where that is qualified, by its last part) and the columns.
pub fn definitions(text: &str) -> (Vec<Definition>, Vec<Definition>) {
    let tokens = tokens(text);
    let word = |at: usize| match tokens.get(at) {
        Some((_, Token::Name(name))) => name.to_lowercase(),
        Some((_, Token::Sign(_))) | None => String::new(),
    };
    let (mut tables, mut columns) = (Vec::new(), Vec::new());
    for create in (0..tokens.len()).filter(|at| word(*at) == "create") {
        let kind = (create + 1..create + 5).take_while(|at| !word(*at).is_empty()).find(|at| word(*at) == "table");
        let Some(mut at) = kind.map(|table| table + 1) else { continue };
        if (word(at).as_str(), word(at + 1).as_str(), word(at + 2).as_str()) == ("if", "not", "exists") {
            at += 3;
        }
        let start = at;
        let mut parts = Vec::new();
        while let Some((_, Token::Name(name))) = tokens.get(at) {
            parts.push(*name);
            at += 1;
            if !matches!(tokens.get(at), Some((_, Token::Sign(b'.')))) {
                break;
            }
            at += 1;
        }
        let Some((offset, _)) = tokens.get(start).filter(|_| !parts.is_empty()) else { continue };
        tables.push(Definition { name: parts.join("."), offset: *offset });
        if parts.len() > 1 {
            tables.push(Definition { name: parts[parts.len() - 1].to_owned(), offset: *offset });
        }
        columns_from(&tokens, at, &mut columns);
    }
    (tables, columns)
}

/// The columns of the list that opens at `at`.
fn columns_from(tokens: &[(usize, Token<'_>)], at: usize, columns: &mut Vec<Definition>) {
    let (mut depth, mut begins) = (0, false);
    for (offset, token) in tokens.iter().skip(at) {
        match token {
            Token::Sign(b'(') => (depth, begins) = (depth + 1, depth == 0),
            Token::Sign(b')') if depth <= 1 => return,
            Token::Sign(b')') => depth -= 1,
            Token::Sign(b',') if depth == 1 => begins = true,
            Token::Name(name) if begins => {
                begins = false;
                if !CONSTRAINTS.contains(&name.to_lowercase().as_str()) {
                    columns.push(Definition { name: (*name).to_owned(), offset: *offset });
                }
            }
            Token::Sign(_) | Token::Name(_) if depth == 0 => return,
            Token::Sign(_) | Token::Name(_) => {}
        }
    }
}

/// The names and signs with where they start, without comments, strings and dollar-quoted bodies.
fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let bytes = text.as_bytes();
    let end_of = |from: usize, mark: &str| text[from..].find(mark).map_or(text.len(), |at| from + at + mark.len());
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or(' ');
        if rest.starts_with("--") {
            at = end_of(at, "\n");
        } else if rest.starts_with("/*") {
            at = end_of(at, "*/");
        } else if rest.starts_with("$$") {
            at = end_of(at + 2, "$$");
        } else if first == '\'' {
            at = end_of(at + 1, "'");
        } else if let Some(close) = match first {
            '"' => Some("\""),
            '`' => Some("`"),
            '[' => Some("]"),
            _ => None,
        } {
            let end = end_of(at + 1, close);
            let name = text.get(at + 1..end - 1).unwrap_or_default();
            if name.is_empty() || name.contains('\n') {
                at += 1;
            } else {
                tokens.push((at + 1, Token::Name(name)));
                at = end;
            }
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(rest.len());
            tokens.push((at, Token::Name(&rest[..length])));
            at += length;
        } else {
            if first.is_ascii_punctuation() {
                tokens.push((at, Token::Sign(bytes[at])));
            }
            at += first.len_utf8();
        }
    }
    tokens
}
