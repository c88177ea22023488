//! Types for cells that a source gives as text alone.
//!
//! A number is digits with an optional sign, point and exponent, and keeps them; one with leading zeros is text, as it names
//! something. Thousands may be parted by commas, and the comma may be the decimal sign, where all such numbers of a column
//! agree. Days are `2026-01-31`, with a time behind `T` or a space; anything else, percents and currencies too, stays text.

use crate::contract::{Cell, Table, Value};

/// How a column writes numbers with commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commas {
    /// It has none, or they do not agree.
    None,
    /// `1,234,567.8`.
    Thousands,
    /// `1.234.567,8`.
    Decimal,
}

/// Types the text cells of a table and then its columns.
pub fn type_columns(table: &mut Table) {
    for at in 0..table.columns.len() {
        let texts = || {
            table.rows.iter().filter_map(|row| match row.1.get(at) {
                Some(Cell::Text(text)) => Some(text.trim()),
                _ => None,
            })
        };
        let commas = commas(texts());
        for row in &mut table.rows {
            if let Some(cell) = row.1.get_mut(at)
                && let Cell::Text(text) = cell
                && let Some(value) = value(text.trim(), commas)
            {
                *cell = Cell::typed(value, text);
            }
        }
    }
    table.infer_types();
}

fn commas<'a>(texts: impl Iterator<Item = &'a str>) -> Commas {
    let (mut thousands, mut decimal, mut seen) = (true, true, false);
    for text in texts.filter(|text| text.contains(',') && text.bytes().all(|byte| b"0123456789.,+-".contains(&byte))) {
        seen = true;
        thousands &= grouped(text, ',', '.').is_some();
        decimal &= grouped(text, '.', ',').is_some();
    }
    match (seen, thousands, decimal) {
        (true, true, _) => Commas::Thousands,
        (true, false, true) => Commas::Decimal,
        _ => Commas::None,
    }
}

/// The digits of a number whose thousands are parted by `group`, or which has none, with a decimal `point`.
fn grouped(text: &str, group: char, point: char) -> Option<String> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = match unsigned.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = whole.split(group);
    let first = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    let well = digits(first)
        && (rest.is_empty() || (first.len() <= 3 && !first.starts_with('0')))
        && rest.iter().all(|part| part.len() == 3 && digits(part))
        && fraction.is_none_or(digits);
    let sign = if text.starts_with('-') { "-" } else { "" };
    let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
    well.then(|| format!("{sign}{}{fraction}", whole.replace(group, "")))
}

fn value(text: &str, commas: Commas) -> Option<Value> {
    if is_number(text) {
        return Some(Value::Number(text.trim_start_matches('+').to_owned()));
    }
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return Some(Value::Bool(text.eq_ignore_ascii_case("true")));
    }
    let number = match commas {
        Commas::Thousands if text.contains(',') => grouped(text, ',', '.'),
        Commas::Decimal if text.contains(',') || text.contains('.') => grouped(text, '.', ','),
        Commas::None | Commas::Thousands | Commas::Decimal => None,
    };
    if let Some(digits) = number.filter(|digits| is_number(digits)) {
        return Some(Value::Number(digits));
    }
    date(text)
}

/// Whether a text is a number that is written as one everywhere.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_well = exponent.is_none_or(|exponent| {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        all_digits(unsigned) && unsigned.len() <= 3
    });
    text.len() <= 400
        && all_digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(all_digits)
        && exponent_well
}

/// A day, or a day and a time.
fn date(text: &str) -> Option<Value> {
    let digits = |part: &str, range: std::ops::RangeInclusive<u32>| {
        part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse().is_ok_and(|number| range.contains(&number))
    };
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let parts: Vec<&str> = day.split('-').collect();
    let [year, month, of_month] = parts.as_slice() else { return None };
    let well = year.len() == 4 && digits(year, 0..=9999) && month.len() == 2 && digits(month, 1..=12);
    if !well || of_month.len() != 2 || !digits(of_month, 1..=31) {
        return None;
    }
    let Some(time) = time else { return Some(Value::Date(day.to_owned())) };
    let parts: Vec<&str> = time.trim_end_matches('Z').split(':').collect();
    let [hour, minute, second] = parts.as_slice() else { return None };
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let well =
        [(hour, 23), (minute, 59), (&second, 60)].iter().all(|(part, most)| part.len() == 2 && digits(part, 0..=*most));
    (well && digits(fraction, 0..=999_999_999)).then(|| Value::Datetime(format!("{day}T{time}")))
}

/// Whether a cell shows a quantity, signs of money and percents included.
pub fn looks_like_number(text: &str) -> bool {
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
pub fn looks_like_year(text: &str) -> bool {
    text.len() == 4
        && (text.starts_with("19") || text.starts_with("20"))
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{CellType, Column, Row};

    fn column(texts: &[&str]) -> Table {
        let rows = (1..).zip(texts).map(|(number, text)| Row(number, vec![Cell::Text((*text).to_owned())])).collect();
        let mut table = Table { columns: vec![Column::default()], rows, ..Table::default() };
        type_columns(&mut table);
        table
    }

    #[test]
    fn a_column_agrees_on_what_its_commas_mean() {
        for (texts, numbers) in [
            (&["1,234", "12.50", "-7"][..], &["1234", "12.50", "-7"][..]),
            (&["1.234,50", "0,5"], &["1234.50", "0.5"]),
            (&["12,5", "1,234.5"], &[]),
            (&["9007199254740993", "1e-7"], &["9007199254740993", "1e-7"]),
            (&["007", "12 %", "$4"], &[]),
        ] {
            let table = column(texts);
            let found: Vec<&str> = table
                .rows
                .iter()
                .filter_map(|row| match &row.1[0] {
                    Cell::Typed { value: Value::Number(digits), .. } => Some(digits.as_str()),
                    Cell::Empty | Cell::Text(_) | Cell::Typed { .. } => None,
                })
                .collect();
            assert_eq!(found, numbers, "{texts:?}");
            let shown: Vec<&str> = table.rows.iter().map(|row| row.1[0].shown()).collect();
            assert_eq!(shown, texts);
        }
    }

    #[test]
    fn days_times_and_truth_are_typed_only_where_they_are_certain() {
        for (text, of) in [
            ("2026-01-31", CellType::Date),
            ("2026-01-31 12:30:00", CellType::Datetime),
            ("2026-13-31", CellType::String),
            ("01/02/2026", CellType::String),
            ("TRUE", CellType::Bool),
            ("yes", CellType::String),
        ] {
            assert_eq!(column(&[text]).columns[0].column_type, of, "{text}");
        }
    }
}
