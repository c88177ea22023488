//! How values are written in files that give everything as text: numbers, days and moments, and what is none.

use crate::contract::Value;

/// What stands where a spreadsheet or a program could not compute a number.
const ERRORS: &[&str] = &[
    "#DIV/0!",
    "#N/A",
    "#NAME?",
    "#NULL!",
    "#NUM!",
    "#REF!",
    "#VALUE!",
    "#SPILL!",
    "#CALC!",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "+inf",
    "infinity",
    "-infinity",
    "+infinity",
];

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberStyle {
    /// `1234.5`
    Plain,
    /// `1,234.5`
    CommaGroups,
    /// `1.234,5` or `1234,5`
    DecimalComma,
}

/// Whether a text stands where a number could not be computed: `#DIV/0!`, `NaN`.
pub fn is_error(text: &str) -> bool {
    let text = text.trim();
    text.len() <= 10 && ERRORS.iter().any(|error| error.eq_ignore_ascii_case(text))
}

/// How the numbers of a column are written, if all its texts agree on it but those that stand for an error; else plainly.
///
/// `comma_is_decimal` says which way `1,234` is meant where nothing else tells.
pub fn number_style<'a, I: Iterator<Item = &'a str>>(texts: impl Fn() -> I, comma_is_decimal: bool) -> NumberStyle {
    let agrees = |style| texts().filter(|text| !is_error(text)).all(|text| number(text.trim(), style).is_some());
    if !texts().any(|text| text.contains(',')) {
        // `1.234.567` can only be groups.
        let has_groups = texts().any(|text| text.matches('.').count() > 1);
        return if has_groups && agrees(NumberStyle::DecimalComma) {
            NumberStyle::DecimalComma
        } else {
            NumberStyle::Plain
        };
    }
    let (groups, decimals) = (agrees(NumberStyle::CommaGroups), agrees(NumberStyle::DecimalComma));
    match (groups, decimals) {
        (true, false) => NumberStyle::CommaGroups,
        (false, true) => NumberStyle::DecimalComma,
        (true, true) if !comma_is_decimal => NumberStyle::CommaGroups,
        (true, true) | (false, false) => NumberStyle::Plain,
    }
}

/// The digits of a number, as a plain decimal; `None` where the text is none. A number that starts with a zero (`007`) is a name.
pub fn number(text: &str, style: NumberStyle) -> Option<String> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let starts = bytes.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b','));
    if !starts || bytes.len() > 400 {
        return None;
    }
    match style {
        NumberStyle::Plain => is_plain(text).then(|| text.to_owned()),
        NumberStyle::CommaGroups => grouped(text, b',').and_then(|digits| is_plain(&digits).then_some(digits)),
        NumberStyle::DecimalComma => {
            let (whole, fraction) = text.split_once(',').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
            let whole = grouped(whole, b'.').filter(|whole| !whole.contains('.'))?;
            let digits = fraction.map_or(whole.clone(), |fraction| format!("{whole}.{fraction}"));
            is_plain(&digits).then_some(digits)
        }
    }
}

/// The text without `mark` between groups of three digits before the point.
fn grouped(text: &str, mark: u8) -> Option<String> {
    let mark = char::from(mark);
    let (whole, rest) = match text.find('.').filter(|_| mark != '.') {
        Some(point) => text.split_at(point),
        None => (text, ""),
    };
    if !whole.contains(mark) {
        return Some(text.to_owned());
    }
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    let mut groups = unsigned.split(mark);
    let first = groups.next()?;
    let is_grouped = (1..=3).contains(&first.len()) && !first.starts_with('0') && groups.all(|group| group.len() == 3);
    is_grouped.then(|| format!("{}{rest}", whole.replace(mark, "")))
}

/// An optional minus, digits without a leading zero, and an optional fraction and exponent.
fn is_plain(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (digits, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, fraction)| (whole, Some(fraction)));
    let is_whole = all_digits(whole) && (whole.len() <= 1 || !whole.starts_with('0'));
    let is_fraction = fraction.is_none_or(|fraction| !fraction.is_empty() && all_digits(fraction));
    is_whole
        && is_fraction
        && (!whole.is_empty() || fraction.is_some())
        && (1..=9).contains(&exponent.len())
        && all_digits(exponent)
}

/// A day (`2026-01-31`, `2026/01/31`), or a day and a time with `T` or a space between.
pub fn moment(text: &str) -> Option<Value> {
    let bytes = text.as_bytes();
    if bytes.len() < 10 || !bytes[..4].iter().all(u8::is_ascii_digit) || !text.is_ascii() {
        return None;
    }
    let (day, rest) = text.split_at(10);
    let day = date(day)?;
    if rest.is_empty() {
        return Some(Value::Date(day));
    }
    let rest = rest.strip_prefix(['T', ' ', 't'])?.trim_start();
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_at);
    Some(Value::Datetime(format!("{day}T{}{}", time(clock.trim_end())?, offset(zone)?)))
}

fn date(text: &str) -> Option<String> {
    let mark = char::from(text.as_bytes()[4]);
    if !matches!(mark, '-' | '/') || char::from(text.as_bytes()[7]) != mark {
        return None;
    }
    let (year, month, day) = (digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..10])?);
    let is_leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => 31,
    };
    let exists = year > 0 && (1..=12).contains(&month) && (1..=days).contains(&day);
    exists.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// A time of day, `12:30`, `12:30:00` or `12:30:00.25`, with its seconds; `None` where the text is none.
pub fn time(text: &str) -> Option<String> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next().unwrap_or("00"));
    let (second, fraction) = second.split_once('.').map_or((second, None), |(second, rest)| (second, Some(rest)));
    let two = |text: &str, below: u32| digits(text).is_some_and(|number| text.len() == 2 && number < below);
    let is_fraction = fraction.is_none_or(|fraction| (1..=9).contains(&fraction.len()) && digits(fraction).is_some());
    let exists = two(hour, 24) && two(minute, 60) && two(second, 60) && is_fraction;
    let fraction = fraction.map_or_else(String::new, |fraction| format!(".{fraction}"));
    exists.then(|| format!("{hour}:{minute}:{second}{fraction}"))
}

/// `Z`, `+01:00`, `+0100` or nothing.
fn offset(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return Some(String::new());
    }
    if text.eq_ignore_ascii_case("z") {
        return Some("Z".to_owned());
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let (hour, minute) = rest.split_once(':').or_else(|| rest.split_at_checked(2))?;
    let minute = if minute.is_empty() { "00" } else { minute };
    let exists = hour.len() == 2 && minute.len() == 2 && digits(hour)? < 24 && digits(minute)? < 60;
    exists.then(|| format!("{sign}{hour}:{minute}"))
}

fn digits(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}
