//! One line of plain text within a bound.

use unicode_segmentation::UnicodeSegmentation;

/// `text` with runs of white space and control characters as one space, none at its ends, and at most `bytes_max`
/// bytes of it, cut on a grapheme border (inside a grapheme only when the first alone is longer).
pub(super) fn one_line(text: &str, bytes_max: usize) -> String {
    let mut line = String::new();
    let mut gap = false;
    for char in text.chars() {
        if char.is_whitespace() || char.is_control() {
            gap = !line.is_empty();
            continue;
        }
        if gap {
            line.push(' ');
            gap = false;
        }
        line.push(char);
        if line.len() > bytes_max {
            let cut = head(&line, bytes_max).trim_end().len();
            line.truncate(cut);
            break;
        }
    }
    line
}

/// The longest start of `text` of at most `bytes_max` bytes that ends on a grapheme border; when not even one
/// grapheme fits, on a character border.
pub(super) fn head(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let limit = text.floor_char_boundary(bytes_max);
    let seen = text[limit..].chars().next().map_or(limit, |next| limit + next.len_utf8());
    let whole = text[..seen].grapheme_indices(true).map(|(at, _)| at).take_while(|at| *at <= limit).last();
    &text[..whole.filter(|at| *at > 0).unwrap_or(limit)]
}
