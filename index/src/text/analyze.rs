//! The one function that turns text into terms, for the index and for queries.
//!
//! Text that is ASCII goes straight to [`word`](super::word); a whitespace-delimited stretch with anything else is
//! normalised and folded first ([`fold`](super::fold)) and, if that leaves more than ASCII, cut by the Unicode
//! segmentation rules and by script ([`script`](super::script)).

use std::cell::RefCell;

use super::fold::Folding;
use super::language::{Evidence, LANGUAGES_COUNT};
use super::light::Light;
use super::script;
use super::stem::Stems;
use super::word::{self, Leaf};

/// The version of the terms that [`analyze`] yields. Index and query must agree on it, so it is stored with the
/// projection; raise it with every change that yields other terms or lengths.
pub const ANALYZER_VERSION: u32 = 3;

/// The longest term in bytes. A longer word is cut into pieces of this size; a longer compound is only known by its
/// parts.
pub const TERM_BYTES_MAX: usize = 256;

/// What a term is to the text that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A word, a part of one, a compound, or a pair of characters of a script without spaces.
    Word,
    /// A pair of Chinese or Japanese characters. In a query its characters are looked up too.
    Pair,
    /// A Han or Katakana character of a longer run: it says less than a pair, and more than nothing.
    Character,
    /// Another character of a longer run in a script without spaces. The index has it so that a query of one character
    /// finds it; a query of a longer run is better served by the pairs alone.
    Inner,
    /// The English stem of a word in a query of another language: a passage too short to tell its language has no other.
    Fallback,
}

impl TermKind {
    /// What a term of this kind in a query counts, beside one that is a word; `None` for what is not looked up.
    ///
    /// A character at 0.6 of a pair was chosen on the odd queries of Chinese and Japanese collections, together with the kana
    /// that count nothing: most of them are particles and endings, on most passages and long to read. A pair and a character
    /// are one word together, so that the rest of a mixed query keeps its say.
    pub fn query_weight(self) -> Option<f32> {
        match self {
            Self::Word => Some(1.0),
            Self::Pair => Some(0.625),
            Self::Character => Some(0.375),
            Self::Fallback => Some(0.3),
            Self::Inner => None,
        }
    }
}

/// Calls `sink` with every term of `text`, with repetitions, and returns the text's length in words.
///
/// The length counts what a reader would call words: a compound (`orders_daily`) is as long as its parts and the term
/// for the whole is free, a stop word counts nothing, and two characters of a script without spaces count as one word.
/// A text in another language of Latin letters, told by its function words, has the stems of that language too, where they
/// are not the English ones: those are always there, so that a query too short to tell its language finds it all the same.
/// Terms are UTF-8 of 1 to [`TERM_BYTES_MAX`] bytes; time and number of terms are linear in the text.
pub fn analyze(text: &str, mut sink: impl FnMut(&[u8], TermKind)) -> u32 {
    with_analyzer(|analyzer| analyzer.run(text, &mut sink))
}

/// As [`analyze`], for a query: calls `sink` with the terms to look up, and those that only a text has.
///
/// Where the language of `text` is told, its stems stand in place of the English ones, which become
/// [`Fallback`](TermKind::Fallback).
pub fn analyze_query(text: &str, mut sink: impl FnMut(&[u8], TermKind)) {
    with_analyzer(|analyzer| analyzer.run_query(text, &mut sink));
}

fn with_analyzer<T>(run: impl FnOnce(&mut Analyzer) -> T) -> T {
    thread_local! {
        static ANALYZER: RefCell<Analyzer> = RefCell::new(Analyzer::new());
    }
    ANALYZER.with(|analyzer| match analyzer.try_borrow_mut() {
        Ok(mut analyzer) => run(&mut analyzer),
        // A sink analyses on its own account.
        Err(_) => run(&mut Analyzer::new()),
    })
}

/// Where terms go: the caller's sink and what is needed on the way there.
pub(super) struct Output<'a> {
    pub(super) sink: &'a mut Sink<'a>,
    pub(super) stems: &'a mut Stems,
    pub(super) light: &'a mut Light,
    /// Room for the leaves of a compound.
    pub(super) leaves: &'a mut Vec<Leaf>,
    /// The words counted so far.
    pub(super) words: u32,
    /// What tells the language.
    pub(super) evidence: Evidence,
    /// When a text is read once more, for the stems of its own language.
    pub(super) foreign: Option<Foreign<'a>>,
}

