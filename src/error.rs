//! The errors that callers see: the codes of the API contract, each with one status.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// What a caller is told of a defect.
const DEFECT: &str = "a defect in Loom; the log line with this request id has the cause";
/// After how many seconds a call that met an index in the making may be repeated.
const INDEX_RETRY_S: u64 = 5;

/// What went wrong, as a caller acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Code {
    /// A field is missing, of the wrong type or out of range.
    ValidationFailed,
    /// The body is not a JSON object.
    BadJson,
    /// What had to be repeated to confirm the call was not.
    ConfirmMismatch,
    /// No token, or one that does not verify.
    Unauthenticated,
    /// The role is too low or the namespace is not the caller's.
    Forbidden,
    /// A browser request from a foreign origin, or a `Host` that is not ours.
    ForbiddenOrigin,
    /// No such operation.
    UnknownOp,
    /// The thing the operation must act on does not exist.
    NotFound,
    /// The thing changed since it was read, or the revision asked for does not hold.
    PreconditionFailed,
    /// Over a documented limit.
    PayloadTooLarge,
    /// The file is of a format that is refused by its name.
    UnsupportedFile,
    /// The bytes do not have the hash that was named.
    ChecksumMismatch,
    /// The original's bytes are no longer stored.
    BlobGone,
    /// A dataset's schema needs approval first.
    NeedsClarification,
    /// A query needs more rows, time or memory than one may use.
    QueryLimit,
    /// The caller has used up its calls.
    RateLimited,
    /// A queue or lease is full past a short wait.
    Overloaded,
    /// Storage did not answer, or its disk is full.
    BackendUnavailable,
    /// The embedding provider did not answer.
    ProviderUnavailable,
    /// The provider refused the request.
    ProviderRefused,
    /// A defect.
    Internal,
}

impl Code {
    /// Every code, in the order of their statuses.
    pub const ALL: [Self; 21] = [
        Self::BadJson,
        Self::ConfirmMismatch,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::ForbiddenOrigin,
        Self::UnknownOp,
        Self::NotFound,
        Self::PreconditionFailed,
        Self::BlobGone,
        Self::PayloadTooLarge,
        Self::UnsupportedFile,
        Self::ValidationFailed,
        Self::ChecksumMismatch,
        Self::NeedsClarification,
        Self::QueryLimit,
        Self::RateLimited,
        Self::Internal,
        Self::ProviderRefused,
        Self::Overloaded,
        Self::BackendUnavailable,
        Self::ProviderUnavailable,
    ];

    /// The HTTP status of the code.
    pub fn status(self) -> u16 {
        match self {
            Self::BadJson | Self::ConfirmMismatch => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden | Self::ForbiddenOrigin => 403,
            Self::UnknownOp | Self::NotFound => 404,
            Self::PreconditionFailed => 409,
            Self::BlobGone => 410,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedFile => 415,
            Self::ValidationFailed | Self::ChecksumMismatch | Self::NeedsClarification | Self::QueryLimit => 422,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::ProviderRefused => 502,
            Self::Overloaded | Self::BackendUnavailable | Self::ProviderUnavailable => 503,
        }
    }

    /// Whether the same call may succeed later.
    pub fn retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Overloaded | Self::BackendUnavailable | Self::ProviderUnavailable)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match serde_json::to_value(self) {
            Ok(Value::String(name)) => f.write_str(&name),
            _ => Err(fmt::Error),
        }
    }
}

/// Why a call was not answered. `message` is for the caller; the cause is for the log alone.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The code.
    pub code: Code,
    /// What was wrong and what to do, in plain words; no secret and nothing of another namespace.
    pub message: String,
    /// The input field at fault, such as `entries[3].source_uri`.
    pub field: Option<String>,
    /// Seconds after which the call may be repeated.
    pub retry_after_s: Option<u64>,
    /// The cause, never shown to a caller.
    #[source]
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `code` that says `message`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None, retry_after_s: None, cause: None }
    }

    /// A [`Code::ValidationFailed`] that names the input field.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::new(Code::ValidationFailed, message) }
    }

    /// A [`Code::Internal`] with its cause.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..Self::new(Code::Internal, DEFECT) }
    }

    /// Whether the namespace's index is not built yet.
    pub(crate) fn is_unready(&self) -> bool {
        let index = self.cause.as_ref().and_then(|cause| cause.downcast_ref::<loom_index::Error>());
        matches!(index, Some(loom_index::Error::Unready { .. }))
    }

    /// The error as the API shows it.
    pub fn to_json(&self) -> Value {
        let mut error = serde_json::json!({
            "code": self.code, "message": self.message, "retryable": self.code.retryable(),
        });
        if let Some(field) = &self.field {
            error["field"] = field.as_str().into();
        }
        if let Some(seconds) = self.retry_after_s {
            error["retry_after_s"] = seconds.into();
        }
        serde_json::json!({ "error": error })
    }
}

