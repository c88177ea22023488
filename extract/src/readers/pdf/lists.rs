//! Items of lists.

/// Characters that open an item.
const BULLETS: [char; 24] = [
    '•', '◦', '▪', '▫', '‣', '●', '○', '■', '□', '◆', '◇', '➢', '➤', '►', '▶', '✓', '✔', '·', '–', '—', '*', '-', '∙',
    '⁃',
];

/// What a line that opens an item starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A sign, of so many bytes with the space behind it.
    Bullet(usize),
    /// A number or a letter with a point or a bracket, of so many bytes.
    Number(usize),
}

/// The marker of a line, if it has one and something behind it.
pub fn marker(line: &str) -> Option<Marker> {
    let first = line.chars().next()?;
    if BULLETS.contains(&first) {
        let rest = line[first.len_utf8()..].trim_start();
        let spaced = line[first.len_utf8()..].starts_with(' ');
        let certain = !matches!(first, '-' | '*' | '–' | '—' | '·');
        return (!rest.is_empty() && (spaced || certain)).then(|| Marker::Bullet(line.len() - rest.len()));
    }
    let (mark, rest) = line.split_once(' ')?;
    (is_number_marker(mark) && !rest.trim().is_empty()).then_some(Marker::Number(mark.len()))
}

/// Whether a text is nothing but a marker.
pub fn is_marker(text: &str) -> bool {
    let mut chars = text.chars();
    let single = chars.next().is_some_and(|char| BULLETS.contains(&char)) && chars.next().is_none();
    single || is_number_marker(text)
}

/// `1.`, `12)`, `(3)`, `a)`, `(iv)`: digits up to three, one letter, or a small Roman number.
fn is_number_marker(mark: &str) -> bool {
    let bracketed = mark.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    let Some(inner) = bracketed.or_else(|| mark.strip_suffix(['.', ')'])) else { return false };
    let digits = !inner.is_empty() && inner.len() <= 3 && inner.bytes().all(|byte| byte.is_ascii_digit());
    let closed = bracketed.is_some() || mark.ends_with(')');
    let letter = inner.len() == 1 && inner.bytes().all(|byte| byte.is_ascii_alphabetic()) && closed;
    let roman = inner.len() <= 5 && !inner.is_empty() && inner.bytes().all(|byte| b"ivxlc".contains(&byte)) && closed;
    digits || letter || roman
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_signs_numbers_and_bracketed_letters() {
        for (line, marker_of) in [
            ("• apples", Some(Marker::Bullet(4))),
            ("- pears", Some(Marker::Bullet(2))),
            ("-5 degrees", None),
            ("12. plums", Some(Marker::Number(3))),
            ("(iv) figs", Some(Marker::Number(4))),
            ("a) nuts", Some(Marker::Number(2))),
            ("I. Introduction", None),
            ("1999. That year", None),
            ("3.", None),
        ] {
            assert_eq!(marker(line), marker_of, "{line}");
        }
    }
}
