//! Stems of words in ASCII letters, remembered so that a common word costs one comparison.

use frostem::{Algorithm, Stemmer};

use super::language::{Language, languages_of};
use super::stop::is_stop_word;

/// The longest word that is stemmed, in letters; English has hardly any beyond, and what is longer stays exact.
pub(super) const STEMMED_LETTERS_MAX: usize = 24;
/// Shorter words stay as they are: `us`, `as`, `os` are no plurals.
const STEMMED_LETTERS_MIN: usize = 3;
/// How many pairs of words are remembered; a power of two. Half a MiB for a thread holds the words of a whole field:
/// with a quarter of it every sixth word of biomedical abstracts is stemmed anew, which takes longer than all the rest.
const PAIRS: usize = 8192;
/// As many for another language than English: 64 KiB.
const PAIRS_FOREIGN: usize = 1024;
/// The most letters that a remembered stem has instead of its word's ending; English needs three.
const TAIL_LETTERS_MAX: usize = 6;

/// A word in lower case, padded with zeros.
pub(super) type Word = [u8; STEMMED_LETTERS_MAX];

/// A stem, of its first `len` letters; a stop word's has none.
#[derive(Clone, Copy)]
pub(super) struct Stem {
    letters: Word,
    len: usize,
    languages: u8,
}

impl Stem {
    /// The other languages whose function word the word is, as [`languages_of`] tells them.
    pub(super) fn languages(&self) -> u8 {
        self.languages
    }

    pub(super) fn letters(&self) -> &[u8] {
        &self.letters[..self.len]
    }
}

/// A stemmer, that of English in front of the stop words, with a memory of recent words.
pub(super) struct Stems {
    stemmer: Stemmer,
    is_english: bool,
    /// Words by the upper bits of their hash.
    pairs: Vec<Pair>,
    /// The lower bits of a hash, that say nothing.
    shift: u32,
}

/// One cache line: two words of a hash, the one used last in front.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Pair([Slot; 2]);

#[derive(Clone, Copy)]
struct Slot {
    /// Zeros, and so no word, in a slot never filled.
    word: Word,
    /// How many letters the stem has of the word, times 8, and how many after them.
    lengths: u8,
    languages: u8,
    tail: [u8; TAIL_LETTERS_MAX],
}

impl Slot {
    /// The slot of a word, unless its stem is too unlike it.
    fn of(word: &Word, stem: &Stem) -> Option<Self> {
        let kept = stem.letters().iter().zip(word).take_while(|(left, right)| left == right).count();
        let rest = &stem.letters()[kept..];
        let mut tail = [0; TAIL_LETTERS_MAX];
        tail.get_mut(..rest.len())?.copy_from_slice(rest);
        Some(Self { word: *word, lengths: byte(kept << 3 | rest.len()), languages: stem.languages, tail })
    }

    fn stem(&self) -> Stem {
        let (kept, tail_len) = (usize::from(self.lengths >> 3), usize::from(self.lengths & 7));
        let mut letters = self.word;
        if tail_len != 0 {
            for (to, from) in letters[kept..].iter_mut().zip(&self.tail[..tail_len]) {
                *to = *from;
            }
        }
        Stem { letters, len: kept + tail_len, languages: self.languages }
    }
}

impl Stems {
    pub(super) fn english() -> Self {
        Self::with(Algorithm::English, PAIRS)
    }

    pub(super) fn of(language: Language) -> Self {
        Self::with(language.algorithm(), PAIRS_FOREIGN)
    }

    fn with(algorithm: Algorithm, pairs: usize) -> Self {
        let empty = Slot { word: [0; STEMMED_LETTERS_MAX], lengths: 0, languages: 0, tail: [0; TAIL_LETTERS_MAX] };
        let is_english = algorithm == Algorithm::English;
        Self {
            stemmer: Stemmer::new(algorithm),
            is_english,
            pairs: vec![Pair([empty; 2]); pairs],
            shift: u64::BITS - pairs.trailing_zeros(),
        }
    }

