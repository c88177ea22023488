//! x
mod chunk;
pub mod embed;
