//! Dot products of vectors of integers, with the vector instructions of the processor at hand.
//!
//! Sums of integers do not depend on the order of addition, so every version of a product gives the same number on
//! every machine. Sums wrap on overflow, which vectors made by [`super::fixed`] cannot reach.

/// The product of two vectors; of the shorter length, should they differ.
pub(super) fn dot_i16(left: &[i16], right: &[i16]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor has the instructions that the function is compiled for")]
        return unsafe { avx2::dot_i16(left, right) };
    }
    portable::dot_i16(left, right)
}

/// The product of two vectors without the value -128; of the shorter length, should they differ.
pub(super) fn dot_i8(left: &[i8], right: &[i8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor has the instructions that the function is compiled for")]
        return unsafe { avx2::dot_i8(left, right) };
    }
    portable::dot_i8(left, right)
}

mod portable {
    /// The compiler uses what every processor of the architecture has: SSE2 on x86-64, NEON on aarch64.
    pub fn dot_i16(left: &[i16], right: &[i16]) -> i32 {
        let products = left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right));
        products.fold(0, i32::wrapping_add)
    }

    pub fn dot_i8(left: &[i8], right: &[i8]) -> i32 {
        let products = left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right));
        products.fold(0, i32::wrapping_add)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_abs_epi8, _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_set1_epi16, _mm256_setzero_si256, _mm256_sign_epi8, _mm256_storeu_si256,
    };

    use super::portable;

    #[target_feature(enable = "avx2")]
    pub fn dot_i16(left: &[i16], right: &[i16]) -> i32 {
        const LANES: usize = 16;
        let length = left.len().min(right.len());
        let (left_pairs, left_rest) = left[..length].as_chunks::<{ 2 * LANES }>();
        let (right_pairs, right_rest) = right[..length].as_chunks::<{ 2 * LANES }>();
        // Two sums, so that an addition does not wait for the one before it.
        let mut sums = [_mm256_setzero_si256(); 2];
        for (left, right) in left_pairs.iter().zip(right_pairs) {
            for (half, sum) in sums.iter_mut().enumerate() {
                let at = half * LANES;
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(load_i16(&left[at..]), load_i16(&right[at..])));
            }
        }
        add_lanes(_mm256_add_epi32(sums[0], sums[1])).wrapping_add(portable::dot_i16(left_rest, right_rest))
    }

    #[target_feature(enable = "avx2")]
    pub fn dot_i8(left: &[i8], right: &[i8]) -> i32 {
        const LANES: usize = 32;
        let length = left.len().min(right.len());
        let (left_lanes, left_rest) = left[..length].as_chunks::<LANES>();
        let (right_lanes, right_rest) = right[..length].as_chunks::<LANES>();
        let ones = _mm256_set1_epi16(1);
        let mut sum = _mm256_setzero_si256();
        for (left, right) in left_lanes.iter().zip(right_lanes) {
            let (left, right) = (load_i8(left), load_i8(right));
            // The instruction multiplies unsigned by signed, so the sign of one moves to the other. Two products of at
            // most 127 * 127 fit into 16 bits.
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(left), _mm256_sign_epi8(right, left));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
        }
        add_lanes(sum).wrapping_add(portable::dot_i8(left_rest, right_rest))
    }

    #[target_feature(enable = "avx2")]
    fn load_i16(values: &[i16]) -> __m256i {
        let values: &[i16; 16] = values.first_chunk().expect("the caller has as many left");
        #[expect(unsafe_code, reason = "it reads the 32 bytes of the array, at any alignment")]
        unsafe {
            _mm256_loadu_si256(values.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    fn load_i8(values: &[i8; 32]) -> __m256i {
        #[expect(unsafe_code, reason = "it reads the 32 bytes of the array, at any alignment")]
        unsafe {
            _mm256_loadu_si256(values.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    fn add_lanes(sums: __m256i) -> i32 {
        let mut lanes = [0_i32; 8];
        #[expect(unsafe_code, reason = "it writes the 32 bytes of the array, at any alignment")]
        unsafe {
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums);
        }
        lanes.into_iter().fold(0, i32::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_version_gives_the_same_number(left in prop::collection::vec(any::<i16>(), 0..200), right in prop::collection::vec(any::<i16>(), 0..200)) {
            prop_assert_eq!(dot_i16(&left, &right), portable::dot_i16(&left, &right));
            let bytes = |values: &[i16]| -> Vec<i8> { values.iter().map(|value| value.to_le_bytes()[0].cast_signed().max(-127)).collect() };
            let (left, right) = (bytes(&left), bytes(&right));
            prop_assert_eq!(dot_i8(&left, &right), portable::dot_i8(&left, &right));
        }
    }

    #[test]
    fn the_largest_products_are_exact() {
        for length in [31, 32, 33, 256, 4096] {
            let bound = i32::try_from(length).expect("small") * 127 * 127;
            assert_eq!(dot_i8(&vec![127; length], &vec![127; length]), bound);
            assert_eq!(dot_i8(&vec![-127; length], &vec![127; length]), -bound);
            assert_eq!(dot_i8(&vec![-127; length], &vec![-127; length]), bound);
            let lowest = vec![i16::MIN; length];
            assert_eq!(dot_i16(&lowest, &lowest), portable::dot_i16(&lowest, &lowest));
        }
    }
}
