//! Lines, list items and paragraphs of a section's text.

/// The paragraphs and list items of a text, without the markers that start them. None is blank.
pub(super) fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return None;
            }
            let end = end_of_first(rest);
            let block = Block::of(&rest[..end]);
            rest = &rest[end..];
            if !block.text.is_empty() {
                return Some(block);
            }
        }
    })
}

#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    /// Without its marker and check box, and without white space at its ends.
    pub text: &'a str,
    /// Whether it starts with a ticked check box.
    pub is_ticked: bool,
}

impl<'a> Block<'a> {
    fn of(text: &'a str) -> Self {
        let text = unmarked(text);
        let ticked = ["[x]", "[X]", "\u{2611}", "\u{2705}"].iter().find_map(|mark| text.strip_prefix(mark));
        let open = || ["[ ]", "\u{2610}"].iter().find_map(|mark| text.strip_prefix(mark));
        let is_ticked = ticked.is_some();
        Self { text: ticked.or_else(open).unwrap_or(text).trim(), is_ticked }
    }
}

/// Whether text ends with a colon: what follows is what it is about.
pub(super) fn announces(text: &str) -> bool {
    text.trim_end_matches(['*', '_', ' ']).ends_with(':')
}

/// Where the block that `text` starts with ends: before a blank line, before a line that starts another, and after
/// one that ends with a colon.
fn end_of_first(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim();
        let starts_another = marker_length(inner) > 0 || inner.starts_with(['|', '#']) || inner.starts_with("```");
        if at > 0 && (inner.is_empty() || starts_another) {
            break;
        }
        at += line.len();
        if announces(inner) {
            break;
        }
    }
    at
}

/// `text` without quote and list markers.
pub(super) fn unmarked(text: &str) -> &str {
    let quoted = text.trim_start_matches(|char: char| char == '>' || char.is_whitespace());
    quoted[marker_length(quoted)..].trim()
}

/// The length of the list marker that `line` starts with.
fn marker_length(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = &line[digits..];
    let signs: &[char] = if digits == 0 { &['-', '*', '+', '\u{2022}'] } else { &['.', ')'] };
    let Some(sign) = after.chars().next().filter(|char| signs.contains(char)) else { return 0 };
    let length = digits + sign.len_utf8();
    if line[length..].starts_with([' ', '\t']) { length } else { 0 }
}
