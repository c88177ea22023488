//! What was asked to be erased, and how far that has come.

use std::sync::atomic::Ordering;

use loom_storage::{Batch, Precondition, RecordWrite, Scope, Seq, Snapshot, Timestamp, Write};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{namespace, person};
use crate::engine::{Engine, Inner};
use crate::error::Error;

/// The start of every record's key.
const ERASURES: &str = "erasure/";
/// How long a request is kept after it was done.
const KEPT_MS: i64 = 90 * 24 * 60 * 60 * 1000;
/// Records read at a time.
const PAGE: usize = 256;

/// What an erasure reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reach {
    /// Everything of a namespace.
    Namespace(String),
    /// The documents of a person, by the actor that wrote them, in every namespace.
    Person(String),
}

/// Where an erasure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// It waits for the background.
    Pending,
    /// It runs.
    Running,
    /// All of it is done.
    Done,
}

/// What an erasure removed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Erased {
    pub documents: u64,
    pub versions: u64,
    pub originals: u64,
    /// Uploads, ingests, artifacts and other records.
    pub records: u64,
}

/// One request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Erasure {
    pub id: Uuid,
    pub org: String,
    pub reach: Reach,
    pub stage: Stage,
    pub requested_at: Timestamp,
    pub requested_by: String,
    pub finished_at: Option<Timestamp>,
    pub erased: Erased,
    /// How often it was begun.
    pub attempts: u32,
    /// Why it did not get to its end the last time; empty otherwise.
    pub error: String,
}

/// The key of a request.
pub(crate) fn key(org: &str, id: Uuid) -> String {
    format!("{ERASURES}{org}/{id}")
}

/// A request by its id.
pub(crate) fn find(snapshot: &dyn Snapshot, org: &str, id: Uuid) -> Result<Option<Erasure>, Error> {
    let record = snapshot.record(&key(org, id))?;
    record.map(|record| decode(&record.value)).transpose()
}

/// Calls `each` with every request of an organisation (of all for `None`) and the commit that last wrote it.
pub(crate) fn each(
    snapshot: &dyn Snapshot,
    org: Option<&str>,
    mut each: impl FnMut(Erasure, Seq) -> Result<(), Error>,
) -> Result<(), Error> {
    let prefix = org.map_or(ERASURES.to_owned(), |org| format!("{ERASURES}{org}/"));
    let mut after: Option<String> = None;
    loop {
        let page = snapshot.records(&prefix, after.as_deref(), PAGE)?;
        for record in &page.items {
            each(decode(&record.value)?, record.changed)?;
        }
        let Some(last) = page.items.last().filter(|_| page.more) else { return Ok(()) };
        after = Some(last.key.clone());
    }
}

/// Whether an erasure that is not done reaches what `actor` wrote in a namespace.
pub(crate) fn covers(snapshot: &dyn Snapshot, scope: &Scope, actor: &str) -> Result<bool, Error> {
    let mut covered = false;
    each(snapshot, Some(&scope.org), |erasure, _| {
        covered |= erasure.stage != Stage::Done
            && match &erasure.reach {
                Reach::Namespace(namespace) => *namespace == scope.namespace,
                Reach::Person(person) => person == actor,
            };
        Ok(())
    })?;
    Ok(covered)
}

fn decode(value: &[u8]) -> Result<Erasure, Error> {
    serde_json::from_slice(value).map_err(Error::internal)
}

impl Engine {
    /// Works off the erasures that were asked for, as the background does; returns once none waits.
    pub fn run_erasures(&self) -> Result<(), Error> {
        self.inner().refuse_when_closed()?;
        pass(self.inner())
    }
}

/// Held while erasures are worked off, so that no two threads do.
#[derive(Default)]
pub(crate) struct Turn(Mutex<()>);

/// Works off what was asked for, and forgets what was done long ago.
pub(crate) fn pass(engine: &Inner) -> Result<(), Error> {
    let _alone = engine.erasing.0.lock();
    let mut asked = Vec::new();
    each(engine.store.snapshot()?.as_ref(), None, |erasure, changed| {
        asked.push((erasure, changed));
        Ok(())
    })?;
    let now = engine.config.clock.now();
    let mut outcome = Ok(());
    for (erasure, changed) in asked {
        if engine.stop.load(Ordering::Acquire) {
            break;
        }
        if erasure.stage != Stage::Done {
            outcome = outcome.and(run(engine, erasure, changed));
        } else if erasure.finished_at.is_some_and(|at| now.0.saturating_sub(at.0) > KEPT_MS) {
            write(engine, &erasure, changed, false)?;
        }
    }
    outcome
}

/// Runs an erasure to its end, or notes why it did not get there.
fn run(engine: &Inner, mut erasure: Erasure, changed: Seq) -> Result<(), Error> {
    erasure.stage = Stage::Running;
    erasure.attempts = erasure.attempts.saturating_add(1);
    let changed = write(engine, &erasure, changed, true)?;
    let mut erased = erasure.erased;
    let run = match &erasure.reach {
        Reach::Namespace(namespace) => namespace::erase(engine, &Scope::new(&erasure.org, namespace), &mut erased),
        Reach::Person(actor) => person::erase(engine, &erasure.org, actor, erasure.attempts > 1, &mut erased),
    };
    erasure.erased = erased;
    match &run {
        Ok(()) => {
            erasure.stage = Stage::Done;
            erasure.error = String::new();
            erasure.finished_at = Some(engine.config.clock.now());
            tracing::info!(id = %erasure.id, documents = erased.documents, versions = erased.versions, "erased");
        }
        Err(error) => erasure.error.clone_from(&error.message),
    }
    write(engine, &erasure, changed, true)?;
    run
}

fn write(engine: &Inner, erasure: &Erasure, changed: Seq, keep: bool) -> Result<Seq, Error> {
    let key = key(&erasure.org, erasure.id);
    let value = if keep { Some(serde_json::to_vec(erasure).map_err(Error::internal)?) } else { None };
    let preconditions = vec![Precondition::Record { key: key.clone(), changed: Some(changed) }];
    let writes = vec![Write::Record(RecordWrite { key, value })];
    Ok(engine.commit(Batch { preconditions, writes })?.seq)
}
