//! The one function that turns text into terms, for the index and for queries.
//!
//! Text that is ASCII goes straight to [`word`](super::word); a whitespace-delimited stretch with anything else is
//! normalised and folded first ([`fold`](super::fold)) and, if that leaves more than ASCII, cut by the Unicode
//! segmentation rules and by script ([`script`](super::script)).

use std::cell::RefCell;

use super::fold::Folding;
use super::script;
use super::stem::Stems;
use super::word::{self, Leaf};

/// The version of the terms that [`analyze`] yields. Index and query must agree on it, so it is stored with the
/// projection; raise it with every change that yields other terms or lengths.
pub const ANALYZER_VERSION: u32 = 2;

/// The longest term in bytes. A longer word is cut into pieces of this size; a longer compound is only known by its
/// parts.
pub const TERM_BYTES_MAX: usize = 256;

/// What a term is to the text that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A word, a part of one, a compound, or a pair of characters of a script without spaces.
    Word,
    /// One character of a longer run in a script without spaces. The index has it so that a query of one character
    /// finds it; a query of a longer run is better served by the pairs alone.
    Inner,
}

/// Calls `sink` with every term of `text`, in order and with repetitions, and returns the text's length in words.
///
/// The length counts what a reader would call words: a compound (`orders_daily`) is as long as its parts and the term
/// for the whole is free, a stop word counts nothing, and two characters of a script without spaces count as one word.
/// Terms are UTF-8 of 1 to [`TERM_BYTES_MAX`] bytes; time and number of terms are linear in the text.
pub fn analyze(text: &str, mut sink: impl FnMut(&[u8], TermKind)) -> u32 {
    thread_local! {
        static ANALYZER: RefCell<Analyzer> = RefCell::new(Analyzer::new());
    }
    ANALYZER.with(|analyzer| match analyzer.try_borrow_mut() {
        Ok(mut analyzer) => analyzer.run(text, &mut sink),
        // `sink` analyses on its own account.
        Err(_) => Analyzer::new().run(text, &mut sink),
    })
}

/// Where terms go: the caller's sink and what is needed on the way there.
pub(super) struct Output<'a> {
    pub(super) sink: &'a mut dyn FnMut(&[u8], TermKind),
    pub(super) stems: &'a mut Stems,
    /// Room for the leaves of a compound.
    pub(super) leaves: &'a mut Vec<Leaf>,
    /// The words counted so far.
    pub(super) words: u32,
}

struct Analyzer {
    stems: Stems,
    folding: Folding,
    leaves: Vec<Leaf>,
}

impl Analyzer {
    fn new() -> Self {
        Self { stems: Stems::new(), folding: Folding::default(), leaves: Vec::new() }
    }

    fn run(&mut self, text: &str, sink: &mut dyn FnMut(&[u8], TermKind)) -> u32 {
        let mut out = Output { sink, stems: &mut self.stems, leaves: &mut self.leaves, words: 0 };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let Some(ascii) = bytes[at..].iter().position(|byte| !byte.is_ascii()) else {
                word::ascii(&bytes[at..], &mut out);
                break;
            };
            let ascii_end = at + ascii;
            let from =
                bytes[at..ascii_end].iter().rposition(u8::is_ascii_whitespace).map_or(at, |space| at + space + 1);
            let to = bytes[ascii_end..].iter().position(u8::is_ascii_whitespace).map_or(bytes.len(), |n| ascii_end + n);
            word::ascii(&bytes[at..from], &mut out);
            let folded = self.folding.fold(&text[from..to]);
            if folded.is_ascii() {
                word::ascii(folded.as_bytes(), &mut out);
            } else {
                script::unicode(folded, &mut out);
            }
            at = to;
        }
        out.words
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
        check("हिन्दी भाषा", &["हिन्दी", "भाषा"]);
        check("مَدْرَسة", &["مَدْرَسة"]);
        check("файл_данных.txt", &["фаил_данных.txt", "фаил", "данных", "txt"]);
        check("ħobż", &["hobz"]);
        check("ŋambo", &["ŋambo"]);
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
        assert_eq!(kinds, [TermKind::Inner, TermKind::Word, TermKind::Inner, TermKind::Word]);
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
        fn whitespace_separates(left in "\\PC{0,40}", right in "\\PC{0,40}") {
            let together = terms(&format!("{left}\n{right}"));
            let mut apart = terms(&left);
            apart.extend(terms(&right));
            proptest::prop_assert_eq!(together, apart);
        }
    }
}
