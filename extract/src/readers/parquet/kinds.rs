//! From values as they are stored to cells.

#![expect(clippy::wildcard_enum_match_arm, reason = "a type that is not known yet is shown as it is stored")]

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

use crate::contract::{Cell, Value};
use crate::readers::calendar::date;

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i128 = 86_400;
/// The day that INT96 counts from, in days before 1970.
const JULIAN_DAY_OF_1970: i64 = 2_440_588;

/// What the values of a column are.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub physical: Physical,
    meaning: Meaning,
}

#[derive(Clone, Copy, Debug)]
enum Meaning {
    Plain,
    Unsigned {
        bits: u8,
    },
    Decimal {
        scale: i32,
    },
    Date,
    Time {
        per_second: i128,
    },
    Timestamp {
        per_second: i128,
        utc: bool,
    },
    Float16,
    Uuid,
    Text,
    /// Bytes whose meaning the file does not say: old writers store text so.
    Unknown,
    Binary,
}

/// A value as it is stored.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    Bool(bool),
    Int(i64),
    Int96(&'a [u32]),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
}

fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::MILLIS => 1000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => NANOS_PER_SECOND,
    }
}

impl Kind {
    pub fn of(column: &ColumnDescriptor) -> Self {
        let physical = column.physical_type();
        let meaning = column
            .logical_type_ref()
            .and_then(|logical| logical_meaning(logical, column))
            .unwrap_or_else(|| converted_meaning(column, physical));
        Self { physical, meaning }
    }

    /// A value as a cell; `None` where it is bytes.
    pub fn cell(self, raw: Raw<'_>) -> Option<Cell> {
        let number = |digits: String| Some(typed(Value::Number(digits)));
        match (raw, self.meaning) {
            (Raw::Bool(value), _) => Some(typed(Value::Bool(value))),
            (Raw::Int(value), Meaning::Decimal { scale }) => number(decimal(i128::from(value), scale)),
            (Raw::Int(value), Meaning::Unsigned { bits }) => {
                number((value.cast_unsigned() & (u64::MAX >> (64 - bits))).to_string())
            }
            (Raw::Int(value), Meaning::Date) => {
                Some(date(value).map_or_else(|| Cell::Text(value.to_string()), |day| typed(Value::Date(day))))
            }
            (Raw::Int(value), Meaning::Time { per_second }) => Some(time_of_day(i128::from(value), per_second)),
            (Raw::Int(value), Meaning::Timestamp { per_second, utc }) => {
                Some(instant(i128::from(value), per_second, utc))
            }
            (Raw::Int(value), _) => number(value.to_string()),
            (Raw::Int96(parts), _) => Some(int96(parts)),
            (Raw::Float(value), _) => {
                Some(float(value.is_finite(), f64::from(value), &shortest(&value.to_string(), &format!("{value:e}"))))
            }
            (Raw::Double(value), _) => {
                Some(float(value.is_finite(), value, &shortest(&value.to_string(), &format!("{value:e}"))))
            }
            (Raw::Bytes(bytes), Meaning::Decimal { scale }) => wide_decimal(bytes, scale),
            (Raw::Bytes(bytes), Meaning::Float16) => Some(float16(bytes)),
            (Raw::Bytes(bytes), Meaning::Uuid) => uuid(bytes).map(Cell::Text),
            (Raw::Bytes(bytes), Meaning::Text) => Some(Cell::Text(String::from_utf8_lossy(bytes).into_owned())),
            (Raw::Bytes(bytes), Meaning::Unknown) => {
                let text = std::str::from_utf8(bytes).ok()?;
                let is_text = !text.chars().any(|char| char.is_control() && !matches!(char, '\t' | '\n' | '\r'));
                is_text.then(|| Cell::Text(text.to_owned()))
            }
            (Raw::Bytes(_), _) => None,
        }
    }
}

fn logical_meaning(logical: &LogicalType, column: &ColumnDescriptor) -> Option<Meaning> {
    if let LogicalType::Timestamp(timestamp) = logical {
        return Some(Meaning::Timestamp {
            per_second: per_second(timestamp.unit),
            utc: timestamp.is_adjusted_to_u_t_c,
        });
    }
    if let LogicalType::Time(time) = logical {
        return Some(Meaning::Time { per_second: per_second(time.unit) });
    }
    match logical {
        LogicalType::String | LogicalType::Enum | LogicalType::Json => Some(Meaning::Text),
        LogicalType::Decimal(_) => Some(Meaning::Decimal { scale: column.type_scale() }),
        LogicalType::Date => Some(Meaning::Date),
        LogicalType::Uuid => Some(Meaning::Uuid),
        LogicalType::Float16 => Some(Meaning::Float16),
        LogicalType::Bson => Some(Meaning::Binary),
        _ => None,
    }
}

