//! Numbers as lists write them.

/// Letters are repeated for high numbers; past this many a number is written as one.
const LETTERS_MAX: u32 = 26 * 8;

/// The marker of a number in one of the shapes that presentations name, such as `arabicPeriod` or `alphaLcParenR`.
pub fn numbered(shape: &str, number: u32) -> String {
    let written = if shape.starts_with("alphaLc") {
        letters(number, 'a')
    } else if shape.starts_with("alphaUc") {
        letters(number, 'A')
    } else if shape.starts_with("romanLc") {
        roman(number).to_lowercase()
    } else if shape.starts_with("romanUc") {
        roman(number)
    } else {
        number.to_string()
    };
    if shape.ends_with("ParenBoth") {
        format!("({written})")
    } else if shape.ends_with("ParenR") {
        format!("{written})")
    } else if shape.ends_with("Plain") {
        written
    } else {
        format!("{written}.")
    }
}

/// `a` to `z`, then `aa`, `bb` and so on, as Word counts.
pub fn letters(number: u32, first: char) -> String {
    if number == 0 || number > LETTERS_MAX {
        return number.to_string();
    }
    let letter = char::from_u32(u32::from(first) + (number - 1) % 26).unwrap_or(first);
    std::iter::repeat_n(letter, (number as usize - 1) / 26 + 1).collect()
}

/// Roman numerals; past 3999 the number as it is.
pub fn roman(number: u32) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if number == 0 || number > 3999 {
        return number.to_string();
    }
    let mut left = number;
    let mut text = String::new();
    for (value, digit) in DIGITS {
        while left >= value {
            text.push_str(digit);
            left -= value;
        }
    }
    text
}
