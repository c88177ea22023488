//! Work for all cores, in threads that do nothing else.
//!
//! rayon's own pool is the whole process's: whoever calls Loom from tasks of it may fill it with calls that wait for work
//! which only that pool would do.

use std::sync::OnceLock;
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Runs `work`, whose parallel iterators are shared among as many threads as there are cores. It must not wait for
/// anything that other work does.
pub fn share<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let made = || ThreadPoolBuilder::new().thread_name(|at| format!("loom-core-{at}")).build();
    let made = || made().inspect_err(|error| tracing::warn!(%error, "the process's pool is shared")).ok();
    let Some(pool) = POOL.get_or_init(made) else { return work() };
    if rayon::current_thread_index().is_none() || pool.current_thread_index().is_some() {
        return pool.install(work);
    }
    // A thread of another pool that waits here would take up its next task meanwhile, whatever locks this one holds.
    thread::scope(|threads| match threads.spawn(|| pool.install(work)).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
