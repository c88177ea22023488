//! Why a command did not do what it was asked for.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{Code, Error, OpenError};

/// A failed command. Its display is the one line that the user reads.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line was wrong in a way that the parser cannot see.
    #[error("{0}")]
    Usage(String),
    /// The engine, here or behind a server, refused the call.
    #[error("{0}")]
    Refused(Refusal),
    /// The data folder could not be opened.
    #[error("{}", cannot_open(.0))]
    Open(OpenError),
    /// A read of a folder in which nothing was ever stored.
    #[error("there is no data folder {} yet: store something with `loom add PATH`, or name another with --data", .0.display())]
    NoFolder(PathBuf),
    /// The server gave no answer.
    #[error("no answer from the server at {address}: {reason}; is it running?")]
    NoAnswer {
        /// The server's base address.
        address: String,
        /// What happened to the request.
        reason: String,
    },
    /// Something answered that is not a Loom server.
    #[error("{address} answered with status {status}, and not as a Loom server does: check the address")]
    NotLoom {
        /// The server's base address.
        address: String,
        /// The HTTP status.
        status: u16,
    },
    /// The folder is needed alone, and a server has it.
    #[error(
        "this needs the data folder to itself, and the server at {address} has it ({state}): stop it and try again"
    )]
    Served {
        /// The server's base address.
        address: String,
        /// Whether it is ready.
        state: &'static str,
    },
    /// A file, a folder or standard input failed.
    #[error("{what}: {source}")]
    Io {
        /// What was done to which file.
        what: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The command ran and printed its answer, which is not what was asked for: not found, or partly failed.
    #[error("{0}")]
    Unmet(String),
    /// Standard output failed.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

/// An error as the API shows it.
#[derive(Debug)]
pub struct Refusal {
    /// The whole answer, `{"error": {..}}`.
    body: Value,
}

impl Refusal {
    /// The refusal in an answer of a server, when it has the API's shape.
    pub fn of_answer(body: Value) -> Option<Self> {
        (body["error"]["code"].is_string() && body["error"]["message"].is_string()).then_some(Self { body })
    }

    /// What was wrong and what to do.
    pub fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }

    /// The code, such as `NOT_FOUND`.
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.body["error"]["retryable"] == true
    }

    /// The input field at fault.
    pub fn field(&self) -> Option<&str> {
        self.body["error"]["field"].as_str()
    }

    /// Seconds after which the call may be repeated.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.body["error"]["retry_after_s"].as_u64()
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message())
    }
}

impl Failure {
    /// The failure as the one JSON document that `--json` prints; none when the answer is printed already.
    pub fn to_json(&self) -> Option<Value> {
        let code = match self {
            Self::Refused(refusal) => return Some(refusal.body.clone()),
            Self::Unmet(_) | Self::Output(_) => return None,
            Self::Usage(_) => Code::ValidationFailed,
            Self::NoFolder(_) => Code::NotFound,
            Self::Open(_) | Self::NoAnswer { .. } | Self::NotLoom { .. } | Self::Served { .. } | Self::Io { .. } => {
                Code::BackendUnavailable
            }
        };
        let retryable = matches!(self, Self::NoAnswer { .. });
        Some(json!({ "error": { "code": code, "message": self.to_string(), "retryable": retryable } }))
    }

    /// Adds what was done to which file to an error of the operating system.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Some(cause) = &error.cause
            && matches!(error.code, Code::Internal | Code::BackendUnavailable)
        {
            tracing::error!(%cause, code = %error.code, "a call failed");
        }
        Self::Refused(Refusal { body: error.to_json() })
    }
}

fn cannot_open(error: &OpenError) -> String {
    match error {
        OpenError::Locked { address: Some(address), .. } => format!("{error}, which says it serves on {address}"),
        OpenError::Locked { address: None, .. } => {
            format!("{error}: try again when that is done, or name another folder with --data")
        }
        OpenError::Other(_) => error.to_string(),
    }
}
