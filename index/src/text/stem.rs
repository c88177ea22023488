//! Stems of English words, remembered so that a common word costs one comparison.

use frostem::{Algorithm, Stemmer};

use super::stop::is_stop_word;

/// The longest word that is stemmed, in letters; English has hardly any beyond, and what is longer stays exact.
pub(super) const STEMMED_LETTERS_MAX: usize = 24;
/// Shorter words stay as they are: `us`, `as`, `os` are no plurals.
const STEMMED_LETTERS_MIN: usize = 3;
/// How many pairs of words are remembered; a power of two. One MiB for a thread holds the words of a whole field: with
/// a quarter of it every sixth word of biomedical abstracts is stemmed anew, which takes longer than all the rest.
const PAIRS: usize = 8192;

/// A word in lower case, padded with zeros.
pub(super) type Word = [u8; STEMMED_LETTERS_MAX];

/// The Porter 2 ("english") stemmer in front of the stop words, with a memory of recent words.
pub(super) struct Stems {
    stemmer: Stemmer,
    /// Words by their hash, two for each, the one used last in front.
    pairs: Vec<[Slot; 2]>,
}

/// One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot {
    /// Zeros, and so no word, in a slot never filled.
    word: Word,
    stem: Word,
    /// 0 marks a stop word.
    stem_len: u8,
}

impl Stems {
    pub(super) fn new() -> Self {
        let empty = Slot { word: [0; STEMMED_LETTERS_MAX], stem: [0; STEMMED_LETTERS_MAX], stem_len: 0 };
        Self { stemmer: Stemmer::new(Algorithm::English), pairs: vec![[empty; 2]; PAIRS] }
    }

    /// The stem of the first `len` letters of `word` (lower-case ASCII, at least one, the rest zeros), or nothing for a
    /// stop word.
    pub(super) fn stem(&mut self, word: &Word, len: usize) -> &[u8] {
        let at = pair_of(word);
        if self.pairs[at][0].word != *word {
            self.pairs[at].swap(0, 1);
            if self.pairs[at][0].word != *word {
                self.pairs[at][0] = self.derive(word, len);
            }
        }
        let slot = &self.pairs[at][0];
        &slot.stem[..usize::from(slot.stem_len)]
    }

    fn derive(&self, word: &Word, len: usize) -> Slot {
        let letters = &word[..len];
        let mut slot = Slot { word: *word, stem: *word, stem_len: byte(len) };
        if is_stop_word(letters) {
            slot.stem_len = 0;
        } else if len >= STEMMED_LETTERS_MIN
            && let Ok(text) = std::str::from_utf8(letters)
        {
            let stem = self.stemmer.stem(text);
            // A stem is never longer than its word; keep the word should a stemmer ever disagree.
            if !stem.is_empty() && stem.len() <= STEMMED_LETTERS_MAX {
                slot.stem = [0; STEMMED_LETTERS_MAX];
                slot.stem[..stem.len()].copy_from_slice(stem.as_bytes());
                slot.stem_len = byte(stem.len());
            }
        }
        slot
    }
}

fn byte(len: usize) -> u8 {
    u8::try_from(len).expect("a word here has at most STEMMED_LETTERS_MAX letters")
}

fn pair_of(word: &Word) -> usize {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let (eights, _) = word.as_chunks::<8>();
    let mixed = eights
        .iter()
        .fold(0u64, |hash, eight| (hash.rotate_left(23) ^ u64::from_le_bytes(*eight)).wrapping_mul(MULTIPLIER));
    usize::try_from(mixed >> (u64::BITS - PAIRS.trailing_zeros())).expect("thirteen bits fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(stems: &mut Stems, text: &str) -> String {
        let mut word: Word = [0; STEMMED_LETTERS_MAX];
        word[..text.len()].copy_from_slice(text.as_bytes());
        String::from_utf8(stems.stem(&word, text.len()).to_vec()).expect("letters")
    }

    #[test]
    fn forms_of_a_word_share_a_stem_and_stop_words_have_none() {
        let mut stems = Stems::new();
        for _ in 0..2 {
            for form in ["write", "writes", "writing"] {
                assert_eq!(stem(&mut stems, form), "write");
            }
            assert_eq!(stem(&mut stems, "indexes"), stem(&mut stems, "indexing"));
            assert_eq!(stem(&mut stems, "os"), "os");
            assert_eq!(stem(&mut stems, "the"), "");
        }
    }

    #[test]
    fn words_that_share_a_slot_do_not_share_a_stem() {
        let mut stems = Stems::new();
        for number in 0..20_000u32 {
            let word: String = format!("{number:05}").bytes().map(|digit| char::from(digit - b'0' + b'n')).collect();
            let alone = Stemmer::new(Algorithm::English).stem(&word).into_owned();
            assert_eq!(stem(&mut stems, &word), alone, "{word}");
        }
    }
}
