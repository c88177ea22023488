//! Which sections are noise: what is written down without being knowledge.
//!
//! [`labels`] reads a cut document's title, headings and, where those make a section suspect, its words. It asks no
//! model, takes time linear in the text, and leaves a section as content when it is unsure. The rules are in
//! `docs/noise.md`.

mod blocks;
mod dates;
mod decisions;
mod document;
mod headings;
mod language;
mod questions;
mod recordings;
#[cfg(test)]
mod tests;
mod titles;
mod words;

pub use document::labels;
