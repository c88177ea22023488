//! Which job is next.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loom_storage::{Scope, Snapshot, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::job::{OPEN, Stage};
use crate::error::Error;

/// How many rows of open jobs are read at once.
const PAGE: usize = 1_000;

/// The row of a job that is not over.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenJob<'a> {
    #[serde(borrow)]
    pub org: &'a str,
    #[serde(borrow)]
    pub namespace: &'a str,
    pub source_uri: std::borrow::Cow<'a, str>,
}

/// How long the rows of open jobs are relied on to be known: a commit that failed may be stored all the same.
const REFRESH: Duration = Duration::from_mins(1);

/// The jobs that are not over, as far as the workers have seen.
#[derive(Default)]
pub(crate) struct Queue {
    jobs: Mutex<Jobs>,
    refreshed: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Jobs {
    /// The namespaces with waiting jobs; the first has its turn.
    turns: VecDeque<Scope>,
    /// The waiting jobs, by id and so in the order they were asked.
    waiting: HashMap<Scope, BTreeMap<Uuid, Waiting>>,
    running: HashMap<Uuid, Running>,
}

struct Waiting {
    source_uri: String,
    due_at: Timestamp,
}

struct Running {
    scope: Scope,
    source_uri: String,
    stage: Stage,
    stop: Arc<AtomicBool>,
}

/// A job that was taken to be run. It counts as running until it is dropped.
pub(crate) struct Taken<'q> {
    queue: &'q Queue,
    pub scope: Scope,
    pub id: Uuid,
    /// Set when the job is to stop.
    pub stop: Arc<AtomicBool>,
}

impl Queue {
    /// Adds the open jobs that are not known yet, when that was not done for a while.
    pub fn refresh<E: Into<Error>>(
        &self,
        snapshot: impl FnOnce() -> Result<Box<dyn Snapshot>, E>,
    ) -> Result<(), Error> {
        let mut refreshed = self.refreshed.lock();
        if refreshed.is_some_and(|at| at.elapsed() < REFRESH) {
            return Ok(());
        }
        self.load(snapshot().map_err(Into::into)?.as_ref())?;
        *refreshed = Some(Instant::now());
        Ok(())
    }

    fn load(&self, snapshot: &dyn Snapshot) -> Result<(), Error> {
        let mut after: Option<String> = None;
        loop {
            let page = snapshot.records(OPEN, after.as_deref(), PAGE)?;
            for record in &page.items {
                let id = record.key[OPEN.len()..].parse::<Uuid>().map_err(Error::internal)?;
                let open: OpenJob<'_> = serde_json::from_slice(&record.value).map_err(Error::internal)?;
                self.add(&Scope::new(open.org, open.namespace), id, &open.source_uri, Timestamp(i64::MIN));
            }
            let Some(last) = page.items.last().filter(|_| page.more) else { return Ok(()) };
            after = Some(last.key.clone());
        }
    }

    /// Adds a job, unless it is known.
    pub fn add(&self, scope: &Scope, id: Uuid, source_uri: &str, due_at: Timestamp) {
        let mut jobs = self.jobs.lock();
        if jobs.running.contains_key(&id) {
            return;
        }
        let waiting = jobs.waiting.entry(scope.clone()).or_default();
        let is_first = waiting.is_empty();
        waiting.entry(id).or_insert_with(|| Waiting { source_uri: source_uri.to_owned(), due_at });
        if is_first {
            jobs.turns.push_back(scope.clone());
        }
    }

    /// How many jobs are open.
    pub fn len(&self) -> usize {
        let jobs = self.jobs.lock();
        jobs.running.len() + jobs.waiting.values().map(BTreeMap::len).sum::<usize>()
    }

    /// The stage of a running job.
    pub fn stage(&self, id: Uuid) -> Option<Stage> {
        self.jobs.lock().running.get(&id).map(|running| running.stage)
    }

    /// Notes the stage of a running job.
    pub fn set_stage(&self, id: Uuid, stage: Stage) {
        if let Some(running) = self.jobs.lock().running.get_mut(&id) {
            running.stage = stage;
        }
    }

    /// Has a running job stop, and a waiting one be looked at now.
    pub fn stop(&self, scope: &Scope, id: Uuid) {
        let mut jobs = self.jobs.lock();
        if let Some(running) = jobs.running.get(&id) {
            running.stop.store(true, Ordering::Release);
        } else if let Some(waiting) = jobs.waiting.get_mut(scope).and_then(|waiting| waiting.get_mut(&id)) {
            waiting.due_at = Timestamp(i64::MIN);
        }
    }

