//! The lexical leg: one analyser for index and query, and BM25 over context and text together.
//!
//! Text becomes terms in `analyze`. A [`LexicalIndex`] keeps the newest chunks in memory (`memtable`), older ones in
//! tantivy segments on disk (`base`, `segment`), and remembers what was removed from the segments since (`removed`);
//! `flush` moves memory to disk. Searching does not use tantivy's scorers but its postings (`evaluate`), so that
//! statistics are those of the live chunks and scores do not depend on how the index came about.

mod analyze;
mod fold;
mod language;
mod light;
mod script;
mod stem;
mod stop;
mod word;

mod analysis;
mod lexical;
mod names;
mod search;

mod dictionary;
mod evaluate;
mod memtable;
mod removed;
mod score;

mod base;
mod cursor;
mod segment;

mod inventory;

mod error;
mod flush;
mod merge;
mod schema;
mod write;

pub use analysis::Analysis;
pub use analyze::{ANALYZER_VERSION, TERM_BYTES_MAX, TermKind, analyze, analyze_query};
pub use flush::{FlushJob, Flushed};
pub(crate) use inventory::LexicalInventory;
pub use lexical::{LexicalChunk, LexicalIndex, LexicalStatistics, PENDING_BYTES_MAX, PENDING_CHUNKS_MAX};
pub use names::{Held, NAMES_MAX};
pub use score::LexicalHit;
pub use search::{Lookup, QUERY_TERMS_MAX, QueryWords, WordStatistics};
