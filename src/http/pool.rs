//! The bounded blocking pool on which the engine runs: a few workers, a short queue before them, and for each
//! namespace no more than its share of both.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{block_in_place, spawn_blocking};
use tokio::time::timeout;

use crate::config::HttpLimits;
use crate::error::{Code, Error};

/// How many bodies are decoded at once, beside the workers.
const DECODERS: usize = 2;

/// Runs blocking work, at most so many at once and so many waiting, of each namespace only a share.
pub struct Pool {
    workers: Arc<Semaphore>,
    workers_max: usize,
    admitted: Arc<Semaphore>,
    admitted_max: usize,
    decoders: Arc<Semaphore>,
    share: Share,
    lanes: Arc<Lanes>,
    wait: Duration,
    refused: AtomicU64,
}

/// What one namespace may take.
#[derive(Clone, Copy)]
struct Share {
    workers: usize,
    queue: usize,
}

/// The namespaces that have calls running or waiting.
type Lanes = Mutex<HashMap<String, Arc<Lane>>>;

/// The share of a namespace.
struct Lane {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
}

/// A call's stay in its namespace's lane, which is forgotten with the last of them.
struct Stay {
    lanes: Arc<Lanes>,
    name: String,
    lane: Option<Arc<Lane>>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut lanes = self.lanes.lock();
        drop(self.lane.take());
        if lanes.get(&self.name).is_some_and(|lane| Arc::strong_count(lane) == 1) {
            lanes.remove(&self.name);
        }
    }
}

/// The right to run now; dropping it lets the next one in.
pub struct Place {
    _running: OwnedSemaphorePermit,
    _stay: Stay,
    _admitted: (OwnedSemaphorePermit, OwnedSemaphorePermit),
    // Given back last, so that a pool in which nothing runs has forgotten all that ran.
    _worker: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool as large as the configuration says.
    pub fn new(limits: &HttpLimits) -> Self {
        let bounded = |count: usize| count.min(Semaphore::MAX_PERMITS / 2);
        let (workers_max, queue) = (bounded(limits.workers.max(1)), bounded(limits.queue));
        let share = Share {
            workers: limits.namespace_workers.unwrap_or(workers_max * 3 / 4).clamp(1, workers_max),
            queue: limits.namespace_queue.unwrap_or(queue.div_ceil(2)).min(queue),
        };
        Self {
            workers: Arc::new(Semaphore::new(workers_max)),
            workers_max,
            admitted: Arc::new(Semaphore::new(workers_max + queue)),
            admitted_max: workers_max + queue,
            decoders: Arc::new(Semaphore::new(DECODERS)),
            share,
            lanes: Arc::default(),
            wait: Duration::from_millis(limits.queue_wait_ms),
            refused: AtomicU64::new(0),
        }
    }

    /// Waits for a worker for a call of the namespace `name`; [`Code::Overloaded`] when the queue or the namespace's
    /// part of it is full, or it stays so past the wait.
    pub async fn enter(&self, name: &str) -> Result<Place, Error> {
        let stay = self.stay(name);
        let lane = stay.lane.as_ref().expect("it is there until the drop");
        let full = |_| self.overloaded("LOOM_HTTP_NAMESPACE_WORKERS and LOOM_HTTP_NAMESPACE_QUEUE");
        let of_lane = lane.admitted.clone().try_acquire_owned().map_err(full)?;
        let full = |_| self.overloaded("LOOM_HTTP_WORKERS and LOOM_HTTP_QUEUE");
        let of_all = self.admitted.clone().try_acquire_owned().map_err(full)?;
        let turn = timeout(self.wait, async {
            // In this order, so that who waits for its namespace keeps no worker from the others.
            let running = lane.running.clone().acquire_owned().await?;
            Ok::<_, tokio::sync::AcquireError>((running, self.workers.clone().acquire_owned().await?))
        });
        match turn.await {
            Ok(Ok((running, worker))) => {
                Ok(Place { _worker: worker, _running: running, _admitted: (of_lane, of_all), _stay: stay })
            }
            Ok(Err(_)) | Err(_) => Err(self.overloaded("LOOM_HTTP_WORKERS and LOOM_HTTP_NAMESPACE_WORKERS")),
        }
    }

