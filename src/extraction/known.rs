//! What an extractor last said of itself, for a minute.

use std::sync::Arc;
use std::time::{Duration, Instant};

use loom_extract::contract::Capabilities;
use parking_lot::Mutex;

/// For how long capabilities count, and for how long a listing does not ask an extractor that failed to tell them.
pub const KEPT: Duration = Duration::from_mins(1);

/// What an extractor last said of itself.
#[derive(Default)]
pub struct Known(Mutex<Option<Heard>>);

struct Heard {
    at: Instant,
    /// `None` where it could not be read.
    capabilities: Option<Arc<Capabilities>>,
}

/// What was heard of an extractor within the last minute.
pub enum Recent {
    /// What it reads.
    Told(Arc<Capabilities>),
    /// Asking failed.
    Failed,
    /// It was not asked.
    Unasked,
}

impl Known {
    /// What was heard within the last minute.
    pub fn recent(&self) -> Recent {
        match self.0.lock().as_ref().filter(|heard| heard.at.elapsed() < KEPT) {
            Some(Heard { capabilities: Some(capabilities), .. }) => Recent::Told(Arc::clone(capabilities)),
            Some(_) => Recent::Failed,
            None => Recent::Unasked,
        }
    }

    /// Notes what was heard now.
    pub fn hear(&self, capabilities: Option<Arc<Capabilities>>) {
        *self.0.lock() = Some(Heard { at: Instant::now(), capabilities });
    }
}
