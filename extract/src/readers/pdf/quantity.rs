//! Which cells show quantities, by their looks.

/// Whether a cell shows a quantity, signs of money and percents included.
pub fn is_shown(text: &str) -> bool {
    let text = text.trim();
    let bare = text.trim_matches(|char: char| "$€£¥₩%()+-−–—*†‡<>~ \u{a0}".contains(char));
    if bare.is_empty() {
        return matches!(text, "-" | "–" | "—");
    }
    let digits = bare.chars().filter(char::is_ascii_digit).count();
    bare.starts_with(|char: char| char.is_ascii_digit() || char == '.')
        && bare.chars().all(|char| char.is_ascii_digit() || ".,/: %\u{a0}'-()".contains(char))
        && digits > 0
}

/// Whether a cell is a year, as headers have.
pub fn is_year(text: &str) -> bool {
    text.len() == 4
        && (text.starts_with("19") || text.starts_with("20"))
        && text.bytes().all(|byte| byte.is_ascii_digit())
}
