//! Terms and their numbers.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Different terms, numbered from 0 in the order of their arrival.
#[derive(Default)]
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    terms: Vec<Term>,
    numbers: HashTable<u32>,
}

struct Term {
    hash: u64,
    /// Where its bytes end; they start where those of the term before end.
    end: usize,
}

/// Seeded once a process, so that nobody can prepare a text whose terms collide.
pub(super) fn hash_of(text: &[u8]) -> u64 {
    use std::sync::LazyLock;
    static STATE: LazyLock<FixedState> =
        LazyLock::new(|| FixedState::with_seed(std::hash::RandomState::new().hash_one(0)));
    STATE.hash_one(text)
}

impl Dictionary {
    /// No terms yet, and room for so many.
    pub(super) fn with_room(terms: usize) -> Self {
        /// English words, and the names beside them, have six letters or so.
        const TERM_BYTES: usize = 8;
        Self {
            bytes: Vec::with_capacity(terms * TERM_BYTES),
            terms: Vec::with_capacity(terms),
            numbers: HashTable::with_capacity(terms),
        }
    }

    /// The number of `text`, and whether it is new.
    pub(super) fn intern(&mut self, text: &[u8]) -> (u32, bool) {
        self.intern_hashed(hash_of(text), text)
    }

    /// Interns every term of `other`, in order, and calls `each` with the number of each here and whether it is new.
    pub(super) fn intern_all(&mut self, other: &Self, mut each: impl FnMut(u32, bool)) {
        let mut start = 0;
        for term in &other.terms {
            let (number, new) = self.intern_hashed(term.hash, &other.bytes[start..term.end]);
            each(number, new);
            start = term.end;
        }
    }

    fn intern_hashed(&mut self, hash: u64, text: &[u8]) -> (u32, bool) {
        let Self { bytes, terms, numbers } = self;
        let is_it = |number: &u32| terms[*number as usize].hash == hash && text_of(bytes, terms, *number) == text;
        match numbers.entry(hash, is_it, |number| terms[*number as usize].hash) {
            Entry::Occupied(entry) => (*entry.get(), false),
            Entry::Vacant(entry) => {
                let number = u32::try_from(terms.len()).expect("memory ends before four billion terms");
                entry.insert(number);
                bytes.extend_from_slice(text);
                terms.push(Term { hash, end: bytes.len() });
                (number, true)
            }
        }
    }

    /// The number of `text`, if it is known.
    pub(super) fn number(&self, text: &[u8]) -> Option<u32> {
        let hash = hash_of(text);
        let is_it = |number: &u32| {
            self.terms[*number as usize].hash == hash && text_of(&self.bytes, &self.terms, *number) == text
        };
        self.numbers.find(hash, is_it).copied()
    }

    /// The term of a number that was given out.
    pub(super) fn term(&self, number: u32) -> &[u8] {
        text_of(&self.bytes, &self.terms, number)
    }

    /// What [`hash_of`] makes of the term of a number that was given out.
    pub(super) fn hash(&self, number: u32) -> u64 {
        self.terms[number as usize].hash
    }

    /// How many terms there are.
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// About how much memory it takes.
    pub(super) fn memory(&self) -> usize {
        /// A slot of the table, its control byte, and room to grow.
        const SLOT_BYTES: usize = 8;
        self.bytes.len() + self.terms.len() * (size_of::<Term>() + SLOT_BYTES)
    }
}

fn text_of<'a>(bytes: &'a [u8], terms: &[Term], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { terms[number - 1].end };
    &bytes[start..terms[number].end]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_those_of_a_plain_map(texts in prop::collection::vec("[a-c]{0,3}", 0..200), more in prop::collection::vec("[b-e]{0,3}", 0..200)) {
            let mut known: HashMap<String, u32> = HashMap::new();
            let (mut left, mut right) = (Dictionary::default(), Dictionary::default());
            for text in &texts {
                let next = u32::try_from(known.len()).expect("a few");
                let expected = *known.entry(text.clone()).or_insert(next);
                prop_assert_eq!(left.intern(text.as_bytes()), (expected, expected == next));
            }
            for text in &more {
                right.intern(text.as_bytes());
            }
            let mut numbers = Vec::new();
            left.intern_all(&right, |number, _| numbers.push(number));
            for (at, number) in (0..).zip(numbers) {
                prop_assert_eq!(left.term(number), right.term(at));
                prop_assert_eq!(left.number(right.term(at)), Some(number));
            }
            prop_assert_eq!(left.number(b"f"), None);
            for (text, number) in known {
                prop_assert_eq!(left.term(number), text.as_bytes());
            }
        }
    }
}