/// What takes terms.
type Sink<'a> = dyn FnMut(&[u8], TermKind) + 'a;

/// The stems of another language than English.
pub(super) struct Foreign<'a> {
    pub(super) stems: &'a mut Stems,
    /// Where they go, those that are not the English ones; if nowhere, they take the place of the English ones.
    pub(super) beside: Option<&'a mut Sink<'a>>,
}

struct Analyzer {
    stems: Stems,
    /// Of the languages met so far.
    foreign: [Option<Stems>; LANGUAGES_COUNT],
    light: Light,
    folding: Folding,
    leaves: Vec<Leaf>,
}

impl Analyzer {
    fn new() -> Self {
        Self {
            stems: Stems::english(),
            foreign: Default::default(),
            light: Light::default(),
            folding: Folding::default(),
            leaves: Vec::new(),
        }
    }

    fn run(&mut self, text: &str, sink: &mut Sink<'_>) -> u32 {
        let Self { stems, foreign, light, folding, leaves } = self;
        let evidence = Evidence::default();
        let mut out = Output { sink, stems, light, leaves, words: 0, evidence, foreign: None };
        read(text, folding, &mut out);
        let words = out.words;
        if let Some(language) = out.evidence.language(words) {
            let Output { sink, stems, light, leaves, .. } = out;
            let stems_of_language = foreign[language as usize].get_or_insert_with(|| Stems::of(language));
            let foreign = Foreign { stems: stems_of_language, beside: Some(sink) };
            let sink = &mut |_: &[u8], _| {};
            read(text, folding, &mut Output { sink, stems, light, leaves, words: 0, evidence, foreign: Some(foreign) });
        }
        words
    }

    fn run_query(&mut self, text: &str, sink: &mut Sink<'_>) {
        let Self { stems, foreign, light, folding, leaves } = self;
        let (evidence, nowhere) = (Evidence::default(), &mut |_: &[u8], _| {});
        let mut told = Output { sink: nowhere, stems, light, leaves, words: 0, evidence, foreign: None };
        read(text, folding, &mut told);
        let language = told.evidence.language(told.words);
        let foreign = language.map(|language| Foreign {
            stems: foreign[language as usize].get_or_insert_with(|| Stems::of(language)),
            beside: None,
        });
        read(text, folding, &mut Output { sink, stems, light, leaves, words: 0, evidence, foreign });
    }
}

