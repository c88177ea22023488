//! BERT's uncased word pieces: a text becomes lower-case words without accents, and each word the longest known
//! pieces from left to right. The time is linear in the text, whatever it holds, and nothing is allocated per
//! word.

use unicode_normalization::char::decompose_canonical;

use super::recent::{Key, Recent};
use super::unicode::{is_dropped, is_ideograph, is_nonspacing_mark, is_punctuation};

/// A word of more characters than this is unknown.
const WORD_CHARS_MAX: usize = 100;
/// No piece of a vocabulary is longer; this bounds the work at each place in a word.
const PIECE_BYTES_MAX: usize = 32;
/// What marks a piece that continues a word in the vocabulary file.
const CONTINUATION_MARK: &str = "##";

/// The pieces by their text.
pub(super) struct Vocabulary<'a> {
    /// By row, without the continuation mark.
    pieces: Vec<&'a [u8]>,
    /// Open addressing, at most half full.
    slots: Vec<Slot>,
    /// Length of the longest piece.
    piece_bytes: usize,
}

/// An empty slot has no `row_after`.
#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u32,
    row_after: u32,
}

/// Where in a word a piece stands; the same letters are two pieces at the two places.
#[derive(Clone, Copy)]
enum Place {
    Start,
    Inside,
}

impl<'a> Vocabulary<'a> {
    /// Reads one piece a line, the line number being the row. Fails with what is wrong.
    pub(super) fn parse(lines: &'a str) -> Result<Self, String> {
        let lines: Vec<&str> = lines.lines().collect();
        let size = lines.len().saturating_mul(2).next_power_of_two();
        let mut vocabulary =
            Self { pieces: Vec::with_capacity(lines.len()), slots: vec![Slot::default(); size], piece_bytes: 0 };
        for line in lines {
            vocabulary.add(line)?;
        }
        Ok(vocabulary)
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Sets `rows` to the rows of the text's first `tokens_max` known pieces, in order. What follows them in the
    /// text is not read, the rest of the word excepted. `recent` has seen no words of another vocabulary.
    pub(super) fn tokenise(&self, text: &str, tokens_max: usize, recent: &mut Recent, rows: &mut Vec<u32>) {
        rows.clear();
        let mut scan = Scan { vocabulary: self, recent, word: Word::new(), rows };
        let mut at = 0;
        while at < text.len() && scan.rows.len() < tokens_max {
            let byte = text.as_bytes()[at];
            if byte.is_ascii() {
                at += scan.ascii(&text.as_bytes()[at..]);
            } else {
                let c = text[at..].chars().next().expect("`at` is a character's start before the text's end");
                scan.other(c);
                at += c.len_utf8();
            }
        }
        scan.end_word();
        rows.truncate(tokens_max);
    }

    fn add(&mut self, line: &'a str) -> Result<(), String> {
        let row = self.pieces.len();
        let (place, piece) = match line.strip_prefix(CONTINUATION_MARK) {
            Some(piece) => (Place::Inside, piece.as_bytes()),
            None => (Place::Start, line.as_bytes()),
        };
        if piece.is_empty() || piece.len() > PIECE_BYTES_MAX {
            return Err(format!("vocabulary row {row} has {} bytes, not 1 to {PIECE_BYTES_MAX}", piece.len()));
        }
        let row_after = u32::try_from(row + 1).map_err(|_| "the vocabulary has too many rows".to_owned())?;
        let hash = piece.iter().fold(place.seed(), |hash, &byte| step(hash, byte));
        let mut at = self.home(hash);
        while self.slots[at].row_after != 0 {
            at = self.next(at);
        }
        self.slots[at] = Slot { hash: mark(hash, place), row_after };
        self.pieces.push(piece);
        self.piece_bytes = self.piece_bytes.max(piece.len());
        Ok(())
    }

    /// The row and the length of the longest piece that `word` begins with.
    fn longest(&self, word: &[u8], place: Place) -> Option<(u32, usize)> {
        let mut hashes = [0; PIECE_BYTES_MAX];
        let bound = word.len().min(self.piece_bytes);
        let mut hash = place.seed();
        for (slot, &byte) in hashes.iter_mut().zip(&word[..bound]) {
            hash = step(hash, byte);
            *slot = hash;
        }
        (1..=bound).rev().find_map(|len| Some((self.find(hashes[len - 1], &word[..len], place)?, len)))
    }

    fn find(&self, hash: u64, piece: &[u8], place: Place) -> Option<u32> {
        let wanted = mark(hash, place);
        let mut at = self.home(hash);
        loop {
            let Slot { hash, row_after } = self.slots[at];
            let row = row_after.checked_sub(1)?;
            if hash == wanted && self.pieces[row as usize] == piece {
                return Some(row);
            }
            at = self.next(at);
        }
    }

    fn home(&self, hash: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits are kept")]
        let low = (hash ^ (hash >> 29)) as usize;
        low & (self.slots.len() - 1)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }
}

impl Place {
    fn seed(self) -> u64 {
        match self {
            Self::Start => 0x243f_6a88_85a3_08d3,
            Self::Inside => 0x1319_8a2e_0370_7344,
        }
    }
}

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// What a slot keeps of a hash. The lowest bit is the place, so that equal marks and equal bytes are equal pieces.
fn mark(hash: u64, place: Place) -> u32 {
    let upper = (hash >> 32) as u32;
    match place {
        Place::Start => upper & !1,
        Place::Inside => upper | 1,
    }
}

/// The word being read; only its first [`WORD_CHARS_MAX`] characters are kept.
struct Word {
    bytes: [u8; WORD_CHARS_MAX * 4],
    len: usize,
    chars: usize,
}

impl Word {
    fn new() -> Self {
        Self { bytes: [0; WORD_CHARS_MAX * 4], len: 0, chars: 0 }
    }