    fn stay(&self, name: &str) -> Stay {
        let mut lanes = self.lanes.lock();
        let lane = lanes.entry(name.to_owned()).or_insert_with(|| {
            let Share { workers, queue } = self.share;
            Arc::new(Lane {
                running: Arc::new(Semaphore::new(workers)),
                admitted: Arc::new(Semaphore::new(workers + queue)),
            })
        });
        Stay { lanes: Arc::clone(&self.lanes), name: name.to_owned(), lane: Some(Arc::clone(lane)) }
    }

    fn overloaded(&self, settings: &str) -> Error {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let seconds = self.wait.as_secs().saturating_add(1).min(60);
        Error {
            retry_after_s: Some(seconds),
            ..Error::new(
                Code::Overloaded,
                format!("too many calls at once: repeat this one later ({settings} bound them)"),
            )
        }
    }

    /// Runs `work` of the namespace `name` on a worker and waits for its end; it ends even when the caller stops waiting.
    ///
    /// [`Code::Overloaded`] when it was not begun, [`Code::Internal`] when it panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let place = self.enter(name).await?;
        let work = move || {
            let _place = place;
            work()
        };
        if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
            return blocking(work).await;
        }
        // On this thread, which gives what else it had to do to another: handing the call over and its answer back
        // would cost two wake-ups, more than most calls take.
        block_in_place(|| catch_unwind(AssertUnwindSafe(work)))
            .map_err(|panic| Error::internal(format!("panicked: {}", panic_words(&*panic))))
    }

    /// Runs what has to be done before it is known whose call it is, such as to decode a large body.
    pub async fn decode<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let Ok(Ok(decoder)) = timeout(self.wait, self.decoders.clone().acquire_owned()).await else {
            return Err(self.overloaded("LOOM_HTTP_WORKERS and LOOM_HTTP_QUEUE"));
        };
        blocking(move || {
            let _decoder = decoder;
            work()
        })
        .await
    }

    /// Runs one short step of work that was admitted before: it stands in no queue that could be full, and waits at most
    /// `wait` for its turn, then [`Code::Overloaded`].
    pub async fn step<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let Ok(worker) = timeout(wait, self.workers.clone().acquire_owned()).await else {
            return Err(self.overloaded("LOOM_HTTP_WORKERS"));
        };
        let worker = worker.map_err(Error::internal)?;
        blocking(move || {
            let _worker = worker;
            work()
        })
        .await
    }

    /// How many threads the pool uses at most.
    pub fn threads_max(&self) -> usize {
        self.workers_max + DECODERS
    }

    /// How much there is to do.
    pub fn load(&self) -> Load {
        let running = self.workers_max.saturating_sub(self.workers.available_permits());
        let admitted = self.admitted_max.saturating_sub(self.admitted.available_permits());
        Load {
            running,
            waiting: admitted.saturating_sub(running),
            namespaces: self.lanes.lock().len(),
            refused_total: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Waits until nothing runs.
    pub async fn idle(&self) {
        let all = u32::try_from(self.workers_max).unwrap_or(u32::MAX);
        // An error means that the pool is closed, which is idle too.
        drop(self.workers.acquire_many(all).await);
    }
}

/// What a pool has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Calls that run.
    pub running: usize,
    /// Calls that wait for a worker.
    pub waiting: usize,
    /// Namespaces that have calls running or waiting.
    pub namespaces: usize,
    /// Calls refused so far because there were too many.
    pub refused_total: u64,
}

/// Runs `work` on a blocking thread, in the log span of the caller.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let span = tracing::Span::current();
    spawn_blocking(move || span.in_scope(work)).await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => Error::internal(format!("panicked: {}", panic_words(&*panic))),
        Err(error) => Error::internal(error),
    })
}

