//! Whether text that was decoded by a guess is text.

use encoding_rs::{Encoding, WINDOWS_1252};

/// The fewest letters of a script other than Latin that make a guess certain.
const LETTERS_MIN: usize = 6;

/// Of how many letters outside ASCII one mark outside ASCII may be.
const LETTERS_PER_MARK: usize = 2;

/// Whether the text, decoded as `encoding` by a guess, reads like one: what lies outside ASCII are letters of one script, enough
/// of them, and the marks that go with them.
pub fn is_likely(text: &str, encoding: &'static Encoding) -> bool {
    let mut seen = Seen::default();
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let after = characters.peek().copied().unwrap_or(' ');
        seen.take(before, c, after);
        before = c;
    }
    if seen.strange > 0 || seen.marks > seen.latin / LETTERS_PER_MARK + seen.other() {
        return false;
    }
    if seen.other() == 0 && encoding.is_single_byte() {
        // In windows-1252 every byte is something, so it is what a detector falls back to.
        let sound = seen.latin > 0 && seen.lonely * 4 <= seen.latin;
        return sound && (encoding != WINDOWS_1252 || seen.common * 4 >= seen.latin * 3);
    }
    seen.other() >= LETTERS_MIN && seen.largest() * 10 >= seen.other() * 8 && seen.mixed * 10 <= seen.other()
}

/// Counts of what lies outside ASCII.
#[derive(Default)]
struct Seen {
    latin: usize,
    /// Latin letters that the languages of Western Europe use.
    common: usize,
    /// Latin letters with no letter beside them.
    lonely: usize,
    /// Letters of other scripts that stand right beside a Latin one.
    mixed: usize,
    cyrillic: usize,
    greek: usize,
    hebrew: usize,
    arabic: usize,
    thai: usize,
    east_asian: usize,
    /// Quotes, dashes, signs.
    marks: usize,
    /// What no text has: control characters, private characters, letters of no script that was told here.
    strange: usize,
}

impl Seen {
    fn take(&mut self, before: char, c: char, after: char) {
        let beside = |is: fn(&char) -> bool| is(&before) || is(&after);
        let count = match c {
            '\0'..='\u{7F}' => return,
            '\u{80}'..='\u{9F}' | '\u{E000}'..='\u{F8FF}' | '\u{FFFD}' => &mut self.strange,
            '\u{C0}'..='\u{24F}' if c.is_alphabetic() => {
                self.lonely += usize::from(!beside(|c| c.is_alphabetic()));
                self.common += usize::from("äöüÄÖÜßéèêëàâáãåæçíìîïñóòôõøúùûÉÈÀÁÅÆÇÓÔØÚœŒÊÂÎÍÑšžŠŽ".contains(c));
                &mut self.latin
            }
            '\u{370}'..='\u{3FF}' => &mut self.greek,
            '\u{400}'..='\u{52F}' => &mut self.cyrillic,
            '\u{590}'..='\u{5FF}' => &mut self.hebrew,
            '\u{600}'..='\u{6FF}' => &mut self.arabic,
            '\u{E00}'..='\u{E7F}' => &mut self.thai,
            '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' => {
                &mut self.east_asian
            }
            _ => &mut self.marks,
        };
        *count += 1;
        if c > '\u{24F}' && c.is_alphabetic() && c < '\u{3000}' && beside(char::is_ascii_alphabetic) {
            self.mixed += 1;
        }
    }

    /// Letters of scripts other than Latin.
    fn other(&self) -> usize {
        self.cyrillic + self.greek + self.hebrew + self.arabic + self.thai + self.east_asian
    }

    fn largest(&self) -> usize {
        [self.cyrillic, self.greek, self.hebrew, self.arabic, self.thai, self.east_asian].into_iter().max().unwrap_or(0)
    }
}
