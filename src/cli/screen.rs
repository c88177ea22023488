//! Standard output: JSON for programs, lines for people.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use super::failure::Failure;

/// The width that text for people is wrapped to, in characters.
pub const WIDTH: usize = 88;

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

/// Wraps a passage to `width` characters, at most `lines_max` lines of it; a passage that is cut ends in `…`.
///
/// Line breaks of the passage stay, runs of blank lines become one.
pub fn wrap(passage: &str, width: usize, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in passage.trim().lines() {
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
    for word in line.split_word_bounds() {
        let chars = word.chars().count();
        if used > 0 && used + chars > width && !word.trim().is_empty() {
            lines.push(std::mem::take(&mut current).trim_end().to_owned());
            used = 0;
            if lines.len() >= lines_max {
                return lines;
            }
        }
        // A word longer than a line stays whole: the terminal breaks it, and a copied hash or address stays right.
        current.push_str(word);
        used += chars;
    }
    lines.push(current.trim_end().to_owned());
    lines
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
        assert_eq!(wrap(passage, 9, 2), ["one two", "three …"]);
        assert_eq!(wrap(&"x".repeat(30), 9, usize::MAX), ["x".repeat(30)], "an address stays whole");
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
