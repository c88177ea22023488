//! Which paragraphs are headings, and of which level.

use std::collections::HashMap;

use super::outline::Entry;
use super::paragraphs::{Passage, Text, TextKind};

/// A heading is at least this much larger than the text.
const LARGER: f32 = 1.12;
/// The longest heading, in characters and in lines.
const CHARS_MAX: usize = 200;
const LINES_MAX: usize = 4;

/// The levels of the headings among passages, by their places.
pub fn levels(passages: &[Passage], outline: &[Entry]) -> HashMap<usize, u8> {
    let texts: Vec<(usize, &Text)> = passages
        .iter()
        .enumerate()
        .filter_map(|(at, passage)| match passage {
            Passage::Text(text) => Some((at, text)),
            Passage::Table { .. } => None,
        })
        .collect();
    let (body, body_bold) = body(&texts);
    let titles: HashMap<String, u8> = outline.iter().rev().map(|entry| (bare(&entry.title), entry.level)).collect();
    let mut by_outline: HashMap<usize, u8> = HashMap::new();
    let mut by_size: Vec<(usize, i32)> = Vec::new();
    let mut by_weight: Vec<usize> = Vec::new();
    for (index, (at, text)) in texts.iter().enumerate() {
        if let Some(level) = titles.get(&bare(&text.words)).filter(|_| fits(text)) {
            by_outline.insert(*at, (*level).min(6));
        }
        if !can_be(text) {
            continue;
        }
        let next = texts.get(index + 1).map(|(_, next)| *next);
        if text.size >= body * LARGER {
            by_size.push((*at, step(text.size)));
        } else if text.look.bold && !body_bold && text.size >= body * 0.93 && stands_over(text, next) {
            by_weight.push(*at);
        }
    }
    // Where much is bold, being bold says nothing.
    if by_weight.len() * 5 > texts.len() * 2 && by_weight.len() > 4 {
        by_weight.clear();
    }
    rank(&by_outline, &by_size, &by_weight, &texts)
}

fn rank(
    by_outline: &HashMap<usize, u8>,
    by_size: &[(usize, i32)],
    by_weight: &[usize],
    texts: &[(usize, &Text)],
) -> HashMap<usize, u8> {
    let mut known: HashMap<i32, u8> = HashMap::new();
    for (at, text) in texts {
        if let Some(level) = by_outline.get(at) {
            let of_size = known.entry(step(text.size)).or_insert(*level);
            *of_size = (*of_size).min(*level);
        }
    }
    let mut sizes: Vec<i32> = by_size.iter().map(|(_, size)| *size).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup_by(|smaller, larger| *larger - *smaller <= 1);
    let place = |size: i32| sizes.iter().position(|step| size >= *step - 1).unwrap_or(sizes.len());
    let level_of = |size: i32| {
        let rank = u8::try_from(place(size) + 1).unwrap_or(6);
        known.get(&size).copied().unwrap_or(rank).clamp(1, 6)
    };
    let mut levels = by_outline.clone();
    for (at, size) in by_size {
        levels.entry(*at).or_insert_with(|| level_of(*size));
    }
    let below = by_outline.values().copied().max().unwrap_or(0).max(u8::try_from(sizes.len()).unwrap_or(6));
    for at in by_weight {
        levels.entry(*at).or_insert_with(|| (below + 1).clamp(1, 6));
    }
    levels
}

/// The size of most characters, and whether most of them are bold.
fn body(texts: &[(usize, &Text)]) -> (f32, bool) {
    let mut chars: HashMap<i32, usize> = HashMap::new();
    let (mut bold, mut all) = (0, 0);
    for (_, text) in texts {
        let count = text.words.chars().count();
        *chars.entry(step(text.size)).or_default() += count;
        all += count;
        bold += if text.look.bold { count } else { 0 };
    }
    let size = chars.into_iter().max_by_key(|(size, count)| (*count, -size)).map_or(0, |(size, _)| size);
    (size as f32 / 2.0, bold * 2 > all)
}

/// A size in half points.
fn step(size: f32) -> i32 {
    (size * 2.0).round() as i32
}

fn fits(text: &Text) -> bool {
    text.kind != TextKind::Code && text.lines <= LINES_MAX && text.words.chars().count() <= CHARS_MAX
}

fn can_be(text: &Text) -> bool {
    let letters = text.words.chars().filter(|char| char.is_alphabetic()).count();
    fits(text)
        && letters >= 2
        && letters * 2 >= text.words.chars().filter(|char| !char.is_whitespace()).count()
        && !text.words.starts_with(['•', '-', '–', '*', '▪', '●'])
        && !text.words.ends_with([',', ';'])
}

/// Whether a short bold line has something below that is not bold.
fn stands_over(text: &Text, next: Option<&Text>) -> bool {
    text.lines <= 2
        && text.words.chars().count() <= 120
        && !text.words.ends_with('.')
        && next.is_none_or(|next| !next.look.bold || next.size < text.size * 0.95 || next.pages != text.pages)
        && next.is_some()
}

/// A title without what sets it off: case, spaces, signs.
fn bare(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