/// Feeds the terms of `text` to `out`.
fn read(text: &str, folding: &mut Folding, out: &mut Output<'_>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let Some(ascii) = bytes[at..].iter().position(|byte| !byte.is_ascii()) else {
            word::ascii(&bytes[at..], out);
            break;
        };
        let ascii_end = at + ascii;
        let from = bytes[at..ascii_end].iter().rposition(u8::is_ascii_whitespace).map_or(at, |space| at + space + 1);
        let to = bytes[ascii_end..].iter().position(u8::is_ascii_whitespace).map_or(bytes.len(), |n| ascii_end + n);
        word::ascii(&bytes[at..from], out);
        let folded = folding.fold(&text[from..to]);
        if folded.is_ascii() {
            word::ascii(folded.as_bytes(), out);
        } else {
            script::unicode(folded, out);
        }
        at = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        analyze(text, |term, _| terms.push(String::from_utf8(term.to_vec()).expect("terms are UTF-8")));
        terms
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(terms(text), expected, "{text}");
    }

    #[test]
    fn identifiers_are_known_whole_and_in_parts() {
        check("orders_daily", &["orders_daily", "order", "daili"]);
        check("userId", &["userid", "user", "id"]);
        check("pool.max-size", &["pool.max-size", "pool", "max", "size"]);
        check("atomic-write.json", &["atomic-write.json", "atom", "write", "json"]);
        check("atomicWriteJson", &["atomicwritejson", "atom", "write", "json"]);
        check("1.0.21", &["1.0.21", "1", "0", "21"]);
        check("v2.3.1", &["v2.3.1", "v2", "3", "1"]);
        check("RS32", &["rs32", "rs", "32"]);
        check("example.com", &["example.com", "exampl", "com"]);
        check(
            "HTTPServer XMLHttpRequest",
            &["httpserver", "http", "server", "xmlhttprequest", "xml", "http", "request"],
        );
        check("APIs iPhone", &["api", "iphon", "phone"]);
        check("src/text/max_size.rs", &["src/text/max_size.rs", "max_size.rs", "src", "text", "max", "size", "rs"]);
        check("std::sync::Arc", &["std::sync::arc", "std", "sync", "arc"]);
        check("__init__ ->next", &["init", "next"]);
        check("https://wiki.example.org/", &["https", "wiki.example.org", "wiki", "exampl", "org"]);
    }

    #[test]
    fn prose_is_stemmed_and_loses_its_stop_words() {
        check("The indexes are being written, and written well.", &["index", "written", "written", "well"]);
        check("the user's don't can't l'avion", &["user", "l'avion", "l", "avion"]);
        check("The USER\u{2019}s", &["user"]);
        for nothing in ["", "  \n\t", "the of and to is", "!?… ()[]{}", "🦀", "👩‍👩‍👧", "- -- ---", "\u{301}\u{301}"]
        {
            check(nothing, &[]);
        }
    }

    #[test]
    fn case_accents_ligatures_and_width_are_folded() {
        for (text, like) in [
            ("Café", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("ﬁle", "file"),
            ("ＡＢＣ１２", "abc12"),
            ("STRASSE straße", "strasse strasse"),
            ("smørrebrød", "smorrebrod"),
            ("Ελλάς", "ελλασ"),
            ("ёлка Й", "елка и"),
            ("co\u{ad}operate", "cooperate"),
            ("“quoted”—dash…", "quoted dash"),
            ("Größe_max", "grosse_max"),
            ("ｶﾞ", "ガ"),
            ("か\u{3099}", "が"),
        ] {
            assert_eq!(terms(text), terms(like), "{text}");
            assert!(!terms(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn scripts_whose_marks_matter_keep_them() {
        check("हिन्दी दिन", &["हिन्द", "दिन"]);
        check("ที่", &["ที่"]);
        check("மொழி", &["மொழி"]);
        check("مَدْرَسة مدرسة", &["مدرس", "مَدْرَسة", "مدرس"]);
        check("שָׁלוֹם שלום", &["שלום", "שָׁלוֹם", "שלום"]);
        check("ħobż", &["hobz"]);
        check("ŋambo", &["ŋambo"]);
    }

    #[test]
    fn forms_of_a_word_beyond_ascii_share_a_term_alone_and_in_names() {
        check("файл_данных.txt", &["фаил_данных.txt", "фаил", "дан", "txt"]);
        check("Книгами", &["книг"]);
        check("والكتاب", &["كتاب"]);
        check("किताबों", &["किताब"]);
        let length = |text| analyze(text, |_, _| {});
        assert_eq!(length("مَدْرَسة שָׁלוֹם"), 2, "a word with its signs is one word");
    }

    #[test]
    fn each_language_gets_what_is_said_of_it() {
        for (text, like) in [
            // Turkish: neither the dotted nor the dotless i keeps a word from being found.
            ("Işık İSTANBUL ılık", "isik istanbul ilik"),
            // Greek: no stems; capitals, accents and the final sigma are one.
            ("ΛΌΓΟΣ λόγος", "λογοσ λογοσ"),
            // Korean, decomposed: the same syllables.
            ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "한글"),
            ("Verträge", "vertrage"),
            ("Vertra\u{308}ge", "vertrage"),
            ("ｆｕｌｌ＿ｗｉｄｔｈ", "full_width"),
            ("ﾃﾞｰﾀ", "データ"),
            ("ﻛﺘﺎﺏ", "كتاب"),
            ("٢٠١٦ ۲۰۱۶", "2016 2016"),
            ("צה\u{5f4}ל", "צה\u{5f4}ל"),
        ] {
            assert_eq!(terms(text), terms(like), "{text}");
            assert!(!terms(text).is_empty(), "{text}");
        }
        // A compound of German is one word: its parts do not find it.
        check("Datenbankverbindung", &["datenbankverbindung"]);
        // Korean: the stem is found under every ending by its pair.
        check("서울에서", &["서", "서울", "울", "울에", "에", "에서", "서"]);
    }

    #[test]
    fn scripts_without_spaces_become_characters_and_pairs() {
        check("数据库", &["数", "数据", "据", "据库", "库"]);
        check("库", &["库"]);
        check("用Rust写", &["用", "rust", "写"]);
        check("데이터 값", &["데", "데이", "이", "이터", "터", "값"]);
        check("カー、かな", &["カ", "カー", "ー", "か", "かな", "な"]);
        check("ที่นี่", &["ที่", "ที่นี่", "นี่"]);
        let mut kinds = Vec::new();
        assert_eq!(analyze("数据 库", |_, kind| kinds.push(kind)), 2);
        assert_eq!(kinds, [TermKind::Character, TermKind::Pair, TermKind::Character, TermKind::Word]);
        kinds.clear();
        analyze("カか 값이", |_, kind| kinds.push(kind));
        let (pair, word) = (TermKind::Pair, TermKind::Word);
        let (character, inner) = (TermKind::Character, TermKind::Inner);
        assert_eq!(
            kinds,
            [character, pair, inner, inner, word, inner],
            "kana of endings and syllables are not looked up"
        );
    }

    #[test]
    fn lengths_count_the_parts_and_not_the_wholes() {
        let length = |text| analyze(text, |_, _| {});
        assert_eq!(length("orders daily"), 2);
        assert_eq!(length("orders_daily"), 2);
        assert_eq!(length("src/text/max_size.rs"), 5);
        assert_eq!(length("the orders"), 1);
        assert_eq!(length("userId"), 2);
        assert_eq!(length("一二三四五"), 3);
    }

    #[test]
    fn a_text_has_the_stems_of_its_language_beside_the_english_ones() {
        // German: the plural and the query's singular meet in the German stem.
        let text = terms("Die Kanzlei hat den Mandanten und der Richterin die Beschlüsse nicht zugestellt");
        for stem in ["mandant", "richterin", "beschluss", "beschluss"] {
            assert!(text.contains(&stem.to_owned()), "{stem}: {text:?}");
        }
        for alone in ["Mandanten", "Richterin", "Beschlüsse", "zugestellt"] {
            for term in terms(alone) {
                assert!(text.contains(&term), "a query of one word finds it: {term}");
            }
        }
        let length = |text| analyze(text, |_, _| {});
        assert_eq!(length("der Hund und die Katzen"), 5, "a word is one word, whatever its stems");
    }

    #[test]
    fn english_and_names_have_english_stems_alone() {
        for text in [
            "The man was in the war and so was die casting",
            "pool.max-size = 12",
            "El Niño warms the Pacific and the weather changes",
            "de facto standard for the server",
            "Error in module server: connection refused",
            "shock effects over cones",
            "Smith et al",
            "var os = com.example",
        ] {
            let words: Vec<String> = text.split(' ').flat_map(terms).collect();
            assert_eq!(terms(text), words, "{text}");
        }
    }

    #[test]
    fn long_words_and_lines_stay_bounded() {
        let hash = "3f9a0c".repeat(10);
        assert_eq!(terms(&hash), std::slice::from_ref(&hash), "a hash is one term");
        for line in [
            "a".repeat(300_000),
            "aB".repeat(150_000),
            "a/".repeat(150_000),
            "a1".repeat(150_000),
            "é".repeat(150_000),
            "Ж".repeat(150_000),
            "字".repeat(100_000),
            "\u{301}".repeat(150_000),
            format!("a{}", "\u{301}".repeat(150_000)),
            "ก\u{e31}".repeat(50_000),
            "a_".repeat(150_000),
            "a'".repeat(150_000),
            "::".repeat(150_000),
            format!("字{}", "\u{3099}".repeat(100_000)),
            "(".repeat(300_000),
            "\u{200d}".repeat(100_000),
            "क्".repeat(50_000),
            "ж_".repeat(100_000),
            "👍".repeat(70_000),
            "\u{fdfa}".repeat(100_000),
        ] {
            let mut bytes = 0;
            let words = analyze(&line, |term, _| {
                assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX);
                assert!(std::str::from_utf8(term).is_ok());
                bytes += term.len();
            });
            assert!(bytes <= 18 * line.len(), "{bytes} bytes of terms");
            assert!(words as usize <= 2 * line.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_analysed_alike_every_time(text in "\\PC{0,200}") {
            let first = terms(&text);
            proptest::prop_assert!(first.iter().all(|term| !term.is_empty() && term.len() <= TERM_BYTES_MAX));
            proptest::prop_assert_eq!(first, terms(&text));
        }

        #[test]
        fn whitespace_separates_where_no_language_is_told(left in "\\PC{0,40}", right in "\\PC{0,40}") {
            let together = terms(&format!("{left}\n{right}"));
            let mut apart = terms(&left);
            apart.extend(terms(&right));
            proptest::prop_assert_eq!(together, apart);
        }
    }
}