    /// The stem of the first `len` letters of `word` (lower-case ASCII, at least one, the rest zeros); that of a stop
    /// word is empty.
    pub(super) fn stem(&mut self, word: &Word, len: usize) -> Stem {
        let Pair(pair) = &mut self.pairs[hash_of(word, self.shift)];
        if pair[0].word != *word {
            if pair[1].word != *word {
                let stem = derive(&self.stemmer, self.is_english, word, len);
                if let Some(slot) = Slot::of(word, &stem) {
                    *pair = [slot, pair[0]];
                }
                return stem;
            }
            pair.swap(0, 1);
        }
        pair[0].stem()
    }
}

fn derive(stemmer: &Stemmer, is_english: bool, word: &Word, len: usize) -> Stem {
    let letters = &word[..len];
    let Ok(text) = std::str::from_utf8(letters) else { return Stem { letters: *word, len, languages: 0 } };
    let mut derived = Stem { letters: *word, len, languages: if is_english { languages_of(text) } else { 0 } };
    if is_english && is_stop_word(letters) {
        derived.len = 0;
    } else if len >= STEMMED_LETTERS_MIN {
        let stem = stemmer.stem(text);
        // A stem is never longer than its word; keep the word should a stemmer ever disagree.
        if !stem.is_empty() && stem.len() <= STEMMED_LETTERS_MAX {
            derived.letters[..stem.len()].copy_from_slice(stem.as_bytes());
            derived.len = stem.len();
        }
    }
    derived
}

fn byte(len: usize) -> u8 {
    u8::try_from(len).expect("a word here has at most STEMMED_LETTERS_MAX letters")
}

/// A hash without its lowest `shift` bits.
fn hash_of(word: &Word, shift: u32) -> usize {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let (eights, _) = word.as_chunks::<8>();
    let mixed = eights
        .iter()
        .fold(0u64, |hash, eight| (hash.rotate_left(23) ^ u64::from_le_bytes(*eight)).wrapping_mul(MULTIPLIER));
    usize::try_from(mixed >> shift).expect("thirteen bits fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(stems: &mut Stems, text: &str) -> String {
        let mut word: Word = [0; STEMMED_LETTERS_MAX];
        word[..text.len()].copy_from_slice(text.as_bytes());
        String::from_utf8(stems.stem(&word, text.len()).letters().to_vec()).expect("letters")
    }

    #[test]
    fn forms_of_a_word_share_a_stem_and_stop_words_have_none() {
        let mut stems = Stems::english();
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
    fn a_stem_comes_back_from_its_slot_unless_it_is_too_unlike_its_word() {
        let padded = |text: &str| {
            let mut word: Word = [0; STEMMED_LETTERS_MAX];
            word[..text.len()].copy_from_slice(text.as_bytes());
            word
        };
        let slot = |word: &str, stem: &str| {
            Slot::of(&padded(word), &Stem { letters: padded(stem), len: stem.len(), languages: 5 })
        };
        for (word, stem) in [("writing", "write"), ("skies", "sky"), ("the", ""), ("write", "write"), ("a", "abcdefg")]
        {
            let slot = slot(word, stem).expect("it fits");
            assert_eq!(slot.stem().letters(), stem.as_bytes(), "{word}");
            assert_eq!(slot.stem().languages(), 5, "{word}");
        }
        assert!(slot("a", "abcdefgh").is_none());
    }

    #[test]
    fn words_that_share_a_slot_do_not_share_a_stem() {
        let mut stems = Stems::english();
        for number in 0..20_000u32 {
            let word: String = format!("{number:05}").bytes().map(|digit| char::from(digit - b'0' + b'n')).collect();
            let alone = Stemmer::new(Algorithm::English).stem(&word).into_owned();
            assert_eq!(stem(&mut stems, &word), alone, "{word}");
        }
    }
}
