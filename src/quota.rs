//! How much a namespace may keep of files' bytes.

use loom_storage::{Hash, Scope};

use crate::engine::Inner;
use crate::error::{Code, Error};

/// How many rows of the catalogue are read at a time.
const PAGE: usize = 1_000;

/// What is left of a namespace's quota, in bytes; `None` where there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    quota: u64,
    used: u64,
}

/// Adds up what the namespace holds. It is counted anew each time, and only where a quota is set.
pub(crate) fn room(inner: &Inner, scope: &Scope) -> Result<Option<Room>, Error> {
    let quota = inner.config.documents.blob_quota_bytes;
    if quota == 0 {
        return Ok(None);
    }
    let snapshot = inner.store.snapshot()?;
    let (mut used, mut after) = (0_u64, Hash([0; 32]));
    loop {
        let page = snapshot.blobs(Some((scope, &after)), PAGE)?;
        let own = page.items.iter().take_while(|(owner, _)| owner == scope);
        let (count, bytes) =
            own.fold((0, 0_u64), |(count, bytes), (_, row)| (count + 1, bytes.saturating_add(row.size)));
        used = used.saturating_add(bytes);
        match page.items.last() {
            Some((_, last)) if count == PAGE => after = last.hash,
            Some(_) | None => return Ok(Some(Room { quota, used })),
        }
    }
}

impl Room {
    /// Refuses `bytes` more than there is room for.
    pub(crate) fn admit(self, bytes: u64) -> Result<(), Error> {
        if self.used.saturating_add(bytes) <= self.quota {
            return Ok(());
        }
        let message = format!(
            "the namespace keeps {} bytes of files, and LOOM_DOCUMENT_BLOB_QUOTA_BYTES allows {}: delete documents and run \
             `loom blobs --sweep`, or raise the quota",
            self.used, self.quota
        );
        Err(Error::new(Code::PayloadTooLarge, message))
    }
}
