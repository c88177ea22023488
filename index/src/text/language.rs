//! Which language a passage or a query in Latin letters is written in, told by its function words.

use std::collections::HashMap;
use std::sync::LazyLock;

use frostem::Algorithm;

/// Languages whose stems are added to the English ones. English itself is what is left when none of them is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    German,
    French,
    Spanish,
    Portuguese,
    Italian,
    Dutch,
    Swedish,
    Danish,
}

const LANGUAGES: [Language; 8] = [
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Portuguese,
    Language::Italian,
    Language::Dutch,
    Language::Swedish,
    Language::Danish,
];
pub(super) const LANGUAGES_COUNT: usize = LANGUAGES.len();

impl Language {
    pub(super) fn algorithm(self) -> Algorithm {
        match self {
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Italian => Algorithm::Italian,
            Self::Dutch => Algorithm::Dutch,
            Self::Swedish => Algorithm::Swedish,
            Self::Danish => Algorithm::Danish,
        }
    }

    /// Its commonest function words, folded; none of one letter, and none that English or code has as a word or a name
    /// (`over`, `var`, `com`, `et al`).
    fn function_words(self) -> &'static [&'static str] {
        match self {
            Self::German => &[
                "aber", "als", "auch", "auf", "aus", "bei", "bis", "das", "dass", "dem", "der", "des", "die", "durch",
                "ein", "eine", "einem", "einen", "einer", "eines", "er", "ich", "im", "ist", "kann", "mit", "nach",
                "nicht", "oder", "sich", "sie", "sind", "uber", "um", "und", "viele", "vom", "von", "warum", "was",
                "welche", "welchem", "welchen", "welcher", "welches", "wenn", "wer", "werden", "wie", "wird", "wo",
                "wurde", "wurden", "zu", "zum", "zur", "zwischen",
            ],
            Self::French => &[
                "au", "aux", "avec", "ce", "ces", "cette", "comment", "dans", "de", "des", "elle", "il", "ils", "je",
                "la", "le", "les", "leur", "mais", "ne", "nous", "ou", "pas", "pourquoi", "quand", "que", "quel",
                "quelle", "quelles", "quels", "qui", "sa", "se", "ses", "sont", "sur", "un", "une", "vous",
            ],
            Self::Spanish => &[
                "como", "cual", "cuales", "cuando", "cuantas", "cuantos", "de", "del", "desde", "donde", "el", "entre",
                "esta", "este", "fue", "fueron", "la", "las", "los", "mas", "no", "para", "pero", "por", "que",
                "quien", "se", "ser", "sobre", "sus", "un", "una",
            ],
            Self::Portuguese => &[
                "ao", "aos", "as", "como", "da", "das", "de", "do", "ela", "ele", "entre", "essa", "esse", "esta",
                "este", "foi", "foram", "isso", "mais", "mas", "nao", "no", "nos", "para", "pela", "pelo", "por",
                "quais", "qual", "quando", "que", "quem", "sao", "se", "sem", "ser", "seu", "sua", "um", "uma", "voce",
            ],
            Self::Italian => &[
                "agli", "alla", "alle", "anche", "che", "cosa", "da", "dal", "dalla", "degli", "dei", "del", "della",
                "delle", "di", "gli", "il", "in", "la", "le", "ma", "nel", "nella", "perche", "piu", "quale", "quali",
                "quando", "questa", "questo", "se", "sono", "sul", "sulla", "un", "una", "uno",
            ],
            Self::Dutch => &[
                "aan", "als", "bij", "dat", "de", "deze", "die", "dit", "een", "er", "het", "hij", "hoe", "ik", "in",
                "is", "je", "kan", "maar", "naar", "niet", "nog", "of", "om", "ook", "te", "uit", "van", "voor",
                "waar", "waarom", "wanneer", "was", "wat", "welke", "werd", "wie", "worden", "wordt", "ze", "zijn",
            ],
            Self::Swedish => &[
                "alla", "ar", "att", "av", "de", "det", "eller", "ett", "for", "fran", "han", "har", "hon", "hur",
                "inte", "jag", "kan", "med", "nar", "och", "om", "sig", "som", "vad", "varfor", "vid", "vilka",
                "vilken", "vilket",
            ],
            Self::Danish => &[
                "af", "alle", "at", "de", "deg", "dem", "der", "det", "eller", "er", "for", "fra", "han", "har", "hun",
                "hvad", "hvem", "hvilken", "hvilket", "hvor", "hvordan", "hvorfor", "ikke", "jeg", "kan", "med",
                "mellem", "nar", "og", "om", "som", "til", "ved",
            ],
        }
    }
}

/// No function word here is longer.
const LONGEST: usize = 8;

/// The languages whose function word `word` is, folded and in lower case: a bit for each.
pub(super) fn languages_of(word: &str) -> u8 {
    static WORDS: LazyLock<HashMap<&str, u8>> = LazyLock::new(|| {
        let mut words: HashMap<&str, u8> = HashMap::new();
        for (at, language) in LANGUAGES.iter().enumerate() {
            for word in language.function_words() {
                *words.entry(word).or_default() |= 1 << at;
            }
        }
        words
    });
    if word.len() > LONGEST { 0 } else { WORDS.get(word).copied().unwrap_or(0) }
}

/// The function words met so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Evidence {
    english: u32,
    others: [u32; LANGUAGES_COUNT],
}

impl Evidence {
    /// Counts function words of English.
    pub(super) fn english(&mut self, count: u32) {
        self.english += count;
    }

    /// Counts a word of the languages `bits`.
    #[inline(never)]
    pub(super) fn others(&mut self, bits: u8) {
        for (at, count) in self.others.iter_mut().enumerate() {
            *count += u32::from(bits >> at & 1);
        }
    }

    /// The language of a text of `words` words besides the English function words: that whose own function words are the
    /// most, more than the English ones, and every sixth word at the least. A text said twice has the language of the text.
    pub(super) fn language(&self, words: u32) -> Option<Language> {
        let (count, language) =
            self.others.iter().zip(LANGUAGES).rev().max_by_key(|(count, _)| **count).map(|(count, of)| (*count, of))?;
        let all = u64::from(words) + u64::from(self.english);
        (count > self.english && u64::from(count) * 6 >= all).then_some(language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_folded_and_longer_than_a_letter() {
        for language in LANGUAGES {
            for word in language.function_words() {
                assert!((2..=LONGEST).contains(&word.len()), "{language:?} {word}");
                assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()), "{language:?} {word}");
                assert_ne!(languages_of(word), 0);
            }
        }
        assert_eq!(languages_of("server"), 0);
    }

    #[test]
    fn the_language_is_that_of_most_function_words() {
        let told = |english: u32, words: &[&str], others: u32| {
            let mut evidence = Evidence::default();
            evidence.english(english);
            for word in words {
                evidence.others(languages_of(word));
            }
            evidence.language(others)
        };
        assert_eq!(told(0, &["der", "die", "und"], 6), Some(Language::German));
        assert_eq!(told(0, &["las", "los", "que"], 6), Some(Language::Spanish));
        assert_eq!(told(0, &["dans", "les"], 6), Some(Language::French));
        assert_eq!(told(3, &["der", "die", "und"], 6), None, "as much English");
        assert_eq!(told(0, &["der"], 9), None, "one word of nine");
        assert_eq!(told(0, &[], 0), None);
    }
}
