//! From characters to words, for all that is written in one direction.

use std::collections::HashMap;

use unicode_normalization::char::is_combining_mark;

use super::page::{Drawn, Glyph, Ruling};
use super::{bidi, page::FontLook};
use crate::contract::BoundingBox;

/// Words are apart where the space between them is wider than this share of the em.
const WORD_GAP: f32 = 0.17;
/// Where the characters of a word stand apart themselves, that much is added at most.
const SPREAD_MAX: f32 = 0.5;
/// Two of the same character nearer than this share of the em are one, drawn twice to look bold.
const DOUBLE_GAP: f32 = 0.12;

/// A word in a [`Frame`]. `u` runs along the lines and `v` from line to line.
#[derive(Clone, Debug)]
pub struct Word {
    /// Its characters as they are seen, from the left.
    pub seen: String,
    pub u: (f32, f32),
    /// The baseline.
    pub v: f32,
    pub size: f32,
    pub look: FontLook,
    pub artifact: bool,
}

impl Word {
    pub fn top(&self) -> f32 {
        self.v - self.size * 0.78
    }

    pub fn bottom(&self) -> f32 {
        self.v + self.size * 0.22
    }

    pub fn middle(&self) -> f32 {
        self.u.0.midpoint(self.u.1)
    }
}

/// All that a page has in one direction of writing, turned so that it reads from left to right and from the top down.
#[derive(Debug, Default)]
pub struct Frame {
    /// The direction in degrees, clockwise from left to right.
    pub angle: u16,
    /// Rows of words: each row by its `u`, the rows by their `v`.
    pub rows: Vec<Vec<Word>>,
    pub rulings: Vec<Ruling>,
}

/// The frames of a page, the one with most of its characters first.
pub fn frames(drawn: &Drawn) -> Vec<Frame> {
    let visible = drawn.glyphs.iter().filter(|glyph| !glyph.hidden).count();
    // The text layer of a scan is all that there is; elsewhere hidden words repeat what is seen.
    let keep_hidden = visible * 4 < drawn.glyphs.len();
    let mut by_angle: HashMap<u16, Vec<&Glyph>> = HashMap::new();
    for glyph in drawn.glyphs.iter().filter(|glyph| keep_hidden || !glyph.hidden) {
        by_angle.entry(angle(glyph, drawn.text_of(glyph))).or_default().push(glyph);
    }
    let mut angles: Vec<(u16, Vec<&Glyph>)> = by_angle.into_iter().collect();
    angles.sort_by_key(|(angle, glyphs)| (std::cmp::Reverse(glyphs.len()), *angle));
    // A character that is no wider than nothing has no direction: it goes with most.
    angles.into_iter().map(|(angle, glyphs)| frame(drawn, angle, &glyphs)).collect()
}

/// The direction of writing in degrees; whole quarters where it is nearly one.
fn angle(glyph: &Glyph, text: &str) -> u16 {
    let (across, down) = glyph.advance;
    // Text from right to left may be drawn with advances to the left.
    let (across, down) = if text.chars().any(bidi::is_rtl) && across < 0.0 { (-across, -down) } else { (across, down) };
    if across == 0.0 && down == 0.0 {
        return 0;
    }
    let degrees = down.atan2(across).to_degrees().rem_euclid(360.0);
    let quarter = (degrees / 90.0).round() * 90.0;
    let degrees = if (degrees - quarter).abs() < 3.0 { quarter } else { (degrees / 5.0).round() * 5.0 };
    degrees as u16 % 360
}

struct Placed<'a> {
    text: &'a str,
    /// Marks that stand over it.
    marks: String,
    u: (f32, f32),
    v: f32,
    size: f32,
    look: FontLook,
    artifact: bool,
}

