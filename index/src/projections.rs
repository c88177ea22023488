//! The projections of every namespace of a store, opened when first asked for.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use loom_storage::{Batch, Hash, Scope, Snapshot};
use parking_lot::Mutex;

use crate::error::Error;
use crate::prepared::{Announced, Announcement};
use crate::projection::{Model, Projection};

/// How long a namespace's place may be held before its projection counts as being opened.
const OPENING_AFTER: Duration = Duration::from_millis(20);

/// The projections of a store, in a folder that may be deleted whenever no process uses it.
pub struct Projections {
    folder: PathBuf,
    open: Mutex<HashMap<Scope, Slot>>,
    announced: Arc<Announced>,
}

/// A namespace's place: its lock is held while the projection opens, so that one caller opens and the others wait.
type Slot = Arc<Mutex<Option<Arc<Projection>>>>;

impl Projections {
    /// The projections kept in `folder`, which is created when it is missing.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|error| Error::from_io("projection", &error))?;
        Ok(Self { folder: folder.into(), open: Mutex::default(), announced: Arc::default() })
    }

    /// The projection of a namespace, opened at `snapshot` when it was not yet, and caught up with it; built anew when
    /// it cannot catch up. `model` is the model that serves the namespace at `snapshot`.
    pub fn namespace(&self, scope: &Scope, snapshot: &dyn Snapshot, model: &Model) -> Result<Arc<Projection>, Error> {
        let projection = self.open_one(scope, snapshot, model)?;
        match projection.catch_up(snapshot) {
            Err(Error::Rebuild { detail, .. }) => {
                tracing::warn!(%scope, detail, "rebuilding the projections");
                self.discard_if(scope, |open| Arc::ptr_eq(open, &projection))?;
                self.open_one(scope, snapshot, model)
            }
            caught_up => caught_up.map(|()| projection),
        }
    }

    /// Prepares what the versions of a batch add, so that its commit is followed quickly. To be held until it is.
    pub fn announce(&self, batch: &Batch) -> Announcement {
        self.announced.announce(batch)
    }

    fn open_one(&self, scope: &Scope, snapshot: &dyn Snapshot, model: &Model) -> Result<Arc<Projection>, Error> {
        let slot = Arc::clone(self.open.lock().entry(scope.clone()).or_default());
        let mut slot = slot.lock();
        if let Some(projection) = slot.as_ref() {
            return Ok(Arc::clone(projection));
        }
        let announced = Arc::clone(&self.announced);
        let projection = Arc::new(Projection::open(&self.folder_of(scope), scope, snapshot, model, announced)?);
        Ok(Arc::clone(slot.insert(projection)))
    }

    fn folder_of(&self, scope: &Scope) -> PathBuf {
        self.folder.join(file_name(&scope.to_string()))
    }

    /// The projections that are open, and the namespaces whose projection is being opened at this moment.
    pub fn opened(&self) -> (Vec<Arc<Projection>>, Vec<Scope>) {
        let slots: Vec<(Scope, Slot)> =
            self.open.lock().iter().map(|(scope, slot)| (scope.clone(), Arc::clone(slot))).collect();
        let (mut opened, mut opening) = (Vec::new(), Vec::new());
        for (scope, slot) in slots {
            match slot.try_lock_for(OPENING_AFTER) {
                Some(slot) => opened.extend(slot.clone()),
                None => opening.push(scope),
            }
        }
        (opened, opening)
    }

    /// Writes what has gathered in memory to disk, of each namespace whatever becomes of the others; see
    /// [`Projection::flush`]. The first error is returned.
    pub fn flush(&self, all: bool) -> Result<(), Error> {
        first_error(self.opened().0.iter().map(|projection| projection.flush(all)))
    }

    /// Tends the graph of each open projection, whatever becomes of the others; see [`Projection::tend_graph`]. The
    /// first error is returned.
    pub fn tend_graphs(&self, stop: &AtomicBool) -> Result<(), Error> {
        first_error(self.opened().0.iter().map(|projection| projection.tend_graph(stop)))
    }

    /// Deletes the projection of a namespace, open or not, so that its next use builds it from storage.
    pub fn discard(&self, scope: &Scope) -> Result<(), Error> {
        self.discard_if(scope, |_| true)
    }

    fn discard_if(&self, scope: &Scope, decide: impl FnOnce(&Arc<Projection>) -> bool) -> Result<(), Error> {
        let slot = Arc::clone(self.open.lock().entry(scope.clone()).or_default());
        let mut slot = slot.lock();
        if slot.as_ref().is_some_and(|open| !decide(open)) {
            return Ok(());
        }
        if let Some(open) = slot.take() {
            // Whoever still holds it must not write into the folder of its successor.
            open.leave_files();
        }
        match fs::remove_dir_all(self.folder_of(scope)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::from_io("projection", &error)),
            _ => Ok(()),
        }
    }
}

fn first_error(results: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    results.fold(Ok(()), Result::and)
}

/// A file name for any text: readable, the same on every file system, and unique by a part of its hash.
pub(crate) fn file_name(text: &str) -> String {
    let readable: String = text
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' })
        .collect();
    format!("{readable}-{}", &Hash::of(text.as_bytes()).hex()[..12])
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn file_names_are_safe_and_tell_apart_what_differs_in_case_only() {
        let names: Vec<String> =
            ["dev/Local", "dev/local", "dev/..", "dev_/.", ""].iter().map(|text| file_name(text)).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_'),
                "{name}"
            );
            assert!(!names[..i].contains(name), "{name}");
        }
    }
}
