//! The jobs of `knowledge.ingest`: from an uploaded file to a published revision, in the background.
//!
//! A job is a record `ingest/<org>/<namespace>/<id>`, and as long as it is not over a row `ingest-open/<id>` beside it, which
//! is how the workers find it. Every change of a job is a commit guarded by its record, and the revision is published in
//! the commit that ends the job: however the process ends, a job publishes once or not at all. Of the jobs of one source
//! the earliest goes first, and namespaces take turns.

mod attempt;
mod job;
mod publish;
mod queue;
mod settings;

pub(crate) use attempt::pass;
pub(crate) use job::{Ask, File, JOBS, Job, Stage, State, find, prefix};
pub(crate) use queue::{OpenJob, Queue};
pub use settings::IngestSettings;