fn frame(drawn: &Drawn, angle: u16, glyphs: &[&Glyph]) -> Frame {
    let turn = Turn::by(angle);
    let mut placed: Vec<Placed<'_>> = Vec::with_capacity(glyphs.len());
    let mut marks: Vec<(usize, &str, (f32, f32))> = Vec::new();
    for glyph in glyphs {
        let text = drawn.text_of(glyph);
        let (u, v) = turn.into_frame(glyph.origin);
        let end = turn.into_frame((glyph.origin.0 + glyph.advance.0, glyph.origin.1 + glyph.advance.1)).0;
        if text.chars().all(is_combining_mark) {
            marks.push((placed.len(), text, (u, v)));
            continue;
        }
        let (u, size) = ((u.min(end), u.max(end)), glyph.size.max(0.1));
        placed.push(Placed { text, marks: String::new(), u, v, size, look: glyph.look, artifact: glyph.artifact });
    }
    for (at, mark, place) in marks {
        attach_mark(&mut placed, at, mark, place);
    }
    drop_doubles(&mut placed);
    let rows = rows(placed).into_iter().map(words).filter(|row| !row.is_empty()).collect();
    let rulings = drawn.rulings.iter().filter_map(|ruling| turn.ruling(*ruling)).collect();
    Frame { angle, rows: attach_raised(rows), rulings }
}

/// Gives a mark to the character that it stands over, one of those drawn just before and after it.
fn attach_mark(placed: &mut [Placed<'_>], at: usize, mark: &str, (u, v): (f32, f32)) {
    let near = at.saturating_sub(3)..placed.len().min(at + 3);
    let over = |base: &Placed<'_>| (base.v - v).abs() < base.size && !base.text.trim().is_empty();
    let distance = |base: &Placed<'_>| (base.u.0 - u).max(u - base.u.1).max(0.0);
    // Of two that touch there, a mark that was drawn after one of them belongs to that.
    let nearest = near.filter(|index| over(&placed[*index])).min_by(|a, b| {
        let after = |index: usize| usize::from(index >= at);
        distance(&placed[*a]).total_cmp(&distance(&placed[*b])).then(after(*a).cmp(&after(*b))).then(b.cmp(a))
    });
    if let Some(index) = nearest {
        placed[index].marks.push_str(mark);
    }
}

/// Drops characters that were drawn a second time a hair's breadth away.
fn drop_doubles(placed: &mut Vec<Placed<'_>>) {
    /// A text in a square of the page.
    type Square<'a> = (&'a str, i32, i32);
    let mut seen: HashMap<Square<'_>, Vec<(f32, f32)>> = HashMap::new();
    placed.retain(|one| {
        if one.text.trim().is_empty() {
            return true;
        }
        let near = (one.size * DOUBLE_GAP).min((one.u.1 - one.u.0) * 0.3).max(0.05);
        let cell = |at: f32| (at / 4.0).floor() as i32;
        let (from, to) = ((cell(one.u.0 - near), cell(one.v - near)), (cell(one.u.0 + near), cell(one.v + near)));
        for u in from.0..=to.0 {
            for v in from.1..=to.1 {
                let there = seen.get(&(one.text, u, v)).map_or(&[][..], Vec::as_slice);
                if there.iter().rev().take(8).any(|(u, v)| (u - one.u.0).abs() <= near && (v - one.v).abs() <= near) {
                    return false;
                }
            }
        }
        seen.entry((one.text, cell(one.u.0), cell(one.v))).or_default().push((one.u.0, one.v));
        true
    });
}

