//! Days, times and moments as numbers, and back to text.

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::Pieces;

use crate::decimal::{self, Scaled};

const EPOCH: Date = Date::constant(1970, 1, 1);
const DAY_MICROS: i64 = 86_400_000_000;
const NANOS_A_SECOND: i128 = 1_000_000_000;
const NANOS_A_MICRO: i128 = 1_000;

/// Days since 1970 of a day written as ISO 8601 has it.
pub fn days(text: &str) -> Option<i32> {
    days_of(text.parse().ok()?)
}

fn days_of(date: Date) -> Option<i32> {
    i32::try_from(date.duration_since(EPOCH).as_hours() / 24).ok()
}

/// Microseconds since 1970 of a moment written as ISO 8601 has it; without an offset it is taken for UTC.
pub fn micros(text: &str) -> Option<i64> {
    let pieces = Pieces::parse(text).ok()?;
    let civil = DateTime::from_parts(pieces.date(), pieces.time()?);
    let offset = pieces.to_numeric_offset().map_or(0, |offset| i128::from(offset.seconds()) * NANOS_A_SECOND);
    let nanos = civil.duration_since(EPOCH.to_datetime(Time::midnight())).as_nanos() - offset;
    let micros = i64::try_from((nanos + NANOS_A_MICRO / 2).div_euclid(NANOS_A_MICRO)).ok()?;
    civil_moment(micros).map(|_| micros)
}

/// Microseconds since midnight of a time of day.
pub fn time_micros(text: &str) -> Option<i64> {
    let time: Time = text.parse().ok()?;
    let micros = time.duration_since(Time::midnight()).as_micros();
    i64::try_from(micros).ok()
}

/// Seconds of a length of time: `90`, `1:30` (minutes and seconds), `26:00:00` (hours, which may pass a day).
pub fn seconds(text: &str) -> Option<Scaled> {
    if let Ok(seconds) = decimal::parse(text) {
        return Some(seconds);
    }
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let mut total = Scaled::ZERO;
    let parts: Vec<&str> = unsigned.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    for (at, part) in parts.iter().enumerate() {
        let is_first = at == 0;
        let is_last = at + 1 == parts.len();
        let whole = part.split('.').next().unwrap_or_default();
        if whole.is_empty() || !part.starts_with(|c: char| c.is_ascii_digit()) || (part.contains('.') && !is_last) {
            return None;
        }
        let value = decimal::parse(part).ok()?;
        if !is_first && value >= decimal::parse("60").ok()? {
            return None;
        }
        total = total.checked_mul(Scaled::from_i128(60))?.checked_add(value)?;
    }
    let total = if negative { total.wrapping_neg() } else { total };
    (total.wrapping_abs() < decimal::power(decimal::WIDE_DIGITS)).then_some(total)
}

/// The first moment of a day.
pub fn midnight(days: i32) -> i64 {
    i64::from(days) * DAY_MICROS
}

/// The day of a moment at midnight; `None` of any other.
pub fn day_of_midnight(micros: i64) -> Option<i32> {
    if micros.rem_euclid(DAY_MICROS) == 0 { i32::try_from(micros.div_euclid(DAY_MICROS)).ok() } else { None }
}

/// `2026-01-31`
pub fn day_text(days: i32) -> String {
    date(days).map_or_else(String::new, |date| date.to_string())
}

/// The months from year 0 to the month of a day.
pub fn month(days: i32) -> i32 {
    date(days).map_or(0, |date| i32::from(date.year()) * 12 + i32::from(date.month()) - 1)
}

fn date(days: i32) -> Option<Date> {
    EPOCH.checked_add(jiff::SignedDuration::from_hours(i64::from(days) * 24)).ok()
}

/// `2026-01-31T12:30:00Z`
pub fn moment_text(micros: i64) -> String {
    civil_moment(micros).map_or_else(String::new, |moment| format!("{moment}Z"))
}

/// A moment by the clock in UTC, which has the whole of the year 9999.
fn civil_moment(micros: i64) -> Option<DateTime> {
    EPOCH.to_datetime(Time::midnight()).checked_add(jiff::SignedDuration::from_micros(micros)).ok()
}

/// `12:30:00`
pub fn time_text(micros: i64) -> String {
    let time = Time::midnight().checked_add(jiff::SignedDuration::from_micros(micros));
    time.map_or_else(|_| String::new(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_come_back_as_they_were() {
        for day in ["1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01", "9999-12-31", "1582-10-10"] {
            assert_eq!(days(day).map(day_text).as_deref(), Some(day));
        }
        assert_eq!(days("2024-02-30"), None);
        for (given, held) in [
            ("2026-01-31T12:30:00", "2026-01-31T12:30:00Z"),
            ("2026-01-31T12:30:00Z", "2026-01-31T12:30:00Z"),
            ("2026-01-31T12:30:00+02:00", "2026-01-31T10:30:00Z"),
            ("2026-01-31T12:30:00.123456", "2026-01-31T12:30:00.123456Z"),
            ("1812-06-24T00:00:00", "1812-06-24T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("9999-12-31T23:59:59-05:00", ""),
            ("9999-12-31T23:59:59.9999999", ""),
            ("1969-12-31T23:59:59.9999996", "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(micros(given).map(moment_text).unwrap_or_default(), held, "{given}");
        }
        for time in ["00:00:00", "23:59:59", "12:30:00.25"] {
            assert_eq!(time_micros(time).map(time_text).as_deref(), Some(time));
        }
        assert_eq!((month(-1), month(0)), (1969 * 12 + 11, 1970 * 12));
    }

    #[test]
    fn lengths_of_time_are_seconds() {
        for (given, seconds_text) in
            [("90", "90"), ("1:30", "90"), ("26:00:00", "93600"), ("-0:00:01.5", "-1.5"), ("0.25", "0.25")]
        {
            assert_eq!(seconds(given).map(decimal::text).as_deref(), Some(seconds_text), "{given}");
        }
        for given in ["", "1:60", "1:2:3:4", "a:b", "1.5:00", ":30", "1:-2"] {
            assert_eq!(seconds(given), None, "{given}");
        }
    }
}
