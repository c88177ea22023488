//! Running heads, running feet and page numbers.

use std::collections::{HashMap, HashSet};

use super::lines::Line;

/// How far from the top and from the bottom a page's furniture stands, as a share of its height.
const MARGIN: f32 = 0.13;
/// How many lines at each end of a page are looked at.
const LINES: usize = 3;

/// The lines that are repeated from page to page, by their places in `lines`. A file of one page has none.
pub fn repeated(lines: &[&Line], pages: u32) -> HashSet<usize> {
    let mut dropped = HashSet::new();
    if pages < 2 {
        return dropped;
    }
    let mut by_page: HashMap<u32, Vec<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        by_page.entry(line.page).or_default().push(at);
    }
    let mut places: HashMap<(String, bool), Vec<(u32, usize)>> = HashMap::new();
    for (page, on_page) in &mut by_page {
        on_page.sort_by(|a, b| lines[*a].height.total_cmp(&lines[*b].height));
        let top = on_page.iter().take(LINES).filter(|at| lines[**at].height < MARGIN).map(|at| (*at, true));
        let bottom = on_page.iter().rev().take(LINES).filter(|at| lines[**at].height > 1.0 - MARGIN).map(|at| (*at, false));
        for (at, is_top) in top.chain(bottom) {
            if lines[at].artifact {
                dropped.insert(at);
            }
            places.entry((pattern(&lines[at].text), is_top)).or_default().push((*page, at));
        }
    }
    for ((pattern, _), found) in places {
        let on: HashSet<u32> = found.iter().map(|(page, _)| *page).collect();
        let number = pattern.trim_matches(|char: char| !char.is_alphanumeric() && char != '#') == "#";
        let enough = if number { 2 } else { 2.max(pages as usize * 3 / 10).min(12) };
        let alike = |(_, at): &(u32, usize)| {
            let height = lines[*at].height;
            found.iter().filter(|(_, other)| (lines[*other].height - height).abs() < 0.02).count() >= enough.min(found.len())
        };
        if on.len() >= enough {
            dropped.extend(found.iter().filter(|one| number || alike(one)).map(|(_, at)| *at));
        }
    }
    dropped
}

/// A line with its numbers, Roman ones standing alone too, replaced by one sign.
fn pattern(text: &str) -> String {
    let roman = |word: &str| word.len() <= 6 && !word.is_empty() && word.bytes().all(|byte| b"ivxlcIVXLC".contains(&byte));
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        if roman(word) {
            out.push('#');
            continue;
        }
        for char in word.chars() {
            if !char.is_ascii_digit() {
                out.extend(char.to_lowercase());
            } else if !out.ends_with('#') {
                out.push('#');
            }
        }
    }
    out
}
