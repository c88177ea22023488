//! x
pub mod chunk;
mod embed;
