//! The lexical leg: one analyser for index and query, and BM25 over context and text together.

mod analyze;
mod fold;
mod script;
mod stem;
mod stop;
mod word;

pub use analyze::{ANALYZER_VERSION, TERM_BYTES_MAX, TermKind, analyze};
