//! Standard output: JSON for programs, lines for people.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use super::failure::Failure;

/// The width that text for people is wrapped to, in columns.
pub const WIDTH: usize = 100;

/// Where a command's result goes.
pub struct Screen {
    out: Box<dyn Write>,
    json: bool,
    terminal: bool,
    colour: bool,
}

impl Screen {
    /// Standard output.
    pub fn stdout(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { out: Box::new(BufWriter::new(io::stdout())), json, terminal, colour: terminal && !plain }
    }

    /// Whether the command is to print one JSON document.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the one JSON document of a command.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let written = if self.terminal {
            serde_json::to_writer_pretty(&mut self.out, value)
        } else {
            serde_json::to_writer(&mut self.out, value)
        };
        written.map_err(|error| Failure::Output(error.into()))?;
        self.raw("\n")
    }

    /// Prints a line for people. What a stored text could do to a terminal is taken out.
    pub fn line(&mut self, line: impl AsRef<str>) -> Result<(), Failure> {
        self.raw(line.as_ref())?;
        self.raw("\n")
    }

    /// Prints a stored text: byte for byte into a file or pipe, harmless on a terminal.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        if self.terminal {
            self.raw(&harmless(text))?;
            return if text.ends_with('\n') { Ok(()) } else { self.raw("\n") };
        }
        self.raw(text)
    }

    /// Prints as it is.
    pub fn raw(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(text.as_bytes()).map_err(Failure::Output)
    }

    /// Hands over what was printed so far.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::Output)
    }

    /// `text` harmless, and in bold where the output knows that.
    pub fn strong(&self, text: &str) -> String {
        self.styled("1", text)
    }

    /// `text` harmless, and dimmed where the output knows that.
    pub fn faint(&self, text: &str) -> String {
        self.styled("2", text)
    }

    fn styled(&self, style: &str, text: &str) -> String {
        let text = harmless(text);
        if self.colour { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text }
    }
}

/// `text` without the control characters with which it could drive a terminal.
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            _ if character.is_control() => char::REPLACEMENT_CHARACTER,
            _ => character,
        })
        .collect()
}

/// Wraps a passage to `width` columns, at most `lines_max` lines of it; a passage that is cut ends in `…`.
///
/// Line breaks of the passage stay, runs of blank lines become one.
pub fn wrap(passage: &str, width: usize, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in passage.trim_end().lines() {
        let blank = line.trim().is_empty();
        if blank && lines.last().is_none_or(String::is_empty) {
            continue;
        }
        lines.extend(wrap_line(line.trim_end(), width, lines_max.saturating_add(1) - lines.len()));
        if lines.len() > lines_max {
            break;
        }
    }
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        if let Some(last) = lines.last_mut() {
            last.push_str(" …");
        }
    }
    lines
}

/// Wraps one line, and stops after `lines_max`.
fn wrap_line(line: &str, width: usize, lines_max: usize) -> Vec<String> {
    let line = harmless(line);
    let mut lines = Vec::new();
    let (mut current, mut used) = (String::new(), 0);
    for piece in line.split_inclusive(char::is_whitespace).flat_map(breakable) {
        let (needed, taken) = (columns(piece.trim_end()), columns(piece));
        if used > 0 && used + needed > width && needed > 0 {
            lines.push(std::mem::take(&mut current).trim_end().to_owned());
            used = 0;
            if lines.len() >= lines_max {
                return lines;
            }
        }
        current.push_str(piece);
        used += taken;
    }
    lines.push(current.trim_end().to_owned());
    lines
}

/// The pieces between which a line may break: a word of ASCII stays whole, so that an address can be copied; a text of
/// a script that sets no blanks breaks between words.
fn breakable(word: &str) -> impl Iterator<Item = &str> {
    let whole = word.is_ascii().then_some(word);
    whole.into_iter().chain(word.split_word_bounds().filter(move |_| whole.is_none()))
}

/// How many columns of a terminal a text takes: two for each wide character of East Asia and for emoji.
fn columns(text: &str) -> usize {
    text.graphemes(true)
        .map(|grapheme| match grapheme.chars().next().map_or(0, u32::from) {
            0x1100..=0x115F
            | 0x2E80..=0xA4CF
            | 0xAC00..=0xD7A3
            | 0xF900..=0xFAFF
            | 0xFE30..=0xFE6F
            | 0xFF00..=0xFF60
            | 0xFFE0..=0xFFE6
            | 0x1F300..=0x1FAFF
            | 0x2_0000..=0x3_FFFD => 2,
            _ => 1,
        })
        .sum()
}

/// `count` with its thousands apart.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 chunk`, `1,500 chunks`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_is_wrapped_and_cut() {
        let passage = "one two three four\n\n\n\nfive";
        assert_eq!(wrap(passage, 9, 9), ["one two", "three", "four", "", "five"]);
        assert_eq!(wrap(passage, 9, 5).len(), 5);
        assert_eq!(wrap(passage, 9, 4), ["one two", "three", "four …"]);
        assert_eq!(wrap(passage, 9, 2), ["one two", "three …"]);
        assert_eq!(wrap(&"x".repeat(30), 9, usize::MAX), ["x".repeat(30)], "an address stays whole");
        assert_eq!(wrap("end of it, so", 9, 9), ["end of", "it, so"], "punctuation stays with its word");
        assert_eq!(wrap("    indented", 20, 9), ["    indented"]);
        assert_eq!(wrap("文書を保存して検索する", 8, 2), ["文書を保", "存して検 …"]);
        assert_eq!(wrap("", 9, 2), Vec::<String>::new());
    }

    #[test]
    fn a_stored_text_cannot_drive_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\tc\r"), "a\u{fffd}[2Jb\tc\u{fffd}");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((counted(1, "chunk"), counted(0, "chunk")), ("1 chunk".into(), "0 chunks".into()));
    }
}
