//! Where a text may be cut, and how well.

use unicode_segmentation::UnicodeSegmentation;

use super::outline::{Zone, ZoneKind};

/// How good a place to cut is; the greater the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    /// Between two graphemes.
    Grapheme,
    /// After punctuation inside a word, such as a URL or minified code.
    Punctuation,
    /// Between two words.
    Word,
    /// Between two lines, such as rows of a table or lines of code.
    Line,
    /// Between two sentences or list items.
    Sentence,
    /// Between two paragraphs or other blocks.
    Block,
}

/// Looks for borders in a text whose zones are known.
pub(super) struct Borders<'a> {
    text: &'a str,
    zones: &'a [Zone],
}

impl<'a> Borders<'a> {
    pub fn new(text: &'a str, zones: &'a [Zone]) -> Self {
        Self { text, zones }
    }

    /// The best border in `lo..=hi`, the last of equals. Without any, the last one after `from`; `None` when one
    /// grapheme reaches from `from` past `hi`.
    ///
    /// `from` is a grapheme border before `lo`, and at most a window before it: what lies between may be read.
    pub fn best(&self, from: usize, lo: usize, hi: usize) -> Option<usize> {
        let near = self.graphemes(self.anchor(from, lo), hi).filter(|at| *at >= lo);
        let best = near.map(|at| (self.rank(from, at), at)).max();
        best.map(|(_, at)| at).or_else(|| self.graphemes(from, hi).filter(|at| *at > from).last())
    }

    /// The zone that byte `at` is in or starts.
    pub fn zone_at(&self, at: usize) -> Option<Zone> {
        let zone = self.zones.get(self.zones.partition_point(|zone| zone.end <= at))?;
        (zone.start <= at).then_some(*zone)
    }

    /// A grapheme border at or shortly before `lo`, or `from`. Between two ASCII characters there always is one,
    /// inside `\r\n` excepted.
    fn anchor(&self, from: usize, lo: usize) -> usize {
        let bytes = self.text.as_bytes();
        let is_border = |at: &usize| {
            bytes[at - 1].is_ascii() && bytes[*at].is_ascii() && (bytes[at - 1], bytes[*at]) != (b'\r', b'\n')
        };
        (from + 1..lo.min(bytes.len())).rev().take(64).find(is_border).unwrap_or(from)
    }

    /// The grapheme borders from `from`, which is one, to `hi`.
    fn graphemes(&self, from: usize, hi: usize) -> impl Iterator<Item = usize> {
        // Whether `hi` is a border depends on the character after it.
        let seen = self.text[hi..].chars().next().map_or(hi, |next| hi + next.len_utf8());
        let text = &self.text[from..seen];
        let (ascii, other) = if text.is_ascii() { (Some(text.as_bytes()), None) } else { (None, Some(text)) };
        // ASCII has borders everywhere but inside `\r\n`.
        let ascii = ascii
            .into_iter()
            .flat_map(|bytes| (0..bytes.len()).filter(|at| *at == 0 || (bytes[at - 1], bytes[*at]) != (b'\r', b'\n')));
        let other = other.into_iter().flat_map(|text| text.grapheme_indices(true).map(|(at, _)| at));
        let starts = ascii.chain(other).map(move |at| from + at);
        starts.chain((seen == hi).then_some(hi)).take_while(move |at| *at <= hi)
    }

    fn rank(&self, from: usize, at: usize) -> Border {
        let before = &self.text[from..at];
        let Some(last) = before.chars().next_back() else { return Border::Grapheme };
        if matches!(last, '\n' | '\r') {
            return self.rank_of_line(before, at);
        }
        let next = self.text[at..].chars().next();
        if last.is_whitespace() {
            if next.is_none_or(char::is_whitespace) {
                return Border::Grapheme;
            }
            return if self.zone_at(at).is_none() && ends_a_sentence(before) { Border::Sentence } else { Border::Word };
        }
        if self.zone_at(at).is_none() && matches!(last, '。' | '！' | '？' | '．' | '｡') {
            return Border::Sentence;
        }
        if is_written_without_spaces(last) || next.is_some_and(is_written_without_spaces) {
            return Border::Word;
        }
        if last.is_ascii_punctuation() { Border::Punctuation } else { Border::Grapheme }
    }

    /// The rank of a place where a line starts.
    fn rank_of_line(&self, before: &str, at: usize) -> Border {
        if let Some(zone) = self.zone_at(at) {
            return match zone.kind {
                _ if zone.start == at => Border::Block,
                ZoneKind::Table { body } if at < body => Border::Grapheme,
                ZoneKind::Table { .. } | ZoneKind::Code | ZoneKind::Whole => Border::Line,
            };
        }
        let ended = self.zones.partition_point(|zone| zone.end <= at);
        let follows_zone = ended > 0 && self.zones[ended - 1].end == at;
        let above = before.strip_suffix('\n').unwrap_or(before);
        let above = above.strip_suffix('\r').unwrap_or(above).trim_end_matches([' ', '\t']);
        if follows_zone || above.is_empty() || above.ends_with(['\n', '\r']) {
            Border::Block
        } else if starts_an_item(&self.text[at..]) || ends_a_sentence(before) {
            Border::Sentence
        } else {
            Border::Line
        }
    }
}

/// Whether a line starts with a list marker or a quote's.
fn starts_an_item(line: &str) -> bool {
    let line = line.trim_start_matches(' ');
    let marker = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with("+ ")
        || marker.len() < line.len() && (marker.starts_with(". ") || marker.starts_with(") "))
}

/// Whether `before`, which ends with white space, ends a sentence: closed by a mark that is not a list number's.
fn ends_a_sentence(before: &str) -> bool {
    let closed = before.trim_end().trim_end_matches(['"', '\'', ')', ']', '»', '”', '’', '*', '_']);
    let Some(end) = closed.chars().next_back() else { return false };
    match end {
        '!' | '?' | '…' | '。' | '！' | '？' | '．' | '؟' | '।' | '۔' => true,
        '.' => {
            let number = &closed[..closed.len() - 1];
            let line = number.trim_end_matches(|c: char| c.is_ascii_digit());
            let starts_line = || matches!(line.trim_end_matches(' ').chars().next_back(), None | Some('\n' | '\r'));
            line.len() == number.len() || !starts_line()
        }
        _ => false,
    }
}

/// Chinese characters and Japanese syllables: text in them has no spaces between words.
fn is_written_without_spaces(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}
