//! A text whose nesting is bounded.

use std::borrow::Cow;

/// The most container markers (quotes and list items) that one line may open or continue.
const MARKERS_MAX: usize = 24;
/// The most columns of blanks before a marker.
const INDENT_COLUMNS_MAX: usize = 100;

/// The text with the first container marker past the bounds on each line replaced by a letter, byte for byte.
///
/// A block parser matches each line against all containers that are open, so that a few lines that open thousands of them
/// make each later line cost thousands of steps.
pub fn bounded(text: &str) -> Cow<'_, str> {
    let mut copy: Option<Vec<u8>> = None;
    let mut start = 0;
    for line in text.as_bytes().split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        if let Some(at) = past_bounds(line) {
            copy.get_or_insert_with(|| text.as_bytes().to_vec())[start + at] = b'x';
        }
        start += line.len();
    }
    let bounded = copy.map(|bytes| String::from_utf8(bytes).expect("ASCII bytes replaced ASCII bytes"));
    bounded.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The place of the first marker of `line` that is past a bound.
fn past_bounds(line: &[u8]) -> Option<usize> {
    let (mut at, mut markers, mut columns) = (0, 0, 0);
    loop {
        let rest = &line[at..];
        let length = match *rest.first()? {
            b' ' | b'>' => 1,
            b'\t' => {
                columns += 3;
                1
            }
            b'-' | b'*' | b'+' => followed_by_blank(rest, 1)?,
            b'0'..=b'9' => {
                let digits = rest.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
                rest.get(digits).filter(|byte| matches!(byte, b'.' | b')'))?;
                followed_by_blank(rest, digits + 1)?
            }
            _ => return None,
        };
        if matches!(rest[0], b' ' | b'\t') {
            columns += 1;
        } else {
            markers += 1;
            if markers > MARKERS_MAX || columns > INDENT_COLUMNS_MAX {
                return (!is_rule(line)).then_some(at);
            }
        }
        at += length;
    }
}

fn followed_by_blank(rest: &[u8], length: usize) -> Option<usize> {
    matches!(rest.get(length), None | Some(b' ' | b'\t' | b'\n' | b'\r')).then_some(length)
}

/// Whether a line is a thematic break, such as `* * *`.
fn is_rule(line: &[u8]) -> bool {
    let mut marks = line.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|byte| Some(byte) == first)
}