impl From<loom_storage::Error> for Error {
    fn from(error: loom_storage::Error) -> Self {
        let told = Self::of_storage(&error);
        Self { cause: Some(error.into()), ..told }
    }
}

impl Error {
    /// What a caller is told of a failure of storage, without its cause.
    fn of_storage(error: &loom_storage::Error) -> Self {
        use loom_storage::Error as Storage;
        let (code, message) = match error {
            Storage::Conflict { what } => (
                Code::PreconditionFailed,
                format!("{what} changed since it was read: read it again and repeat the call"),
            ),
            Storage::RecordConflict { .. } => {
                (Code::Overloaded, "other writes of the namespace came between every time: repeat the call".into())
            }
            Storage::BlobGone { .. } => {
                (Code::BlobGone, "the original's bytes are no longer stored: upload the file again".into())
            }
            Storage::Locked { .. } | Storage::Format { .. } => (Code::BackendUnavailable, error.to_string()),
            Storage::Halted => (
                Code::BackendUnavailable,
                "nothing is written since the storage failed, most often because the disk is full: make room, and repeat \
                 the call; the storage is tried again by itself"
                    .into(),
            ),
            Storage::Reopened => {
                (Code::BackendUnavailable, "the storage failed and was opened again meanwhile: repeat the call".into())
            }
            Storage::Busy => (Code::Overloaded, "the store is being read from: repeat the call when it is not".into()),
            Storage::Unsettled { .. } => (
                Code::BackendUnavailable,
                "the storage failed, and whether this was written cannot be told: read the document again before you \
                 repeat the call; the log has the cause"
                    .into(),
            ),
            Storage::Backend { disk_full: true, .. } => (
                Code::BackendUnavailable,
                "the disk that holds the data folder is full, and nothing was written: free some space and repeat the call"
                    .into(),
            ),
            Storage::Backend { .. } => {
                (Code::BackendUnavailable, "the storage backend failed, and nothing was written; the log has the cause".into())
            }
            Storage::Corrupt { what: "backup", .. } => {
                (Code::ValidationFailed, format!("{error}: it is no whole backup, and nothing was restored"))
            }
            Storage::Corrupt { what, .. } => {
                (Code::Internal, format!("a stored {what} is damaged: run `loom doctor`; the log names the record"))
            }
            Storage::Occupied { .. } => (
                Code::PreconditionFailed,
                format!("{error}: restore into a folder that is missing or empty, and use that one instead"),
            ),
            Storage::Transfer { message } => (Code::BackendUnavailable, message.clone()),
            Storage::Invalid(_) => (Code::Internal, DEFECT.into()),
        };
        Self::new(code, message)
    }

    /// What a caller is told of a failure of the index, without its cause.
    fn of_index(error: &loom_index::Error) -> Self {
        use loom_index::Error as Index;
        match error {
            Index::Storage(storage) => Self::of_storage(storage),
            Index::Backend { disk_full: true, .. } => {
                Self::new(Code::BackendUnavailable, "the disk that holds the data folder is full: free some space")
            }
            Index::Backend { .. } | Index::Rebuild { .. } => Self::new(Code::Internal, DEFECT),
            Index::Unready { percent } => Self {
                retry_after_s: Some(INDEX_RETRY_S),
                ..Self::new(
                    Code::Overloaded,
                    format!("the namespace's index is being rebuilt ({percent}% done): repeat the call later"),
                )
            },
            Index::Behind => Self {
                retry_after_s: Some(1),
                ..Self::new(
                    Code::Overloaded,
                    "the namespace's index is still taking in what was written before: repeat the call",
                )
            },
            Index::Stopped => Self::new(Code::Overloaded, "Loom is shutting down: call again once it runs"),
            Index::Build(error) => Self::of_index(error),
        }
    }
}

impl From<loom_index::Error> for Error {
    fn from(error: loom_index::Error) -> Self {
        let told = Self::of_index(&error);
        Self { cause: Some(error.into()), ..told }
    }
}
