//! Dates, weeks and clock times among tokens.

use super::words::{Kind, Token};

const MONTHS: [&str; 24] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
];
const WEEKDAYS: [&str; 17] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "mon",
    "tue",
    "tues",
    "wed",
    "thu",
    "thur",
    "thurs",
    "fri",
    "sat",
    "sun",
];
const WEEKS_MAX: u32 = 53;

/// Where the date that starts at token `at` ends: `2026-03-04`, `2026/03/04`, `2026_03_04`, `3/4/26`, `31/12/2026`,
/// `March 4`, `Mar. 4th, 2026`, `4 March`, `4th of March 2026`.
pub(super) fn date_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    if is_inside_number(tokens, at) {
        return None;
    }
    let end = digits_at(tokens, at).or_else(|| month_first_at(tokens, at)).or_else(|| day_first_at(tokens, at))?;
    let goes_on = tokens.get(end).is_some_and(|token| token.glued && token.is_any(&["/", "-", "."]))
        && tokens.get(end + 1).is_some_and(|token| token.glued && token.kind == Kind::Number);
    (!goes_on).then_some(end)
}

/// Where the month and day without a year, `8/13`, that starts at token `at` ends.
pub(super) fn month_day_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let (first, second) = (tokens.get(at)?.number(2)?, glued_number(tokens, at + 1, &["/"])?.number(2)?);
    let goes_on = tokens.get(at + 3).is_some_and(|token| token.glued);
    (is_day_and_month(first, second) && !goes_on && !is_inside_number(tokens, at)).then_some(at + 3)
}

/// Where the week that starts at token `at` ends: `week 31`, `W31`, `2026-W31`, `week of March 4`.
pub(super) fn week_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let year = tokens.get(at)?.number(4).filter(|_| tokens[at].text.len() == 4);
    let mut at = at + usize::from(year.is_some());
    at += usize::from(year.is_some() && tokens.get(at).is_some_and(|token| token.is("-")));
    let word = tokens.get(at)?;
    let is_week = |token: &Token<'_>| token.number(2).is_some_and(|week| (1..=WEEKS_MAX).contains(&week));
    let next = tokens.get(at + 1)?;
    if word.is_any(&["w", "cw", "wk"]) && next.glued && is_week(next) {
        return Some(at + 2);
    }
    if !word.is_any(&["week", "wk"]) {
        return None;
    }
    if is_week(next) && date_at(tokens, at + 1).is_none() {
        return Some(at + 2);
    }
    let is_link = next.is_any(&["of", "ending", "starting", "beginning", "commencing", "#"]);
    let start = at + 1 + usize::from(is_link);
    date_at(tokens, start).or_else(|| tokens.get(start).is_some_and(is_week).then_some(start + 1))
}

/// Where the clock time that starts at token `at` ends: `10:00`, `00:03:12`, `10:00 AM`, `3pm`.
pub(super) fn clock_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    if is_inside_number(tokens, at) {
        return None;
    }
    let is_half = |at: usize| tokens.get(at).is_some_and(|token| token.is_any(&["am", "pm"]));
    let hours = tokens.get(at)?.number(2)?;
    let sixtieth = |at: usize| {
        let number = glued_number(tokens, at, &[":", "_"])?;
        number.number(2).filter(|value| *value < 60 && number.text.len() == 2)
    };
    if sixtieth(at + 1).is_none() {
        return ((1..=12).contains(&hours) && is_half(at + 1)).then_some(at + 2);
    }
    let end = if sixtieth(at + 3).is_some() { at + 5 } else { at + 3 };
    let goes_on = glued_number(tokens, end, &[":", "_", "/", "-"]).is_some();
    (hours < 24 && !goes_on).then(|| end + usize::from(is_half(end)))
}

/// Whether a clock time with seconds, as transcripts count, starts at token `at`.
pub(super) fn has_seconds(tokens: &[Token<'_>], at: usize) -> bool {
    clock_at(tokens, at).is_some_and(|end| end >= at + 5)
}

pub(super) fn is_weekday(token: &Token<'_>) -> bool {
    token.is_any(&WEEKDAYS)
}

fn digits_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let first = tokens.get(at)?;
    let sign = tokens.get(at + 1)?;
    let second = glued_number(tokens, at + 1, &["-", "/", "_"])?.number(2)?;
    let last = glued_number(tokens, at + 3, &[sign.text.as_ref()])?;
    let is_date = if first.text.len() == 4 {
        let day = last.number(2)?;
        first.number(4).is_some() && (1..=12).contains(&second) && (1..=31).contains(&day)
    } else {
        let has_year = last.number(4).is_some() && matches!(last.text.len(), 2 | 4);
        sign.is("/") && has_year && is_day_and_month(first.number(2)?, second)
    };
    is_date.then_some(at + 5)
}

fn month_first_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut end = at + 1;
    if !tokens.get(at)?.is_any(&MONTHS) {
        return None;
    }
    end += usize::from(tokens.get(end).is_some_and(|token| token.is(".")));
    end = day_at(tokens, end)?;
    Some(year_at(tokens, end))
}

fn day_first_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut end = day_at(tokens, at)?;
    end += usize::from(tokens.get(end).is_some_and(|token| token.is("of")));
    if !tokens.get(end)?.is_any(&MONTHS) {
        return None;
    }
    end += 1;
    end += usize::from(tokens.get(end).is_some_and(|token| token.is(".")));
    Some(year_at(tokens, end))
}

fn day_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    tokens.get(at)?.number(2).filter(|day| (1..=31).contains(day))?;
    let is_ordinal = tokens.get(at + 1).is_some_and(|token| token.glued && token.is_any(&["st", "nd", "rd", "th"]));
    Some(at + 1 + usize::from(is_ordinal))
}

/// Past the year that may follow a day and a month.
fn year_at(tokens: &[Token<'_>], at: usize) -> usize {
    let start = at + usize::from(tokens.get(at).is_some_and(|token| token.is(",")));
    let is_year = tokens.get(start).is_some_and(|token| token.number(4).is_some() && token.text.len() == 4);
    if is_year { start + 1 } else { at }
}

fn is_day_and_month(first: u32, second: u32) -> bool {
    first.min(second) >= 1 && first.min(second) <= 12 && first.max(second) <= 31
}

/// The number right behind one of `signs` at token `at`, which stands right behind the token before it.
fn glued_number<'a, 'b>(tokens: &'a [Token<'b>], at: usize, signs: &[&str]) -> Option<&'a Token<'b>> {
    tokens.get(at).filter(|token| token.glued && token.is_any(signs))?;
    tokens.get(at + 1).filter(|token| token.glued && token.kind == Kind::Number)
}

/// Whether token `at` is the later part of a number such as a version: `1.2026`.
fn is_inside_number(tokens: &[Token<'_>], at: usize) -> bool {
    at >= 2
        && tokens.get(at).is_some_and(|token| token.glued)
        && tokens[at - 1].glued
        && tokens[at - 1].is_any(&["/", "-", ".", ":"])
        && tokens[at - 2].kind == Kind::Number
}
