//! One run of a job, and what becomes of the job after it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use loom_extract::contract::{Artifact, CONTRACT_VERSION, Request};
use loom_extract::formats;
use loom_storage::{Batch, Hash, Seq, Timestamp};

use super::job::{Job, Stage, State, find};
use super::publish::{self, Published};
use super::queue::Taken;
use crate::deadline::after;
use crate::engine::Inner;
use crate::error::{Code, Error};
use crate::extraction::Failure;

/// The longest wait between two runs of a job, in seconds.
const RETRY_S_MAX: u64 = 60 * 60;
/// The code of a job that waits for its next run.
pub(super) const RETRYING: &str = "retrying";

/// Why a run did not end in a revision.
pub(super) enum Stopped {
    /// The job fails for good.
    Failed { code: &'static str, message: String },
    /// It may succeed later.
    Later(String),
    /// It was cancelled.
    Cancelled,
    /// The engine closes: the job runs again when it is open.
    Closing,
}

impl Stopped {
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::Failed { code, message: message.into() }
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        if error.code == Code::BlobGone {
            return Self::failed("original_gone", "the upload's bytes are no longer stored: upload the file again");
        }
        if error.code.retryable() {
            return Self::Later(error.message);
        }
        tracing::error!(code = %error.code, %error, cause = ?error.cause, "an ingest failed");
        Self::failed("internal", "a defect in Loom; the log has it")
    }
}

impl From<loom_storage::Error> for Stopped {
    fn from(error: loom_storage::Error) -> Self {
        Error::from(error).into()
    }
}

/// Runs the jobs that are due, until there is none or the engine stops.
pub(crate) fn pass(engine: &Inner) -> Result<(), Error> {
    engine.queue.refresh(|| engine.store.snapshot())?;
    while !engine.stop.load(Ordering::Acquire) {
        let Some(taken) = engine.queue.take(engine.config.clock.now()) else { return Ok(()) };
        run(engine, taken)?;
    }
    Ok(())
}

/// Runs a job once.
fn run(engine: &Inner, taken: Taken<'_>) -> Result<(), Error> {
    let now = engine.config.clock.now();
    let Some((mut job, changed)) = find(engine.store.snapshot()?.as_ref(), &taken.scope, taken.id)? else {
        return Ok(());
    };
    if job.state.is_over() {
        return Ok(());
    }
    let due_at = job.due_at;
    if due_at > now && !job.cancel_requested {
        taken.put_back(&job.ask.source_uri, due_at);
        return Ok(());
    }
    let outcome = if job.cancel_requested {
        Err(Stopped::Cancelled)
    } else if job.attempts >= engine.config.ingest.attempts_max {
        Err(Stopped::failed("retries_exhausted", exhausted(&job)))
    } else {
        job.state = State::Processing;
        job.stage = Some(Stage::Parse);
        job.attempts += 1;
        job.updated_at = now;
        let Some(changed) = write(engine, &job, changed)? else {
            // Somebody changed it meanwhile, such as a cancel: it is looked at again.
            taken.put_back(&job.ask.source_uri, Timestamp(i64::MIN));
            return Ok(());
        };
        attempt(engine, &taken, &mut job, changed)
    };
    let Err(stopped) = outcome else { return Ok(()) };
    end(engine, taken, job, stopped)
}

/// Reads, cuts, embeds and publishes. The commit that publishes ends the job too.
fn attempt(engine: &Inner, taken: &Taken<'_>, job: &mut Job, changed: Seq) -> Result<(), Stopped> {
    let until = after(Duration::from_secs(engine.config.ingest.pass_s));
    let artifact = extract(engine, taken, job, until)?;
    job.format.clone_from(&artifact.format);
    job.coverage = Some(artifact.coverage.clone());
    job.warnings.clone_from(&artifact.warnings);
    if !artifact.coverage.is_complete() && !job.ask.allow_partial {
        return Err(Stopped::failed("incomplete_extraction", incomplete(&artifact)));
    }
    let published: Published = publish::publish(engine, taken, job, changed, artifact, until)?;
    tracing::debug!(job = %job.id, revision = published.revision, chunks = published.chunks, "an ingest was published");
    Ok(())
}