/// Characters that share a baseline, each row from left to right.
fn rows(mut placed: Vec<Placed<'_>>) -> Vec<Vec<Placed<'_>>> {
    placed.sort_by(|a, b| a.v.total_cmp(&b.v));
    let mut rows: Vec<Vec<Placed<'_>>> = Vec::new();
    for one in placed {
        match rows.last_mut() {
            Some(row) if row.first().is_some_and(|first| one.v - first.v <= 0.18 * one.size.min(first.size)) => {
                row.push(one);
            }
            _ => rows.push(vec![one]),
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.u.0.total_cmp(&b.u.0));
    }
    rows
}

fn words(row: Vec<Placed<'_>>) -> Vec<Word> {
    let spread = spread(&row);
    let mut words: Vec<Word> = Vec::new();
    let mut spaced = true;
    for one in row {
        if one.text.trim().is_empty() {
            spaced = true;
            continue;
        }
        let joins = words.last().is_some_and(|word| {
            let gap = one.u.0 - word.u.1;
            let em = one.size.max(word.size);
            let wide = if is_wide(one.text) || is_wide(&word.seen) { 0.35 } else { WORD_GAP };
            gap < if spaced { -0.3 * em } else { (wide + spread) * em }
        });
        match words.last_mut() {
            Some(word) if joins => {
                push_seen(&mut word.seen, one.text);
                word.u.1 = word.u.1.max(one.u.1);
                word.size = word.size.max(one.size);
                word.artifact &= one.artifact;
            }
            _ => words.push(Word {
                seen: {
                    let mut seen = String::new();
                    push_seen(&mut seen, one.text);
                    seen
                },
                u: one.u,
                v: one.v,
                size: one.size,
                look: one.look,
                artifact: one.artifact,
            }),
        }
        if let (false, Some(word)) = (one.marks.is_empty(), words.last_mut()) {
            word.seen.push_str(&one.marks);
        }
        spaced = one.text.ends_with(' ');
    }
    for word in &mut words {
        word.seen = word.seen.trim().to_owned();
    }
    words
}

/// Adds what one glyph stands for. Several letters from right to left are seen the other way round.
fn push_seen(seen: &mut String, text: &str) {
    if text.chars().nth(1).is_some() && text.chars().all(bidi::is_rtl) {
        seen.extend(text.chars().rev());
    } else {
        seen.push_str(text);
    }
}

/// How far the characters within words stand apart, as a share of the em: more than nothing where a line is spaced out.
fn spread(row: &[Placed<'_>]) -> f32 {
    let mut gaps: Vec<f32> = row
        .windows(2)
        .filter(|pair| !pair[0].text.trim().is_empty() && !pair[1].text.trim().is_empty())
        .map(|pair| (pair[1].u.0 - pair[0].u.1) / pair[0].size.max(pair[1].size))
        .collect();
    if gaps.len() < 6 {
        return 0.0;
    }
    gaps.sort_by(f32::total_cmp);
    let low = gaps[gaps.len() / 4];
    if low > 0.6 { 0.0 } else { low.clamp(0.0, SPREAD_MAX) }
}

/// Whether a character is one of a script that is written without spaces.
pub fn is_wide(text: &str) -> bool {
    text.chars().next_back().is_some_and(|char| {
        matches!(char, '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
    })
}

/// Raised and lowered characters are rows of their own by their baselines; they go back to the words they stand beside.
fn attach_raised(rows: Vec<Vec<Word>>) -> Vec<Vec<Word>> {
    let mut kept: Vec<Vec<Word>> = Vec::with_capacity(rows.len());
    let mut loose: Vec<Word> = Vec::new();
    let largest: Vec<f32> = rows.iter().map(|row| row.iter().map(|word| word.size).fold(0.0, f32::max)).collect();
    for (at, row) in rows.into_iter().enumerate() {
        let near = |other: usize| largest.get(other).is_some_and(|size| *size > largest[at] * 1.2);
        if row.iter().all(|word| word.seen.chars().count() <= 12) && ((at > 0 && near(at - 1)) || near(at + 1)) {
            loose.extend(row);
        } else {
            kept.push(row);
        }
    }
    for word in loose {
        let first = kept.partition_point(|row| row[0].v < word.v - 40.0);
        let beside = kept[first..].iter_mut().take_while(|row| row[0].v < word.v + 40.0).find_map(|row| {
            let at = row.partition_point(|other| other.u.0 < word.u.0);
            let before = row.get(at.checked_sub(1)?)?;
            let touches = before.size > word.size * 1.2
                && (before.v - word.v).abs() < before.size * 0.6
                && word.u.0 - before.u.1 < before.size * 0.3;
            touches.then_some((row, at))
        });
        match beside {
            Some((row, at)) => {
                let glued = word.u.0 - row[at - 1].u.1 < row[at - 1].size * 0.12;
                if glued {
                    row[at - 1].seen.push_str(&word.seen);
                    row[at - 1].u.1 = row[at - 1].u.1.max(word.u.1);
                } else {
                    let (v, size) = (row[at - 1].v, row[at - 1].size);
                    row.insert(at, Word { v, size, ..word });
                }
            }
            None => {
                if let Some((row, at)) = in_front(&mut kept[first..], &word) {
                    let (v, size) = (row[at].v, row[at].size);
                    row.insert(at, Word { v, size, ..word });
                } else {
                    let at = kept.partition_point(|row| row[0].v < word.v);
                    kept.insert(at, vec![word]);
                }
            }
        }
    }
    // Those that found nothing may share a baseline among themselves.
    let mut merged: Vec<Vec<Word>> = Vec::with_capacity(kept.len());
    for row in kept {
        match merged.last_mut() {
            Some(last) if (last[0].v - row[0].v).abs() < 0.1 => {
                last.extend(row);
                last.sort_by(|a, b| a.u.0.total_cmp(&b.u.0));
            }
            _ => merged.push(row),
        }
    }
    merged
}

/// Where a raised word stands in front of a larger one, as the numbers of footnotes do.
fn in_front<'a>(rows: &'a mut [Vec<Word>], word: &Word) -> Option<(&'a mut Vec<Word>, usize)> {
    rows.iter_mut().take_while(|row| row[0].v < word.v + 40.0).find_map(|row| {
        let at = row.partition_point(|other| other.u.0 < word.u.0);
        let after = row.get(at)?;
        let raised = after.size > word.size * 1.2 && after.v > word.v && after.v - word.v < after.size * 0.7;
        (raised && (-0.1..0.8).contains(&((after.u.0 - word.u.1) / after.size))).then_some((row, at))
    })
}

/// A turn between the page and a frame.
#[derive(Clone, Copy)]
pub struct Turn {
    cos: f32,
    sin: f32,
}

impl Turn {
    pub fn by(angle: u16) -> Self {
        let (sin, cos) = match angle {
            0 => (0.0, 1.0),
            90 => (1.0, 0.0),
            180 => (0.0, -1.0),
            270 => (-1.0, 0.0),
            angle => f32::from(angle).to_radians().sin_cos(),
        };
        Self { cos, sin }
    }

    fn into_frame(self, (x, y): (f32, f32)) -> (f32, f32) {
        (x * self.cos + y * self.sin, y * self.cos - x * self.sin)
    }

    fn onto_page(self, (u, v): (f32, f32)) -> (f32, f32) {
        (u * self.cos - v * self.sin, u * self.sin + v * self.cos)
    }

    /// The box on the page around a box of the frame.
    pub fn page_box(self, u: (f32, f32), v: (f32, f32)) -> BoundingBox {
        let corners = [(u.0, v.0), (u.1, v.0), (u.0, v.1), (u.1, v.1)].map(|corner| self.onto_page(corner));
        let round = |value: f32| (value * 10.0).round() / 10.0;
        let sides = corners.map(|(x, y)| BoundingBox([round(x), round(y), round(x), round(y)]));
        sides.into_iter().reduce(BoundingBox::around).unwrap_or(BoundingBox([0.0; 4]))
    }

    /// A line of the page as it runs in the frame; `None` where it leans there.
    fn ruling(self, ruling: Ruling) -> Option<Ruling> {
        let point = |along| if ruling.horizontal { (along, ruling.at) } else { (ruling.at, along) };
        let (one, other) = (self.into_frame(point(ruling.from)), self.into_frame(point(ruling.to)));
        if (one.1 - other.1).abs() < 0.7 {
            return Some(Ruling { horizontal: true, at: one.1, from: one.0.min(other.0), to: one.0.max(other.0) });
        }
        let upright = (one.0 - other.0).abs() < 0.7;
        upright.then(|| Ruling { horizontal: false, at: one.0, from: one.1.min(other.1), to: one.1.max(other.1) })
    }
}
