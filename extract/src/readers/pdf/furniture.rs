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
    let mut ends: Vec<Vec<usize>> = Vec::new();
    for on_page in by_page.values_mut() {
        on_page.sort_by(|a, b| lines[*a].height.total_cmp(&lines[*b].height));
        let top = on_page.iter().copied().filter(|at| lines[*at].height < MARGIN);
        let bottom = on_page.iter().rev().copied().filter(|at| lines[*at].height > 1.0 - MARGIN);
        ends.push(top.take(LINES).collect());
        ends.push(bottom.take(LINES).collect());
    }
    let patterns: HashMap<usize, String> = ends.iter().flatten().map(|at| (*at, pattern(&lines[*at].text))).collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, pattern) in &patterns {
        places.entry(pattern).or_default().push(*at);
    }
    let enough = 2.max(pages as usize * 3 / 10).min(12);
    for end in &ends {
        // From the edge of the page to the first line that is its own.
        for at in end {
            let line = lines[*at];
            let number = patterns[at].trim_matches(|char: char| !char.is_alphanumeric() && char != '#') == "#";
            let alike = |other: &&usize| number || (lines[**other].height - line.height).abs() < 0.012;
            let on: HashSet<u32> =
                places[patterns[at].as_str()].iter().filter(alike).map(|other| lines[*other].page).collect();
            if on.len() < if number { 2 } else { enough } && !line.artifact {
                break;
            }
            dropped.insert(*at);
        }
    }
    // A page that says little else keeps its words.
    for on_page in by_page.values() {
        let chars = |at: &usize| lines[*at].text.len();
        let gone: usize = on_page.iter().filter(|at| dropped.contains(at)).map(chars).sum();
        if gone * 2 > on_page.iter().map(chars).sum::<usize>() {
            for at in on_page {
                dropped.remove(at);
            }
        }
    }
    dropped
}

/// A line with its numbers, Roman ones standing alone too, replaced by one sign.
fn pattern(text: &str) -> String {
    let roman =
        |word: &str| word.len() <= 6 && !word.is_empty() && word.bytes().all(|byte| b"ivxlcIVXLC".contains(&byte));
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
