//! Characters of the fonts that have pictures and Greek where others have letters.

/// The letters of the font Symbol from `A` on, and from `a` on.
const GREEK_UPPER: &str = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
const GREEK_LOWER: &str = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ";
/// Signs of Symbol that texts use.
const SIGNS: [(u32, char); 16] = [
    (0xA3, '≤'),
    (0xA5, '∞'),
    (0xAB, '↔'),
    (0xAC, '←'),
    (0xAD, '↑'),
    (0xAE, '→'),
    (0xAF, '↓'),
    (0xB0, '°'),
    (0xB1, '±'),
    (0xB3, '≥'),
    (0xB4, '×'),
    (0xB7, '•'),
    (0xB9, '≠'),
    (0xBB, '≈'),
    (0xD6, '√'),
    (0xE5, '∑'),
];
/// Signs of Wingdings that texts use.
const WINGDINGS: [(u32, char); 13] = [
    (0x6C, '●'),
    (0x6E, '■'),
    (0x6F, '☐'),
    (0x71, '☐'),
    (0x76, '❖'),
    (0xA7, '▪'),
    (0xA8, '☐'),
    (0xD8, '➢'),
    (0xDF, '←'),
    (0xE0, '→'),
    (0xFB, '✗'),
    (0xFC, '✓'),
    (0xFE, '☑'),
];

/// What a character of a font shows, by its code; `None` where that is not known.
pub fn symbol(font: &str, code: u32) -> Option<char> {
    // Such fonts stand at the beginning of an area for private use.
    let place = if (0xF000..=0xF0FF).contains(&code) { code - 0xF000 } else { code };
    let listed = |signs: &[(u32, char)]| signs.iter().find(|(code, _)| *code == place).map(|(_, sign)| *sign);
    let letter = |letters: &str, first: u32| letters.chars().nth(place.checked_sub(first)? as usize);
    if font.starts_with("Wingdings") {
        return if place == 0xFD { Some('☒') } else { listed(&WINGDINGS) };
    }
    if font == "Symbol" {
        let greek = if place < 0x61 { letter(GREEK_UPPER, 0x41) } else { letter(GREEK_LOWER, 0x61) };
        return greek.or_else(|| listed(&SIGNS)).or_else(|| char::from_u32(place).filter(char::is_ascii));
    }
    char::from_u32(code).filter(|c| !(0xE000..=0xF8FF).contains(&u32::from(*c)) && !c.is_control())
}
