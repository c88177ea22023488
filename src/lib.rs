//! Loom keeps an agent's documents and finds passages in them: one folder, one process, no network.
//!
//! [`Engine::open`] opens a folder; [`Engine::call`] runs an operation of the registry ([`ops::ALL`]). The HTTP
//! server and the command line are this same engine behind other doors.

pub mod access;
mod audit;
pub mod chunk;
mod clock;
mod config;
mod context;
mod datasets;
mod deadline;
mod disk;
mod doctor;
mod download;
pub mod embed;
mod engine;
mod erasure;
mod error;
pub mod eval;
mod extracted;
pub mod extraction;
mod gauges;
mod id;
mod ingest;
mod jobs;
mod keys;
mod limits;
mod maintenance;
mod model_rows;
mod models;
mod namespaces;
mod noise;
mod op;
pub mod ops;
mod quota;
mod reads;
mod rechunk;
mod reembed;
pub mod rerank;
mod search;
mod sweep;
mod uploads;
mod work;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "server")]
pub mod http;
pub mod mcp;

pub use access::{Caller, Identity, Roles};
pub use clock::Clock;
pub use config::Config;
pub use context::{Planning, Reading};
pub use datasets::DatasetSettings;
pub use disk::FreeSpace;
pub use doctor::{DoctorOptions, Finding, Report, Severity};
pub use download::{Download, DownloadSource};
pub use engine::{Engine, OpenError, Readiness};
pub use erasure::RetentionSettings;
pub use error::{Code, Error};
pub use id::Ids;
pub use jobs::IngestSettings;
pub use loom_storage::{BackupSummary, Compacted};
pub use maintenance::{check_backup, restore_backup};
pub use model_rows::ModelRow;
pub use op::{Answer, Command, Facts, Kind, Plan, Query, Role, Spec};
pub use rechunk::Rechunked;
pub use search::{FusionKind, SearchSettings};
pub use sweep::{BlobTotals, SweepSettings};
pub use uploads::{UploadRequest, Uploaded, Uploading};
