//! The ingests of the last 30 days, by source address.

use std::collections::BTreeMap;

use loom_storage::{Scope, Timestamp};

use super::live_since;
use super::shapes::{DocumentJobs, IngestionTotals, InspectJob};
use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;
use crate::jobs::{self, Job, State};

/// Jobs read at a time.
const PAGE: usize = 1_000;

/// What the report needs of a job.
pub struct Known {
    pub id: String,
    pub state: State,
    pub error_code: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    due_at: Timestamp,
    stage: String,
    attempts: u32,
    revision: u64,
    is_running: bool,
}

/// The jobs of a namespace, those of each source address in the order in which they were asked for.
pub struct Ingests(pub BTreeMap<String, Vec<Known>>);

impl Known {
    fn of(reading: &Reading<'_>, job: Job) -> Self {
        let running = reading.queue().stage(job.id);
        // One that was asked to stop before it ran is over for whoever asks.
        let is_cancelled = job.state == State::Pending && job.cancel_requested;
        let stage = running.or(job.stage).map(jobs::Stage::name).unwrap_or_default();
        Self {
            id: job.id.to_string(),
            state: if is_cancelled { State::Cancelled } else { job.state },
            error_code: job.error_code,
            created_at: job.created_at,
            updated_at: job.updated_at,
            due_at: job.due_at,
            stage: stage.to_owned(),
            attempts: job.attempts,
            revision: job.revision,
            is_running: running.is_some(),
        }
    }

    /// Whose fault a failure is.
    pub fn failure_class(&self) -> &'static str {
        match self.error_code.as_str() {
            "" => "",
            "retrying" => "retrying",
            "format_unavailable" | "invalid_artifact" | "timeout" => "extractor",
            "original_gone" => "access",
            "retries_exhausted" | "internal" => "server",
            "revision_conflict" => "conflict",
            _ => "content",
        }
    }

    fn shown(&self) -> InspectJob {
        let is_over = self.state.is_over();
        InspectJob {
            ingestion_id: self.id.clone(),
            state: self.state.name().to_owned(),
            stage: self.stage.clone(),
            attempts: self.attempts,
            error_code: self.error_code.clone(),
            failure_class: self.failure_class().to_owned(),
            queued_at: rfc3339(self.created_at),
            updated_at: rfc3339(self.updated_at),
            ended_at: is_over.then(|| rfc3339(self.updated_at)),
            next_due_at: (!is_over).then(|| rfc3339(self.due_at)),
        }
    }
}

impl Ingests {
    pub fn read(reading: &Reading<'_>, scope: &Scope) -> Result<Self, Error> {
        let prefix = jobs::prefix(scope);
        let mut by_source: BTreeMap<String, Vec<Known>> = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = reading.snapshot().records(&prefix, after.as_deref(), PAGE)?;
            for record in &page.items {
                let job: Job = serde_json::from_slice(&record.value).map_err(Error::internal)?;
                by_source.entry(job.ask.source_uri.clone()).or_default().push(Known::of(reading, job));
            }
            reading.check_deadline()?;
            let Some(last) = page.items.last().filter(|_| page.more) else { break };
            after = Some(last.key.clone());
        }
        for jobs in by_source.values_mut() {
            jobs.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        }
        Ok(Self(by_source))
    }

    /// The job that a source address is judged by: the oldest open one, else the newest.
    pub fn current(jobs: &[Known]) -> Option<&Known> {
        jobs.iter().find(|job| !job.state.is_over()).or(jobs.last())
    }

    /// Whether no job is open and the document was written, or deleted, after the newest ended.
    pub fn is_replaced(jobs: &[Known], live_since: Option<Timestamp>) -> bool {
        let Some(newest) = jobs.last() else { return false };
        let published = matches!(newest.state, State::Ready | State::Partial);
        let written_after = live_since.is_some_and(|at| at > newest.updated_at);
        jobs.iter().all(|job| job.state.is_over()) && (written_after || (published && live_since.is_none()))
    }

    /// The job that published a revision.
    pub fn published(&self, source_uri: &str, revision: u64) -> Option<String> {
        let jobs = self.0.get(source_uri)?;
        let published = |job: &&Known| job.revision == revision && matches!(job.state, State::Ready | State::Partial);
        jobs.iter().rev().find(published).map(|job| job.id.clone())
    }

    /// The jobs of a document.
    pub fn of(&self, source_uri: &str, live_since: Option<Timestamp>) -> DocumentJobs {
        let jobs = self.0.get(source_uri).map(Vec::as_slice).unwrap_or_default();
        let open = jobs.iter().find(|job| !job.state.is_over());
        DocumentJobs {
            total: jobs.len() as u64,
            latest: jobs.last().map(Known::shown),
            current: Self::current(jobs).map(Known::shown),
            open_ingestion_id: open.map_or_else(String::new, |job| job.id.clone()),
            replaced: Self::is_replaced(jobs, live_since),
        }
    }

    pub fn totals(&self, reading: &Reading<'_>, scope: &Scope, samples: usize) -> Result<IngestionTotals, Error> {
        let extraction = &reading.config().extraction;
        let mut totals = IngestionTotals {
            worker_enabled: reading.config().ingest.workers > 0,
            extractor_configured: extraction.service.is_some()
                || !extraction.services.is_empty()
                || extraction.program.is_some(),
            ..IngestionTotals::default()
        };
        let (mut oldest, mut without): (Option<Timestamp>, Vec<(Timestamp, String)>) = (None, Vec::new());
        for (source_uri, jobs) in &self.0 {
            for job in jobs {
                *totals.by_state.entry(job.state.name().to_owned()).or_default() += 1;
                totals.stalled += u64::from(job.state == State::Processing && !job.is_running);
                if !job.state.is_over() {
                    oldest = Some(oldest.map_or(job.created_at, |at| at.min(job.created_at)));
                }
            }
            let live = live_since(reading, scope, source_uri)?;
            let is_replaced = Self::is_replaced(jobs, live);
            totals.replaced += u64::from(is_replaced);
            if let (None, false, Some(newest)) = (live, is_replaced, jobs.last()) {
                without.push((newest.created_at, source_uri.clone()));
            }
            reading.check_deadline()?;
        }
        totals.oldest_open_queued_at = oldest.map(rfc3339);
        totals.without_document = without.len() as u64;
        without.sort_by(|one, other| other.cmp(one));
        totals.without_document_listed = without.into_iter().take(samples).map(|(_, uri)| uri).collect();
        Ok(totals)
    }
}
