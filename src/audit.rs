//! The audit: a record of every audited operation and of every refusal, newest first under each organisation.

use loom_storage::Timestamp;
use uuid::Uuid;

/// The start of every audit record's key.
pub const AUDIT: &str = "audit/";

/// The key of a record: later ones sort before earlier ones.
pub fn key(org: &str, at: Timestamp, id: Uuid) -> String {
    format!("{AUDIT}{org}/{}-{id}", newest_first(at))
}

/// The part of a key that stands for a time.
pub fn newest_first(at: Timestamp) -> String {
    format!("{:016x}", i64::MAX - at.0.max(0))
}