/// What a panic said when it is a fixed text; a formatted one may repeat content, and the panic hook has it anyway.
pub fn panic_words(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<&'static str>().copied().unwrap_or("see the panic message on standard error")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn pool(workers: usize, queue: usize) -> Pool {
        Pool::new(&HttpLimits { workers, queue, queue_wait_ms: 1, ..HttpLimits::default() })
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts").block_on(future)
    }

    #[test]
    fn a_full_pool_refuses_and_says_when_to_come_back() {
        block_on(async {
            for queue in [0, 1] {
                let pool = pool(1, queue);
                let place = pool.enter("a").await.expect("the pool is empty");
                let error = pool.run("a", || ()).await.expect_err("the only worker is taken");
                assert_eq!((error.code, error.retry_after_s), (Code::Overloaded, Some(1)));
                drop(place);
                pool.run("a", || ()).await.expect("the worker is free again");
            }
        });
    }

    #[test]
    fn a_step_waits_no_longer_than_it_may() {
        block_on(async {
            let pool = pool(1, 0);
            let place = pool.enter("a").await.expect("the pool is empty");
            let error = pool.step(Duration::from_millis(1), || ()).await.expect_err("the only worker is taken");
            assert_eq!((error.code, error.retry_after_s), (Code::Overloaded, Some(1)));
            assert_eq!(pool.load().refused_total, 1);
            drop(place);
            assert_eq!(pool.step(Duration::MAX, || 7).await.expect("the worker is free again"), 7);
        });
    }

    #[test]
    fn a_panic_is_an_internal_error_and_frees_its_worker() {
        block_on(async {
            let pool = pool(1, 0);
            let error = pool.run("a", || panic!("on purpose")).await.expect_err("it panicked");
            assert_eq!(error.code, Code::Internal);
            assert_eq!(error.cause.expect("the log has the cause").to_string(), "panicked: on purpose");
            assert_eq!(pool.run("a", || 7).await.expect("the pool lives on"), 7);
        });
    }

    #[test]
    fn work_whose_caller_left_runs_to_its_end() {
        block_on(async {
            let pool = pool(1, 0);
            let (begin, may_begin) = mpsc::channel::<()>();
            let (done, is_done) = mpsc::channel();
            let mut call = Box::pin(pool.run("a", move || {
                may_begin.recv().expect("the test lets it begin");
                done.send(()).expect("the test waits");
            }));
            tokio::select! {
                biased;
                _ = &mut call => unreachable!("it waits for the test"),
                () = tokio::task::yield_now() => {}
            }
            drop(call);
            assert_eq!(pool.load(), Load { running: 1, namespaces: 1, ..Load::default() });
            begin.send(()).expect("the work still waits");
            is_done.recv().expect("it ran to its end");
            pool.idle().await;
            assert_eq!(pool.load(), Load::default());
        });
    }

    #[test]
    fn work_on_the_thread_that_carries_connections_runs_to_its_end_too() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime starts");
        let pool = Arc::new(pool(1, 0));
        let (starting, has_started) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let (done, is_done) = mpsc::channel();
        let of_call = Arc::clone(&pool);
        let call = runtime.spawn(async move {
            let work = move || {
                starting.send(()).expect("the test waits");
                may_go_on.recv().expect("the test lets it go on");
                done.send(()).expect("the test waits");
            };
            of_call.run("a", work).await
        });
        has_started.recv().expect("it begins");
        call.abort();
        assert_eq!(pool.load(), Load { running: 1, namespaces: 1, ..Load::default() });
        let refused = runtime.block_on(pool.run("a", || ())).expect_err("the only worker is taken");
        assert_eq!(refused.code, Code::Overloaded);
        go_on.send(()).expect("the work still waits");
        is_done.recv().expect("it ran to its end");
        runtime.block_on(pool.idle());
        let error = runtime.block_on(pool.run("a", || panic!("on purpose"))).expect_err("it panicked");
        assert_eq!(error.code, Code::Internal);
        assert_eq!(pool.load(), Load { refused_total: 1, ..Load::default() });
    }

    #[test]
    fn a_namespace_takes_no_more_than_its_share() {
        block_on(async {
            let pool = Pool::new(&HttpLimits {
                workers: 3,
                namespace_workers: Some(2),
                queue: 4,
                namespace_queue: Some(1),
                queue_wait_ms: 60_000,
                ..HttpLimits::default()
            });
            let mut busy = Vec::new();
            for _ in 0..2 {
                busy.push(pool.enter("busy").await.expect("it has its share"));
            }
            let mut third = Box::pin(pool.enter("busy"));
            tokio::select! {
                biased;
                _ = &mut third => unreachable!("its share is taken"),
                () = tokio::task::yield_now() => {}
            }
            let error = pool.enter("busy").await.err().expect("its queue is full");
            assert_eq!(error.code, Code::Overloaded);
            assert!(error.message.contains("LOOM_HTTP_NAMESPACE_QUEUE"), "{}", error.message);
            let other = pool.enter("other").await.expect("a worker is left for the others");
            let all = Load { running: 3, waiting: 1, namespaces: 2, refused_total: 1 };
            assert_eq!(pool.load(), all);
            drop((busy, other));
            drop(third.await.expect("its turn comes"));
            assert_eq!(pool.load(), Load { refused_total: 1, ..Load::default() });
        });
    }
}
