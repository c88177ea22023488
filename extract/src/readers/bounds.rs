//! What one extraction may use.

use std::time::{Duration, Instant};

use crate::contract::{Refusal, RefusalCode};

/// What one extraction may use. A reader asks where its work could grow past what the file's size suggests.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The most bytes that compressed parts of a file may have together when they are unpacked.
    pub inflated_bytes: u64,
    /// The most entries of an archive.
    pub archive_entries: usize,
    /// The most cells of all tables together; a table past it is cut, and `tables` is lost.
    pub cells: usize,
    /// The most bytes of text in the artifact.
    pub text_bytes: usize,
    /// The deepest nesting of what is parsed by recursion.
    pub depth: usize,
    /// When the extraction must be done.
    pub deadline: Instant,
}

impl Bounds {
    /// The default bounds, with `time` from now on.
    pub fn within(time: Duration) -> Self {
        Self {
            inflated_bytes: 256 * 1024 * 1024,
            archive_entries: 20_000,
            cells: 5_000_000,
            text_bytes: 128 * 1024 * 1024,
            depth: 100,
            deadline: Instant::now() + time,
        }
    }

    /// Refuses once the time is over.
    ///
    /// # Errors
    /// [`RefusalCode::Timeout`].
    pub fn check_time(&self) -> Result<(), Refusal> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Refusal::new(RefusalCode::Timeout, "the extraction took longer than it may"))
    }

    /// Refuses text of more bytes than the artifact may hold.
    ///
    /// # Errors
    /// [`RefusalCode::ResourceLimit`].
    pub fn check_text(&self, bytes: usize) -> Result<(), Refusal> {
        if bytes <= self.text_bytes {
            return Ok(());
        }
        let message = format!("the file holds more than {} bytes of text", self.text_bytes);
        Err(Refusal::new(RefusalCode::ResourceLimit, message))
    }
}
