//! Folding of text that is not ASCII: compatibility forms, accents, punctuation.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Buffers for folding, reused from text to text.
#[derive(Default)]
pub(super) struct Folding {
    normal: String,
    folded: String,
}

impl Folding {
    /// `text` in NFKC, without the marks on Latin, Greek and Cyrillic letters, without invisible characters, and with
    /// everything that is neither letter, digit nor mark replaced by a space, ASCII excepted. Case stays.
    pub(super) fn fold(&mut self, text: &str) -> &str {
        let normal = if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
            text
        } else {
            self.normal.clear();
            self.normal.extend(text.nfkc());
            &self.normal
        };
        self.folded.clear();
        let mut loses_marks = false;
        for char in normal.chars() {
            loses_marks = push_folded(char, loses_marks, &mut self.folded);
        }
        self.shrink();
        &self.folded
    }

    /// Gives back the buffers of an unusually long line.
    fn shrink(&mut self) {
        const KEPT_BYTES: usize = 64 * 1024;
        self.normal.shrink_to(KEPT_BYTES.min(self.normal.len()));
        self.folded.shrink_to(KEPT_BYTES.max(self.folded.len()));
    }
}

/// Appends what `char` folds to. `loses_marks` says whether it follows a letter that loses its marks; so does the
/// result for the next character.
fn push_folded(char: char, loses_marks: bool, out: &mut String) -> bool {
    if char.is_ascii() {
        out.push(char);
        return char.is_ascii_alphabetic();
    }
    if is_invisible(char) {
        return loses_marks;
    }
    if let Some(ascii) = spelled_out(char) {
        out.push_str(ascii);
        return true;
    }
    if is_combining_mark(char) {
        if !loses_marks || !is_accent(char) {
            out.push(char);
        }
        return loses_marks;
    }
    if has_optional_accents(char) {
        decompose_canonical(char, |part| {
            if !is_accent(part) {
                out.push(part);
            }
        });
        return true;
    }
    let kept = char.is_alphanumeric() || matches!(char, HEBREW_GERESH | HEBREW_GERSHAYIM);
    out.push(if kept { char } else { ' ' });
    false
}

/// Punctuation inside Hebrew words; the segmentation rules know it.
const HEBREW_GERESH: char = '\u{5f3}';
const HEBREW_GERSHAYIM: char = '\u{5f4}';

/// Latin, Greek and Cyrillic letters beyond ASCII, with precomposed forms.
fn has_optional_accents(char: char) -> bool {
    matches!(char, '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{52f}' | '\u{1e00}'..='\u{1fff}') && char.is_alphabetic()
}

fn is_accent(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}')
}

/// Characters that show nothing and may stand inside a word: soft hyphen, joiners, marks of direction, variation
/// selectors, byte order mark, tags. The zero width space separates words and is not among them.
fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Letters without a decomposition that are commonly written in ASCII, and the punctuation that joins words.
fn spelled_out(char: char) -> Option<&'static str> {
    Some(match char {
        'ß' => "ss",
        'ẞ' => "SS",
        'æ' => "ae",
        'Æ' => "AE",
        'œ' => "oe",
        'Œ' => "OE",
        'ø' => "o",
        'Ø' => "O",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'ł' => "l",
        'Ł' => "L",
        'ħ' => "h",
        'Ħ' => "H",
        'þ' => "th",
        'Þ' => "Th",
        'ı' => "i",
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => "'",
        '\u{2010}' | '\u{2011}' => "-",
        _ => return None,
    })
}
