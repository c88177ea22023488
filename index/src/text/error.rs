//! What tantivy and the file system report, sorted by what a caller can do about it.

use std::io;
use std::sync::Arc;

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

use crate::Error;

/// The name of this projection in errors.
const LEXICAL: &str = "lexical";

/// Why something did not work, on the way to an [`Error`].
#[derive(Debug)]
pub(super) enum Failure {
    /// The files are not what this version wrote.
    Damaged(String),
    /// The library, the file system or the machine refused.
    Refused {
        /// The library's words.
        message: String,
        /// Whether the disk is full.
        disk_full: bool,
    },
}

pub(super) fn damaged(detail: impl Into<String>) -> Failure {
    Failure::Damaged(detail.into())
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Damaged(detail) => Self::Rebuild { what: LEXICAL, detail },
            Failure::Refused { message, disk_full } => Self::Backend { what: LEXICAL, message, disk_full },
        }
    }
}

impl Failure {
    fn of_io(cause: &io::Error, message: String) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
        let disk_full = is_disk_full(cause);
        if !disk_full && matches!(cause.kind(), NotFound | InvalidData | InvalidInput | UnexpectedEof) {
            Self::Damaged(message)
        } else {
            Self::Refused { message, disk_full }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        Self::of_io(&cause, cause.to_string())
    }
}

impl From<OpenReadError> for Failure {
    fn from(cause: OpenReadError) -> Self {
        TantivyError::from(cause).into()
    }
}

impl From<OpenDirectoryError> for Failure {
    fn from(cause: OpenDirectoryError) -> Self {
        TantivyError::from(cause).into()
    }
}

impl From<TantivyError> for Failure {
    fn from(cause: TantivyError) -> Self {
        let message = cause.to_string();
        match io_cause(&cause) {
            Some(io) => Self::of_io(&io, message),
            None if is_damage(&cause) => Self::Damaged(message),
            None => Self::Refused { message, disk_full: false },
        }
    }
}

/// Whether the disk is full; libraries wrap what the system said.
fn is_disk_full(cause: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    let is_full = |cause: &io::Error| matches!(cause.kind(), StorageFull | QuotaExceeded);
    let mut inner = cause.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static));
    is_full(cause)
        || std::iter::from_fn(|| {
            let this = inner?;
            let io = this.downcast_ref::<io::Error>();
            inner = io.and_then(io::Error::get_ref).map_or_else(|| this.source(), |inner| Some(inner));
            Some(io.is_some_and(is_full))
        })
        .any(|full| full)
}

fn io_cause(cause: &TantivyError) -> Option<Arc<io::Error>> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a library's enum; what has no io error inside is all the same")]
    match cause {
        TantivyError::IoError(io)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: io, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: io, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: io, .. })
        | TantivyError::LockFailure(LockError::IoError(io), _) => Some(Arc::clone(io)),
        _ => None,
    }
}

fn is_damage(cause: &TantivyError) -> bool {
    matches!(
        cause,
        TantivyError::DataCorruption(_)
            | TantivyError::OpenReadError(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::FieldNotFound(_)
            | TantivyError::SchemaError(_)
            | TantivyError::DeserializeError(_)
            | TantivyError::MissingPlugin(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_seen_through_what_wraps_it() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        for cause in [full(), io::Error::other(full()), io::Error::other(io::Error::other(full()))] {
            assert!(matches!(Failure::from(cause), Failure::Refused { disk_full: true, .. }));
        }
        for cause in [io::Error::other("no space left on device"), io::ErrorKind::PermissionDenied.into()] {
            assert!(matches!(Failure::from(cause), Failure::Refused { disk_full: false, .. }));
        }
    }
}
