//! Many texts through a network: cut into tasks of few tokens, which all cores work on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Error;
use crate::tokens::Encoded;

/// The most tokens of texts that go through the network together, unless one text alone has more. It bounds what a
/// thread has in memory, and how long a task takes: the clock is looked at between tasks.
pub const TASK_TOKENS: usize = 512;
/// How many texts are tokenised before they go through the network.
pub const WINDOW_TEXTS: usize = 256;
/// With fewer tokens than this the weights are read for too little.
const TASK_TOKENS_MIN: usize = 64;

/// The threads of a model, and what ends its work early.
pub(crate) struct Schedule {
    threads: usize,
    /// Started when there is work for more than one.
    pool: OnceLock<Result<ThreadPool, String>>,
    closed: AtomicBool,
}

impl Schedule {
    /// For so many threads; 0 for one a core.
    pub(crate) fn new(threads: usize) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        Self { threads, pool: OnceLock::new(), closed: AtomicBool::new(false) }
    }

    /// Ends the work under way at the next look, and all later work.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Encodes the texts and takes them through `network`, which gives one value for each text of a task. The values are
    /// in the order of the texts.
    pub(crate) fn run<T: Sync, V: Send>(
        &self,
        texts: &[T],
        until: Instant,
        encode: impl Fn(&T) -> Result<Encoded, Error> + Sync,
        network: impl Fn(&[&Encoded]) -> Result<Vec<V>, Error> + Sync,
    ) -> Result<Vec<V>, Error> {
        let mut values = Vec::with_capacity(texts.len());
        for window in texts.chunks(WINDOW_TEXTS) {
            let encode = |text: &T| self.look(until).and_then(|()| encode(text));
            let encoded: Vec<Encoded> = if window.len() == 1 {
                vec![encode(&window[0])?]
            } else {
                self.share(|| window.par_iter().map(encode).collect::<Result<_, _>>())??
            };
            values.extend(self.window(&encoded, until, &network)?);
        }
        Ok(values)
    }

    fn window<V: Send>(
        &self,
        texts: &[Encoded],
        until: Instant,
        network: &(impl Fn(&[&Encoded]) -> Result<Vec<V>, Error> + Sync),
    ) -> Result<Vec<V>, Error> {
        let tasks = tasks(texts, self.threads);
        let work = |task: &Vec<usize>| {
            self.look(until)?;
            let texts: Vec<&Encoded> = task.iter().map(|&at| &texts[at]).collect();
            network(&texts)
        };
        let done: Vec<Vec<V>> = if tasks.len() == 1 {
            // In the caller's thread, so that a query does not wait for the tasks of others.
            vec![work(&tasks[0])?]
        } else {
            self.share(|| tasks.par_iter().with_max_len(1).map(work).collect::<Result<_, _>>())??
        };
        let mut placed: Vec<(usize, V)> = tasks.into_iter().flatten().zip(done.into_iter().flatten()).collect();
        placed.sort_by_key(|(at, _)| *at);
        Ok(placed.into_iter().map(|(_, value)| value).collect())
    }

    fn look(&self, until: Instant) -> Result<(), Error> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        if Instant::now() > until { Err(Error::Late) } else { Ok(()) }
    }

    /// Runs `work` in the model's threads, and waits in a way that starts no other work of the caller's.
    fn share<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let pool = self.pool()?;
        if rayon::current_thread_index().is_none() {
            return Ok(pool.install(work));
        }
        // A thread of another pool that waits inside it takes up that pool's next task meanwhile, whatever locks it holds.
        thread::scope(|threads| match threads.spawn(|| pool.install(work)).join() {
            Ok(done) => Ok(done),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    fn pool(&self) -> Result<&ThreadPool, Error> {
        let start = || {
            let name = |at| format!("loom-model-{at}");
            let built = ThreadPoolBuilder::new().num_threads(self.threads).thread_name(name).build();
            built.map_err(|error| error.to_string())
        };
        self.pool.get_or_init(start).as_ref().map_err(|what| Error::Threads { what: what.clone() })
    }
}

/// Which texts go together: the longest first, so that no thread is left with a long one at the end.
fn tasks(texts: &[Encoded], threads: usize) -> Vec<Vec<usize>> {
    let all: usize = texts.iter().map(Encoded::len).sum();
    let tokens_max = all.div_ceil(threads).clamp(TASK_TOKENS_MIN, TASK_TOKENS);
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(texts[at].len()), at));
    let mut tasks: Vec<Vec<usize>> = Vec::new();
    let mut tokens = 0;
    for at in order {
        tokens += texts[at].len();
        match tasks.last_mut() {
            Some(task) if tokens <= tokens_max => task.push(at),
            _ => {
                tasks.push(vec![at]);
                tokens = texts[at].len();
            }
        }
    }
    tasks
}
