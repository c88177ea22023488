//! Days and times as workbooks count them.

use crate::readers::calendar::date;

/// The last serial number of a day, 9999-12-31 in the 1900 system.
const SERIAL_MAX: f64 = 2_958_466.0;
const MILLIS_PER_DAY: i64 = 86_400_000;
/// The day that the 1900 system has after 28 February 1900, and the calendar has not.
const NO_DAY: i64 = 60;
/// From 1970-01-01 back to the day before the first of each system.
const EPOCH_1900: i64 = -25_569;
const EPOCH_1904: i64 = -24_107;

/// Where a workbook begins to count days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateSystem {
    /// 1 is 1900-01-01, and 60 is a 29 February that never was.
    From1900,
    /// 0 is 1904-01-01.
    From1904,
}

/// A moment as a workbook holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// `2026-01-31`.
    pub date: String,
    /// `12:30:00`, with milliseconds where there are any.
    pub time: String,
    /// Whether the date is in the calendar.
    pub is_a_day: bool,
    /// Whether it is the first moment of its day.
    pub is_midnight: bool,
}

impl DateSystem {
    /// The moment of a serial number; `None` where it is out of range.
    pub fn moment(self, serial: f64) -> Option<Moment> {
        if !(0.0..SERIAL_MAX).contains(&serial) {
            return None;
        }
        let millis = to_millis(serial)?;
        let (day, rest) = (millis.div_euclid(MILLIS_PER_DAY), millis.rem_euclid(MILLIS_PER_DAY));
        let (date, is_a_day) = match self {
            Self::From1904 => (date(day + EPOCH_1904)?, true),
            Self::From1900 if day == NO_DAY => ("1900-02-29".to_owned(), false),
            Self::From1900 if day == 0 => ("1900-01-00".to_owned(), false),
            Self::From1900 => (date(day + EPOCH_1900 + i64::from(day < NO_DAY))?, true),
        };
        Some(Moment { date, time: clock(rest), is_a_day, is_midnight: rest == 0 })
    }
}

/// A length of time in seconds, as digits, and as hours, minutes and seconds.
pub fn duration(days: f64) -> Option<(String, String)> {
    if days.abs() >= SERIAL_MAX {
        return None;
    }
    let millis = to_millis(days)?;
    let sign = if millis < 0 { "-" } else { "" };
    let (seconds, rest) = (millis.abs() / 1000, millis.abs() % 1000);
    let fraction = if rest == 0 { String::new() } else { format!(".{rest:03}").trim_end_matches('0').to_owned() };
    let shown = format!("{sign}{}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    Some((format!("{sign}{seconds}{fraction}"), shown))
}

#[expect(clippy::cast_possible_truncation, reason = "the range was checked by the callers")]
fn to_millis(days: f64) -> Option<i64> {
    days.is_finite().then(|| (days * 86_400_000.0).round() as i64)
}

/// A time of day.
fn clock(millis: i64) -> String {
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { clock } else { format!("{clock}.{rest:03}").trim_end_matches('0').to_owned() }
}
