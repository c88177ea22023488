//! What chance decides, read from a tape.

/// A tape of numbers; past its end it reads zeros.
pub struct Tape<'a> {
    left: std::slice::Iter<'a, u32>,
}

impl<'a> Tape<'a> {
    pub fn new(numbers: &'a [u32]) -> Self {
        Self { left: numbers.iter() }
    }

    /// A number below `bound`, which is at least one.
    pub fn below(&mut self, bound: usize) -> usize {
        self.left.next().map_or(0, |number| *number as usize % bound)
    }

    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }
}
