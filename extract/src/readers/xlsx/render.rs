//! Numbers as their formats show them: with a currency, a percent sign, groups of digits.

/// The most decimals that a format may ask for.
const DECIMALS_MAX: usize = 30;

/// One section of a format, taken apart.
#[derive(Default)]
struct Section {
    before: String,
    after: String,
    decimals: usize,
    /// Decimals that are shown even where they are zero.
    decimals_min: usize,
    whole_min: usize,
    has_groups: bool,
    /// How often the number is divided by a thousand.
    thousands: i32,
    percents: i32,
    has_digits: bool,
}

/// A number as the format shows it; `None` where the format has something that is not rendered here (fractions, exponents,
/// conditions), or shows another number than there is.
pub fn render(code: &str, number: f64) -> Option<String> {
    let sections = sections(code);
    let (section, has_own_sign) = match (number, sections.len()) {
        (number, 2..) if number < 0.0 => (&sections[1], true),
        (0.0, 3..) => (&sections[2], true),
        _ => (sections.first()?, false),
    };
    let section = Section::parse(section)?;
    if !section.has_digits {
        return None;
    }
    let scaled = number.abs() * 100_f64.powi(section.percents) / 1000_f64.powi(section.thousands);
    if !scaled.is_finite() || scaled >= 1e15 {
        return None;
    }
    let written = format!("{scaled:.*}", section.decimals);
    // Money and shares are shown rounded; any other number whole or not at all.
    let is_rounded = written.parse::<f64>().is_ok_and(|shown| (shown - scaled).abs() > scaled * 1e-12);
    let has_sign = section.percents > 0 || !(section.before.trim().is_empty() && section.after.trim().is_empty());
    if is_rounded && !has_sign {
        return None;
    }
    let sign = if number < 0.0 && !has_own_sign { "-" } else { "" };
    let digits = section.digits(&written);
    Some(format!("{sign}{}{digits}{}", section.before, section.after).trim().to_owned())
}

/// The parts between the semicolons that stand outside of quotes.
fn sections(code: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        let last = sections.len() - 1;
        match character {
            ';' if !is_quoted => sections.push(String::new()),
            '\\' => {
                sections[last].push(character);
                sections[last].extend(characters.next());
            }
            _ => {
                is_quoted ^= character == '"';
                sections[last].push(character);
            }
        }
    }
    sections
}

impl Section {
    fn parse(code: &str) -> Option<Self> {
        let mut section = Self::default();
        let mut in_fraction = false;
        let mut commas = 0;
        let mut characters = code.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => {
                    let quoted: String = characters.by_ref().take_while(|next| *next != '"').collect();
                    section.literal(&quoted);
                }
                '\\' => section.literal(characters.next()?.encode_utf8(&mut [0; 4])),
                '_' | '*' => {
                    characters.next();
                }
                '[' => {
                    let inside: String = characters.by_ref().take_while(|next| *next != ']').collect();
                    match inside.strip_prefix('$') {
                        Some(currency) => section.literal(currency.split('-').next().unwrap_or_default()),
                        None if inside.starts_with(['<', '>', '=']) => return None,
                        None => {}
                    }
                }
                // Something among the digits, as in a telephone number.
                '0' | '#' | '?' if !section.after.is_empty() => return None,
                '0' | '#' | '?' => {
                    section.has_digits = true;
                    section.has_groups |= commas > 0 && !in_fraction;
                    commas = 0;
                    if in_fraction {
                        section.decimals += 1;
                        section.decimals_min = if character == '0' { section.decimals } else { section.decimals_min };
                    } else if character == '0' {
                        section.whole_min += 1;
                    }
                }
                ',' if section.has_digits => commas += 1,
                '.' if section.has_digits || !in_fraction => in_fraction = true,
                '%' => {
                    section.percents += 1;
                    section.literal("%");
                }
                '/' | '@' | 'E' | 'e' => return None,
                _ => section.literal(character.encode_utf8(&mut [0; 4])),
            }
        }
        section.thousands = commas;
        (section.decimals <= DECIMALS_MAX && section.percents <= 2 && section.thousands <= 4).then_some(section)
    }

    fn literal(&mut self, text: &str) {
        let place = if self.has_digits { &mut self.after } else { &mut self.before };
        place.push_str(text);
    }

    /// The digits of a number written with all decimals, as the section shows them.
    fn digits(&self, written: &str) -> String {
        let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
        let kept = fraction.trim_end_matches('0').len().max(self.decimals_min).min(fraction.len());
        let padded = format!("{whole:0>width$}", width = self.whole_min.min(DECIMALS_MAX));
        let mut digits = String::new();
        for (at, digit) in padded.chars().enumerate() {
            if self.has_groups && at > 0 && (padded.len() - at).is_multiple_of(3) {
                digits.push(',');
            }
            digits.push(digit);
        }
        if kept > 0 {
            digits.push('.');
            digits.push_str(&fraction[..kept]);
        }
        digits
    }
}
