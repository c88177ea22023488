//! Markdown as a parser of its blocks is given it: bounded nesting, one kind of line end.
//!
//! The engine cuts documents with such a parser and the Markdown reader finds blocks with it; what one takes for a heading the
//! other must too.

use std::borrow::Cow;

/// The most container markers (quotes and list items) that one line may open or continue.
const MARKERS_MAX: usize = 24;
/// The most columns of white space before the last marker of a line: what nests lists over many lines.
const INDENT_COLUMNS_MAX: usize = 100;

/// The text with every container marker past the bounds replaced by a letter, a `\r` that ends a line by `\n` and a
/// tab that ends one by a space, byte for byte: offsets stay.
///
/// A block parser matches each line against every open container, so a few lines that open thousands of them make
/// each later line cost thousands of steps. What lies that deep is text here. The parser in use also overlooks a
/// lone `\r` after a code fence, and a closing fence before a tab.
pub fn for_parser(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut copy: Option<Vec<u8>> = None;
    let mut replace = |at: usize, byte| copy.get_or_insert_with(|| bytes.to_vec())[at] = byte;
    let mut line = 0;
    while line < bytes.len() {
        let end = line + bytes[line..].iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(bytes.len() - line);
        if let Some(at) = marker_past_bounds(&bytes[line..end]) {
            replace(line + at, b'x');
        }
        for at in (line..end).rev().take_while(|at| matches!(bytes[*at], b' ' | b'\t')) {
            if bytes[at] == b'\t' {
                replace(at, b' ');
            }
        }
        if bytes.get(end) == Some(&b'\r') && bytes.get(end + 1) != Some(&b'\n') {
            replace(end, b'\n');
        }
        line = end + 1;
    }
    match copy {
        Some(bytes) => Cow::Owned(owned(bytes)),
        None => Cow::Borrowed(text),
    }
}

fn owned(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("ASCII bytes replaced ASCII bytes")
}

/// The offset of the first marker of `line` that is past a bound.
fn marker_past_bounds(line: &[u8]) -> Option<usize> {
    let (mut at, mut markers, mut columns) = (0, 0, 0);
    let mut rule_excluded = false;
    while let Some(&byte) = line.get(at) {
        match byte {
            b' ' | b'\t' => {
                columns += if byte == b'\t' { 4 } else { 1 };
                at += 1;
            }
            b'>' | b'-' | b'*' | b'+' | b'0'..=b'9' => {
                let length = marker_length(&line[at..])?;
                if byte != b'>' && !rule_excluded {
                    if is_rule(&line[at..]) {
                        return None;
                    }
                    rule_excluded = true;
                }
                markers += 1;
                if markers > MARKERS_MAX || columns > INDENT_COLUMNS_MAX {
                    return Some(at);
                }
                at += length;
            }
            _ => return None,
        }
    }
    None
}

/// The length of the container marker that `rest` starts with.
fn marker_length(rest: &[u8]) -> Option<usize> {
    let length = match rest[0] {
        b'>' => return Some(1),
        b'-' | b'*' | b'+' => 1,
        _ => {
            let digits = rest.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
            if digits > 9 || !matches!(rest.get(digits), Some(b'.' | b')')) {
                return None;
            }
            digits + 1
        }
    };
    matches!(rest.get(length), None | Some(b' ' | b'\t')).then_some(length)
}

/// Whether `rest` is a thematic break, such as `* * *`, rather than list markers.
fn is_rule(rest: &[u8]) -> bool {
    let mark = rest[0];
    matches!(mark, b'-' | b'*')
        && rest.iter().all(|b| *b == mark || matches!(b, b' ' | b'\t'))
        && rest.iter().filter(|b| **b == mark).take(3).count() == 3
}