    /// Takes the letters that `text` begins with; returns how many they are.
    fn push_letters(&mut self, text: &[u8]) -> usize {
        let letters = text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let kept = letters.min(WORD_CHARS_MAX.saturating_sub(self.chars));
        for (to, from) in self.bytes[self.len..][..kept].iter_mut().zip(text) {
            *to = from.to_ascii_lowercase();
        }
        self.len += kept;
        self.chars += letters;
        letters
    }

    fn push(&mut self, c: char) {
        if self.chars < WORD_CHARS_MAX {
            self.len += c.encode_utf8(&mut self.bytes[self.len..]).len();
        }
        self.chars += 1;
    }
}

/// A text on its way to rows.
struct Scan<'s, 'a> {
    vocabulary: &'s Vocabulary<'a>,
    recent: &'s mut Recent,
    word: Word,
    rows: &'s mut Vec<u32>,
}

impl Scan<'_, '_> {
    /// Takes the ASCII character or the letters that `text` begins with; returns how many bytes they are.
    fn ascii(&mut self, text: &[u8]) -> usize {
        match ASCII[usize::from(text[0])] {
            Ascii::Letter => return self.word.push_letters(text),
            Ascii::Space => self.end_word(),
            Ascii::Punctuation => {
                self.end_word();
                self.word.push(char::from(text[0]));
                self.end_word();
            }
            Ascii::Dropped => {}
        }
        1
    }

    fn other(&mut self, c: char) {
        if is_dropped(c) {
            return;
        }
        if c.is_whitespace() {
            self.end_word();
        } else if is_ideograph(c) {
            self.end_word();
            decompose_canonical(c, |part| self.part(part));
            self.end_word();
        } else {
            decompose_canonical(c, |part| self.part(part));
        }
    }

    /// Takes one character of a canonical decomposition. The order of accents that a full normalisation would
    /// set does not matter, since they all go.
    fn part(&mut self, c: char) {
        if is_nonspacing_mark(c) {
            return;
        }
        if is_punctuation(c) {
            self.end_word();
            self.word.push(c);
            self.end_word();
        } else {
            c.to_lowercase().for_each(|lower| self.word.push(lower));
        }
    }

    /// Adds the pieces of the word, all or none, and begins the next.
    fn end_word(&mut self) {
        if self.word.len == 0 {
            return;
        }
        match Key::of(&self.word.bytes, self.word.len) {
            Some(word) => {
                if let Some(rows) = self.recent.rows(word) {
                    self.rows.extend(rows.iter().map(|&row| u32::from(row)));
                } else {
                    let before = self.rows.len();
                    self.split_word();
                    self.recent.keep(word, &self.rows[before..]);
                }
            }
            None => self.split_word(),
        }
        self.word.len = 0;
        self.word.chars = 0;
    }

