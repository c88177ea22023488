//! From lines to paragraphs, items of lists and code.

use std::collections::{HashMap, HashSet};

use super::layout::Piece;
use super::lines::{self, Line};
use super::lists;
use super::page::FontLook;
use super::tables::Draft;
use crate::contract::BoundingBox;

/// A run of lines that belong together, or a table.
#[derive(Debug)]
pub enum Passage {
    Text(Text),
    Table { draft: Box<Draft>, page: u32, bbox: BoundingBox },
}

/// A paragraph, an item of a list, or code.
#[derive(Debug)]
pub struct Text {
    pub words: String,
    pub kind: TextKind,
    pub size: f32,
    pub look: FontLook,
    pub lines: usize,
    pub pages: (u32, u32),
    pub bbox: BoundingBox,
    /// Where its last line's words go on: in the next column or on the next page, if it was cut there.
    region: u32,
    ends_open: bool,
}

/// What a run of lines is by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    Paragraph,
    Item,
    Code,
}

/// The sides of a region and the usual distance of its lines.
#[derive(Clone, Copy, Debug)]
struct Shape {
    left: f32,
    right: f32,
    leading: f32,
}

/// Passages of the pieces of a file. `mono_is_code` is false where most of the file is in a font of one width.
pub fn passages(pieces: Vec<Piece>, vocabulary: &HashSet<String>, mono_is_code: bool) -> Vec<Passage> {
    let shapes = shapes(&pieces);
    let mut out: Vec<Passage> = Vec::new();
    let mut open: Vec<Line> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Line(line) => {
                let shape = shapes[&line.region];
                if open.last().is_some_and(|last| starts(last, &line, &open, shape, mono_is_code)) {
                    close(&mut open, vocabulary, mono_is_code, &mut out);
                }
                open.push(line);
            }
            Piece::Table { draft, page, bbox } => {
                close(&mut open, vocabulary, mono_is_code, &mut out);
                out.push(Passage::Table { draft, page, bbox });
            }
            Piece::Read { text, page, bbox } => {
                close(&mut open, vocabulary, mono_is_code, &mut out);
                let (size, look) = (0.0, FontLook::default());
                let kind = TextKind::Paragraph;
                let text = Text {
                    words: text,
                    kind,
                    size,
                    look,
                    lines: 1,
                    pages: (page, page),
                    bbox,
                    region: 0,
                    ends_open: false,
                };
                out.push(Passage::Text(text));
            }
        }
    }
    close(&mut open, vocabulary, mono_is_code, &mut out);
    out
}

fn shapes(pieces: &[Piece]) -> HashMap<u32, Shape> {
    let mut of_region: HashMap<u32, Vec<&Line>> = HashMap::new();
    for piece in pieces {
        if let Piece::Line(line) = piece {
            of_region.entry(line.region).or_default().push(line);
        }
    }
    let shape = |lines: &Vec<&Line>| {
        let mut steps: Vec<f32> = lines
            .windows(2)
            .filter(|pair| (pair[0].size - pair[1].size).abs() < 0.6)
            .map(|pair| (pair[1].v - pair[0].v) / pair[1].size.max(0.1))
            .filter(|step| *step > 0.5 && *step < 3.0)
            .collect();
        steps.sort_by(f32::total_cmp);
        // The lines of a paragraph are nearer to each other than paragraphs are.
        let leading = steps.get(steps.len() / 3).copied().unwrap_or(1.25);
        let left = lines.iter().map(|line| line.u.0).fold(f32::MAX, f32::min);
        let right = lines.iter().map(|line| line.u.1).fold(f32::MIN, f32::max);
        Shape { left, right, leading }
    };
    of_region.iter().map(|(region, lines)| (*region, shape(lines))).collect()
}

