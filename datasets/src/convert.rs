//! From a cell to a value of its column's type.

use arrow::datatypes::i256;
use loom_extract::contract::{Cell, CellType, Value};
use loom_extract::written::{self, NumberStyle};

use crate::decimal::{self, Unheld};
use crate::moment;

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Typed<'a> {
    Null,
    Text(&'a str),
    Number(i256),
    Bool(bool),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since 1970.
    Moment(i64),
    /// Microseconds since midnight.
    Time(i64),
}

/// How the texts of a column are read where its type is not theirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    column_type: CellType,
    numbers: NumberStyle,
    days: Option<DayOrder>,
}

/// The order of the parts of days that are no ISO 8601, as a whole column has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DayOrder {
    DayFirst,
    MonthFirst,
}

impl Reading {
    /// How the texts of a column are read: numbers and days in the way that all of them agree on.
    pub fn of<'a, I: Iterator<Item = &'a Cell>>(column_type: CellType, cells: impl Fn() -> I) -> Self {
        let texts = || {
            let texts = cells().filter_map(|cell| if let Cell::Text(text) = cell { Some(text.trim()) } else { None });
            texts.filter(|text| !text.is_empty())
        };
        let numbers = match column_type {
            CellType::Number | CellType::Duration => written::number_style(texts, false),
            CellType::String | CellType::Bool | CellType::Date | CellType::Datetime | CellType::Time => {
                NumberStyle::Plain
            }
        };
        let days = match column_type {
            CellType::Date | CellType::Datetime => day_order(texts),
            CellType::String | CellType::Number | CellType::Bool | CellType::Time | CellType::Duration => None,
        };
        Self { column_type, numbers, days }
    }

    /// The value of a cell, or why there is none of this type.
    pub fn value(self, cell: &Cell) -> Result<Typed<'_>, &'static str> {
        match cell {
            Cell::Empty => Ok(Typed::Null),
            Cell::Typed { value: Value::Error(_), .. } => Err("the cell holds an error"),
            Cell::Typed { value: Value::Formula(_), .. } => Err("the cell holds a formula without its value"),
            cell if self.column_type == CellType::String => Ok(Typed::Text(cell.shown())),
            Cell::Text(text) if text.trim().is_empty() => Ok(Typed::Null),
            Cell::Text(text) => self.of_text(text.trim()),
            Cell::Typed { value, .. } => self.of_value(value),
        }
    }

    fn of_value<'a>(self, value: &Value) -> Result<Typed<'a>, &'static str> {
        let held = match (self.column_type, value) {
            (CellType::Number | CellType::Duration, Value::Number(digits) | Value::Duration(digits)) => {
                return decimal::parse(digits).map(Typed::Number).map_err(reason);
            }
            (CellType::Bool, Value::Bool(value)) => Some(Typed::Bool(*value)),
            (CellType::Bool, Value::Number(digits)) => bit(digits).map(Typed::Bool),
            (CellType::Date, Value::Date(day)) => moment::days(day).map(Typed::Date),
            (CellType::Date, Value::Datetime(at)) => {
                moment::micros(at).and_then(moment::day_of_midnight).map(Typed::Date)
            }
            (CellType::Datetime, Value::Datetime(at)) => moment::micros(at).map(Typed::Moment),
            (CellType::Datetime, Value::Date(day)) => moment::days(day).map(moment::midnight).map(Typed::Moment),
            (CellType::Time, Value::Time(time)) => moment::time_micros(time).map(Typed::Time),
            _ => None,
        };
        held.ok_or_else(|| self.misfit())
    }

    fn of_text<'a>(self, text: &str) -> Result<Typed<'a>, &'static str> {
        let held = match self.column_type {
            CellType::Number => {
                let digits = written::number(text, self.numbers).ok_or_else(|| self.misfit())?;
                return decimal::parse(&digits).map(Typed::Number).map_err(reason);
            }
            CellType::Duration => match written::number(text, self.numbers) {
                Some(digits) => return decimal::parse(&digits).map(Typed::Number).map_err(reason),
                None => moment::seconds(text).map(Typed::Number),
            },
            CellType::Bool => truth(text).map(Typed::Bool),
            CellType::Date => match written::moment(text) {
                Some(value) => return self.of_value(&value),
                None => self.ordered_day(text).map(Typed::Date),
            },
            CellType::Datetime => match written::moment(text) {
                Some(value) => return self.of_value(&value),
                None => self.ordered_moment(text).map(Typed::Moment),
            },
            CellType::Time => written::time(text).and_then(|time| moment::time_micros(&time)).map(Typed::Time),
            CellType::String => None,
        };
        held.ok_or_else(|| self.misfit())
    }

    fn ordered_day(self, text: &str) -> Option<i32> {
        let (first, second, year) = parts(text)?;
        let (day, month) = match self.days? {
            DayOrder::DayFirst => (first, second),
            DayOrder::MonthFirst => (second, first),
        };
        moment::days(&format!("{year:04}-{month:02}-{day:02}"))
    }

    fn ordered_moment(self, text: &str) -> Option<i64> {
        let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
        let midnight = moment::midnight(self.ordered_day(day)?);
        let time = written::time(clock.trim()).and_then(|time| moment::time_micros(&time))?;
        midnight.checked_add(time)
    }

    /// Why a value that its text was read for is not held.
    fn misfit(self) -> &'static str {
        match self.column_type {
            CellType::String => "not text",
            CellType::Number => "not a number",
            CellType::Bool => "neither true nor false",
            CellType::Date if self.days.is_none() => {
                "not a day written as 2026-01-31, nor in an order that the whole column shows"
            }
            CellType::Date => "not a day",
            CellType::Datetime => "not a day and time",
            CellType::Time => "not a time of day",
            CellType::Duration => "not a length of time",
        }
    }
}

fn reason(unheld: Unheld) -> &'static str {
    match unheld {
        Unheld::NotANumber => "not a number",
        Unheld::TooLarge => "a number of more than 55 digits before the point",
    }
}

fn bit(digits: &str) -> Option<bool> {
    match digits {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn truth(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is(&["true", "yes", "y", "1", "t"]) {
        Some(true)
    } else if is(&["false", "no", "n", "0", "f"]) {
        Some(false)
    } else {
        None
    }
}

/// The order in which a column writes days such as `31/12/2025`, where one of its values tells.
fn day_order<'a, I: Iterator<Item = &'a str>>(texts: impl Fn() -> I) -> Option<DayOrder> {
    let days = || texts().filter_map(|text| parts(text.split([' ', 'T']).next().unwrap_or_default()));
    let day_first = days().any(|(first, second, _)| first > 12 && second <= 12);
    let month_first = days().any(|(first, second, _)| second > 12 && first <= 12);
    match (day_first, month_first) {
        (true, false) => Some(DayOrder::DayFirst),
        (false, true) => Some(DayOrder::MonthFirst),
        // None tells, or they contradict each other.
        (false, false) | (true, true) => None,
    }
}

/// Two numbers and a year with `/`, `.` or `-` between.
fn parts(text: &str) -> Option<(u32, u32, u32)> {
    let mark = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '/' | '.' | '-'))?;
    let mut parts = text.split(mark);
    let mut number = |digits: std::ops::RangeInclusive<usize>| {
        let part = parts.next()?;
        let is_number = digits.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    let found = (number(1..=2)?, number(1..=2)?, number(4..=4)?);
    parts.next().is_none().then_some(found)
}
