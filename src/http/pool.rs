//! The bounded blocking pool on which the engine runs: a few workers and a short queue before them.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::error::{Code, Error};

/// Runs blocking work, at most so many at once and so many waiting.
pub struct Pool {
    workers: Arc<Semaphore>,
    workers_max: usize,
    admitted: Arc<Semaphore>,
    admitted_max: usize,
    wait: Duration,
}

/// The right to run now; dropping it lets the next one in.
pub struct Place {
    _admitted: OwnedSemaphorePermit,
    _worker: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool of `workers` at once and `queue` waiting, each at most `wait`.
    pub fn new(workers: usize, queue: usize, wait: Duration) -> Self {
        let workers_max = workers.clamp(1, Semaphore::MAX_PERMITS / 2);
        let admitted_max = workers_max + queue.min(Semaphore::MAX_PERMITS / 2);
        Self {
            workers: Arc::new(Semaphore::new(workers_max)),
            workers_max,
            admitted: Arc::new(Semaphore::new(admitted_max)),
            admitted_max,
            wait,
        }
    }

    /// Waits for a worker; [`Code::Overloaded`] when the queue is full, or stays so past the wait.
    pub async fn enter(&self) -> Result<Place, Error> {
        let admitted = self.admitted.clone().try_acquire_owned().map_err(|_| self.overloaded())?;
        match timeout(self.wait, self.workers.clone().acquire_owned()).await {
            Ok(Ok(worker)) => Ok(Place { _worker: worker, _admitted: admitted }),
            Ok(Err(_)) | Err(_) => Err(self.overloaded()),
        }
    }

    fn overloaded(&self) -> Error {
        let seconds = self.wait.as_secs().saturating_add(1).min(60);
        Error {
            retry_after_s: Some(seconds),
            ..Error::new(
                Code::Overloaded,
                "too many calls at once: repeat this one later (LOOM_HTTP_WORKERS and LOOM_HTTP_QUEUE bound them)",
            )
        }
    }

    /// Runs `work` on a worker and waits for its end; it ends even when the caller stops waiting.
    ///
    /// [`Code::Overloaded`] when it was not begun, [`Code::Internal`] when it panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let place = self.enter().await?;
        blocking(move || {
            let _place = place;
            work()
        })
        .await
    }

    /// Runs one short step of work that was admitted before, however long it waits for its turn.
    pub async fn step<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let worker = self.workers.clone().acquire_owned().await.map_err(Error::internal)?;
        blocking(move || {
            let _worker = worker;
            work()
        })
        .await
    }

    /// How many calls run at once at most.
    pub fn workers_max(&self) -> usize {
        self.workers_max
    }

    /// How many calls run, and how many wait for a worker.
    pub fn load(&self) -> (usize, usize) {
        let running = self.workers_max.saturating_sub(self.workers.available_permits());
        let admitted = self.admitted_max.saturating_sub(self.admitted.available_permits());
        (running, admitted.saturating_sub(running))
    }

    /// Waits until nothing runs.
    pub async fn idle(&self) {
        let all = u32::try_from(self.workers_max).unwrap_or(u32::MAX);
        // An error means that the pool is closed, which is idle too.
        drop(self.workers.acquire_many(all).await);
    }
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
        Pool::new(workers, queue, Duration::from_millis(1))
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts").block_on(future)
    }

    #[test]
    fn a_full_pool_refuses_and_says_when_to_come_back() {
        block_on(async {
            for queue in [0, 1] {
                let pool = pool(1, queue);
                let place = pool.enter().await.expect("the pool is empty");
                let error = pool.run(|| ()).await.expect_err("the only worker is taken");
                assert_eq!((error.code, error.retry_after_s), (Code::Overloaded, Some(1)));
                drop(place);
                pool.run(|| ()).await.expect("the worker is free again");
            }
        });
    }

    #[test]
    fn a_panic_is_an_internal_error_and_frees_its_worker() {
        block_on(async {
            let pool = pool(1, 0);
            let error = pool.run(|| panic!("on purpose")).await.expect_err("it panicked");
            assert_eq!(error.code, Code::Internal);
            assert_eq!(error.cause.expect("the log has the cause").to_string(), "panicked: on purpose");
            assert_eq!(pool.run(|| 7).await.expect("the pool lives on"), 7);
        });
    }

    #[test]
    fn work_whose_caller_left_runs_to_its_end() {
        block_on(async {
            let pool = pool(1, 0);
            let (begin, may_begin) = mpsc::channel::<()>();
            let (done, is_done) = mpsc::channel();
            let mut call = Box::pin(pool.run(move || {
                may_begin.recv().expect("the test lets it begin");
                done.send(()).expect("the test waits");
            }));
            tokio::select! {
                biased;
                _ = &mut call => unreachable!("it waits for the test"),
                () = tokio::task::yield_now() => {}
            }
            drop(call);
            assert_eq!(pool.load(), (1, 0));
            begin.send(()).expect("the work still waits");
            is_done.recv().expect("it ran to its end");
            pool.idle().await;
            assert_eq!(pool.load(), (0, 0));
        });
    }
}
