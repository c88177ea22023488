//! What each operation answers, call by call: transcripts that are the same in process and over HTTP.

mod curating;
mod datasets;
mod deleting;
mod erasing;
mod errors;
mod finding;
mod ingesting;
mod listing;
mod metadata;
mod namespaces;
mod noise;
mod originals;
mod outline;
mod reading;
mod rechunking;
mod reranking;
mod restoring;
mod searching;
mod sweeping;
mod writing;
