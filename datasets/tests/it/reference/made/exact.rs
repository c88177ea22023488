//! Numbers as fractions, and what a dataset holds of them.

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;

const PLACES: u32 = 9;
const WHOLE_DIGITS: u32 = 55;

/// The number that digits with an optional fraction and exponent write.
pub fn number(digits: &str) -> BigRational {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent: i32 = exponent.parse().unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let units: BigInt = format!("{whole}{fraction}").parse().unwrap();
    let places = i32::try_from(fraction.len()).unwrap() - exponent;
    let scale = BigInt::from(10).pow(places.unsigned_abs());
    if places >= 0 { BigRational::new(units, scale) } else { BigRational::from(units * scale) }
}

/// The number with nine decimal places that is nearest, the even one of two.
pub fn rounded(number: &BigRational) -> BigRational {
    let scale = BigRational::from(BigInt::from(10).pow(PLACES));
    let scaled = number * &scale;
    let below = scaled.floor();
    let rest = &scaled - &below;
    let half = BigRational::new(1.into(), 2.into());
    let is_even = (below.to_integer() % BigInt::from(2)) == BigInt::ZERO;
    let is_below = rest < half || (rest == half && is_even);
    (if is_below { below } else { below + BigRational::from(BigInt::from(1)) }) / scale
}

/// The number that a dataset holds of these digits.
pub fn held(digits: &str) -> BigRational {
    rounded(&number(digits))
}

/// Whether a dataset holds numbers so large.
pub fn is_held(number: &BigRational) -> bool {
    let bound = BigRational::from(BigInt::from(10).pow(WHOLE_DIGITS));
    *number < bound && -number < bound
}

/// A number with at most nine decimal places as digits.
pub fn text(number: &BigRational) -> String {
    let units = (number * BigRational::from(BigInt::from(10).pow(PLACES))).to_integer();
    let scale = BigInt::from(10).pow(PLACES);
    let sign = if units.sign() == Sign::Minus { "-" } else { "" };
    let units = units.magnitude();
    let scale = scale.magnitude();
    let (whole, fraction) = (units / scale, (units % scale).to_string());
    let fraction = format!("{fraction:0>9}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}
