//! The projections of every namespace of a store, opened when first asked for.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loom_storage::{Hash, Scope, Snapshot};
use parking_lot::Mutex;

use crate::error::Error;
use crate::projection::{Model, Projection};

/// The projections of a store, in a folder that may be deleted whenever no process uses it.
pub struct Projections {
    folder: PathBuf,
    open: Mutex<HashMap<Scope, Slot>>,
}

/// A namespace's place: its lock is held while the projection opens, so that one caller opens and the others wait.
type Slot = Arc<Mutex<Option<Arc<Projection>>>>;

impl Projections {
    /// The projections kept in `folder`, which is created when it is missing.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|error| Error::from_io("projection", &error))?;
        Ok(Self { folder: folder.into(), open: Mutex::default() })
    }

    /// The projection of a namespace, opened at `snapshot` when it was not yet, and caught up with it.
    /// `model` is the model that serves the namespace at `snapshot`.
    pub fn namespace(&self, scope: &Scope, snapshot: &dyn Snapshot, model: &Model) -> Result<Arc<Projection>, Error> {
        let slot = Arc::clone(self.open.lock().entry(scope.clone()).or_default());
        let mut slot = slot.lock();
        let projection = if let Some(projection) = slot.as_ref() {
            Arc::clone(projection)
        } else {
            let folder = self.folder.join(file_name(&scope.to_string()));
            let projection = Arc::new(Projection::open(&folder, scope, snapshot, model)?);
            *slot = Some(Arc::clone(&projection));
            projection
        };
        drop(slot);
        projection.catch_up(snapshot)?;
        Ok(projection)
    }

    /// The projections that are open.
    pub fn opened(&self) -> Vec<Arc<Projection>> {
        let slots: Vec<Slot> = self.open.lock().values().cloned().collect();
        slots.iter().filter_map(|slot| slot.lock().clone()).collect()
    }

    /// Writes what has gathered in memory to disk; see [`Projection::flush`].
    pub fn flush(&self, all: bool) -> Result<(), Error> {
        self.opened().iter().try_for_each(|projection| projection.flush(all))
    }

    /// See [`Projection::tend_graph`].
    pub fn tend_graphs(&self, stop: &AtomicBool) -> Result<(), Error> {
        self.opened().iter().try_for_each(|projection| projection.tend_graph(stop))
    }

    /// Deletes the projection of a namespace, open or not, so that its next use builds it from storage.
    pub fn discard(&self, scope: &Scope) -> Result<(), Error> {
        let slot = Arc::clone(self.open.lock().entry(scope.clone()).or_default());
        let mut slot = slot.lock();
        *slot = None;
        match fs::remove_dir_all(self.folder.join(file_name(&scope.to_string()))) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::from_io("projection", &error)),
            _ => Ok(()),
        }
    }
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