    /// Has every running job stop.
    pub fn stop_all(&self) {
        for running in self.jobs.lock().running.values() {
            running.stop.store(true, Ordering::Release);
        }
    }

    /// The next job that may run at `now`: the earliest of the namespace whose turn it is whose source has no earlier one.
    pub fn take(&self, now: Timestamp) -> Option<Taken<'_>> {
        let mut jobs = self.jobs.lock();
        for turn in 0..jobs.turns.len() {
            let scope = jobs.turns[turn].clone();
            let Some(id) = jobs.due(&scope, now) else { continue };
            let waiting = jobs.waiting.get_mut(&scope)?;
            let job = waiting.remove(&id)?;
            let is_last = waiting.is_empty();
            jobs.turns.remove(turn);
            if is_last {
                jobs.waiting.remove(&scope);
            } else {
                jobs.turns.push_back(scope.clone());
            }
            let stop = Arc::new(AtomicBool::new(false));
            let running = Running {
                scope: scope.clone(),
                source_uri: job.source_uri,
                stage: Stage::Parse,
                stop: Arc::clone(&stop),
            };
            jobs.running.insert(id, running);
            return Some(Taken { queue: self, scope, id, stop });
        }
        None
    }
}

impl Jobs {
    fn due(&self, scope: &Scope, now: Timestamp) -> Option<Uuid> {
        let running = self.running.values().filter(|running| running.scope == *scope);
        let mut busy: HashSet<&str> = running.map(|running| running.source_uri.as_str()).collect();
        let waiting = self.waiting.get(scope)?;
        // A later job of a source does not go before an earlier one that waits for its next run.
        let mut next = waiting.iter().filter(|(_, job)| busy.insert(job.source_uri.as_str()));
        next.find(|(_, job)| job.due_at <= now).map(|(id, _)| *id)
    }
}

impl Taken<'_> {
    /// Puts the job back, to be run again at `due_at`.
    pub fn put_back(self, source_uri: &str, due_at: Timestamp) {
        let (queue, scope, id) = (self.queue, self.scope.clone(), self.id);
        drop(self);
        queue.add(&scope, id, source_uri, due_at);
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.queue.jobs.lock().running.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn queue(jobs: &[(&str, u128, &str, i64)]) -> Queue {
        let queue = Queue::default();
        for (namespace, number, source_uri, due_at) in jobs {
            queue.add(&Scope::new("o", *namespace), id(*number), source_uri, Timestamp(*due_at));
        }
        queue
    }

    #[test]
    fn namespaces_take_turns() {
        let queue = queue(&[("a", 1, "1", 0), ("a", 2, "2", 0), ("a", 3, "3", 0), ("b", 4, "4", 0), ("c", 5, "5", 0)]);
        let mut taken = Vec::new();
        while let Some(job) = queue.take(Timestamp(0)) {
            taken.push(job);
        }
        assert_eq!(taken.iter().map(|job| job.id.as_u128()).collect::<Vec<_>>(), [1, 4, 5, 2, 3]);
        assert_eq!(queue.len(), 5);
        drop(taken);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn jobs_of_one_source_run_one_at_a_time_in_the_order_asked() {
        let queue = queue(&[("a", 1, "same", 0), ("a", 2, "same", 0), ("a", 3, "other", 0)]);
        let first = queue.take(Timestamp(0)).expect("one is due");
        assert_eq!(first.id, id(1));
        assert_eq!(queue.take(Timestamp(0)).expect("another source is free").id, id(3));
        first.put_back("same", Timestamp(10));
        assert!(queue.take(Timestamp(9)).is_none(), "the second may not overtake the first");
        assert_eq!(queue.take(Timestamp(10)).expect("it is due again").id, id(1));
        assert_eq!(queue.take(Timestamp(10)).expect("it was dropped").id, id(2));
    }

    #[test]
    fn a_job_that_is_cancelled_while_it_waits_is_looked_at_now() {
        let queue = queue(&[("a", 1, "1", 100)]);
        assert!(queue.take(Timestamp(0)).is_none());
        queue.stop(&Scope::new("o", "a"), id(1));
        assert!(queue.take(Timestamp(0)).is_some());
    }

    #[test]
    fn adding_a_known_job_changes_nothing() {
        let queue = queue(&[("a", 1, "1", 100), ("a", 1, "1", 0)]);
        assert!(queue.take(Timestamp(0)).is_none());
        let taken = queue.take(Timestamp(100)).expect("it is due");
        queue.add(&Scope::new("o", "a"), id(1), "1", Timestamp(0));
        assert_eq!((queue.len(), taken.stop.load(Ordering::Acquire)), (1, false));
    }
}
