//! What a transformer does between its matrix products, in loops that a compiler turns into wide instructions.

use std::array;
use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

/// So many sums run side by side.
const LANES: usize = 16;

/// `x` times the share of a normal distribution below it, for each number.
pub(crate) fn gelu(numbers: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[expect(unsafe_code, reason = "the processor was asked for the instructions")]
        // SAFETY: AVX2 is there.
        return unsafe { gelu_avx2(numbers) };
    }
    gelu_each(numbers);
}

/// Makes each row of `width` numbers, times `scale`, a distribution: positive, with the sum 1.
pub(crate) fn softmax(rows: &mut [f32], width: usize, scale: f32) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[expect(unsafe_code, reason = "the processor was asked for the instructions")]
        // SAFETY: AVX2 is there.
        return unsafe { softmax_avx2(rows, width, scale) };
    }
    softmax_rows(rows, width, scale);
}

/// Shifts and scales each row to mean 0 and variance 1, and then by what was learnt.
pub(crate) fn normalise_rows(rows: &mut [f32], norm: &Norm) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[expect(unsafe_code, reason = "the processor was asked for the instructions")]
        // SAFETY: AVX2 is there.
        return unsafe { normalise_avx2(rows, norm) };
    }
    normalise_each(rows, norm);
}

/// What a layer normalisation learnt.
pub(crate) struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub epsilon: f32,
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn gelu_avx2(numbers: &mut [f32]) {
    gelu_each(numbers);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn softmax_avx2(rows: &mut [f32], width: usize, scale: f32) {
    softmax_rows(rows, width, scale);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn normalise_avx2(rows: &mut [f32], norm: &Norm) {
    normalise_each(rows, norm);
}

#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn gelu_each(numbers: &mut [f32]) {
    for x in numbers {
        *x = 0.5 * *x * (1.0 + erf(*x * FRAC_1_SQRT_2));
    }
}

#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn softmax_rows(rows: &mut [f32], width: usize, scale: f32) {
    for row in rows.chunks_exact_mut(width) {
        let largest = fold(row, f32::NEG_INFINITY, f32::max);
        for x in &mut *row {
            *x = exp((*x - largest) * scale);
        }
        let share = fold(row, 0.0, |a, b| a + b).recip();
        for x in row {
            *x *= share;
        }
    }
}

#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn normalise_each(rows: &mut [f32], norm: &Norm) {
    let width = norm.weight.len();
    #[expect(clippy::cast_precision_loss, reason = "a row has thousands of numbers at most")]
    let share = 1.0 / width as f32;
    for row in rows.chunks_exact_mut(width) {
        let mean = fold(row, 0.0, |a, b| a + b) * share;
        for x in &mut *row {
            *x -= mean;
        }
        let variance = fold_map(row, 0.0, |x| x * x, |a, b| a + b) * share;
        let scale = (variance + norm.epsilon).sqrt().recip();
        for ((x, weight), bias) in row.iter_mut().zip(&norm.weight).zip(&norm.bias) {
            *x = *x * scale * weight + bias;
        }
    }
}

#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn fold(numbers: &[f32], start: f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    fold_map(numbers, start, |x| x, join)
}

/// Joins the numbers in an order that is the same on every machine.
#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn fold_map(numbers: &[f32], start: f32, map: impl Fn(f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let (blocks, rest) = numbers.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for block in blocks {
        lanes = array::from_fn(|lane| join(lanes[lane], map(block[lane])));
    }
    let all = lanes.into_iter().fold(start, &join);
    rest.iter().fold(all, |all, &x| join(all, map(x)))
}

/// The error function, right to 3e-7: formula 7.1.26 of Abramowitz and Stegun.
#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let sum = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    (1.0 - sum * exp(-size * size)).copysign(x)
}

/// The exponential of a number that is not positive, right to the last bits; 0 below -87.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Added to a small number, its fraction bits are that number rounded to a whole one.
    const ROUNDER: f32 = 12_582_912.0;
    /// The natural logarithm of 2 in two parts, the first with few bits, so that a multiple of it is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let clamped = x.max(-87.0);
    let rounded = clamped * LOG2_E + ROUNDER;
    let whole = rounded - ROUNDER;
    let rest = clamped - whole * LN_2[0] - whole * LN_2[1];
    let series = ((((1.987_569_1e-4 * rest + 1.398_2e-3) * rest + 8.333_452e-3) * rest + 4.166_579_6e-2) * rest
        + 0.166_666_65)
        * rest
        + 0.5;
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(0x3f80_0000));
    (series * rest * rest + rest + 1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for step in 0..8_700_u16 {
            let x = f32::from(step) * -0.01;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 4e-7, "exp({x}) is off by {error}");
        }
        assert!(exp(-1e9) < 2e-38 && exp(f32::NEG_INFINITY) < 2e-38);
        assert!((exp(0.0) - 1.0).abs() < f32::EPSILON);
    }

    #[test]
    fn error_functions_are_right() {
        // From tables of the function.
        for (x, exact) in [
            (0.0, 0.0),
            (0.1, 0.112_462_92),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (1.5, 0.966_105_15),
            (2.0, 0.995_322_3),
            (3.0, 0.999_977_9),
            (9.0, 1.0),
        ] {
            assert!((erf(x) - exact).abs() < 4e-7, "erf({x}) = {}", erf(x));
            assert!((erf(-x) + erf(x)).abs() < f32::EPSILON, "{x}");
        }
    }

    #[test]
    fn rows_become_distributions_whatever_they_hold() {
        for width in [1, 7, 16, 37] {
            let mut rows: Vec<f32> =
                (0..3 * width).map(|at| f32::from(u8::try_from(at).expect("small")) * 9.0).collect();
            softmax(&mut rows, width, 0.5);
            for row in rows.chunks(width) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6 && row.iter().all(|x| *x >= 0.0), "{row:?}");
            }
        }
    }

    #[test]
    fn the_wide_loops_give_what_the_plain_ones_give() {
        let numbers: Vec<f32> = (0..200_u8).map(|at| (f32::from(at) - 100.0) * 0.07).collect();
        let norm = Norm { weight: vec![1.5; 40], bias: vec![-0.25; 40], epsilon: 1e-12 };
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + b.abs()));
        let (mut wide, mut plain) = (numbers.clone(), numbers.clone());
        gelu(&mut wide);
        gelu_each(&mut plain);
        assert!(close(&wide, &plain));
        let (mut wide, mut plain) = (numbers.clone(), numbers.clone());
        softmax(&mut wide, 40, 0.3);
        softmax_rows(&mut plain, 40, 0.3);
        assert!(close(&wide, &plain));
        let (mut wide, mut plain) = (numbers.clone(), numbers);
        normalise_rows(&mut wide, &norm);
        normalise_each(&mut plain, &norm);
        assert!(close(&wide, &plain));
    }
}
