//! Light stems of words beyond ASCII: the inflections of nouns and adjectives go, chosen by the word's own script, so that
//! a word means the same in a document and in a query of one word.
//!
//! Arabic: the vowel signs and the variants of alef, ya and ta marbuta are one, then the article and the commonest endings
//! go (Larkey, Ballesteros and Connell 2007, "light10"). Cyrillic: endings of cases (Dolamic and Savoy 2009, for Russian),
//! with the Ukrainian ones beside them. Devanagari: the endings of Ramanathan and Rao (2003), the longest that fits.
//! Hebrew: the points go. Words of other scripts stay as they are.

/// Buffer for the words that are respelled.
#[derive(Default)]
pub(super) struct Light {
    spelled: String,
}

/// What a word becomes.
pub(super) struct Stemmed<'a> {
    pub(super) stem: &'a str,
    /// Whether signs went that a writer may set to tell the word from others.
    pub(super) lost_signs: bool,
}

impl Light {
    /// The stem of `word`, folded and in lower case; never empty unless the word is nothing but optional signs.
    pub(super) fn stem<'a>(&'a mut self, word: &'a str) -> Stemmed<'a> {
        let kept = |stem| Stemmed { stem, lost_signs: false };
        match word.chars().next() {
            Some('\u{400}'..='\u{52f}') => kept(cyrillic(word)),
            Some('\u{590}'..='\u{5ff}') => {
                let lost_signs = self.respell(word, |char| (!is_hebrew_point(char)).then_some(char));
                Stemmed { stem: &self.spelled, lost_signs }
            }
            Some('\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}') => {
                let lost_signs = self.respell(word, arabic_letter);
                Stemmed { stem: arabic(&self.spelled), lost_signs }
            }
            Some('\u{900}'..='\u{97f}') => {
                self.respell(word, devanagari_letter);
                kept(devanagari(&self.spelled))
            }
            _ => kept(word),
        }
    }

    /// Spells `word` with what each letter becomes; returns whether some became nothing.
    fn respell(&mut self, word: &str, letter: impl Fn(char) -> Option<char>) -> bool {
        self.spelled.clear();
        self.spelled.extend(word.chars().filter_map(&letter));
        word.chars().any(|char| letter(char).is_none())
    }
}

/// `word` without the first of `endings` that leaves at least `least` letters.
fn without_ending<'a>(word: &'a str, endings: &[&str], least: usize) -> Option<&'a str> {
    let stem = endings.iter().find_map(|ending| word.strip_suffix(ending))?;
    has_letters(stem, least).then_some(stem)
}

fn has_letters(word: &str, least: usize) -> bool {
    least == 0 || word.chars().nth(least - 1).is_some()
}

fn is_hebrew_point(char: char) -> bool {
    matches!(char, '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}')
}

/// The letter that stands for `char` and its variants; none for vowel signs and the stroke that stretches a word.
fn arabic_letter(char: char) -> Option<char> {
    Some(match char {
        '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}' => return None,
        'آ' | 'أ' | 'إ' | 'ٱ' => 'ا',
        'ى' | 'ی' => 'ي',
        'ک' => 'ك',
        'ة' => 'ه',
        '٠'..='٩' => digit(char, '٠'),
        '۰'..='۹' => digit(char, '۰'),
        other => other,
    })
}

fn digit(char: char, zero: char) -> char {
    char::from_digit(u32::from(char) - u32::from(zero), 10).unwrap_or(char)
}

fn arabic(word: &str) -> &str {
    /// The article, alone or after a particle that is written to it.
    const ARTICLES: [&str; 6] = ["وال", "بال", "كال", "فال", "ال", "لل"];
    const ENDINGS: [&str; 8] = ["ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي"];
    let word = word.strip_prefix('و').filter(|rest| has_letters(rest, 3)).unwrap_or(word);
    let mut stem = ARTICLES
        .iter()
        .find_map(|article| word.strip_prefix(article))
        .filter(|rest| has_letters(rest, 2))
        .unwrap_or(word);
    for ending in ENDINGS {
        stem = without_ending(stem, &[ending], 2).unwrap_or(stem);
    }
    stem
}

