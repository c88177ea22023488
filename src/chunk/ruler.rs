//! From byte offsets to characters and lines.

/// Bytes between two recorded counts: what one look-up recounts at most.
const STEP: usize = 128;

/// Counts of a text's characters and lines up to any byte of it.
///
/// A line ends at `\n`, `\r\n` or a `\r` alone, as in `CommonMark`; nothing else ends a line.
pub(super) struct Ruler<'a> {
    text: &'a str,
    /// What precedes each multiple of [`STEP`].
    marks: Vec<Mark>,
}

/// What precedes a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Unicode scalar values that start before it.
    pub chars: u64,
    /// Line ends that are complete before it.
    pub line_ends: u64,
}

impl<'a> Ruler<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut marks = Vec::with_capacity(text.len() / STEP + 1);
        let mut mark = Mark::default();
        marks.push(mark);
        let mut from = 0;
        while from + STEP <= text.len() {
            mark = advance(text.as_bytes(), mark, from, from + STEP);
            marks.push(mark);
            from += STEP;
        }
        Self { text, marks }
    }

    /// What precedes `byte`, which is at most the text's length.
    pub fn at(&self, byte: usize) -> Mark {
        let step = byte / STEP;
        advance(self.text.as_bytes(), self.marks[step], step * STEP, byte)
    }
}

fn advance(bytes: &[u8], mut mark: Mark, from: usize, to: usize) -> Mark {
    let part = &bytes[from..to];
    // Plain counts, which the compiler turns into vector instructions.
    let count = |counts: fn(u8) -> bool| part.iter().filter(|byte| counts(**byte)).count();
    mark.chars += count(|byte| byte & 0xC0 != 0x80) as u64;
    mark.line_ends += count(|byte| byte == b'\n') as u64;
    if count(|byte| byte == b'\r') > 0 {
        let lone = |(at, byte): (usize, &u8)| *byte == b'\r' && bytes.get(from + at + 1) != Some(&b'\n');
        mark.line_ends += part.iter().enumerate().filter(|place| lone(*place)).count() as u64;
    }
    mark
}
