//! Operations on documents and passages.

pub mod add;
pub mod bulk_add;
pub mod upsert;

#[cfg(feature = "datasets")]
pub mod dataset_approve;
#[cfg(feature = "datasets")]
pub mod dataset_get;
#[cfg(feature = "datasets")]
pub mod query;

pub mod formats;
pub mod get;
pub mod history;
pub mod ingest;
pub mod ingest_cancel;
pub mod ingest_status;
pub mod inspect;
pub mod list;
pub mod outline;
pub mod reads;
pub mod search;

pub mod bulk_delete;
pub mod dedup_list;
pub mod dedup_resolve;
pub mod delete;
pub mod restore;
pub mod update_metadata;
