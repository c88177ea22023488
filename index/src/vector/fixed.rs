//! Vectors as they are kept: of length 1, in fixed point.
//!
//! A value is held in 16 bits, in steps of 1/32768. That is as exact as half precision (a cosine is off by about
//! 0.00001), and products are sums of integers: the same on every machine, in whatever order they are added. A
//! product of two such vectors fits into 32 bits, and so does every part of it, whatever their dimension: by
//! Cauchy and Schwarz it is at most the product of their lengths, hardly more than 2^30.

use super::dot::{dot_i8, dot_i16};

/// The length of a vector, in steps.
const ONE: f64 = 32_768.0;
/// How many bytes the scale takes that is behind the values of a coarse vector.
const SCALE_BYTES: usize = size_of::<f32>();

/// `vector` at length 1; `None` when it has no direction: it is zero or not finite.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<i16>> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor has the instructions that the function is compiled for")]
        return unsafe { unit_avx2(vector) };
    }
    scaled(vector)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn unit_avx2(vector: &[f32]) -> Option<Vec<i16>> {
    scaled(vector)
}

#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn scaled(vector: &[f32]) -> Option<Vec<i16>> {
    // Squares of the smallest and of the largest f32 neither vanish nor overflow in f64.
    let norm = vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
    if !norm.is_finite() || norm == 0.0 {
        return None;
    }
    let largest = f64::from(i16::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "it is rounded and clamped to what fits")]
    let step = |&value: &f32| (f64::from(value) / norm * ONE).round().clamp(-largest, largest) as i16;
    // Not collected: that would be done by a function without these instructions.
    let mut fixed = vec![0; vector.len()];
    for (to, from) in fixed.iter_mut().zip(vector) {
        *to = step(from);
    }
    Some(fixed)
}

/// The cosine of two vectors made by [`unit`], in -1..=1.
pub(super) fn cosine(left: &[i16], right: &[i16]) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded to what an f32 tells apart")]
    let cosine = (f64::from(dot_i16(left, right)) / (ONE * ONE)) as f32;
    cosine.clamp(-1.0, 1.0)
}

/// How many bytes a coarse vector of `dim` values has.
pub(super) fn coarse_len(dim: usize) -> usize {
    dim + SCALE_BYTES
}

/// Appends `fine` in 8 bits a value: the largest becomes 127 or -127, and the factor to get it back follows as an f32.
pub(super) fn push_coarse(fine: &[i16], coarse: &mut Vec<i8>) {
    let largest = fine.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0).max(1);
    let scale = 127.0 / f32::from(largest);
    #[expect(clippy::cast_possible_truncation, reason = "at most 127 after scaling")]
    coarse.extend(fine.iter().map(|&value| (f32::from(value) * scale).round() as i8));
    coarse.extend(scale.recip().to_ne_bytes().map(u8::cast_signed));
}

/// How far two coarse vectors of `dim` values are from each other: their product in steps, negated.
pub(super) fn coarse_distance(left: &[i8], right: &[i8], dim: usize) -> f32 {
    let ((left, left_scale), (right, right_scale)) = (left.split_at(dim), right.split_at(dim));
    #[expect(clippy::cast_precision_loss, reason = "the values are rougher than this")]
    let product = dot_i8(left, right) as f32;
    -product * scale(left_scale) * scale(right_scale)
}

fn scale(bytes: &[i8]) -> f32 {
    bytes.first_chunk().map_or(0.0, |bytes| f32::from_ne_bytes(bytes.map(i8::cast_unsigned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_vectors_with_a_direction_have_a_unit_vector() {
        assert_eq!(unit(&[0.0, -0.0]), None);
        assert_eq!(unit(&[1.0, f32::NAN]), None);
        assert_eq!(unit(&[f32::NEG_INFINITY, 1.0]), None);
        for extreme in [f32::MAX, f32::from_bits(1)] {
            let scaled = unit(&[extreme, -extreme]).expect("finite and not zero");
            assert!((cosine(&scaled, &scaled) - 1.0).abs() < 1e-4, "{extreme}");
        }
    }

    #[test]
    fn every_processor_makes_the_same_unit_vector() {
        let mut numbers = crate::vector::tests::Numbers(9);
        for dim in [32, 33, 256, 4095] {
            let vector: Vec<f32> = (0..dim).map(|_| numbers.signed()).collect();
            assert_eq!(unit(&vector), scaled(&vector));
        }
        // Halves of a step.
        let halves: Vec<f32> = (0_i16..64).map(|at| (f32::from(at) - 31.5) / 32_768.0).chain([1.0]).collect();
        assert_eq!(unit(&halves), scaled(&halves));
    }

    #[test]
    fn cosines_of_all_dimensions_are_close_to_the_true_ones() {
        let mut numbers = crate::vector::tests::Numbers(4);
        for dim in [1, 32, 256, 1000, 4096] {
            for _ in 0..20 {
                let left: Vec<f32> = (0..dim).map(|_| numbers.signed()).collect();
                let right: Vec<f32> = left.iter().map(|value| value + numbers.signed()).collect();
                let dot = |left: &[f32], right: &[f32]| -> f64 {
                    left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right)).sum()
                };
                let exact = dot(&left, &right) / (dot(&left, &left) * dot(&right, &right)).sqrt();
                let (left, right) = (unit(&left).expect("not zero"), unit(&right).expect("not zero"));
                let fine = f64::from(cosine(&left, &right));
                assert!((fine - exact).abs() < 1e-4, "{dim}: {fine} {exact}");
                let (mut coarse_left, mut coarse_right) = (Vec::new(), Vec::new());
                push_coarse(&left, &mut coarse_left);
                push_coarse(&right, &mut coarse_right);
                assert_eq!(coarse_left.len(), coarse_len(dim));
                let coarse = f64::from(-coarse_distance(&coarse_left, &coarse_right, dim)) / (ONE * ONE);
                assert!((coarse - exact).abs() < 0.02, "{dim}: {coarse} {exact}");
            }
        }
    }
}