    fn split_word(&mut self) {
        let known = self.rows.len();
        let mut rest = if self.word.chars <= WORD_CHARS_MAX { &self.word.bytes[..self.word.len] } else { &[] };
        let mut place = Place::Start;
        while !rest.is_empty() {
            let Some((row, len)) = self.vocabulary.longest(rest, place) else {
                self.rows.truncate(known);
                break;
            };
            self.rows.push(row);
            rest = &rest[len..];
            place = Place::Inside;
        }
    }
}

#[derive(Clone, Copy)]
enum Ascii {
    Dropped,
    Space,
    Punctuation,
    /// Letters and digits.
    Letter,
}

const ASCII: [Ascii; 128] = {
    let mut table = [Ascii::Dropped; 128];
    let mut byte = 0;
    while byte < 128_u8 {
        table[byte as usize] = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => Ascii::Space,
            _ if byte.is_ascii_punctuation() => Ascii::Punctuation,
            _ if byte.is_ascii_alphanumeric() => Ascii::Letter,
            _ => Ascii::Dropped,
        };
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::{Recent, Vocabulary};

    const PIECES: &str = "un\n##aff\n##able\naff\nable\ncafe\nnaive\nstrasse\n=\n;\n日\n本\nの\n##テ\nβ\n##ς\n##σ\ni\nx\n##x\n!\na\nb\nab";

    fn pieces(text: &str, tokens_max: usize) -> Vec<&'static str> {
        let vocabulary = Vocabulary::parse(PIECES).expect("a valid vocabulary");
        let (mut recent, mut rows) = (Recent::new(), vec![7; 3]);
        vocabulary.tokenise(text, tokens_max, &mut recent, &mut rows);
        let first = rows.clone();
        vocabulary.tokenise(text, tokens_max, &mut recent, &mut rows);
        assert_eq!(rows, first, "words that are remembered");
        let lines: Vec<&str> = PIECES.lines().collect();
        rows.iter().map(|&row| lines[row as usize]).collect()
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(pieces(text, 512).join(" "), expected, "{text:?}");
    }

    #[test]
    fn words_split_into_the_longest_pieces() {
        check("unaffable affable", "un ##aff ##able aff ##able");
        check("UnAffAble", "un ##aff ##able");
    }

    #[test]
    fn a_word_with_an_unknown_rest_is_dropped_whole() {
        check("unaffz un zz able", "un able");
    }

    #[test]
    fn case_and_accents_fold() {
        check("Café NAÏVE cafe\u{301} \u{130}", "cafe naive cafe i");
        check("ΒΣ", "β ##σ");
        check("straße", "");
    }

    #[test]
    fn controls_and_formats_vanish_and_spaces_separate() {
        check("u\0n\u{ad}\u{200b}\u{fffd}\u{7f} a\u{b}b", "un ab");
        check("a\tb\u{3000}a\u{a0}b\r\nab", "a b a b ab");
    }

    #[test]
    fn punctuation_and_ideographs_stand_alone() {
        check("un=able!un", "un = able ! un");
        check("un\u{2260}able\u{37e}", "un = able ;");
        check("un日本の", "un 日 本 の");
        check("un…able", "un able");
    }

    #[test]
    fn the_hundredth_character_is_the_last_a_word_may_have() {
        assert_eq!(pieces(&"x".repeat(100), 512).len(), 100);
        assert_eq!(pieces(&"x".repeat(101), 512).len(), 0);
        assert_eq!(pieces(&format!("{}{}", "x".repeat(100), "\u{301}".repeat(50)), 512).len(), 100);
        assert_eq!(pieces(&format!("{} un", "é".repeat(300_000)), 512), ["un"]);
    }

    #[test]
    fn only_the_first_tokens_count() {
        assert_eq!(pieces("zz un able cafe", 2), ["un", "able"]);
        assert_eq!(pieces("un xxxxx", 3), ["un", "x", "##x"]);
        assert_eq!(pieces("un", 0), [""; 0]);
    }

    #[test]
    fn a_damaged_vocabulary_is_refused() {
        for lines in ["a\n\nb", "a\n##", &"x".repeat(33)] {
            assert!(Vocabulary::parse(lines).is_err(), "{lines:?}");
        }
        let empty = Vocabulary::parse("").expect("no pieces");
        let mut rows = Vec::new();
        empty.tokenise("un able", 512, &mut Recent::new(), &mut rows);
        assert_eq!(rows, [0; 0]);
    }
}
