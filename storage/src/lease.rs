//! Leases: one holder at a time for a named piece of work, on top of guarded control records.
//!
//! The clock is the caller's, so that a test needs none. Work done under a lease is fenced by putting
//! [`Lease::precondition`] into its batch: a holder whose lease was taken over cannot commit it.

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Precondition, RecordWrite, Write};
use crate::codec;
use crate::error::Error;
use crate::id::Seq;
use crate::record::{Record, Timestamp};
use crate::store::Store;

/// A lease that was held when it was last acquired or renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    key: String,
    owner: String,
    expires_at: Timestamp,
    changed: Seq,
}

/// What became of an attempt to acquire a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It is held now.
    Held(Lease),
    /// Another owner holds it.
    Taken {
        /// Who.
        owner: String,
        /// Until when.
        expires_at: Timestamp,
    },
}

/// The value of a lease's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseValue {
    pub(crate) owner: String,
    pub(crate) expires_at: Timestamp,
}

impl Lease {
    /// Acquires the lease `key` for `owner` for `ttl_ms` milliseconds from `now`: when it is free, expired, or
    /// the owner's own already. Of several owners that try at once, one gets it.
    pub fn acquire(store: &dyn Store, key: &str, owner: &str, now: Timestamp, ttl_ms: u32) -> Result<Acquired, Error> {
        loop {
            let current = store.snapshot()?.record(key)?;
            if let Some(record) = &current {
                let value = LeaseValue::of(record)?;
                if value.expires_at > now && value.owner != owner {
                    return Ok(Acquired::Taken { owner: value.owner, expires_at: value.expires_at });
                }
            }
            let changed = current.map(|record| record.changed);
            match write(store, key, owner, after(now, ttl_ms), changed) {
                // Somebody wrote between the read and the commit, so each turn of the loop has another's progress.
                Err(Error::RecordConflict { .. }) => {}
                held => return held.map(Acquired::Held),
            }
        }
    }

    /// Holds the lease for `ttl_ms` milliseconds from `now`. `false`: it was taken over and is no longer held.
    pub fn renew(&mut self, store: &dyn Store, now: Timestamp, ttl_ms: u32) -> Result<bool, Error> {
        match write(store, &self.key, &self.owner, after(now, ttl_ms), Some(self.changed)) {
            Ok(renewed) => {
                *self = renewed;
                Ok(true)
            }
            Err(Error::RecordConflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Frees the lease. `false`: it was taken over before, and stays with its new owner.
    pub fn release(self, store: &dyn Store) -> Result<bool, Error> {
        let freed = store.commit(Batch {
            preconditions: vec![self.precondition()],
            writes: vec![Write::Record(RecordWrite { key: self.key, value: None })],
        });
        match freed {
            Ok(_) => Ok(true),
            Err(Error::RecordConflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What holds as long as nobody else wrote the lease; put into every batch of the work done under it.
    pub fn precondition(&self) -> Precondition {
        Precondition::Record { key: self.key.clone(), changed: Some(self.changed) }
    }

    /// Until when it is held.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

impl LeaseValue {
    fn of(record: &Record) -> Result<Self, Error> {
        codec::decode(record.key.as_bytes(), &record.value)
    }
}

fn write(
    store: &dyn Store,
    key: &str,
    owner: &str,
    expires_at: Timestamp,
    changed: Option<Seq>,
) -> Result<Lease, Error> {
    let value = codec::encode(key.as_bytes(), &LeaseValue { owner: owner.into(), expires_at })?;
    let committed = store.commit(Batch {
        preconditions: vec![Precondition::Record { key: key.into(), changed }],
        writes: vec![Write::Record(RecordWrite { key: key.into(), value: Some(value) })],
    })?;
    Ok(Lease { key: key.into(), owner: owner.into(), expires_at, changed: committed.seq })
}

fn after(now: Timestamp, ttl_ms: u32) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::from(ttl_ms)))
}
