//! Ending a process that a thread waits for, when its time is over or nobody wants its answer any more.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How soon the end of the time and the wish to stop are noticed.
const NOTICE: Duration = Duration::from_millis(20);

/// Why a process was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nobody wants its answer any more.
    Stopped,
    /// The caller waits no longer.
    Late,
    /// It took longer than it may.
    Overtime,
}

/// When a process is ended.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// When the caller waits no longer.
    pub until: Instant,
    /// When it has had the time that it may take.
    pub overtime: Instant,
    /// Set when nobody wants its answer any more.
    pub stop: &'a AtomicBool,
}

impl Watch<'_> {
    fn cut(&self) -> Option<Cut> {
        let now = Instant::now();
        if self.stop.load(Ordering::Acquire) {
            Some(Cut::Stopped)
        } else if now >= self.overtime {
            Some(Cut::Overtime)
        } else if now >= self.until {
            Some(Cut::Late)
        } else {
            None
        }
    }

    /// Whether it is time to end the process.
    pub fn is_over(&self) -> bool {
        self.cut().is_some()
    }

    /// Does `work`, which waits for the process, and ends the process with its group when it is time. Its pipes then
    /// close, which ends the wait.
    pub fn over<T>(&self, child: &Mutex<Child>, work: impl FnOnce() -> T) -> (T, Option<Cut>) {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    if let Some(cut) = self.cut() {
                        end(child);
                        return Some(cut);
                    }
                    let left = self.until.min(self.overtime).saturating_duration_since(Instant::now());
                    thread::park_timeout(left.min(NOTICE));
                }
                None
            });
            let result = {
                // Also when the work panics: the watcher would wait to the end of the time.
                let _done = Done { done: &done, watcher: watcher.thread() };
                work()
            };
            (result, watcher.join().unwrap_or(None))
        })
    }
}

struct Done<'a> {
    done: &'a AtomicBool,
    watcher: &'a thread::Thread,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// Ends a process that has not been waited for, and its group.
pub fn end(child: &Mutex<Child>) {
    let mut child = child.lock();
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(child.id())
        && let Err(error) =
            nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), nix::sys::signal::Signal::SIGKILL)
    {
        tracing::debug!(%error, "a process group is gone already");
    }
    if let Err(error) = child.kill() {
        tracing::debug!(%error, "a process is gone already");
    }
}
