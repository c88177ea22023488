//! Numbers with nine decimal places: whole multiples of 10⁻⁹.

use std::cmp::Ordering;

use arrow::datatypes::i256;

/// The decimal places that a number is held to; a value with more is rounded there, half to even.
pub const PLACES: usize = 9;
/// The most digits of a whole multiple that is kept in 128 bits: numbers below 10¹⁶. Ten trillion of them can be added.
pub const NARROW_DIGITS: u8 = 25;
/// The most digits of a whole multiple that is kept in 256 bits: numbers below 10⁵⁵. A trillion of them can be added.
pub const WIDE_DIGITS: u8 = 64;
/// Numbers with this many digits take eight bytes in a file.
pub const SHORT_DIGITS: u8 = 18;
/// The longest text of a number that is read.
const TEXT_BYTES_MAX: usize = 400;

/// A number in whole multiples of 10⁻⁹.
pub type Scaled = i256;

/// Why a text is not held as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unheld {
    /// It is no number.
    NotANumber,
    /// It has more than 55 digits before the point.
    TooLarge,
}

/// Reads decimal digits with an optional sign, point and exponent: `-12.50`, `1e-7`.
///
/// # Errors
/// [`Unheld`].
pub fn parse(text: &str) -> Result<Scaled, Unheld> {
    let (negative, truncated, rest) = read(text)?;
    let rounds_up = match rest {
        Rest::Nothing | Rest::BelowHalf => false,
        Rest::Half => is_odd(truncated),
        Rest::AboveHalf => true,
    };
    let magnitude = if rounds_up { truncated.wrapping_add(i256::ONE) } else { truncated };
    if magnitude >= power(WIDE_DIGITS) {
        return Err(Unheld::TooLarge);
    }
    Ok(if negative { magnitude.wrapping_neg() } else { magnitude })
}

/// The greatest number of nine decimal places that is no greater than the one written, and whether it is that one.
///
/// # Errors
/// [`Unheld`].
pub fn floor(text: &str) -> Result<(Scaled, bool), Unheld> {
    let (negative, truncated, rest) = read(text)?;
    let is_exact = rest == Rest::Nothing;
    let floor = match (negative, is_exact) {
        (false, _) => truncated,
        (true, true) => truncated.wrapping_neg(),
        (true, false) => truncated.wrapping_neg().wrapping_sub(i256::ONE),
    };
    Ok((floor, is_exact))
}

/// What is cut off behind the last place that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    BelowHalf,
    Half,
    AboveHalf,
}

/// Whether a minus stands before it, the number without it and cut off at nine places, and what was cut off.
fn read(text: &str) -> Result<(bool, i256, Rest), Unheld> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned.len() > TEXT_BYTES_MAX {
        return Err(Unheld::NotANumber);
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], exponent(&unsigned[at + 1..])?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return Err(Unheld::NotANumber);
    }
    let digits = || whole.bytes().chain(fraction.bytes()).skip_while(|digit| *digit == b'0').map(|digit| digit - b'0');
    let length = digits().count();
    // How many of the digits stand before the last place that is held, or how many zeros follow them.
    let kept = signed(length) - signed(fraction.len()) + exponent + signed(PLACES);
    if length == 0 || kept < 0 {
        return Ok((negative, i256::ZERO, if length == 0 { Rest::Nothing } else { Rest::BelowHalf }));
    }
    if kept > i64::from(WIDE_DIGITS) {
        return Err(Unheld::TooLarge);
    }
    let kept = usize::try_from(kept).unwrap_or(0);
    let held = digits().chain(std::iter::repeat(0)).take(kept);
    let value = if kept <= 38 {
        i256::from_i128(held.fold(0, |value: i128, digit| value * 10 + i128::from(digit)))
    } else {
        let ten = i256::from_i128(10);
        held.fold(i256::ZERO, |value, digit| value.wrapping_mul(ten).wrapping_add(i256::from_i128(i128::from(digit))))
    };
    let mut cut = digits().skip(kept);
    let rest = match cut.next() {
        None => Rest::Nothing,
        Some(first) => match (first.cmp(&5), cut.all(|digit| digit == 0)) {
            (Ordering::Less, true) if first == 0 => Rest::Nothing,
            (Ordering::Less, _) => Rest::BelowHalf,
            (Ordering::Equal, true) => Rest::Half,
            (Ordering::Equal, false) | (Ordering::Greater, _) => Rest::AboveHalf,
        },
    };
    Ok((negative, value, rest))
}

fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn exponent(text: &str) -> Result<i64, Unheld> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let is_exponent = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value: i64 = is_exponent.then(|| digits.parse().ok()).flatten().ok_or(Unheld::NotANumber)?;
    Ok(if negative { -value } else { value })
}

fn is_odd(value: i256) -> bool {
    value.to_parts().0 & 1 == 1
}

/// 10^`digits`.
pub fn power(digits: u8) -> i256 {
    i256::from_i128(10).wrapping_pow(u32::from(digits))
}

/// The quotient of two whole numbers, rounded half to even; `None` where the divisor is zero.
pub fn divide(value: i256, by: i256) -> Option<i256> {
    let quotient = value.checked_div(by)?;
    let rest = value.checked_rem(by)?.wrapping_abs();
    let by = by.wrapping_abs();
    // Twice the rest may be too large: it is held against what is left to the divisor instead.
    let rounds_away = match rest.cmp(&by.wrapping_sub(rest)) {
        Ordering::Greater => true,
        Ordering::Equal => is_odd(quotient),
        Ordering::Less => false,
    };
    let step = if value.is_negative() { i256::MINUS_ONE } else { i256::ONE };
    Some(if rounds_away { quotient.wrapping_add(step) } else { quotient })
}

/// As digits, without zeros at the end of its fraction: `12.5`, `-0.000000001`, `30`.
pub fn text(value: i256) -> String {
    let digits = value.to_string();
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    let padded = format!("{digits:0>width$}", width = PLACES + 1);
    let (whole, fraction) = padded.split_at(padded.len() - PLACES);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back_as_they_were_and_further_ones_are_rounded_half_to_even() {
        for (given, held) in [
            ("0", "0"),
            ("-0", "0"),
            ("30.01", "30.01"),
            ("-12.50", "-12.5"),
            (".5", "0.5"),
            ("1e-7", "0.0000001"),
            ("1.5E3", "1500"),
            ("9007199254740993", "9007199254740993"),
            ("99999999999999999999999999999999999998", "99999999999999999999999999999999999998"),
            ("0.0000000005", "0"),
            ("0.0000000015", "0.000000002"),
            ("0.00000000050000001", "0.000000001"),
            ("-0.0000000015", "-0.000000002"),
            ("0.9999999999", "1"),
            ("1e-400", "0"),
            ("9.9e54", "9900000000000000000000000000000000000000000000000000000"),
        ] {
            assert_eq!(parse(given).map(text).as_deref(), Ok(held), "{given}");
        }
    }

    #[test]
    fn what_is_no_number_or_too_large_is_told_apart() {
        for given in ["", ".", "-", "1e", "1e+", "NaN", "1,5", "1 000", "0x10", "--1", "1e1234567890"] {
            assert_eq!(parse(given), Err(Unheld::NotANumber), "{given}");
        }
        for given in ["1e400", "1e55", "-1e55", "9999999999999999999999999999999999999999999999999999999.9999999999"] {
            assert_eq!(parse(given), Err(Unheld::TooLarge), "{given}");
        }
    }

    #[test]
    fn quotients_are_rounded_half_to_even() {
        for (value, by, quotient) in [(5, 2, 2), (7, 2, 4), (-5, 2, -2), (-7, 2, -4), (1, 3, 0), (2, 3, 1), (-2, 3, -1)]
        {
            assert_eq!(
                divide(i256::from_i128(value), i256::from_i128(by)),
                Some(i256::from_i128(quotient)),
                "{value}/{by}"
            );
        }
        assert_eq!(divide(i256::ONE, i256::ZERO), None);
    }
}
