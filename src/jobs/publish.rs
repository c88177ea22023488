//! Publishing what a job extracted: one commit writes the revision and ends the job.

use std::time::Instant;

use loom_extract::contract::{Artifact, Coverage};
use loom_storage::{Batch, Seq};

use super::attempt::{Stopped, check_stop};
use super::job::{Job, Stage, State, find};
use super::queue::Taken;
use crate::access::Caller;
use crate::chunk::{self, Extracted};
use crate::context::{Planning, Reading};
use crate::datasets::{Tables, datasets_unchanged};
use crate::deadline::Deadline;
use crate::disk;
use crate::engine::Inner;
use crate::extracted::{self, Described};
use crate::ingest;
use crate::namespaces;

/// What was published.
pub(super) struct Published {
    pub revision: u64,
    pub chunks: usize,
}

/// How often the plan of a publication is made anew because the namespace's embedding model changed under it.
const PLANS_MAX: u32 = 8;

/// Cuts and embeds the artifact and commits it with the end of the job.
pub(super) fn publish(
    engine: &Inner,
    taken: &Taken<'_>,
    job: &mut Job,
    mut changed: Seq,
    mut artifact: Artifact,
    until: Instant,
) -> Result<Published, Stopped> {
    let described = Described::of(job, &artifact);
    let kept = extracted::kept_artifact(engine, &taken.scope, &artifact)?;
    let (tables, warning) = Tables::take(&mut artifact, engine.config.datasets.per_file_max);
    job.warnings.extend(warning);
    let extracted = chunk::cut_artifact(artifact, tables.all(), engine.config.chunks);
    refuse_unpublishable(engine, job, &extracted)?;
    engine.queue.set_stage(job.id, Stage::Embed);
    let caller = Caller::on_behalf_of(&job.ask.actor);
    let mut datasets = None;
    for attempt in 1.. {
        check_stop(engine, taken)?;
        let reading = Reading::new(engine, &caller, Deadline::until(until))?;
        let planning = Planning::new(reading);
        if namespaces::facts(planning.snapshot(), &taken.scope)?.is_deleted() {
            return Err(Stopped::Cancelled);
        }
        let (head, live) = ingest::current(&planning, &taken.scope, &job.ask.source_uri)?;
        let revision = live.as_ref().map_or(0, |live| live.revision.0);
        if job.ask.expected_revision.is_some_and(|expected| expected != revision) {
            let message = format!("the live revision is {revision}, not the expected one");
            return Err(Stopped::failed("revision_conflict", message));
        }
        let typed_by;
        (datasets, typed_by) = tables.prepare(engine, planning.snapshot(), &taken.scope, live.as_ref(), datasets)?;
        let version =
            extracted::version(&planning, &taken.scope, &job.ask.source_uri, &described, &extracted, live.as_ref());
        let (doc_id, chunks) = (version.doc_id, version.chunks.len());
        let mut batch = Batch::default();
        let prepared = ingest::Prepared { version, head, blob: None };
        ingest::commit_into(&planning, &mut batch, &taken.scope, vec![prepared])?;
        engine.queue.set_stage(job.id, Stage::Publish);
        check_stop(engine, taken)?;
        job.state =
            if job.coverage.as_ref().is_some_and(Coverage::is_complete) { State::Ready } else { State::Partial };
        job.stage = None;
        (job.error_code, job.error_message) = (String::new(), String::new());
        job.chunks = chunks as u64;
        job.revision = head.map_or(0, |head| head.revision.0) + 1;
        job.updated_at = planning.now();
        let (precondition, writes) = job.writes(Some(changed))?;
        batch.preconditions.push(precondition);
        batch.writes.extend(writes);
        if let Some(artifact) = &kept {
            batch.writes.extend(artifact.writes(&taken.scope, doc_id)?);
        }
        if let Some(datasets) = &mut datasets {
            datasets.place(&extracted.marks);
            batch.writes.extend(datasets.writes(&taken.scope, doc_id)?);
        }
        if let Some((live, changed)) = live.as_ref().zip(typed_by) {
            batch.preconditions.push(datasets_unchanged(&taken.scope, live.doc_id, changed));
        }
        if let Some(bytes) = disk::bytes(&batch) {
            engine.disk.admit(bytes)?;
        }
        match engine.commit(batch) {
            Ok(_) => return Ok(Published { revision: job.revision, chunks }),
            Err(loom_storage::Error::RecordConflict { .. }) if attempt < PLANS_MAX => {
                changed = unchanged_job(engine, taken, changed)?;
            }
            Err(loom_storage::Error::Conflict { .. }) => {
                let message = "a later write of the source landed while this one was being published";
                return Err(Stopped::failed("revision_conflict", message));
            }
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("the loop ends with an answer")
}

/// Which record changed: the job's own means that it is to stop.
fn unchanged_job(engine: &Inner, taken: &Taken<'_>, changed: Seq) -> Result<Seq, Stopped> {
    match find(engine.store.snapshot()?.as_ref(), &taken.scope, taken.id)? {
        Some((job, now)) if now == changed || !job.cancel_requested => Ok(now),
        Some(_) | None => Err(Stopped::Cancelled),
    }
}

fn refuse_unpublishable(engine: &Inner, job: &Job, extracted: &Extracted) -> Result<(), Stopped> {
    let (chunks, max) = (extracted.cut.pieces.len(), engine.config.ingest.chunks_max);
    if chunks > max {
        let message =
            format!("the file is cut into {chunks} chunks; LOOM_KNOWLEDGE_INGEST_MAX_CHUNKS allows {max}: split it");
        return Err(Stopped::failed("too_large", message));
    }
    if chunks == 0 {
        let name = &job.file.filename;
        return Err(Stopped::failed("no_text", format!("{name:?} holds no text to index")));
    }
    Ok(())
}
