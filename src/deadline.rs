//! How long a call may take.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::error::{Code, Error};
use crate::op::Kind;

/// The moment by which a call has to end. A commit that was begun is finished whatever the time.
#[derive(Clone, Debug)]
pub struct Deadline {
    at: Cell<Instant>,
    allowed: Duration,
    setting: &'static str,
}

impl Deadline {
    /// The deadline of a call that begins now.
    pub fn of(kind: Kind, config: &Config) -> Self {
        let (ms, setting) = match kind {
            Kind::Read => (config.deadlines.read_ms, "LOOM_READ_DEADLINE_MS"),
            Kind::Idempotent | Kind::Write => (config.deadlines.write_ms, "LOOM_WRITE_DEADLINE_MS"),
        };
        let allowed = Duration::from_millis(ms);
        Self { at: Cell::new(after(allowed)), allowed, setting }
    }

    /// The deadline of background work that ends at a moment.
    pub fn until(at: Instant) -> Self {
        let allowed = at.saturating_duration_since(Instant::now());
        Self { at: Cell::new(at), allowed, setting: "LOOM_KNOWLEDGE_INGEST_MAX_PASS_SECONDS" }
    }

    /// The moment.
    pub fn at(&self) -> Instant {
        self.at.get()
    }

    /// Moves the moment, for a wait that has a bound of its own.
    pub fn extend(&self, by: Duration) {
        self.at.set(self.at().checked_add(by).unwrap_or_else(|| self.at()));
    }

    /// [`Code::Overloaded`] once it has passed.
    pub fn check(&self) -> Result<(), Error> {
        if Instant::now() <= self.at() {
            return Ok(());
        }
        let message = format!(
            "the call took longer than the {} ms that {} allows, and nothing was written: ask for less at once, or \
             repeat it when Loom has less to do",
            self.allowed.as_millis(),
            self.setting
        );
        Err(Error { retry_after_s: Some(1), ..Error::new(Code::Overloaded, message) })
    }
}

/// The moment after `wait`, or a year from now when that is sooner.
pub fn after(wait: Duration) -> Instant {
    Instant::now() + wait.min(Duration::from_hours(365 * 24))
}
