//! The one clock of the engine, so that a test can hold it still.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp as Instant;
use loom_storage::Timestamp;

/// Where the engine takes the time from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::new(|| Timestamp(Instant::now().as_millisecond()))
    }

    /// A clock that answers what `now` does.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// RFC 3339 in UTC with milliseconds, such as `2026-11-30T12:00:00.000Z`.
pub fn rfc3339(time: Timestamp) -> String {
    let instant = Instant::from_millisecond(time.0).unwrap_or(if time.0 < 0 { Instant::MIN } else { Instant::MAX });
    format!("{instant:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_never_fail() {
        assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(Timestamp(1_796_040_000_005)), "2026-11-30T12:00:00.005Z");
        assert!(rfc3339(Timestamp(i64::MAX)).starts_with("9999-12-30T"));
        assert!(rfc3339(Timestamp(i64::MIN)).starts_with("-009999-01-02T"));
    }
}
