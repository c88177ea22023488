//! x
mod chunk;
mod embed;