fn extract(engine: &Inner, taken: &Taken<'_>, job: &Job, until: Instant) -> Result<Artifact, Stopped> {
    if formats::named(&job.file.format).is_none() {
        let message = format!("no format is called {:?}: knowledge.formats lists them", job.file.format);
        return Err(Stopped::failed("unsupported_format", message));
    }
    let hash = Hash::from_hex(&job.file.sha256).ok_or_else(|| Error::internal("a job's file has no hash"))?;
    let mut body = engine.store.read_blob(&taken.scope, &hash)?;
    let request = Request {
        contract: CONTRACT_VERSION,
        format: job.file.format.clone(),
        filename: job.file.filename.clone(),
        options: job.ask.options.clone(),
    };
    let size = body.size();
    let extracted = engine.extractors.extract(&request, size, &mut body, until, &taken.stop);
    check_stop(engine, taken)?;
    extracted.map_err(|failure| match failure {
        Failure::Refused { code, message } => Stopped::failed(code.name(), message),
        Failure::Transient(message) => Stopped::Later(message),
    })
}

/// Whether the job is to go on.
pub(super) fn check_stop(engine: &Inner, taken: &Taken<'_>) -> Result<(), Stopped> {
    if engine.stop.load(Ordering::Acquire) {
        return Err(Stopped::Closing);
    }
    if taken.stop.load(Ordering::Acquire) {
        return Err(Stopped::Cancelled);
    }
    Ok(())
}

/// Writes what became of a job that published nothing.
fn end(engine: &Inner, taken: Taken<'_>, mut job: Job, stopped: Stopped) -> Result<(), Error> {
    let later = match stopped {
        Stopped::Closing => return Ok(()),
        Stopped::Cancelled => {
            job.state = State::Cancelled;
            (job.error_code, job.error_message) = (String::new(), String::new());
            None
        }
        Stopped::Failed { code, message } => {
            job.state = State::Failed;
            (job.error_code, job.error_message) = (code.to_owned(), message);
            None
        }
        Stopped::Later(message) => {
            job.error_message = message;
            if job.attempts >= engine.config.ingest.attempts_max {
                job.state = State::Failed;
                job.error_message = exhausted(&job);
                "retries_exhausted".clone_into(&mut job.error_code);
                None
            } else {
                job.state = State::Pending;
                RETRYING.clone_into(&mut job.error_code);
                Some(wait(engine.config.ingest.retry_s, job.attempts))
            }
        }
    };
    if job.stage.is_some() {
        job.stage = engine.queue.stage(job.id).or(job.stage);
    }
    loop {
        let now = engine.config.clock.now();
        job.updated_at = now;
        job.due_at = Timestamp(now.0.saturating_add(later.unwrap_or_default()));
        let Some((stored, changed)) = find(engine.store.snapshot()?.as_ref(), &taken.scope, taken.id)? else {
            return Ok(());
        };
        if stored.state.is_over() {
            return Ok(());
        }
        if stored.cancel_requested && !job.state.is_over() {
            job.state = State::Cancelled;
            (job.error_code, job.error_message) = (String::new(), String::new());
        }
        job.cancel_requested = stored.cancel_requested;
        if write(engine, &job, changed)?.is_some() {
            break;
        }
    }
    if !job.state.is_over() {
        let due_at = job.due_at;
        taken.put_back(&job.ask.source_uri, due_at);
    }
    Ok(())
}

/// Writes the job over what was read; `None` when somebody else did meanwhile.
fn write(engine: &Inner, job: &Job, changed: Seq) -> Result<Option<Seq>, Error> {
    let (precondition, writes) = job.writes(Some(changed))?;
    match engine.commit(Batch { preconditions: vec![precondition], writes }) {
        Ok(committed) => Ok(Some(committed.seq)),
        Err(loom_storage::Error::RecordConflict { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The milliseconds before the next run: doubled with each.
fn wait(first_s: u64, attempts: u32) -> i64 {
    let doubled = first_s.saturating_mul(1_u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(u64::MAX));
    i64::try_from(doubled.min(RETRY_S_MAX) * 1000).unwrap_or(i64::MAX)
}

fn exhausted(job: &Job) -> String {
    let last = if job.error_message.is_empty() { "the process stopped in each of them" } else { &job.error_message };
    format!(
        "the job ran {} times without success (LOOM_KNOWLEDGE_INGEST_MAX_ATTEMPTS); the last time: {last}",
        job.attempts
    )
}

fn incomplete(artifact: &Artifact) -> String {
    let coverage = &artifact.coverage;
    let mut parts = Vec::new();
    if coverage.failed > 0 {
        let unit = serde_json::to_value(coverage.unit).ok();
        let unit = unit.as_ref().and_then(|unit| unit.as_str()).unwrap_or("units");
        parts.push(format!("{} of {} {unit} could not be read", coverage.failed, coverage.total));
    }
    if !coverage.lost.is_empty() {
        parts.push(format!("lost: {}", coverage.lost.join(", ")));
    }
    format!("{}: ingest it with allow_partial to publish what was read", parts.join("; "))
}
