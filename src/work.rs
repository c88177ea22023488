//! The background threads: one writes projections to disk as they grow and closes those that
//! nobody uses, one tends vector graphs, one moves
//! namespaces to a changed embedding model, one writes refusals to the audit
//! and counts of reads,
//! one erases. Each is apart so that a slow one holds up no other.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use loom_storage::Timestamp;
use parking_lot::{Condvar, Mutex};

use crate::config::Config;
use crate::engine::Inner;
use crate::erasure;
use crate::error::Error;
use crate::jobs;
use crate::reembed;
use crate::sweep;

/// How often a thread looks for work that nobody woke it for.
const IDLE: Duration = Duration::from_secs(5);

/// The threads of an engine.
#[derive(Default)]
pub struct Workers {
    bell: Arc<Bell>,
    failing: Arc<Mutex<BTreeMap<&'static str, Failing>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Background work that does not get done.
#[derive(Clone, Debug)]
pub struct Failing {
    /// Since when.
    pub since: Timestamp,
    /// What it says.
    pub error: String,
}

/// What background threads wait for.
#[derive(Default)]
pub struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    /// How often the bell was rung.
    rings: u64,
    stopping: bool,
}

/// The work of one thread, done again whenever the bell rings, and its name.
pub type Pass = fn(&Inner) -> Result<(), Error>;

/// The threads that tend what is searched.
pub const PASSES: [(&str, Pass); 6] = [
    ("loom-sweep", sweep::pass),
    ("loom-flush", |engine| {
        engine.projections.close_unused(Instant::now());
        Ok(engine.projections.flush(false)?)
    }),
    ("loom-graph", |engine| Ok(engine.projections.tend_graphs(&engine.stop)?)),
    ("loom-reembed", reembed::pass),
    ("loom-erase", |engine| erasure::pass(engine).and(erasure::retain(engine))),
    ("loom-ledgers", |engine| engine.refusals.flush(engine).and(engine.reads.flush(engine))),
];

/// The threads that run ingests: as many as the settings say.
pub fn ingesters(config: &Config) -> Vec<(&'static str, Pass)> {
    vec![("loom-ingest", jobs::pass as Pass); config.ingest.workers]
}

impl Workers {
    /// Starts the threads, which share the engine until [`Workers::stop`].
    pub fn start(&self, engine: &Arc<Inner>, passes: &[(&'static str, Pass)]) -> Result<(), Error> {
        for (name, pass) in passes.iter().copied() {
            let (engine, bell, failing) = (Arc::clone(engine), Arc::clone(&self.bell), Arc::clone(&self.failing));
            let run = move || {
                // The first look comes at once.
                let mut heard = u64::MAX;
                while bell.wait(&mut heard) {
                    // Whatever a pass trips over, the thread lives on and a later one does the rest.
                    let outcome = catch_unwind(AssertUnwindSafe(|| pass(&engine)));
                    match outcome.unwrap_or_else(|_| Err(Error::internal("it panicked"))) {
                        Ok(()) => {
                            failing.lock().remove(name);
                        }
                        Err(_) if engine.stop.load(Ordering::Acquire) => {}
                        Err(error) => {
                            let now = engine.config.clock.now();
                            let said = Failing { since: now, error: error.message.clone() };
                            failing.lock().entry(name).or_insert(said);
                            tracing::warn!(thread = name, %error, cause = ?error.cause, "background work failed; it is tried again");
                        }
                    }
                }
            };
            let thread = thread::Builder::new().name(name.into()).spawn(run).map_err(Error::internal)?;
            self.threads.lock().push(thread);
        }
        Ok(())
    }

    /// The work that failed when it was last tried, by the name of its thread.
    pub fn failing(&self) -> Vec<(&'static str, Failing)> {
        self.failing.lock().iter().map(|(name, failing)| (*name, failing.clone())).collect()
    }

    /// Has the threads look for work now.
    pub fn wake(&self) {
        self.bell.ring();
    }

    /// What wakes the threads, for whoever outlives a borrow of them.
    pub fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Ends the threads after the work they are in.
    pub fn stop(&self) {
        self.bell.state.lock().stopping = true;
        self.bell.rung.notify_all();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            if thread.join().is_err() {
                tracing::error!("a background thread panicked");
            }
        }
    }
}

impl Bell {
    /// Has the threads look for work now.
    pub fn ring(&self) {
        self.state.lock().rings += 1;
        self.rung.notify_all();
    }

    /// Waits until there may be work that was not `heard` of; `false` when it is time to stop.
    fn wait(&self, heard: &mut u64) -> bool {
        let mut state = self.state.lock();
        if state.rings == *heard && !state.stopping {
            self.rung.wait_for(&mut state, IDLE);
        }
        *heard = state.rings;
        !state.stopping
    }
}
