//! What an operator does with a whole folder: back it up, make it from a backup.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use loom_storage::{BackupSummary, Compacted, Error as Storage, RedbOptions, RedbStore, Scope};

use crate::access::{self, ANY_NAMESPACE, Caller};
use crate::engine::{Engine, INDEX_FOLDER, OpenError};
use crate::error::{Code, Error};
use crate::op::Role;

impl Engine {
    /// Writes a copy of everything committed so far, originals included, while other calls go on. Needs the role
    /// [`Role::Admin`] in every namespace, since it reads all. What an error leaves is no backup, and is refused as one.
    pub fn backup(&self, caller: &Caller, to: &mut dyn Write) -> Result<BackupSummary, Error> {
        self.admit_operator(caller)?;
        Ok(self.inner().store.backup(to)?)
    }

    /// Gives back the disk space that nothing needs any more. Needs the role [`Role::Admin`]; nobody can read or write
    /// meanwhile, and [`Code::Overloaded`] answers where somebody reads for more than a moment.
    pub fn compact(&self, caller: &Caller) -> Result<Compacted, Error> {
        self.admit_operator(caller)?;
        Ok(self.inner().store.compact()?)
    }

    /// Refuses whoever may not do what concerns the whole folder.
    pub(crate) fn admit_operator(&self, caller: &Caller) -> Result<(), Error> {
        self.inner().refuse_when_closed()?;
        let Some(identity) = caller.identity() else { return Ok(()) };
        let snapshot = self.inner().store.snapshot()?;
        let everywhere = Scope::new(&identity.org, ANY_NAMESPACE);
        access::require(caller, snapshot.as_ref(), &everywhere, Role::Admin, "this")?;
        if snapshot.namespaces(None)?.iter().any(|row| row.scope.org != identity.org) {
            let message =
                "this reaches every organisation, and a token reaches one: do it on the machine that has the folder";
            return Err(Error::new(Code::Forbidden, message));
        }
        Ok(())
    }
}

/// Makes the data folder, which must be missing or hold nothing, from a backup. What is searched is built anew when it
/// is first used. Nothing can be taken for a store before all of the backup was read and checked.
pub fn restore_backup(folder: &Path, from: &mut dyn Read) -> Result<BackupSummary, OpenError> {
    let restored = RedbStore::restore_backup(folder, &RedbOptions::default(), &mut |folder| remove_index(folder), from);
    restored.map_err(|error| open_error(folder, error))
}

/// Projections of an earlier store of the same folder could pass for the restored one's.
fn remove_index(folder: &Path) -> Result<(), Storage> {
    match fs::remove_dir_all(folder.join(INDEX_FOLDER)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Storage::from_io(&error, "removing the old index")),
        _ => Ok(()),
    }
}

/// Reads a backup to its end; an error says what is wrong with it.
pub fn check_backup(from: &mut dyn Read) -> Result<BackupSummary, Error> {
    Ok(loom_storage::check_backup(from)?)
}

/// Why `folder` was not opened or made.
pub(crate) fn open_error(folder: &Path, error: Storage) -> OpenError {
    match error {
        Storage::Locked { folder, holder, note } => OpenError::Locked { folder, holder, address: note },
        error @ (Storage::Occupied { .. } | Storage::Transfer { .. } | Storage::Corrupt { what: "backup", .. }) => {
            OpenError::Other(error.into())
        }
        other @ (Storage::Conflict { .. }
        | Storage::RecordConflict { .. }
        | Storage::Format { .. }
        | Storage::Corrupt { .. }
        | Storage::BlobGone { .. }
        | Storage::Invalid(_)
        | Storage::Halted
        | Storage::Reopened
        | Storage::Busy
        | Storage::Unsettled { .. }
        | Storage::Backend { .. }) => {
            let message = format!("the data folder {} cannot be opened: {other}", folder.display());
            OpenError::Other(Error { message, ..Error::from(other) })
        }
    }
}
