//! Values as they are made, and as a table has them.

use loom_extract::contract::{Cell, CellType, Value};

use super::tape::Tape;

/// A year, a month and a day.
pub type Day = (i32, u32, u32);

/// A value as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    Absent,
    Text(String),
    /// The digits of a number, or of a length of time in seconds.
    Number(String),
    Bool(bool),
    Day(Day),
    /// A day and the microseconds since its midnight, in UTC.
    Moment(Day, u64),
    /// Microseconds since midnight.
    Time(u64),
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "ab",
    "b",
    "é",
    "e\u{301}",
    "日本",
    "\u{fffd}",
    "😀",
    " x ",
    "%",
    "_",
    "null",
    "a\"b",
    "'; DROP TABLE t; --",
    "=1+1",
    "z",
    "a\u{0}b",
    "\\",
];
const PLAIN_NUMBERS: &[&str] =
    &["0", "1", "2", "-1", "3", "10.01", "20", "0.1", "-0.5", "12.50", "99.99", "1e-7", "1.5E3"];
const FINE_NUMBERS: &[&str] = &[
    "0.000000001",
    "-0.000000001",
    "0.0000000005",
    "0.0000000015",
    "-0.0000000025",
    "0.00000000050001",
    "1.1234567894999",
    "0.3333333333333",
    "-0.66666666666666666667",
    "123.000000000499",
    "2.0000000000",
    "1e-12",
];
const LARGE_NUMBERS: &[&str] = &[
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9999999999999999.999999999",
    "10000000000000000",
    "-10000000000000000",
    "999999999.999999999",
    "1000000000",
    "4e15",
];
const HUGE_NUMBERS: &[&str] = &[
    "99999999999999999999999999999999999998",
    "99999999999999999999999999999999999999",
    "-99999999999999999999999999999999999999",
    "9999999999999999999999999999999999999999999999999999999.999999999",
    "-9999999999999999999999999999999999999999999999999999999",
    "170141183460469231731687303715884105728",
    "5e54",
];
const DAYS: &[Day] = &[
    (2026, 1, 31),
    (2026, 1, 1),
    (2025, 12, 31),
    (2024, 2, 29),
    (1970, 1, 1),
    (1969, 12, 31),
    (1582, 10, 10),
    (1, 1, 1),
    (999, 3, 4),
    (9999, 12, 31),
];
const CLOCKS: &[u64] =
    &[0, 43_200_000_000, 86_399_999_999, 45_296_250_000, 1, 3_723_000_000, 36_061_123_456, 79_199_000_000];

/// How large and how fine the numbers of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Plain,
    Fine,
    Large,
    Huge,
}

impl Made {
    pub fn by_chance(tape: &mut Tape<'_>, column_type: CellType, reach: Reach) -> Self {
        if tape.once_in(7) {
            return Self::Absent;
        }
        match column_type {
            CellType::String => Self::Text((*tape.pick(TEXTS)).to_owned()),
            CellType::Number | CellType::Duration => Self::Number(number(tape, reach)),
            CellType::Bool => Self::Bool(tape.once_in(2)),
            CellType::Date => Self::Day(*tape.pick(DAYS)),
            CellType::Datetime => Self::Moment(*tape.pick(DAYS), *tape.pick(CLOCKS)),
            CellType::Time => Self::Time(*tape.pick(CLOCKS)),
        }
    }

    /// The value as a table has it.
    pub fn cell(&self, column_type: CellType) -> Cell {
        let value = match self {
            Self::Absent => return Cell::Empty,
            Self::Text(text) => return Cell::Text(text.clone()),
            Self::Number(digits) if column_type == CellType::Duration => Value::Duration(digits.clone()),
            Self::Number(digits) => Value::Number(digits.clone()),
            Self::Bool(value) => Value::Bool(*value),
            Self::Day(day) => Value::Date(day_text(*day)),
            Self::Moment(day, micros) => Value::Datetime(moment_with_zone(*day, *micros)),
            Self::Time(micros) => Value::Time(clock_text(*micros)),
        };
        Cell::Typed { value, text: None }
    }

    /// The value as a plan and an answer have it, but for numbers.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Absent | Self::Bool(_) => None,
            Self::Text(text) | Self::Number(text) => Some(text.clone()),
            Self::Day(day) => Some(day_text(*day)),
            Self::Moment(day, micros) => Some(format!("{}T{}Z", day_text(*day), clock_text(*micros))),
            Self::Time(micros) => Some(clock_text(*micros)),
        }
    }
}

fn number(tape: &mut Tape<'_>, reach: Reach) -> String {
    let of = match (reach, tape.below(4)) {
        (Reach::Plain, _) | (_, 0) => PLAIN_NUMBERS,
        (Reach::Fine, _) | (_, 1) => FINE_NUMBERS,
        (Reach::Large, _) | (_, 2) => LARGE_NUMBERS,
        (Reach::Huge, _) => HUGE_NUMBERS,
    };
    if tape.once_in(4) {
        // Digits of chance, with up to fourteen places.
        let sign = if tape.once_in(2) { "-" } else { "" };
        let places = tape.below(15);
        let whole = tape.below(100_000);
        let fraction: String = (0..places).map(|_| char::from(b'0' + u8::try_from(tape.below(10)).unwrap())).collect();
        let point = if places == 0 { "" } else { "." };
        return format!("{sign}{whole}{point}{fraction}");
    }
    (*tape.pick(of)).to_owned()
}

fn day_text((year, month, day): Day) -> String {
    format!("{year:04}-{month:02}-{day:02}")
}

/// `12:30:00.25`
fn clock_text(micros: u64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}{}", fraction.trim_end_matches('0'))
}

/// A moment in one of the ways that sources write it: without a zone, in UTC, or two hours east of it.
fn moment_with_zone(day: Day, micros: u64) -> String {
    const TWO_HOURS: u64 = 7_200_000_000;
    let day = day_text(day);
    match micros % 3 {
        0 => format!("{day}T{}", clock_text(micros)),
        1 if micros < 11 * TWO_HOURS => format!("{day}T{}+02:00", clock_text(micros + TWO_HOURS)),
        _ => format!("{day}T{}Z", clock_text(micros)),
    }
}