fn cyrillic(word: &str) -> &str {
    // The folding took the breve from й and the dots from ё and ї.
    const FOUR: [&str; 2] = ["иями", "оями"];
    const THREE: [&str; 14] =
        ["иям", "иях", "оях", "ями", "оям", "ами", "его", "ему", "ими", "ого", "ому", "ыми", "оев", "ові"];
    const TWO: [&str; 34] = [
        "ая", "яя", "ях", "юю", "ах", "ею", "их", "ия", "ию", "ою", "ую", "ям", "ых", "ея", "ам", "ем", "еи", "ев",
        "ии", "им", "ое", "ои", "ом", "ов", "ые", "ыи", "ым", "ми", "ів", "ії", "іі", "ію", "ія", "іх",
    ];
    const ONE: [&str; 11] = ["а", "е", "и", "о", "у", "ы", "я", "ь", "ю", "і", "є"];
    let stem = without_ending(word, &FOUR, 3)
        .or_else(|| without_ending(word, &THREE, 3))
        .or_else(|| without_ending(word, &TWO, 3))
        .or_else(|| without_ending(word, &ONE, 3))
        .unwrap_or(word);
    let stem = without_ending(stem, &["ь", "и"], 3).unwrap_or(stem);
    stem.strip_suffix('н').filter(|rest| rest.ends_with('н') && has_letters(rest, 3)).unwrap_or(stem)
}

/// The nasal signs are one, and the dot below that few writers set is none.
fn devanagari_letter(char: char) -> Option<char> {
    match char {
        '\u{93c}' => None,
        '\u{901}' => Some('\u{902}'),
        other => Some(other),
    }
}

fn devanagari(word: &str) -> &str {
    const FIVE: [&str; 6] = ["ाएंगी", "ाएंगे", "ाऊंगी", "ाऊंगा", "ाइयों", "ाइयां"];
    const FOUR: [&str; 17] = [
        "ाएगी",
        "ाएगा",
        "ाओगी",
        "ाओगे",
        "एंगी",
        "ेंगी",
        "एंगे",
        "ेंगे",
        "ूंगी",
        "ूंगा",
        "ातीं",
        "नाओं",
        "नाएं",
        "ताओं",
        "ताएं",
        "ियों",
        "ियां",
    ];
    const THREE: [&str; 19] = [
        "ाकर",
        "ाइए",
        "ाईं",
        "ाया",
        "ेगी",
        "ेगा",
        "ोगी",
        "ोगे",
        "ाने",
        "ाना",
        "ाते",
        "ाती",
        "ाता",
        "तीं",
        "ाओं",
        "ाएं",
        "ुओं",
        "ुएं",
        "ुआं",
    ];
    const TWO: [&str; 15] = ["कर", "ाओ", "िए", "ाई", "ाए", "ने", "नी", "ना", "ते", "ीं", "ती", "ता", "ां", "ों", "ें"];
    const ONE: [&str; 7] = ["ो", "े", "ू", "ु", "ी", "ि", "ा"];
    [&FIVE[..], &FOUR, &THREE, &TWO, &ONE].iter().find_map(|endings| without_ending(word, endings, 2)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(word: &str) -> String {
        Light::default().stem(word).stem.to_owned()
    }

    #[test]
    fn inflections_share_a_stem_and_other_words_do_not() {
        for (forms, other) in [
            (&["книга", "книги", "книгу", "книгои", "книгами", "книгах", "книг"][..], "книжка"),
            (&["новыи", "новая", "новое", "новых", "новому", "новыми"], "новость"),
            (&["город", "города", "городов", "городами"], "горожанин"),
            (&["батькові", "батьком", "батька"], "батон"),
            (&["كتاب", "الكتاب", "والكتاب", "بالكتاب", "للكتاب", "كتابها", "وكتاب"], "مكتب"),
            (&["مدرسة", "مدرسه", "المدرسة", "مدرسات"], "مدينة"),
            (&["أحمد", "احمد", "إحمد", "آحمد"], "محمد"),
            (&["مستشفى", "مستشفي", "مستشفی"], "مستقبل"),
            (&["كتاب", "كـــتاب", "كِتَاب"], "كاتب"),
            (&["किताब", "किताबें", "किताबों"], "कितना"),
            (&["लड़का", "लड़के", "लड़कों", "लडका"], "लहर"),
            (&["चाँद", "चांद"], "चंदा"),
            (&["שלום", "שָׁלוֹם"], "שלומי"),
        ] {
            for form in forms {
                assert_eq!(stem(form), stem(forms[0]), "{form}");
            }
            assert_ne!(stem(other), stem(forms[0]), "{other}");
        }
    }

    #[test]
    fn short_words_and_words_of_other_scripts_stay() {
        for word in ["дом", "мои", "три", "ال", "من", "وقت", "का", "दो", "λογοσ", "հայերեն", "ქართული", "தமிழ்", "ŋa"]
        {
            assert_eq!(stem(word), word);
        }
        assert_eq!(stem("\u{64b}\u{64b}"), "", "signs alone are no word");
    }

    #[test]
    fn lost_signs_are_told() {
        for (word, lost) in
            [("مدرسة", false), ("مَدرسة", true), ("كـتاب", true), ("שלום", false), ("שָלום", true), ("книга", false)]
        {
            assert_eq!(Light::default().stem(word).lost_signs, lost, "{word}");
        }
    }
}
