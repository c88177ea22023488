//! What goes wrong with datasets.

use thiserror::Error;

/// What goes wrong with datasets.
#[derive(Debug, Error)]
pub enum Error {
    /// A column was named that the dataset does not have.
    #[error("the dataset has no column {0:?}")]
    NoSuchColumn(String),
    /// A plan that cannot be run, where it is wrong, and why.
    #[error("{message}")]
    Plan {
        /// The field of the plan, such as `where[0].column`.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// A plan that needs more than one request may use.
    #[error("{0}")]
    Limit(String),
    /// Stored rows that cannot be read.
    #[error("stored rows of a dataset are damaged: {0}")]
    Damaged(String),
    /// A source could not be loaded.
    #[error("a dataset could not be loaded: {0}")]
    Load(Box<dyn std::error::Error + Send + Sync>),
    /// A defect.
    #[error("datasets: {0}")]
    Defect(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) fn defect(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Defect(error.into())
    }

    pub(crate) fn plan(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Plan { field: field.into(), message: message.into() }
    }
}
