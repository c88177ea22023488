//! Words and their pieces, remembered so that a common word costs one comparison.

/// The longest word that is remembered, in bytes.
const WORD_BYTES_MAX: usize = 16;
/// The most pieces of a word that is remembered.
const PIECES_MAX: usize = 7;
/// How many pairs of words are remembered; a power of two. Half a MiB for a thread.
const PAIRS: usize = 8192;

/// A word of at most [`WORD_BYTES_MAX`] bytes, padded with zeros, which no word has of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(u128);

/// The words of late, all of one vocabulary.
pub(super) struct Recent(Vec<Pair>);

/// One cache line: two words of a hash, the one used last in front.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Pair([Slot; 2]);

/// A slot never filled holds the empty word, which is never looked for.
#[derive(Clone, Copy)]
struct Slot {
    word: Key,
    rows: [u16; PIECES_MAX],
    /// 0 for a word that is not known.
    count: u16,
}

impl Key {
    /// `word`, whose first `len` bytes count, unless it is too long.
    pub(super) fn of(word: &[u8], len: usize) -> Option<Self> {
        let first: &[u8; WORD_BYTES_MAX] = word.first_chunk()?;
        let unused = u32::try_from(WORD_BYTES_MAX.checked_sub(len)?).ok()? * u8::BITS;
        Some(Self(u128::from_le_bytes(*first) & u128::MAX.checked_shr(unused)?))
    }

    fn pair(self) -> usize {
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        #[expect(clippy::cast_possible_truncation, reason = "the halves are taken apart")]
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let mixed = (low.wrapping_mul(MULTIPLIER).rotate_left(32) ^ high).wrapping_mul(MULTIPLIER);
        usize::try_from(mixed >> (u64::BITS - PAIRS.trailing_zeros())).expect("thirteen bits fit")
    }
}

impl Recent {
    pub(super) fn new() -> Self {
        let empty = Slot { word: Key(0), rows: [0; PIECES_MAX], count: 0 };
        Self(vec![Pair([empty; 2]); PAIRS])
    }

    /// The rows of a word, if it is remembered.
    pub(super) fn rows(&mut self, word: Key) -> Option<&[u16]> {
        let Pair(pair) = &mut self.0[word.pair()];
        if pair[0].word != word {
            if pair[1].word != word {
                return None;
            }
            pair.swap(0, 1);
        }
        Some(&pair[0].rows[..usize::from(pair[0].count)])
    }

    /// Remembers the rows of a word that was not, unless they are too many or too high.
    pub(super) fn keep(&mut self, word: Key, rows: &[u32]) {
        let mut slot = Slot { word, rows: [0; PIECES_MAX], count: 0 };
        if rows.len() > PIECES_MAX {
            return;
        }
        for (to, &row) in slot.rows.iter_mut().zip(rows) {
            let Ok(row) = u16::try_from(row) else { return };
            *to = row;
            slot.count += 1;
        }
        let Pair(pair) = &mut self.0[word.pair()];
        *pair = [slot, pair[0]];
    }
}
