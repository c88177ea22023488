//! One process at a time: the lock file of a folder, and the file that says who holds it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::error::Error;

const LOCK_FILE: &str = "loom.lock";
const HOLDER_FILE: &str = "loom.holder";
/// What is read of a holder file, which anybody may have written.
const HOLDER_BYTES_MAX: u64 = 16 << 10;

/// Held for as long as it lives; the operating system lets go of it when the process dies.
pub(super) struct FolderLock {
    folder: PathBuf,
    holder: Mutex<Holder>,
    file: File,
}

/// The contents of the holder file, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Holder {
    program: String,
    pid: u32,
    /// Seconds since 1970-01-01 UTC.
    since: u64,
    note: Option<String>,
}

impl FolderLock {
    /// Takes the lock of `folder`, or says at once who has it.
    pub(super) fn take(folder: &Path, program: &str) -> Result<Self, Error> {
        let path = folder.join(LOCK_FILE);
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| Error::from_io(&error, &format!("opening {}", path.display())))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(locked(folder)),
            Err(TryLockError::Error(error)) => {
                return Err(Error::from_io(&error, &format!("locking {}", path.display())));
            }
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let holder = Holder { program: program.into(), pid: std::process::id(), since, note: None };
        let lock = Self { folder: folder.into(), holder: Mutex::new(holder), file };
        if let Err(error) = lock.write(&lock.holder.lock()) {
            // The lock is what counts: what is stored on a full disk can still be read.
            tracing::warn!(%error, "whoever finds the folder in use will not be told by whom");
            // What a holder that was killed left there would name it.
            let _ = fs::remove_file(folder.join(HOLDER_FILE));
        }
        Ok(lock)
    }

    /// Leaves a note for whoever finds the folder locked.
    pub(super) fn set_note(&self, note: &str) -> Result<(), Error> {
        let mut holder = self.holder.lock();
        let noted = Holder { note: Some(note.into()), ..holder.clone() };
        self.write(&noted)?;
        *holder = noted;
        Ok(())
    }

    /// Replaces the holder file in one step, so that nobody reads half of it.
    fn write(&self, holder: &Holder) -> Result<(), Error> {
        let json = serde_json::to_vec(holder).expect("a struct of strings and numbers is JSON");
        let path = self.folder.join(HOLDER_FILE);
        let fresh = self.folder.join(format!("{HOLDER_FILE}.new"));
        let write = || {
            File::create(&fresh)?.write_all(&json)?;
            fs::rename(&fresh, &path)
        };
        write().map_err(|error| Error::from_io(&error, &format!("writing {}", path.display())))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While the lock is still held: afterwards the file may be the next holder's.
        if let Err(error) = fs::remove_file(self.folder.join(HOLDER_FILE)) {
            tracing::warn!(%error, "the holder file was not removed");
        }
        // Closing the file is not enough: a child that is being started holds it too until it runs its program.
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the folder's lock was not released");
        }
    }
}

/// The error for a folder that somebody else holds.
pub(super) fn locked(folder: &Path) -> Error {
    let (holder, note) = match read(&folder.join(HOLDER_FILE)) {
        Some(holder) => {
            let since = utc(holder.since);
            (format!("{} (process {}, since {since})", holder.program, holder.pid), holder.note)
        }
        None => ("another process".into(), None),
    };
    Error::Locked { folder: folder.into(), holder, note }
}

/// The holder file's contents; `None` when it is missing or makes no sense, which is no reason to fail.
fn read(path: &Path) -> Option<Holder> {
    let mut json = Vec::new();
    File::open(path).ok()?.take(HOLDER_BYTES_MAX).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

/// A time in words: Howard Hinnant's civil calendar from days.
fn utc(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_735_689_599), "2024-12-31 23:59:59 UTC");
    }
}
