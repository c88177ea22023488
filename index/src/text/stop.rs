//! The English words that carry no meaning of their own.

/// Whether `word`, in lower case, is left out of index and queries alike.
///
/// The list holds what English grammar needs and a search does not: articles, pronouns, auxiliaries, conjunctions and
/// the commonest prepositions. Words that name something in technical text (`all`, `down`, `out`, `up`, `not null`'s
/// neighbours) stay searchable.
pub(super) fn is_stop_word(word: &[u8]) -> bool {
    word.len() <= LONGEST && STOP_WORDS.binary_search(&word).is_ok()
}

const LONGEST: usize = 6;

/// Ascending, so that it can be searched.
const STOP_WORDS: &[&[u8]] = &[
    b"a", b"about", b"am", b"an", b"and", b"are", b"as", b"at", b"be", b"been", b"being", b"but", b"by", b"can",
    b"could", b"did", b"do", b"does", b"for", b"from", b"had", b"has", b"have", b"he", b"her", b"here", b"hers",
    b"him", b"his", b"how", b"i", b"if", b"in", b"into", b"is", b"it", b"its", b"may", b"me", b"might", b"must", b"my",
    b"no", b"nor", b"not", b"of", b"on", b"or", b"our", b"ours", b"shall", b"she", b"should", b"so", b"some", b"such",
    b"than", b"that", b"the", b"their", b"theirs", b"them", b"then", b"there", b"these", b"they", b"this", b"those",
    b"to", b"too", b"us", b"very", b"was", b"we", b"were", b"what", b"when", b"where", b"which", b"while", b"who",
    b"whom", b"whose", b"why", b"will", b"with", b"would", b"you", b"your", b"yours",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched() {
        assert!(STOP_WORDS.is_sorted(), "binary search needs order");
        assert_eq!(STOP_WORDS.iter().map(|word| word.len()).max(), Some(LONGEST));
        assert!(is_stop_word(b"the"));
        assert!(!is_stop_word(b"theory"));
    }
}
