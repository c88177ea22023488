//! What can be wrong with a folder, and what can end a call.

use std::io;
use std::path::PathBuf;

/// Why a model is not there or gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the folder cannot be read.
    #[error("cannot read {}: {source}{}", file.display(), missing(source))]
    Read {
        /// The file.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file of the folder is larger than a limit allows.
    #[error("{} has {bytes} bytes, and {limit} allows {bytes_max}", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Its size in bytes.
        bytes: u64,
        /// The most it may have.
        bytes_max: u64,
        /// The name of the limit.
        limit: &'static str,
    },
    /// A file of the folder does not say what a model needs, or contradicts another one.
    #[error("{}: {what}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// What is wrong, with the tensor or the field.
        what: String,
    },
    /// A model that is sound, as far as it was read, and that is not run here.
    #[error("{}: {what}", file.display())]
    Unsupported {
        /// The file that says so.
        file: PathBuf,
        /// What is not supported, and what is.
        what: String,
    },
    /// The tokenizer failed on a text.
    #[error("the model's tokenizer failed: {what}")]
    Tokenizer {
        /// What it said.
        what: String,
    },
    /// The model gave a number that is none, for a text on which its weights overflow.
    #[error("the model gave a text no finite numbers: its weights are damaged or not meant for 32-bit floats")]
    NotFinite,
    /// The threads to compute with could not be started.
    #[error("the threads of the model cannot be started: {what}")]
    Threads {
        /// What the system said.
        what: String,
    },
    /// The time was over before the last text.
    #[error("the model needs longer than the call may take")]
    Late,
    /// [`close`](crate::SentenceEncoder::close) was called.
    #[error("the model is closed")]
    Closed,
}

fn missing(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::NotFound {
        " (a model folder holds config.json, tokenizer.json and model.safetensors)"
    } else {
        ""
    }
}
