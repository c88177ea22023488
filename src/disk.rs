//! Room on the disk: what would fill it is refused while there is still enough for everything else.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loom_storage::{Batch, Write};
use parking_lot::Mutex;

use crate::error::{Code, Error};

/// How long a look at the file system is relied on, less what was written since.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How much more than its texts and vectors a write may take on the disk: indexes, copied pages, projections.
const WRITTEN_TIMES: u64 = 4;
/// When a refused write may be repeated.
const RETRY_AFTER_S: u64 = 10;

type Look = dyn Fn(&Path) -> io::Result<u64> + Send + Sync;

/// Where the number of free bytes comes from.
#[derive(Clone)]
pub struct FreeSpace(Arc<Look>);

impl FreeSpace {
    /// What the file system of a folder has left for this user.
    pub fn system() -> Self {
        Self::of(|folder| fs4::available_space(folder))
    }

    /// What `look` answers for a folder.
    pub fn of(look: impl Fn(&Path) -> io::Result<u64> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }
}

impl fmt::Debug for FreeSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FreeSpace")
    }
}

/// The disk of a data folder.
pub(crate) struct Disk {
    folder: PathBuf,
    free: FreeSpace,
    free_min_bytes: u64,
    estimate: Mutex<Option<Estimate>>,
}

/// What was free when it was looked at, less what was written since.
#[derive(Clone, Copy)]
struct Estimate {
    free: u64,
    looked: Instant,
}

impl Disk {
    /// Watches the disk of `folder`; `free_min_bytes` of 0 lets every write through.
    pub fn new(folder: &Path, free: FreeSpace, free_min_bytes: u64) -> Self {
        Self { folder: folder.to_path_buf(), free, free_min_bytes, estimate: Mutex::new(None) }
    }

    /// Refuses a write of about `bytes` that would leave less room than the limit.
    pub fn admit(&self, bytes: u64) -> Result<(), Error> {
        if self.free_min_bytes == 0 {
            return Ok(());
        }
        let needed = self.free_min_bytes.saturating_add(bytes.saturating_mul(WRITTEN_TIMES));
        let mut estimate = self.estimate.lock();
        let fresh = estimate.filter(|known| known.free >= needed && known.looked.elapsed() < LOOK_AGAIN);
        let known = match fresh {
            Some(known) => known,
            None => match (self.free.0)(&self.folder) {
                Ok(free) => Estimate { free, looked: Instant::now() },
                Err(error) => {
                    // A file system that cannot be asked is no reason to refuse: a full disk still is an error.
                    tracing::warn!(%error, "the free space of the data folder's disk cannot be read");
                    return Ok(());
                }
            },
        };
        if known.free < needed {
            *estimate = None;
            return Err(self.refusal(known.free));
        }
        *estimate = Some(Estimate { free: known.free - bytes.saturating_mul(WRITTEN_TIMES), ..known });
        Ok(())
    }

    /// Bytes free now, and the limit; `None` when the file system cannot be asked.
    pub fn free(&self) -> Option<u64> {
        (self.free.0)(&self.folder).ok()
    }

    /// The limit below which writes are refused, in bytes.
    pub fn free_min_bytes(&self) -> u64 {
        self.free_min_bytes
    }

    fn refusal(&self, free: u64) -> Error {
        Error {
            retry_after_s: Some(RETRY_AFTER_S),
            ..Error::new(
                Code::BackendUnavailable,
                format!(
                    "the disk of the data folder has {free} bytes free and keeps {} (LOOM_DISK_FREE_MIN_BYTES): nothing \
                     is stored until there is room; what is stored can be read and deleted",
                    self.free_min_bytes
                ),
            )
        }
    }
}

/// About how much a batch stores; `None` when it only takes away or is the engine's own note.
pub(crate) fn bytes(batch: &Batch) -> Option<u64> {
    let of = |write: &Write| match write {
        Write::PutVersion(new) => {
            let chunks = new.chunks.iter().map(|chunk| chunk.0.text.len() + chunk.0.context.len()).sum::<usize>();
            Some((new.text.len() + chunks) as u64)
        }
        Write::PutVectors { vectors, .. } => Some(vectors.iter().map(|(_, vector)| vector.len() as u64 * 4).sum()),
        Write::PutBlob { .. } | Write::Restore { .. } | Write::Edit { .. } | Write::SwitchModel { .. } => Some(0),
        Write::Retire { .. }
        | Write::DropVectors { .. }
        | Write::DropBlob { .. }
        | Write::EraseNamespace { .. }
        | Write::EraseVersions { .. }
        | Write::DropUnusedVectors { .. }
        | Write::Record(_) => None,
    };
    batch.writes.iter().filter_map(of).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn writes_are_refused_below_the_limit_and_taken_again_above_it() {
        let (free, looks) = (Arc::new(AtomicU64::new(1_000)), Arc::new(AtomicU64::new(0)));
        let source = {
            let (free, looks) = (Arc::clone(&free), Arc::clone(&looks));
            FreeSpace::of(move |_| {
                looks.fetch_add(1, Ordering::SeqCst);
                Ok(free.load(Ordering::SeqCst))
            })
        };
        let disk = Disk::new(Path::new("."), source, 500);
        disk.admit(50).expect("it fits");
        disk.admit(50).expect("it fits");
        assert_eq!(looks.load(Ordering::SeqCst), 1, "what is known is relied on for a while");
        free.store(499, Ordering::SeqCst);
        let error = disk.admit(50).expect_err("what was written since is counted");
        assert_eq!((error.code, error.retry_after_s), (Code::BackendUnavailable, Some(RETRY_AFTER_S)));
        assert!(error.message.contains("499") && error.message.contains("LOOM_DISK_FREE_MIN_BYTES"), "{error}");
        free.store(u64::MAX, Ordering::SeqCst);
        disk.admit(u64::MAX / 8).expect("there is room again");
    }

    #[test]
    fn no_limit_and_no_answer_let_writes_through() {
        Disk::new(Path::new("."), FreeSpace::of(|_| Ok(0)), 0).admit(1).expect("the limit is off");
        let mute = FreeSpace::of(|_| Err(io::ErrorKind::Unsupported.into()));
        Disk::new(Path::new("."), mute, 500).admit(1).expect("nobody knows");
        assert!(FreeSpace::system().0(Path::new(".")).expect("this system knows") > 0);
    }
}
