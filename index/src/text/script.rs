//! Folded text beyond ASCII into terms: by the Unicode word rules, and by characters where words have no spaces.

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::analyze::{Output, TERM_BYTES_MAX, TermKind};
use super::light::Stemmed;
use super::word;

/// Feeds the terms of `text`, folded, to `out`.
pub(super) fn unicode(text: &str, out: &mut Output<'_>) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let dense = Dense::of(first);
        let mut inside = dense;
        let end = rest
            .char_indices()
            .find(|(_, char)| {
                // A mark belongs to the character before it.
                if !is_combining_mark(*char) {
                    inside = Dense::of(*char);
                }
                inside != dense
            })
            .map_or(rest.len(), |(at, _)| at);
        let (run, after) = rest.split_at(end);
        if let Some(script) = dense {
            pairs(run, script, out);
        } else {
            words(run, out);
        }
        rest = after;
    }
}

/// Scripts whose words are not, or not reliably, found by spaces. A run of them becomes characters and pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dense {
    /// Han, Hiragana, Katakana, Bopomofo.
    EastAsian,
    /// Korean has spaces, but particles and endings grow on its words.
    Hangul,
    Thai,
    Lao,
    Myanmar,
    Khmer,
}

impl Dense {
    fn of(char: char) -> Option<Self> {
        Some(match char {
            '\u{2e80}'..='\u{2fdf}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3031}'..='\u{3035}'
            | '\u{3038}'..='\u{303c}'
            | '\u{3041}'..='\u{312f}'
            | '\u{31a0}'..='\u{31bf}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{1aff0}'..='\u{1b16f}'
            | '\u{20000}'..='\u{3ffff}' => Self::EastAsian,
            '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' => Self::Hangul,
            '\u{e01}'..='\u{e4e}' => Self::Thai,
            '\u{e81}'..='\u{ece}' | '\u{edc}'..='\u{edf}' => Self::Lao,
            '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{aa60}'..='\u{aa7f}' => Self::Myanmar,
            '\u{1780}'..='\u{17d3}' => Self::Khmer,
            _ => return None,
        })
    }
}

/// More marks than this on one character are not language; the rest of them is dropped.
const MARKS_MAX: usize = 8;

/// Emits each character of `run`, with its marks, and each pair of neighbours.
fn pairs(run: &str, script: Dense, out: &mut Output<'_>) {
    let alone = run.chars().filter(|char| !is_combining_mark(*char)).nth(1).is_none();
    let mut pair = String::new();
    let mut last = 0;
    let mut units = 0;
    let mut chars = run.chars().peekable();
    while let Some(char) = chars.next() {
        pair.drain(..last);
        last = pair.len();
        pair.push(char);
        let mut marks = 0;
        while let Some(mark) = chars.next_if(|next| is_combining_mark(*next)) {
            marks += 1;
            if marks <= MARKS_MAX {
                pair.push(mark);
            }
        }
        if last > 0 {
            (out.sink)(pair.as_bytes(), if script == Dense::EastAsian { TermKind::Pair } else { TermKind::Word });
        }
        let kind = match char {
            _ if alone => TermKind::Word,
            '\u{3005}'..='\u{3007}' | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => {
                TermKind::Character
            }
            _ => TermKind::Inner,
        };
        (out.sink)(&pair.as_bytes()[last..], kind);
        units += 1;
    }
    out.words += u32::div_ceil(units, 2);
}

/// Emits the words of `run` as the Unicode word rules find them; ASCII among them as in ASCII text.
fn words(run: &str, out: &mut Output<'_>) {
    let mut ascii = 0..0;
    for (start, piece) in run.split_word_bound_indices() {
        let end = start + piece.len();
        if piece.is_ascii() {
            if ascii.end < start {
                ascii.start = start;
            }
            ascii.end = end;
            continue;
        }
        if !ascii.is_empty() {
            word::ascii(&run.as_bytes()[ascii.clone()], out);
        }
        ascii = end..end;
        if piece.chars().any(char::is_alphanumeric) {
            name(&lower_case(piece), out);
        }
    }
    if !ascii.is_empty() {
        word::ascii(&run.as_bytes()[ascii], out);
    }
}

/// Emits a word with letters beyond ASCII, and its parts where `_`, `.` and the like join them.
fn name(word: &str, out: &mut Output<'_>) {
    let is_connector = |char: char| char.is_ascii() && !char.is_ascii_alphanumeric();
    let word = word.trim_matches(is_connector);
    let has_parts = word.contains(is_connector);
    if has_parts && word.len() <= TERM_BYTES_MAX {
        (out.sink)(word.as_bytes(), TermKind::Word);
    }
    for part in word.split(is_connector).filter(|part| !part.is_empty()) {
        if part.len() > TERM_BYTES_MAX {
            pieces(part, out);
            continue;
        }
        let Stemmed { stem, lost_signs } = out.light.stem(part);
        if !stem.is_empty() {
            (out.sink)(stem.as_bytes(), TermKind::Word);
            out.words += 1;
            if lost_signs {
                (out.sink)(part.as_bytes(), TermKind::Word);
            }
        }
    }
}

fn pieces(mut rest: &str, out: &mut Output<'_>) {
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(TERM_BYTES_MAX));
        (out.sink)(piece.as_bytes(), TermKind::Word);
        out.words += 1;
        rest = after;
    }
}

fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|char| if char == 'ς' { 'σ' } else { char }).collect()
}
