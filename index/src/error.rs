//! The errors of the index.

use std::sync::Arc;

/// Why an index call did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The projection's files are missing a part, damaged, or of another version: rebuild them from storage.
    #[error("the {what} projection must be rebuilt: {detail}")]
    Rebuild {
        /// Which projection: `lexical` or `vector`.
        what: &'static str,
        /// What was found.
        detail: String,
    },
    /// Storage failed while the projection followed it.
    #[error(transparent)]
    Storage(#[from] loom_storage::Error),
    /// The index library or the file system failed.
    #[error("the {what} index failed: {message}")]
    Backend {
        /// Which index: `lexical` or `vector`.
        what: &'static str,
        /// The library's own words.
        message: String,
        /// Whether the cause is a full disk.
        disk_full: bool,
    },
    /// The namespace's projection is still being opened or built, which goes on: ask again later.
    #[error("the projection is being built: {percent}% of it is done")]
    Unready {
        /// How much of it is done, in percent; 0 when it has not begun.
        percent: u64,
    },
    /// The projection has not followed all that was committed before the call by the moment that the call gave; it goes
    /// on from where it is when it is next asked.
    #[error("the projection follows commits that came before")]
    Behind,
    /// The projections are being closed.
    #[error("the projections are being closed")]
    Stopped,
    /// Building the projection failed; each caller that waited for it is told.
    #[error(transparent)]
    Build(Arc<Error>),
}

impl Error {
    /// A failure of the file system under the index `what`.
    pub(crate) fn from_io(what: &'static str, error: &std::io::Error) -> Self {
        Self::Backend { what, message: error.to_string(), disk_full: error.kind() == std::io::ErrorKind::StorageFull }
    }
}
