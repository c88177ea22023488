//! Matrix products over interleaved sides, and the linear layers made of them.

use crate::kernel::{Kernel, Tile};

/// Numbers of interleaved rows that are taken through all columns at a time, so that they stay in the cache.
const BLOCK_NUMBERS: usize = 128 << 10;

/// A part of a row-major matrix: where it begins and how far its rows are apart.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub numbers: &'a [f32],
    pub start: usize,
    pub stride: usize,
}

/// A part of a row-major matrix to write to.
pub(crate) struct PartMut<'a> {
    pub numbers: &'a mut [f32],
    pub start: usize,
    pub stride: usize,
}

/// What becomes of the numbers that a product is written over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Replace,
    Add,
}

/// Rows as they are, `width` of them side by side: for each group of rows, for each place in a row, the numbers there.
/// What is missing to the last group is zero.
pub(crate) fn interleave_rows(part: Part<'_>, rows: usize, depth: usize, width: usize, out: &mut Vec<f32>) {
    out.clear();
    out.resize(rows.next_multiple_of(width) * depth, 0.0);
    for row in 0..rows {
        let from = part.start + row * part.stride;
        let to = row / width * width * depth + row % width;
        for (out, &number) in out[to..].iter_mut().step_by(width).zip(&part.numbers[from..from + depth]) {
            *out = number;
        }
    }
}

/// Columns of a matrix, `width` of them side by side, in the same form.
pub(crate) fn interleave_columns(part: Part<'_>, columns: usize, depth: usize, width: usize, out: &mut Vec<f32>) {
    out.clear();
    out.resize(columns.next_multiple_of(width) * depth, 0.0);
    for (group, out) in out.chunks_exact_mut(width * depth).enumerate() {
        let first = group * width;
        let count = width.min(columns - first);
        for (place, out) in out.chunks_exact_mut(width).enumerate() {
            let from = part.start + place * part.stride + first;
            out[..count].copy_from_slice(&part.numbers[from..from + count]);
        }
    }
}

/// Two interleaved sides of a product: `rows` by `depth`, and `depth` by `columns`.
pub(crate) struct Product<'a> {
    pub kernel: Kernel,
    pub left: &'a [f32],
    pub right: &'a [f32],
    pub rows: usize,
    pub columns: usize,
    pub depth: usize,
}

impl Product<'_> {
    /// Writes the product, plus one number of `bias` for each column where there is one.
    pub(crate) fn write(&self, bias: Option<&[f32]>, over: Over, out: &mut PartMut<'_>) {
        let (height, width) = (self.kernel.rows(), self.kernel.columns());
        let block = (BLOCK_NUMBERS / self.depth).max(height).next_multiple_of(height);
        let mut tile: Tile = [0.0; _];
        for block_start in (0..self.rows).step_by(block) {
            let block_end = self.rows.min(block_start + block);
            for column in (0..self.columns).step_by(width) {
                let right = &self.right[column * self.depth..][..width * self.depth];
                let count = width.min(self.columns - column);
                for row in (block_start..block_end).step_by(height) {
                    let left = &self.left[row * self.depth..][..height * self.depth];
                    self.kernel.tile(left, right, &mut tile);
                    for (at, sums) in tile.chunks_exact(width).take(height.min(block_end - row)).enumerate() {
                        let to = out.start + (row + at) * out.stride + column;
                        let bias = bias.map(|bias| &bias[column..column + count]);
                        store(&sums[..count], bias, over, &mut out.numbers[to..to + count]);
                    }
                }
            }
        }
    }
}

fn store(sums: &[f32], bias: Option<&[f32]>, over: Over, out: &mut [f32]) {
    match (bias, over) {
        (Some(bias), Over::Replace) => {
            for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                *out = sum + bias;
            }
        }
        (Some(bias), Over::Add) => {
            for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                *out += sum + bias;
            }
        }
        (None, Over::Replace) => out.copy_from_slice(sums),
        (None, Over::Add) => {
            for (out, sum) in out.iter_mut().zip(sums) {
                *out += sum;
            }
        }
    }
}

/// A linear layer: weights, interleaved once, and bias.
pub(crate) struct Linear {
    kernel: Kernel,
    weights: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

impl Linear {
    /// From weights as checkpoints hold them, one row for each output.
    pub(crate) fn new(kernel: Kernel, weights: &[f32], bias: Vec<f32>) -> Self {
        let inputs = weights.len() / bias.len();
        let mut interleaved = Vec::new();
        let part = Part { numbers: weights, start: 0, stride: inputs };
        interleave_rows(part, bias.len(), inputs, kernel.columns(), &mut interleaved);
        Self { kernel, weights: interleaved, bias, inputs }
    }

    /// Applies the layer to `rows` rows that lie one after the other; `room` is room to work in.
    pub(crate) fn apply(&self, input: &[f32], rows: usize, over: Over, out: &mut [f32], room: &mut Vec<f32>) {
        let part = Part { numbers: input, start: 0, stride: self.inputs };
        interleave_rows(part, rows, self.inputs, self.kernel.rows(), room);
        let product = Product {
            kernel: self.kernel,
            left: room,
            right: &self.weights,
            rows,
            columns: self.bias.len(),
            depth: self.inputs,
        };
        product.write(Some(&self.bias), over, &mut PartMut { numbers: out, start: 0, stride: self.bias.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel;

    /// Small whole numbers, so that a wrong sum is off by 1 at least.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| f32::from(u8::try_from((at * 7 + seed * 13) % 19).expect("below 19")) - 9.0).collect()
    }

    #[test]
    fn every_kernel_gives_the_product_at_every_edge() {
        for kernel in kernel::all() {
            for (rows, columns, depth) in [(1, 1, 1), (5, 17, 3), (12, 32, 8), (13, 33, 9), (40, 70, 21)] {
                let (left, weights) = (numbers(rows * depth, 1), numbers(columns * depth, 2));
                let bias = numbers(columns, 3);
                let linear = Linear::new(kernel, &weights, bias.clone());
                let mut out = vec![100.0; rows * columns];
                linear.apply(&left, rows, Over::Replace, &mut out, &mut Vec::new());
                linear.apply(&left, rows, Over::Add, &mut out, &mut Vec::new());
                for row in 0..rows {
                    for column in 0..columns {
                        let sum: f32 = (0..depth).map(|k| left[row * depth + k] * weights[column * depth + k]).sum();
                        let (found, wanted) = (out[row * columns + column], 2.0 * (sum + bias[column]));
                        assert!(
                            (found - wanted).abs() < 0.5,
                            "{kernel:?} {rows}x{columns}x{depth}: {found}, not {wanted}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn columns_are_interleaved_like_the_rows_of_the_transposed_matrix() {
        let (columns, depth, width) = (5, 3, 4);
        let matrix = numbers(depth * columns, 4);
        let transposed: Vec<f32> =
            (0..columns).flat_map(|c| (0..depth).map(move |k| (k, c))).map(|(k, c)| matrix[k * columns + c]).collect();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        interleave_columns(Part { numbers: &matrix, start: 0, stride: columns }, columns, depth, width, &mut left);
        interleave_rows(Part { numbers: &transposed, start: 0, stride: depth }, columns, depth, width, &mut right);
        assert_eq!(left, right);
    }
}