/// Whether `line` begins something new after `last`, the last of the `open` lines.
fn starts(last: &Line, line: &Line, open: &[Line], shape: Shape, mono_is_code: bool) -> bool {
    if last.region != line.region {
        return true;
    }
    let em = line.size.max(0.1);
    let code = mono_is_code && last.look.mono;
    if (last.size - line.size).abs() > em * 0.09
        || last.look.bold != line.look.bold
        || (mono_is_code && last.look.mono != line.look.mono)
    {
        return true;
    }
    let step = (line.v - last.v) / em;
    if code {
        return !(0.2..=5.0).contains(&step);
    }
    if step < 0.2 || step > (shape.leading * 1.28).max(shape.leading + 0.12) {
        return true;
    }
    if lists::marker(&line.text).is_some()
        && (lists::marker(&open[0].text).is_some() || line.u.0 >= open[0].u.0 - em * 0.5)
    {
        // A number at the start of a line may be a number of the sentence.
        let certain = matches!(lists::marker(&line.text), Some(lists::Marker::Bullet(_)))
            || !line.text.starts_with(char::is_numeric);
        if certain || ends_sentence(&last.text) || lists::marker(&open[0].text).is_some() {
            return true;
        }
    }
    if line.rtl {
        return (shape.right - line.u.1 > em && shape.right - last.u.1 < em * 0.5)
            || last.u.0 - shape.left > (shape.right - shape.left) * 0.3;
    }
    let indented = line.u.0 - last.u.0;
    let hanging = lists::marker(&open[0].text).is_some();
    if indented > em * 0.8 && !hanging && open.len() > 1 {
        return true;
    }
    if indented > em * 0.8
        && !hanging
        && open.len() == 1
        && last.u.0 - shape.left < em * 0.3
        && ends_sentence(&last.text)
    {
        return true;
    }
    if hanging && open.len() > 1 && indented < -em * 0.8 && shape.right - last.u.1 > em * 3.0 {
        return true;
    }
    if hanging && open.len() == 1 && indented < -em * 0.4 && shape.right - last.u.1 > em * 6.0 {
        return true;
    }
    // The next word would have had room: the line was ended on purpose. Lines that are centred are short anyway.
    let room = shape.right - last.u.1;
    let aligned = indented.abs() < em * 0.6 || open.len() == 1;
    let width = shape.right - shape.left;
    aligned
        && room > line.first_word + em * 1.2
        && room > width * if ends_sentence(&last.text) { 0.08 } else { 0.25 }
        && !(last.text.ends_with(['-', ',', '\u{ad}']))
}

fn ends_sentence(text: &str) -> bool {
    text.trim_end_matches(['"', '”', '’', ')', '»', ']']).ends_with(['.', '!', '?', ':', ';', '。', '؟'])
}

fn close(open: &mut Vec<Line>, vocabulary: &HashSet<String>, mono_is_code: bool, out: &mut Vec<Passage>) {
    let lines = std::mem::take(open);
    let Some(first) = lines.first() else { return };
    let code = mono_is_code && first.look.mono && lines.iter().any(|line| line.text.len() > 1);
    let item = !code && lists::marker(&first.text).is_some();
    let mut text = String::new();
    if code {
        text = code_text(&lines);
    } else {
        for line in &lines {
            lines::join(&mut text, &line.text, vocabulary);
        }
    }
    let text = text.replace('\u{ad}', "");
    let last = &lines[lines.len() - 1];
    let passage = Text {
        kind: if code {
            TextKind::Code
        } else if item {
            TextKind::Item
        } else {
            TextKind::Paragraph
        },
        size: first.size,
        look: first.look,
        lines: lines.len(),
        pages: (first.page, last.page),
        bbox: lines.iter().map(|line| line.bbox).reduce(BoundingBox::around).unwrap_or(first.bbox),
        region: last.region,
        ends_open: !ends_sentence(&text),
        words: text,
    };
    if let Some(Passage::Text(before)) = out.last_mut()
        && before.goes_on(&passage)
    {
        lines::join(&mut before.words, &passage.words, vocabulary);
        before.bbox = before.bbox.around(passage.bbox);
        before.pages.1 = passage.pages.1;
        before.lines += passage.lines;
        before.region = passage.region;
        before.ends_open = passage.ends_open;
        return;
    }
    if !passage.words.trim().is_empty() {
        out.push(Passage::Text(passage));
    }
}

impl Text {
    /// Whether a paragraph goes on in another column or on the next page.
    fn goes_on(&self, next: &Self) -> bool {
        self.region != next.region
            && self.ends_open
            && self.kind != TextKind::Code
            && next.kind == TextKind::Paragraph
            && self.lines > 1
            && (self.size - next.size).abs() < 0.5
            && self.look.bold == next.look.bold
            && next.pages.0 <= self.pages.1 + 1
            && next.words.starts_with(char::is_lowercase)
    }
}

/// The lines of code with their indents.
fn code_text(lines: &[Line]) -> String {
    let left = lines.iter().map(|line| line.u.0).fold(f32::MAX, f32::min);
    let mut text = String::new();
    let mut last: Option<&Line> = None;
    for line in lines {
        if let Some(last) = last {
            text.push_str(if line.v - last.v > line.size * 1.9 { "\n\n" } else { "\n" });
        }
        let indent = ((line.u.0 - left) / (line.size * 0.6).max(0.1)).round().clamp(0.0, 80.0);
        text.extend(std::iter::repeat_n(' ', indent as usize));
        text.push_str(&line.text);
        last = Some(line);
    }
    text
}
