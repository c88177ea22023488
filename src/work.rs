//! The background thread: writes projections to disk as they grow, and moves namespaces to a changed model.

use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::engine::Inner;
use crate::error::Error;
use crate::reembed;

/// How often the thread looks for work that nobody woke it for.
const IDLE: Duration = Duration::from_secs(5);

/// The thread and its bell.
#[derive(Default)]
pub struct Worker {
    bell: Arc<Bell>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    woken: bool,
    stopping: bool,
}

impl Worker {
    /// Starts the thread. It ends when the engine is gone or [`Worker::stop`] is called.
    pub fn start(&self, engine: Weak<Inner>) -> Result<(), Error> {
        let bell = Arc::clone(&self.bell);
        let thread = thread::Builder::new()
            .name("loom-worker".into())
            .spawn(move || {
                while bell.wait() {
                    let Some(engine) = engine.upgrade() else { return };
                    pass(&engine);
                }
            })
            .map_err(Error::internal)?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Has the thread look for work now.
    pub fn wake(&self) {
        self.bell.state.lock().woken = true;
        self.bell.rung.notify_one();
    }

    /// Ends the thread after the work it is in.
    pub fn stop(&self) {
        self.bell.state.lock().stopping = true;
        self.bell.rung.notify_one();
        let thread = self.thread.lock().take();
        // The last handle of the engine may be dropped by the thread itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id())
            && thread.join().is_err()
        {
            tracing::error!("the background thread panicked");
        }
    }
}

impl Bell {
    /// Waits until there may be work; `false` when it is time to stop.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        if !state.woken && !state.stopping {
            self.rung.wait_for(&mut state, IDLE);
        }
        state.woken = false;
        !state.stopping
    }
}

fn pass(engine: &Inner) {
    if let Err(error) = engine.projections.flush(false, &engine.stop) {
        tracing::error!(%error, "projections could not be written; they stay in memory");
    }
    if let Err(error) = reembed::pass(engine) {
        tracing::warn!(%error, cause = ?error.cause, "re-embedding waits; the earlier model keeps serving");
    }
}
