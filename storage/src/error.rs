//! The errors of storage, one variant for each thing that a caller does differently.

use std::path::PathBuf;

/// Why a storage call did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A precondition of the batch did not hold; nothing was written.
    #[error("{what} changed since it was read")]
    Conflict {
        /// The source address whose precondition failed.
        what: String,
    },
    /// A precondition on a control record did not hold; nothing was written.
    #[error("the record {key} changed since it was read")]
    RecordConflict {
        /// The record's key.
        key: String,
    },
    /// Another process, or another `Store` of this one, holds the folder.
    #[error("the folder {} is in use by {holder}", folder.display())]
    Locked {
        /// The folder that was to be opened.
        folder: PathBuf,
        /// Who holds it, in words: the program, its process id and since when, as far as known.
        holder: String,
        /// The holder's note (see the store's `set_holder_note`), such as the address it serves on.
        note: Option<String>,
    },
    /// The folder was written by a newer build, or by one too old to be upgraded.
    #[error("the store has format version {found}; this build reads {oldest} to {newest}: {advice}")]
    Format {
        /// The version found in the folder.
        found: u32,
        /// The oldest version that this build upgrades.
        oldest: u32,
        /// The version that this build writes.
        newest: u32,
        /// What the user can do.
        advice: &'static str,
    },
    /// A stored record does not decode or does not hash to what it should.
    #[error("{what} {key} is damaged: {detail}")]
    Corrupt {
        /// The kind of record, such as `chunk`.
        what: &'static str,
        /// Its key, printable.
        key: String,
        /// What was wrong with it.
        detail: String,
    },
    /// The bytes of a blob are not stored (any more).
    #[error("the bytes of blob {hash} are not stored")]
    BlobGone {
        /// Hex SHA-256 of the blob.
        hash: String,
    },
    /// The batch breaks a rule of the store: a defect of the caller.
    #[error("invalid batch: {0}")]
    Invalid(String),
    /// A backup is to be restored into a store that holds something.
    #[error("the folder {} holds a store already", folder.display())]
    Occupied {
        /// The folder.
        folder: PathBuf,
    },
    /// The caller's own reader or writer failed, to which a backup is written or from which it is read.
    #[error("{message}")]
    Transfer {
        /// What failed.
        message: String,
    },
    /// The storage failed, and could not be opened again for writing yet; nothing was written. It is tried again with
    /// later calls, and until then what is stored can still be read where the storage lets it.
    #[error("nothing is written since the storage failed: it could not be opened again yet")]
    Halted,
    /// The storage failed and was opened again while this snapshot, reader or writer was in use: take a new one.
    #[error("the storage failed and was opened again meanwhile")]
    Reopened,
    /// It cannot be done while others read from the store.
    #[error("the store is being read from")]
    Busy,
    /// A commit failed, and whether the batch is stored cannot be told before the storage works again.
    #[error("the storage backend failed, and the batch may have been stored: {message}")]
    Unsettled {
        /// The backend's own words.
        message: String,
        /// Whether the cause is a full disk.
        disk_full: bool,
    },
    /// The backend or the file system failed. A batch whose commit fails so is not stored.
    #[error("the storage backend failed: {message}")]
    Backend {
        /// The backend's own words.
        message: String,
        /// Whether the cause is a full disk.
        disk_full: bool,
    },
}

impl Error {
    /// A backend failure from an input or output error.
    pub fn from_io(error: &std::io::Error, doing: &str) -> Self {
        Self::Backend {
            message: format!("{doing}: {error}"),
            disk_full: error.kind() == std::io::ErrorKind::StorageFull,
        }
    }
}
