//! Where the engine takes fresh ids from, so that a test can number them.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

/// A source of unique ids: `UUIDv7` unless a test says otherwise.
#[derive(Clone)]
pub struct Ids(Arc<dyn Fn() -> Uuid + Send + Sync>);

impl Ids {
    /// `UUIDv7` of the system's time and randomness.
    pub fn system() -> Self {
        Self::new(Uuid::now_v7)
    }

    /// Ids as `next` gives them; they must be unique.
    pub fn new(next: impl Fn() -> Uuid + Send + Sync + 'static) -> Self {
        Self(Arc::new(next))
    }

    /// A fresh id.
    pub fn fresh(&self) -> Uuid {
        (self.0)()
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}
