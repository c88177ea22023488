//! Tables and plans made from a tape of numbers: the shorter the tape and the smaller its numbers, the simpler they are.

pub mod exact;
mod plans;
mod tables;
mod tape;
mod values;

pub use plans::{Case, case};
pub use tables::MadeTable;
pub use values::{Day, Made};
