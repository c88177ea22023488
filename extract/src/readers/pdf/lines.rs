//! Lines of text.

use std::collections::HashSet;

use super::bidi;
use super::frame::{Word, is_wide};
use super::page::FontLook;
use crate::contract::BoundingBox;

/// The most words that are remembered to tell which hyphens are real.
const VOCABULARY_MAX: usize = 200_000;

/// A line of text in its region of a page.
#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    pub page: u32,
    /// The region that it belongs to, counted through the file.
    pub region: u32,
    pub u: (f32, f32),
    /// Its baseline.
    pub v: f32,
    /// The size of most of its characters.
    pub size: f32,
    pub look: FontLook,
    pub artifact: bool,
    pub rtl: bool,
    /// The width of its first word.
    pub first_word: f32,
    pub bbox: BoundingBox,
    /// Where it stands on the page as shown: 0 at the top, 1 at the bottom.
    pub height: f32,
}

/// The text of words that stand side by side.
pub fn text<'a>(words: impl Iterator<Item = &'a Word>) -> String {
    let mut seen = String::new();
    let mut end = f32::MIN;
    for word in words {
        let glued = end > f32::MIN && is_wide(&seen) && is_wide(&word.seen) && word.u.0 - end < word.size * 0.45;
        if !seen.is_empty() && !glued {
            seen.push(' ');
        }
        seen.push_str(&word.seen);
        end = word.u.1;
    }
    bidi::logical(&seen)
}

/// The look of most characters of some words, and their size.
pub fn look(words: &[Word]) -> (FontLook, f32) {
    let count = |word: &Word| word.seen.chars().count();
    let all: usize = words.iter().map(count).sum();
    let most = |of: fn(&Word) -> bool| words.iter().filter(|word| of(word)).map(count).sum::<usize>() * 5 >= all * 4;
    let look = FontLook {
        bold: most(|word| word.look.bold),
        italic: most(|word| word.look.italic),
        mono: most(|word| word.look.mono),
    };
    let mut sizes: Vec<(f32, usize)> = words.iter().map(|word| (word.size, count(word))).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut seen = 0;
    let size = sizes.iter().find(|(_, count)| {
        seen += count;
        seen * 2 >= all
    });
    (look, size.map_or(0.0, |(size, _)| *size))
}

/// Adds a line to a text: with a space, without one between characters of scripts that use none, and without the hyphen
/// that only the end of the line put there. A hyphen stays where `vocabulary` knows the word with it.
pub fn join(text: &mut String, line: &str, vocabulary: &HashSet<String>) {
    if text.is_empty() || line.is_empty() {
        text.push_str(line);
        return;
    }
    if text.ends_with('\u{ad}') {
        text.pop();
        text.push_str(line);
        return;
    }
    if text.ends_with(['-', '\u{2010}']) && text.chars().rev().nth(1).is_some_and(char::is_alphabetic) {
        let before = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        let after = line.split(|char: char| !is_of_word(char)).next().unwrap_or_default().to_lowercase();
        let stem = before.trim_end_matches(['-', '\u{2010}']).trim_start_matches(|char: char| !is_of_word(char));
        let broken = line.starts_with(char::is_lowercase)
            && (vocabulary.contains(&format!("{stem}{after}"))
                || !(stem.contains('-') || vocabulary.contains(&format!("{stem}-{after}"))));
        if broken {
            text.pop();
        }
        if broken || line.starts_with(char::is_alphanumeric) {
            text.push_str(line);
            return;
        }
    }
    let wide = is_wide(text) && line.chars().next().is_some_and(|char| is_wide(char.encode_utf8(&mut [0; 4])));
    if !wide {
        text.push(' ');
    }
    text.push_str(line);
}

fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || char == '-'
}

/// The words that stand within lines, in lower case.
pub fn vocabulary<'a>(lines: impl Iterator<Item = &'a Line>) -> HashSet<String> {
    let mut words = HashSet::new();
    for line in lines {
        for word in
            line.text.split(|char: char| !is_of_word(char)).filter(|word| !word.ends_with('-') && word.len() > 2)
        {
            if words.len() < VOCABULARY_MAX {
                words.insert(word.to_lowercase());
            }
        }
    }
    words
}
