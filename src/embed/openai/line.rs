//! Waiting for what an endpoint answers, no longer than a call has time and never past the close of the engine.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The requests of an endpoint, until it is closed.
#[derive(Default)]
pub(super) struct Line {
    closed: Mutex<bool>,
    changed: Condvar,
}

/// Why there is nothing to wait for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The time is up.
    Late,
    /// The endpoint was closed.
    Closed,
}

impl Line {
    /// Ends every wait, now and later.
    pub(super) fn close(&self) {
        *self.closed.lock() = true;
        self.changed.notify_all();
    }

    /// What `work` gives, run on a thread of its own. When nobody waits any more it is left to end by itself: it holds
    /// nothing that anyone else needs.
    pub(super) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        until: Instant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Over> {
        let answer = Arc::new(Mutex::new(None));
        let (line, slot) = (Arc::clone(self), Arc::clone(&answer));
        let run = move || {
            *slot.lock() = Some(work());
            // Nobody is between looking and waiting while this is held.
            drop(line.closed.lock());
            line.changed.notify_all();
        };
        if thread::Builder::new().name("loom-embed".into()).spawn(run).is_err() {
            // The system has no thread to give: it may have one later.
            return Err(Over::Late);
        }
        let mut closed = self.closed.lock();
        loop {
            if let Some(answer) = answer.lock().take() {
                return Ok(answer);
            }
            if *closed {
                return Err(Over::Closed);
            }
            if self.changed.wait_until(&mut closed, until).timed_out() {
                return answer.lock().take().ok_or(Over::Late);
            }
        }
    }

    /// Waits until `until`, unless the line is closed.
    pub(super) fn pause(&self, until: Instant) -> Result<(), Over> {
        let mut closed = self.closed.lock();
        while !*closed {
            if self.changed.wait_until(&mut closed, until).timed_out() {
                return Ok(());
            }
        }
        Err(Over::Closed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn closing_ends_the_wait_for_work_that_never_ends() {
        let line = Arc::new(Line::default());
        let (begun, has_begun) = mpsc::channel();
        let (_never, ends) = mpsc::channel::<()>();
        let waiting = thread::spawn({
            let line = Arc::clone(&line);
            move || {
                line.run(Instant::now() + Duration::from_hours(1), move || {
                    begun.send(()).expect("the test waits");
                    // The other end lives until the test is over.
                    let _ = ends.recv();
                })
            }
        });
        has_begun.recv().expect("it runs");
        line.close();
        assert_eq!(waiting.join().expect("it does not panic"), Err(Over::Closed));
        assert_eq!(line.pause(Instant::now() + Duration::from_hours(1)), Err(Over::Closed));
    }

    #[test]
    fn a_wait_ends_with_the_work_or_with_the_time() {
        let line = Arc::new(Line::default());
        assert_eq!(line.run(Instant::now() + Duration::from_hours(1), || 7), Ok(7));
        let (_never, ends) = mpsc::channel::<()>();
        let hang = move || {
            let _ = ends.recv();
        };
        assert_eq!(line.run(Instant::now(), hang), Err(Over::Late));
        assert_eq!(line.pause(Instant::now()), Ok(()));
    }
}
