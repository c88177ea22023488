//! The signs of a vector's values, one bit each: 16 times smaller than the vector, and in how many of them two vectors
//! differ says about how far apart they are.

/// How many words the signs of `dim` values take.
pub(super) fn signs_len(dim: usize) -> usize {
    dim.div_ceil(WORD_BITS)
}

const WORD_BITS: usize = u64::BITS as usize;

/// Appends the signs of `vector`. In which order the bits are is the processor's business.
pub(super) fn push_signs(vector: &[i16], signs: &mut Vec<u64>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor has the instructions that the function is compiled for")]
        return unsafe { avx2::push_signs(vector, signs) };
    }
    portable::push_signs(vector, signs);
}

/// Appends to `distances` in how many signs each row of `rows`, one after the other, differs from `query`.
pub(super) fn push_distances(query: &[u64], rows: &[u64], distances: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        #[expect(unsafe_code, reason = "the processor has the instructions that the function is compiled for")]
        return unsafe { push_distances_popcnt(query, rows, distances) };
    }
    distances_of(query, rows, distances);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn push_distances_popcnt(query: &[u64], rows: &[u64], distances: &mut Vec<u16>) {
    distances_of(query, rows, distances);
}

#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn distances_of(query: &[u64], rows: &[u64], distances: &mut Vec<u16>) {
    distances.reserve(rows.len() / query.len().max(1));
    // The dimension of the built-in model, whose loop is then without a count.
    if let Ok(query) = <[u64; 4]>::try_from(query) {
        for row in rows.as_chunks::<4>().0 {
            distances.push(distance(&query, row));
        }
    } else {
        for row in rows.chunks_exact(query.len().max(1)) {
            distances.push(distance(query, row));
        }
    }
}

#[expect(clippy::inline_always, reason = "inlined into the caller, it is compiled for its instructions")]
#[inline(always)]
fn distance(left: &[u64], right: &[u64]) -> u16 {
    let differ: u32 = left.iter().zip(right).map(|(left, right)| (left ^ right).count_ones()).sum();
    u16::try_from(differ).unwrap_or(u16::MAX)
}

mod portable {
    use super::WORD_BITS;

    pub fn push_signs(vector: &[i16], signs: &mut Vec<u64>) {
        for values in vector.chunks(WORD_BITS) {
            signs.push(values.iter().fold(0, |word, value| word << 1 | u64::from(*value < 0)));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_movemask_epi8, _mm256_packs_epi16};

    use super::{WORD_BITS, portable};

    #[target_feature(enable = "avx2")]
    pub fn push_signs(vector: &[i16], signs: &mut Vec<u64>) {
        const HALF: usize = WORD_BITS / 2;
        let (words, rest) = vector.as_chunks::<WORD_BITS>();
        for values in words {
            let half = |at: usize| u64::from(half(&values[at..at + HALF]));
            signs.push(half(0) | half(HALF) << HALF);
        }
        portable::push_signs(rest, signs);
    }

    /// The signs of 32 values. Narrowing them to bytes keeps their signs and exchanges quarters.
    #[target_feature(enable = "avx2")]
    fn half(values: &[i16]) -> u32 {
        assert_eq!(values.len(), 32);
        #[expect(unsafe_code, reason = "the values were counted")]
        let [left, right] = [0, 16].map(|at| unsafe { _mm256_loadu_si256(values.as_ptr().add(at).cast()) });
        _mm256_movemask_epi8(_mm256_packs_epi16(left, right)).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_the_signs_that_differ() {
        let mut numbers = crate::vector::tests::Numbers(3);
        for dim in [32, 64, 100, 256, 384] {
            let [left, right] = [(); 2].map(|()| {
                let value = |()| if numbers.signed() < 0.0 { -700_i16 } else { 5 };
                std::iter::repeat_n((), dim).map(value).collect::<Vec<i16>>()
            });
            let differ = left.iter().zip(&right).filter(|(left, right)| (**left < 0) != (**right < 0)).count();
            for pack in [push_signs, portable::push_signs] {
                let (mut query, mut rows, mut distances) = (Vec::new(), Vec::new(), Vec::new());
                pack(&left, &mut query);
                pack(&right, &mut rows);
                pack(&left, &mut rows);
                assert_eq!((query.len(), rows.len()), (signs_len(dim), 2 * signs_len(dim)));
                push_distances(&query, &rows, &mut distances);
                assert_eq!(distances.into_iter().map(usize::from).collect::<Vec<_>>(), [differ, 0]);
            }
        }
    }
}
