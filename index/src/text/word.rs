//! ASCII text into terms: words, and compounds whole and in parts.
//!
//! A *leaf* is a run of letters and digits. Leaves joined by one connector (`_ - . ' +`, or `/ \ : @ #` between the
//! components of a path) form a compound. A leaf may itself have inner parts: `userId`, `RS32`.

use super::analyze::{Output, TERM_BYTES_MAX, TermKind};
use super::stem::{STEMMED_LETTERS_MAX, Stem, Word};

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const ALNUM: u8 = LOWER | UPPER | DIGIT;
/// Joins the leaves of a name.
const JOIN: u8 = 8;
/// Joins the components of a path.
const PATH: u8 = 16;

const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' | b'.' | b'\'' | b'+' => JOIN,
            b'/' | b'\\' | b':' | b'@' | b'#' => PATH,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

fn class(text: &[u8], at: usize) -> u8 {
    text.get(at).map_or(0, |byte| CLASS[usize::from(*byte)])
}

/// Feeds the terms of `text`, all ASCII, to `out`.
pub(super) fn ascii(text: &[u8], out: &mut Output<'_>) {
    let mut at = 0;
    loop {
        while at < text.len() && CLASS[usize::from(text[at])] & ALNUM == 0 {
            at += 1;
        }
        if at == text.len() {
            return;
        }
        let leaf = Leaf::at(text, at);
        at = if class(text, leaf.end) & (JOIN | PATH) == 0 {
            leaf.emit(text, out);
            leaf.end
        } else {
            joined(text, leaf, out)
        };
    }
}

/// Room for so many leaves is kept from compound to compound.
const LEAVES_KEPT: usize = 64;

/// Emits the compound that starts with `first`, or `first` alone, and returns where the text goes on.
fn joined(text: &[u8], first: Leaf, out: &mut Output<'_>) -> usize {
    let mut leaves = std::mem::take(out.leaves);
    leaves.push(first);
    let mut last = first;
    let mut on = last.end;
    loop {
        match contraction(text, last.end) {
            Contraction::None => {}
            // "don't", "couldn't": an auxiliary and its negation, stop words both.
            Contraction::Negation if text[last.end - 1].eq_ignore_ascii_case(&b'n') => {
                leaves.pop();
                on = last.end + 2;
                break;
            }
            Contraction::Negation => {
                on = last.end + 2;
                break;
            }
            Contraction::Suffix(letters) => {
                on = last.end + 1 + letters;
                break;
            }
        }
        let Some(start) = next_leaf(text, last.end) else { break };
        last = Leaf::at(text, start);
        leaves.push(last);
        on = last.end;
    }
    if leaves.len() > 1 {
        wholes(text, &leaves, out);
    }
    for leaf in &leaves {
        leaf.emit(text, out);
    }
    leaves.clear();
    leaves.shrink_to(LEAVES_KEPT);
    *out.leaves = leaves;
    on
}

/// Where the leaf starts that the connector at `at` joins to what stands before it.
fn next_leaf(text: &[u8], at: usize) -> Option<usize> {
    if class(text, at) & (JOIN | PATH) == 0 {
        return None;
    }
    let doubled = matches!(text[at], b'_' | b':') && text.get(at + 1) == Some(&text[at]);
    let start = at + 1 + usize::from(doubled);
    (class(text, start) & ALNUM != 0).then_some(start)
}

enum Contraction {
    None,
    /// `'t`
    Negation,
    /// `'s`, `'ll` and so on, with so many letters.
    Suffix(usize),
}

fn contraction(text: &[u8], at: usize) -> Contraction {
    if text.get(at) != Some(&b'\'') {
        return Contraction::None;
    }
    let letters = text[at + 1..].iter().take(3).take_while(|byte| CLASS[usize::from(**byte)] & ALNUM != 0).count();
    let mut suffix = [0; 3];
    suffix[..letters].copy_from_slice(&text[at + 1..at + 1 + letters]);
    match suffix.map(|byte| byte | 0x20) {
        [b't', b' ', b' '] => Contraction::Negation,
        [b's' | b'd' | b'm', b' ', b' '] => Contraction::Suffix(1),
        [b'r' | b'v', b'e', b' '] | [b'l', b'l', b' '] => Contraction::Suffix(2),
        _ => Contraction::None,
    }
}

/// Emits the compound as it is written, and each component of a path that is a compound itself.
fn wholes(text: &[u8], leaves: &[Leaf], out: &mut Output<'_>) {
    let is_path = |pair: &[Leaf]| CLASS[usize::from(text[pair[0].end])] & PATH != 0;
    whole(text, leaves, out);
    if leaves.windows(2).any(is_path) {
        for component in leaves.chunk_by(|left, right| !is_path(&[*left, *right])) {
            if component.len() > 1 {
                whole(text, component, out);
            }
        }
    }
}

fn whole(text: &[u8], leaves: &[Leaf], out: &mut Output<'_>) {
    if let (Some(first), Some(last)) = (leaves.first(), leaves.last()) {
        exact(&text[first.start..last.end], out);
    }
}

/// Emits `text` in lower case and otherwise as it is, unless it is too long.
fn exact(text: &[u8], out: &mut Output<'_>) {
    if text.len() <= TERM_BYTES_MAX {
        let mut lower = [0; TERM_BYTES_MAX];
        let lower = &mut lower[..text.len()];
        lower.copy_from_slice(text);
        lower.make_ascii_lowercase();
        (out.sink)(lower, TermKind::Word);
    }
}

/// A run of letters and digits, and which kinds of them.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    start: usize,
    end: usize,
    first: u8,
    rest: u8,
}

