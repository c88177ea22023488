//! The innermost loop of a matrix product: a tile of the result, with the instructions that the processor has.
//!
//! Both sides are interleaved beforehand: for each step of the inner dimension, the numbers of a tile's rows lie side by
//! side, and so do those of its columns. So the loop reads memory in order and has no bound to check.

/// Which instructions a tile is computed with, and so how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// Rows times columns of the largest tile.
const TILE_MAX: usize = 12 * 32;

/// The numbers of one tile, row after row.
pub(crate) type Tile = [f32; TILE_MAX];

impl Kernel {
    /// The widest that this processor has.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                return Self::Avx512;
            }
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// Rows of a tile.
    pub(crate) fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 12,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 6,
            Self::Portable => 4,
        }
    }

    /// Columns of a tile.
    pub(crate) fn columns(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 32,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 16,
            Self::Portable => 16,
        }
    }

    /// The product of interleaved rows and interleaved columns, to the first numbers of `tile`.
    pub(crate) fn tile(self, left: &[f32], right: &[f32], tile: &mut Tile) {
        match self {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "a kernel of this kind exists where the processor has the instructions")]
            // SAFETY: `detect` asked the processor.
            Self::Avx512 => unsafe { x86::tile_avx512(left, right, tile) },
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "a kernel of this kind exists where the processor has the instructions")]
            // SAFETY: `detect` asked the processor.
            Self::Avx2 => unsafe { x86::tile_avx2(left, right, tile) },
            Self::Portable => tile_portable(left, right, tile),
        }
    }
}

/// Fused multiplication and addition where it is an instruction; elsewhere it would be a call.
fn multiply_add(a: f32, b: f32, sum: f32) -> f32 {
    if cfg!(target_arch = "aarch64") { a.mul_add(b, sum) } else { a * b + sum }
}

fn tile_portable(left: &[f32], right: &[f32], tile: &mut Tile) {
    let mut sums = [[0.0_f32; 16]; 4];
    for (rows, columns) in left.as_chunks::<4>().0.iter().zip(right.as_chunks::<16>().0) {
        for (sums, &row) in sums.iter_mut().zip(rows) {
            for (sum, &column) in sums.iter_mut().zip(columns) {
                *sum = multiply_add(row, column, *sum);
            }
        }
    }
    tile[..64].copy_from_slice(sums.as_flattened());
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps, _mm512_fmadd_ps,
        _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    };

    use super::Tile;

    #[target_feature(enable = "avx512f")]
    #[expect(unsafe_code, reason = "loads and stores of 16 numbers within arrays of 32")]
    pub(super) fn tile_avx512(left: &[f32], right: &[f32], tile: &mut Tile) {
        let mut sums = [[_mm512_setzero_ps(); 2]; 12];
        for (rows, columns) in left.as_chunks::<12>().0.iter().zip(right.as_chunks::<32>().0) {
            // SAFETY: the array has 32 numbers.
            let [low, high] = unsafe { [_mm512_loadu_ps(columns.as_ptr()), _mm512_loadu_ps(columns[16..].as_ptr())] };
            for (sums, &row) in sums.iter_mut().zip(rows) {
                let row = _mm512_set1_ps(row);
                sums[0] = _mm512_fmadd_ps(row, low, sums[0]);
                sums[1] = _mm512_fmadd_ps(row, high, sums[1]);
            }
        }
        for (sums, out) in sums.into_iter().zip(tile.as_chunks_mut::<32>().0) {
            // SAFETY: the array has 32 numbers.
            unsafe {
                _mm512_storeu_ps(out.as_mut_ptr(), sums[0]);
                _mm512_storeu_ps(out[16..].as_mut_ptr(), sums[1]);
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    #[expect(unsafe_code, reason = "loads and stores of 8 numbers within arrays of 16")]
    pub(super) fn tile_avx2(left: &[f32], right: &[f32], tile: &mut Tile) {
        let mut sums = [[_mm256_setzero_ps(); 2]; 6];
        for (rows, columns) in left.as_chunks::<6>().0.iter().zip(right.as_chunks::<16>().0) {
            // SAFETY: the array has 16 numbers.
            let [low, high] = unsafe { [_mm256_loadu_ps(columns.as_ptr()), _mm256_loadu_ps(columns[8..].as_ptr())] };
            for (sums, &row) in sums.iter_mut().zip(rows) {
                let row = _mm256_set1_ps(row);
                sums[0] = _mm256_fmadd_ps(row, low, sums[0]);
                sums[1] = _mm256_fmadd_ps(row, high, sums[1]);
            }
        }
        for (sums, out) in sums.into_iter().zip(tile.as_chunks_mut::<16>().0) {
            // SAFETY: the array has 16 numbers.
            unsafe {
                _mm256_storeu_ps(out.as_mut_ptr(), sums[0]);
                _mm256_storeu_ps(out[8..].as_mut_ptr(), sums[1]);
            }
        }
    }
}

#[cfg(test)]
pub(crate) fn all() -> Vec<Kernel> {
    let mut kernels = vec![Kernel::Portable];
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            kernels.push(Kernel::Avx2);
        }
        if std::arch::is_x86_feature_detected!("avx512f") {
            kernels.push(Kernel::Avx512);
        }
    }
    kernels
}