fn converted_meaning(column: &ColumnDescriptor, physical: Physical) -> Meaning {
    match column.converted_type() {
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Meaning::Text,
        ConvertedType::DECIMAL => Meaning::Decimal { scale: column.type_scale() },
        ConvertedType::DATE => Meaning::Date,
        ConvertedType::TIME_MILLIS => Meaning::Time { per_second: 1000 },
        ConvertedType::TIME_MICROS => Meaning::Time { per_second: 1_000_000 },
        ConvertedType::TIMESTAMP_MILLIS => Meaning::Timestamp { per_second: 1000, utc: true },
        ConvertedType::TIMESTAMP_MICROS => Meaning::Timestamp { per_second: 1_000_000, utc: true },
        ConvertedType::UINT_8 => Meaning::Unsigned { bits: 8 },
        ConvertedType::UINT_16 => Meaning::Unsigned { bits: 16 },
        ConvertedType::UINT_32 => Meaning::Unsigned { bits: 32 },
        ConvertedType::UINT_64 => Meaning::Unsigned { bits: 64 },
        ConvertedType::BSON | ConvertedType::INTERVAL => Meaning::Binary,
        _ if physical == Physical::BYTE_ARRAY => Meaning::Unknown,
        _ if physical == Physical::FIXED_LEN_BYTE_ARRAY => Meaning::Binary,
        _ => Meaning::Plain,
    }
}

fn typed(value: Value) -> Cell {
    Cell::Typed { value, text: None }
}

/// The digits of `unscaled` with `scale` of them behind the point.
fn decimal(unscaled: i128, scale: i32) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    place_point(sign, &unscaled.unsigned_abs().to_string(), scale)
}

fn place_point(sign: &str, digits: &str, scale: i32) -> String {
    let scale = usize::try_from(scale).unwrap_or(0).min(1000);
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// A decimal of any width, stored with its highest byte first.
fn wide_decimal(bytes: &[u8], scale: i32) -> Option<Cell> {
    const BYTES_MAX: usize = 256;
    let negative = bytes.first()? & 0x80 != 0;
    if bytes.len() > BYTES_MAX {
        return None;
    }
    let mut magnitude: Vec<u8> = bytes.iter().map(|byte| if negative { !byte } else { *byte }).collect();
    if negative {
        for byte in magnitude.iter_mut().rev() {
            let (next, carried) = byte.overflowing_add(1);
            *byte = next;
            if !carried {
                break;
            }
        }
        // The lowest number of its width has no opposite of that width.
        if magnitude.iter().all(|byte| *byte == 0) {
            magnitude.insert(0, 1);
        }
    }
    let mut digits = Vec::new();
    while magnitude.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u32;
        for byte in &mut magnitude {
            let value = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(value / 10).unwrap_or(0);
            rest = value % 10;
        }
        digits.push(char::from(b'0' + u8::try_from(rest).unwrap_or(0)));
    }
    let digits: String = if digits.is_empty() { "0".into() } else { digits.iter().rev().collect() };
    Some(typed(Value::Number(place_point(if negative { "-" } else { "" }, &digits, scale))))
}

/// The shorter of two ways to write a number.
fn shortest(plain: &str, scientific: &str) -> String {
    if plain.len() <= scientific.len() + 8 { plain.to_owned() } else { scientific.to_owned() }
}

fn float(finite: bool, value: f64, digits: &str) -> Cell {
    if finite {
        return typed(Value::Number(digits.to_owned()));
    }
    let name = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    typed(Value::Error(name.to_owned()))
}

