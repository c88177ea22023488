//! From a file's bytes to blocks and typed tables.
//!
//! [`contract`] is what an extractor is asked and what it answers, whoever it is: a child process of the engine or a
//! service behind a URL. [`formats`] names the formats and what selects each, and [`commonmark`] is what is done to Markdown
//! wherever it is parsed, [`written`] what tells a number or a day from other text. [`readers`] are Loom's own parsers; they run in a process that may crash, and nothing in the engine
//! calls them.

pub mod commonmark;
pub mod contract;
pub mod formats;
#[cfg(feature = "readers")]
pub mod readers;
pub mod written;
