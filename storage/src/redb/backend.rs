//! What lies under a redb file: storage that can be opened again, that tells when it failed, or that is only read.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

type Open = dyn Fn(Access) -> io::Result<Box<dyn StorageBackend>> + Send + Sync;

/// What a storage is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Write,
    Read,
}

/// Where a file's storage comes from, each time that it is opened.
pub(super) struct Source {
    open: Box<Open>,
    path: Option<PathBuf>,
}

impl Source {
    /// A redb file of a folder, which must be there and not be empty: redb would make an empty one anew.
    pub(super) fn file(path: PathBuf) -> Self {
        Self::of_path(path, false)
    }

    /// Another file of a folder, which must be there.
    pub(super) fn plain(path: PathBuf) -> Self {
        Self::of_path(path, true)
    }

    fn of_path(path: PathBuf, may_be_empty: bool) -> Self {
        let of = path.clone();
        let open = move |access| {
            let file = OpenOptions::new().read(true).write(access == Access::Write).open(&of)?;
            if !may_be_empty && file.metadata()?.len() == 0 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is empty"));
            }
            Ok(Box::new(FileBackend::new(file).map_err(io::Error::other)?) as Box<dyn StorageBackend>)
        };
        Self { open: Box::new(open), path: Some(path) }
    }

    /// Whatever `open` answers; each call must show what the one before made durable.
    pub(super) fn of<B: StorageBackend>(open: impl Fn() -> io::Result<B> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(move |_| Ok(Box::new(open()?) as Box<dyn StorageBackend>)), path: None }
    }

    /// The file's path, when it is one.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The storage's size in bytes.
    pub(super) fn len(&self) -> io::Result<u64> {
        match &self.path {
            Some(path) => Ok(path.metadata()?.len()),
            None => (self.open)(Access::Read)?.len(),
        }
    }

    /// Opens the storage for writing; `failed` is set when anything of it fails.
    pub(super) fn watched(&self, failed: &Arc<AtomicBool>) -> io::Result<Watched> {
        Ok(Watched { storage: (self.open)(Access::Write)?, failed: Arc::clone(failed) })
    }

    /// Opens the storage to be read.
    pub(super) fn read_only(&self) -> io::Result<Watched> {
        Ok(Watched { storage: (self.open)(Access::Read)?, failed: Arc::default() })
    }

    /// Has what the system caches of a file read anew: after a sync that failed it may be what never reached the disk.
    pub(super) fn forget_cached(&self) {
        #[cfg(target_os = "linux")]
        if let Some(path) = &self.path
            && let Err(error) = std::fs::File::open(path)
                .and_then(|file| Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?))
        {
            tracing::debug!(%error, "cached pages are kept");
        }
    }

    /// Opens the storage without ever writing to it: writes stay in memory.
    pub(super) fn untouched(&self, failed: &Arc<AtomicBool>) -> io::Result<Untouched> {
        let storage = Watched { storage: (self.open)(Access::Read)?, failed: Arc::clone(failed) };
        let written = Written { len: storage.len()?, pages: BTreeMap::new() };
        Ok(Untouched { below: written.len, storage, written: Mutex::new(written) })
    }
}

/// Storage that sets a flag when it fails. redb answers nothing from then on that it has not in memory.
#[derive(Debug)]
pub(super) struct Watched {
    storage: Box<dyn StorageBackend>,
    failed: Arc<AtomicBool>,
}

impl Watched {
    fn watch<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if result.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        result
    }
}

impl StorageBackend for Watched {
    fn len(&self) -> io::Result<u64> {
        self.watch(self.storage.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.watch(self.storage.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.watch(self.storage.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.watch(self.storage.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.watch(self.storage.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.storage.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.storage.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.storage.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.storage.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.storage.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.storage.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.storage.query_lock_range(start, end)
    }
}

const PAGE_BYTES: usize = 4096;

/// Storage that is only read, under writes that are kept in memory: with it redb opens, and repairs for itself, a file
/// to which nothing can or may be written.
#[derive(Debug)]
pub(super) struct Untouched {
    storage: Watched,
    /// How much of the storage still shows.
    below: u64,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    len: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Untouched {
    /// The page of that number as it is: written, stored, or past what is stored.
    fn page(&self, written: &Written, number: u64) -> io::Result<Box<[u8]>> {
        if let Some(page) = written.pages.get(&number) {
            return Ok(page.clone());
        }
        let mut page = vec![0; PAGE_BYTES];
        let start = number * PAGE_BYTES as u64;
        let stored = self.below.min(written.len).saturating_sub(start).min(PAGE_BYTES as u64);
        let stored = usize::try_from(stored).map_err(io::Error::other)?;
        if stored > 0 {
            self.storage.read(start, &mut page[..stored])?;
        }
        Ok(page.into())
    }

    /// Calls `each` with every page that `len` bytes from `offset` on touch: its number, and where in both.
    fn each_page(
        offset: u64,
        len: usize,
        mut each: impl FnMut(u64, usize, std::ops::Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let within = usize::try_from(at % PAGE_BYTES as u64).map_err(io::Error::other)?;
            let count = (PAGE_BYTES - within).min(len - done);
            each(at / PAGE_BYTES as u64, within, done..done + count)?;
            done += count;
        }
        Ok(())
    }
}

impl StorageBackend for Untouched {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written.lock();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > written.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if written.pages.is_empty() && offset + out.len() as u64 <= self.below {
            return self.storage.read(offset, out);
        }
        Self::each_page(offset, out.len(), |number, within, range| {
            let page = self.page(&written, number)?;
            let count = range.len();
            out[range].copy_from_slice(&page[within..within + count]);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written.lock();
        if len < written.len {
            // What is cut off must not show again when the storage grows.
            let last = len.div_ceil(PAGE_BYTES as u64);
            let cut = usize::try_from(len % PAGE_BYTES as u64).map_err(io::Error::other)?;
            if cut > 0 {
                let mut page = self.page(&written, last - 1)?;
                page[cut..].fill(0);
                written.pages.insert(last - 1, page);
            }
            written.pages.split_off(&last);
            for number in last..self.below.min(written.len).div_ceil(PAGE_BYTES as u64) {
                written.pages.insert(number, vec![0; PAGE_BYTES].into());
            }
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock();
        Self::each_page(offset, data.len(), |number, within, range| {
            let mut page = self.page(&written, number)?;
            page[within..within + range.len()].copy_from_slice(&data[range]);
            written.pages.insert(number, page);
            Ok(())
        })?;
        written.len = written.len.max(offset + data.len() as u64);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.storage.close()
    }

    // The folder's lock is held by whoever opens this: the file's own may be.
    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn try_lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn query_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(false)
    }
}
