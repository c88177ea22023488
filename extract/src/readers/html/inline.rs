//! Running text: white space as a browser shows it.

/// Text that grows by the words of text nodes, white space collapsed.
#[derive(Default)]
pub struct Inline {
    text: String,
    /// Whether a space is due before the next word.
    is_space_due: bool,
}

impl Inline {
    /// Adds the characters of a text node.
    pub fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                ' ' | '\t' | '\n' | '\r' | '\u{C}' | '\u{A0}' => self.is_space_due = true,
                // A hint where a word may be cut, and marks without width.
                '\u{AD}' | '\u{200B}' | '\u{FEFF}' => {}
                c => {
                    self.settle();
                    self.text.push(c);
                }
            }
        }
    }

    /// Adds the characters of a text node inside preformatted text.
    pub fn push_preformatted(&mut self, text: &str) {
        self.text.extend(text.chars().filter(|c| *c != '\r').map(|c| if c == '\u{A0}' { ' ' } else { c }));
    }

    /// Sees to it that what follows is another word.
    pub fn space(&mut self) {
        self.is_space_due = true;
    }

    /// Starts a new line.
    pub fn line(&mut self) {
        self.is_space_due = false;
        self.text.push('\n');
    }

    /// Starts a new line, unless one has just begun.
    pub fn line_if_any(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.line();
        }
        self.is_space_due = false;
    }

    /// Whether nothing but blanks is there.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The text without blanks at its ends; nothing is left.
    pub fn take(&mut self) -> String {
        self.is_space_due = false;
        let text = std::mem::take(&mut self.text);
        if text.trim().len() == text.len() { text } else { text.trim().to_owned() }
    }

    /// The preformatted text without blank lines at its ends, whose first line keeps its indentation.
    pub fn take_preformatted(&mut self) -> String {
        self.is_space_due = false;
        let text = std::mem::take(&mut self.text);
        let end = text.trim_end().len();
        let blank = text.len() - text.trim_start().len();
        let start = text[..blank.min(end)].rfind('\n').map_or(0, |at| at + 1);
        text[start..end].to_owned()
    }

    fn settle(&mut self) {
        if self.is_space_due && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push(' ');
        }
        self.is_space_due = false;
    }
}
