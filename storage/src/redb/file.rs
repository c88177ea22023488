//! A redb file whose damage is an error: redb checks a page only where a crash may have torn it, and panics on some
//! pages that something else has changed.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::Database;

use crate::error::Error;

/// An open file; closing it does not panic either.
pub(super) struct OpenFile(Option<Database>);

impl OpenFile {
    pub(super) fn new(database: Database) -> Self {
        Self(Some(database))
    }
}

impl Deref for OpenFile {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.0.as_ref().expect("it is taken by drop alone")
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let database = self.0.take();
        let closed = guarded(|| {
            drop(database);
            Ok(())
        });
        if let Err(error) = closed {
            tracing::error!(%error, "a file was not closed cleanly; the next open repairs it");
        }
    }
}

/// Runs `work` on a file. A panic in it is [`Error::Corrupt`]: what it was at is dropped and not relied on again.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        Err(Error::Corrupt {
            what: "page",
            key: "of a redb file".into(),
            detail: words.unwrap_or("it makes no sense").into(),
        })
    })
}
