//! From characters as they are seen to the order in which they are read.

use unicode_normalization::UnicodeNormalization as _;

/// Whether a character is of a script that is written from right to left.
pub fn is_rtl(char: char) -> bool {
    matches!(char, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}')
        && !matches!(char, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
}

/// Whether most of the letters of a text run from right to left.
pub fn is_mostly_rtl(text: &str) -> bool {
    let rtl = text.chars().filter(|char| is_rtl(*char)).count();
    rtl > 0 && rtl * 2 > text.chars().filter(|char| char.is_alphabetic()).count()
}

/// The text of a line, given as its characters stand from left to right.
pub fn logical(seen: &str) -> String {
    if !seen.chars().any(is_rtl) {
        return seen.to_owned();
    }
    let units = units(seen);
    let rtl = is_mostly_rtl(seen);
    let turned: Vec<&[char]> =
        if rtl { units.iter().rev().map(Vec::as_slice).collect() } else { units.iter().map(Vec::as_slice).collect() };
    // What runs the other way is turned again, with what stands between two such.
    let mut out: Vec<&[char]> = Vec::with_capacity(turned.len());
    let against = |unit: &[char]| unit.first().is_some_and(|char| if rtl { is_ltr(*char) } else { is_rtl(*char) });
    let mut at = 0;
    while at < turned.len() {
        if !against(turned[at]) {
            out.push(turned[at]);
            at += 1;
            continue;
        }
        let mut end = at + 1;
        let mut look = end;
        while look < turned.len() {
            let char = turned[look].first().copied().unwrap_or(' ');
            if against(turned[look]) {
                end = look + 1;
            } else if if rtl { is_rtl(char) } else { is_ltr(char) } {
                break;
            }
            look += 1;
        }
        out.extend(turned[at..end].iter().rev());
        at = end;
    }
    out.into_iter().flatten().flat_map(|char| plain(if rtl { mirrored(*char) } else { *char })).collect()
}

/// A bracket that opens to the left is the one that comes first where text runs from right to left.
fn mirrored(char: char) -> char {
    match char {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '«' => '»',
        '»' => '«',
        _ => char,
    }
}

fn is_ltr(char: char) -> bool {
    (char.is_alphanumeric() && !is_rtl(char)) || char == '%'
}

/// Characters with the marks that stand over them.
fn units(seen: &str) -> Vec<Vec<char>> {
    let mut units: Vec<Vec<char>> = Vec::new();
    for char in seen.chars() {
        match units.last_mut() {
            Some(unit) if unicode_normalization::char::is_combining_mark(char) => unit.push(char),
            _ => units.push(vec![char]),
        }
    }
    units
}

/// A letter without the shape that its place in the word gives it.
fn plain(char: char) -> Vec<char> {
    if matches!(char, '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}') {
        return char.nfkc().collect();
    }
    vec![char]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_turned_and_what_runs_the_other_way_is_turned_back() {
        for (seen, read) in [
            ("plain (text) 12", "plain (text) 12"),
            ("םולש", "שלום"),
            ("12.5 (דחא) םולש", "שלום (אחד) 12.5"),
            ("see םולש and go", "see שלום and go"),
            ("ﻼﻫ", "هلا"),
        ] {
            assert_eq!(logical(seen), read, "{seen}");
        }
    }
}
