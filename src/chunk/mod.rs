//! Cutting a text into chunks on its structure.
//!
//! [`cut`] reads a document once: front matter is set aside, headings become sections, and each section's own text
//! is covered by windows that end and start where a reader would pause. Everything is linear in the text, whatever
//! the text is.

mod border;
mod context;
mod cut;
mod extracted;
mod front_matter;
mod html_heading;
mod outline;
mod plain;
mod ruler;
mod settings;
#[cfg(test)]
mod tests;
mod windows;

pub use context::{DESCRIPTION_BYTES_MAX, TITLE_BYTES_MAX, context};
pub use cut::{Cut, Piece, cut};
pub use extracted::{Extracted, MIXED, Mark, cut_artifact, locator_around, stored_locator};
pub use front_matter::{FRONT_MATTER_BYTES_MAX, FrontMatter};
pub use outline::{HEADING_BYTES_MAX, SECTIONS_MAX};
pub use settings::{ChunkSettings, ChunkSettingsError};
pub use windows::TABLE_HEADER_BYTES_MAX;