fn float16(bytes: &[u8]) -> Cell {
    let [low, high] = bytes else { return Cell::Empty };
    let bits = u16::from_le_bytes([*low, *high]);
    let sign = if bits & 0x8000 == 0 { 1.0_f32 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    let value = match exponent {
        0 => sign * fraction * 2.0_f32.powi(-24),
        0x1f if fraction == 0.0 => sign * f32::INFINITY,
        0x1f => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2.0_f32.powi(exponent - 15),
    };
    float(value.is_finite(), f64::from(value), &value.to_string())
}

fn uuid(bytes: &[u8]) -> Option<String> {
    let mut hex = String::new();
    for byte in bytes {
        hex.extend([byte >> 4, byte & 0x0f].into_iter().filter_map(|digit| char::from_digit(digit.into(), 16)));
    }
    (bytes.len() == 16).then(|| [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// Hours, minutes and seconds, with as many digits behind the point as are needed in threes.
fn clock(nanos_of_day: i128) -> String {
    let (seconds, nanos) = (nanos_of_day / NANOS_PER_SECOND, nanos_of_day % NANOS_PER_SECOND);
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    match nanos {
        0 => time,
        nanos if nanos % 1_000_000 == 0 => format!("{time}.{:03}", nanos / 1_000_000),
        nanos if nanos % 1000 == 0 => format!("{time}.{:06}", nanos / 1000),
        nanos => format!("{time}.{nanos:09}"),
    }
}

fn time_of_day(value: i128, per_second: i128) -> Cell {
    let nanos = value * (NANOS_PER_SECOND / per_second);
    if (0..SECONDS_PER_DAY * NANOS_PER_SECOND).contains(&nanos) {
        return typed(Value::Time(clock(nanos)));
    }
    Cell::Text(value.to_string())
}

fn instant(value: i128, per_second: i128, utc: bool) -> Cell {
    let nanos = value * (NANOS_PER_SECOND / per_second);
    let day_nanos = SECONDS_PER_DAY * NANOS_PER_SECOND;
    let day = i64::try_from(nanos.div_euclid(day_nanos)).ok().and_then(date);
    let zone = if utc { "Z" } else { "" };
    match day {
        Some(day) => typed(Value::Datetime(format!("{day}T{}{zone}", clock(nanos.rem_euclid(day_nanos))))),
        None => Cell::Text(value.to_string()),
    }
}

/// Nanoseconds of a day and the number of the day.
fn int96(parts: &[u32]) -> Cell {
    let [low, high, day] = parts else { return Cell::Empty };
    let nanos = i128::from(u64::from(*high) << 32 | u64::from(*low));
    let days = i128::from(i64::from(*day) - JULIAN_DAY_OF_1970);
    instant(days * SECONDS_PER_DAY * NANOS_PER_SECOND + nanos, NANOS_PER_SECOND, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_digit() {
        for (bytes, scale, written) in [
            (&[0x00][..], 0, "0"),
            (&[0xff], 2, "-0.01"),
            (&[0x80, 0x00], 3, "-32.768"),
            (&[0x01, 0x00], 0, "256"),
            (&(10_i128.pow(38) - 1).to_be_bytes(), 0, "99999999999999999999999999999999999999"),
            (&(1 - 10_i128.pow(38)).to_be_bytes(), 38, "-0.99999999999999999999999999999999999999"),
        ] {
            assert_eq!(wide_decimal(bytes, scale), Some(typed(Value::Number(written.into()))), "{bytes:?} {scale}");
        }
        assert_eq!(decimal(-1, 2), "-0.01");
        assert_eq!(decimal(i128::from(i64::MIN), 0), "-9223372036854775808");
    }

    #[test]
    fn instants_are_those_of_the_calendar() {
        assert_eq!(instant(-1, 1000, true), typed(Value::Datetime("1969-12-31T23:59:59.999Z".into())));
        assert_eq!(instant(1, NANOS_PER_SECOND, false), typed(Value::Datetime("1970-01-01T00:00:00.000000001".into())));
        assert_eq!(time_of_day(86_400_000, 1000), Cell::Text("86400000".into()));
    }

    #[test]
    fn half_floats_are_read_with_their_limits() {
        for (bits, written) in [(0x3c00_u16, "1"), (0xc000, "-2"), (0x0001, "0.000000059604645"), (0x7bff, "65504")] {
            assert_eq!(float16(&bits.to_le_bytes()), typed(Value::Number(written.into())), "{bits:x}");
        }
        assert_eq!(float16(&0x7e00_u16.to_le_bytes()), typed(Value::Error("NaN".into())));
        assert_eq!(float16(&0xfc00_u16.to_le_bytes()), typed(Value::Error("-Infinity".into())));
    }
}
