//! Whether a text is in a language whose decisions would not be seen.

use super::words::{Kind, tokens};

/// How much of a text is looked at.
const TOKENS_MAX: usize = 400;

const ENGLISH: [&str; 20] = [
    "the", "and", "of", "to", "is", "are", "was", "we", "for", "with", "it", "that", "this", "not", "by", "have",
    "has", "will", "from", "at",
];
/// Frequent small words of German, French, Spanish, Italian, Portuguese, Dutch, Polish and the Nordic languages that
/// are no English ones.
const OTHERS: [&str; 52] = [
    "der",
    "das",
    "und",
    "ist",
    "nicht",
    "mit",
    "wir",
    "ein",
    "eine",
    "den",
    "le",
    "la",
    "les",
    "des",
    "et",
    "est",
    "nous",
    "pour",
    "une",
    "du",
    "el",
    "los",
    "las",
    "que",
    "por",
    "una",
    "con",
    "para",
    "il",
    "di",
    "che",
    "per",
    "della",
    "sono",
    "de",
    "os",
    "uma",
    "com",
    "n\u{e3}o",
    "em",
    "het",
    "een",
    "van",
    "niet",
    "nie",
    "jest",
    "si\u{119}",
    "och",
    "att",
    "det",
    "ikke",
    "og",
];

/// Whether most letters are not Latin, or small words of other languages outnumber the English ones.
pub(super) fn is_foreign(text: &str) -> bool {
    let (mut letters, mut latin, mut english, mut others) = (0, 0, 0, 0);
    for token in tokens(text).take(TOKENS_MAX).filter(|token| token.kind == Kind::Word) {
        for letter in token.text.chars() {
            letters += 1;
            latin += usize::from(letter < '\u{250}');
        }
        english += usize::from(token.is_any(&ENGLISH));
        others += usize::from(token.is_any(&OTHERS));
    }
    latin * 2 < letters || others > english && others > 2
}