impl Leaf {
    /// The run that starts at `start`, where a letter or digit stands.
    fn at(text: &[u8], start: usize) -> Self {
        let first = CLASS[usize::from(text[start])];
        let mut rest = 0;
        let mut end = start + 1;
        while end < text.len() {
            let class = CLASS[usize::from(text[end])];
            if class & ALNUM == 0 {
                break;
            }
            rest |= class;
            end += 1;
        }
        Self { start, end, first, rest }
    }

    fn emit(self, text: &[u8], out: &mut Output<'_>) {
        let word = &text[self.start..self.end];
        let all = self.first | self.rest;
        if word.len() > TERM_BYTES_MAX {
            for piece in word.chunks(TERM_BYTES_MAX) {
                exact(piece, out);
                out.words += 1;
            }
        } else if all & DIGIT != 0 {
            exact(word, out);
            let parts = if all == DIGIT { 0 } else { inner_parts(word, out) };
            out.words += parts.max(1);
        } else {
            let kept = letters(text, self.start, word.len(), out);
            let parts = if self.rest & UPPER == 0 || self.rest == UPPER { 0 } else { inner_parts(word, out) };
            out.words += parts.max(u32::from(kept));
        }
    }
}

/// For each length, ones over so many letters and zeros over the others.
static KEPT: [Word; STEMMED_LETTERS_MAX + 1] = kept_letters();

const fn kept_letters() -> [Word; STEMMED_LETTERS_MAX + 1] {
    let mut kept = [[0; STEMMED_LETTERS_MAX]; STEMMED_LETTERS_MAX + 1];
    let mut len = 0;
    while len <= STEMMED_LETTERS_MAX {
        let mut at = 0;
        while at < len {
            kept[len][at] = u8::MAX;
            at += 1;
        }
        len += 1;
    }
    kept
}

/// Emits the stem of the `len` letters of `text` from `start` on, unless they are a stop word; returns whether they are not.
fn letters(text: &[u8], start: usize, len: usize, out: &mut Output<'_>) -> bool {
    if len > STEMMED_LETTERS_MAX {
        exact(&text[start..start + len], out);
        return true;
    }
    let mut lower = [0; STEMMED_LETTERS_MAX];
    if let Some(wide) = text[start..].first_chunk::<STEMMED_LETTERS_MAX>() {
        // All at once, and then without what follows: a loop over so few letters takes longer.
        for ((to, from), kept) in lower.iter_mut().zip(wide).zip(&KEPT[len]) {
            *to = (from | 0x20) & kept;
        }
    } else {
        for (to, from) in lower.iter_mut().zip(&text[start..start + len]) {
            *to = from | 0x20;
        }
    }
    let stem = out.stems.stem(&lower, len);
    if stem.letters().is_empty() {
        // A word of several languages tells none.
        out.evidence.english(u32::from(stem.languages() == 0));
        return false;
    }
    if out.foreign.is_some() {
        foreign(&lower, len, &stem, out);
        return true;
    }
    if stem.languages() != 0 {
        out.evidence.others(stem.languages());
    }
    (out.sink)(stem.letters(), TermKind::Word);
    true
}

/// Emits the stem of the first `len` letters of `word` in the text's own language, beside `english` or in its place.
#[cold]
fn foreign(word: &Word, len: usize, english: &Stem, out: &mut Output<'_>) {
    let Some(foreign) = &mut out.foreign else { return };
    let own = foreign.stems.stem(word, len);
    let differs = own.letters() != english.letters();
    match &mut foreign.beside {
        Some(beside) if differs => beside(own.letters(), TermKind::Word),
        Some(_) => {}
        None => {
            (out.sink)(own.letters(), TermKind::Word);
            if differs {
                (out.sink)(english.letters(), TermKind::Fallback);
            }
        }
    }
}

/// More parts than this, or more changes between letters and digits, mean a hash or an encoding and no name.
const INNER_PARTS_MAX: usize = 16;
const DIGIT_CHANGES_MAX: usize = 4;

/// Emits the parts of `word` between changes of case and between letters and digits, parts of one character excepted,
/// and returns how many they are: 0 when the word has none, or too many to be a name.
fn inner_parts(word: &[u8], out: &mut Output<'_>) -> u32 {
    let mut cuts = [0; INNER_PARTS_MAX + 1];
    let mut count = 0;
    let mut digit_changes = 0;
    for at in 1..word.len() {
        let (before, here) = (class(word, at - 1), class(word, at));
        let digit_change = (before == DIGIT) != (here == DIGIT);
        digit_changes += usize::from(digit_change);
        if digit_change || starts_part(word, at, before, here) {
            count += 1;
            if count == INNER_PARTS_MAX || digit_changes > DIGIT_CHANGES_MAX {
                return 0;
            }
            cuts[count] = at;
        }
    }
    if count == 0 {
        return 0;
    }
    cuts[count + 1] = word.len();
    let mut parts = 0;
    for ends in cuts[..count + 2].windows(2) {
        let part = &word[ends[0]..ends[1]];
        if part.len() > 1 {
            if class(part, 0) == DIGIT {
                exact(part, out);
                parts += 1;
            } else {
                parts += u32::from(letters(word, ends[0], part.len(), out));
            }
        }
    }
    parts
}

/// Whether a part of a camel-case name starts at `at`: at `I` in `userId`, at `S` in `HTTPServer`, nowhere in `APIs`.
fn starts_part(word: &[u8], at: usize, before: u8, here: u8) -> bool {
    if here != UPPER {
        return false;
    }
    let plural = at + 2 == word.len() && word[at + 1] == b's';
    before == LOWER || (before == UPPER && class(word, at + 1) == LOWER && !plural)
}
