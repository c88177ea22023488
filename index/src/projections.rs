//! The projections of every namespace of a store: opened when first asked for, closed when others need the room.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loom_storage::{Batch, Hash, Scope, Snapshot};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::error::Error;
use crate::places::{Bounds, Build, Counts, Place, Places};
use crate::prepared::{Announced, Announcement};
use crate::projection::{Model, Projection};

/// How long a build may take before its namespace counts as lagging.
const LAGGING_AFTER: Duration = Duration::from_secs(1);

/// How many changes a projection may be closed with unwritten: they are followed again in less time than files are synced.
const UNWRITTEN_MAX: usize = 64;

/// The projections of a store, in a folder that may be deleted whenever no process uses it.
///
/// A projection is opened and built in a thread of its own, once however many ask for it, and goes on when they no
/// longer wait. One that nobody holds is written out, if there is enough to write, and closed when it was not used for a while, or when others
/// need its room.
pub struct Projections(Arc<Shared>);

/// What the threads that build share with the callers.
struct Shared {
    folder: PathBuf,
    bounds: Bounds,
    announced: Arc<Announced>,
    stop: Arc<AtomicBool>,
    places: Mutex<Places>,
    /// Told whenever a place changes.
    changed: Condvar,
}

/// What a projection is opened with: the store at one moment, and the model that serves the namespace then.
pub struct Source {
    /// The store.
    pub snapshot: Box<dyn Snapshot>,
    /// The model.
    pub model: Model,
}

impl Projections {
    /// The projections kept in `folder`, which is created when it is missing.
    pub fn open(folder: &Path, bounds: Bounds) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|error| Error::from_io("projection", &error))?;
        Ok(Self(Arc::new(Shared {
            folder: folder.into(),
            bounds,
            announced: Arc::default(),
            stop: Arc::default(),
            places: Mutex::default(),
            changed: Condvar::new(),
        })))
    }

    /// The projection of a namespace, caught up with `snapshot`; built anew when it cannot catch up.
    ///
    /// One that is not open is opened from what `source` gives, which waits until `until` at most: then
    /// [`Error::Unready`], and the building goes on. One that is open and has more to follow than it does until then is
    /// [`Error::Behind`]. [`Error::Stopped`] once the projections are closed.
    pub fn namespace<E: From<Error>>(
        &self,
        scope: &Scope,
        snapshot: &dyn Snapshot,
        until: Instant,
        source: impl Fn() -> Result<Source, E>,
    ) -> Result<Arc<Projection>, E> {
        let projection = self.open_one(scope, until, &source)?;
        match projection.catch_up(snapshot, until) {
            Err(Error::Rebuild { detail, .. }) => {
                tracing::warn!(%scope, detail, "rebuilding the projections");
                self.replace(&projection)?;
                drop(projection);
                let projection = self.open_one(scope, until, &source)?;
                projection.catch_up(snapshot, until)?;
                Ok(projection)
            }
            caught_up => Ok(caught_up.map(|()| projection)?),
        }
    }

    /// Prepares what the versions of a batch add, so that its commit is followed quickly. To be held until it is.
    pub fn announce(&self, batch: &Batch) -> Announcement {
        self.0.announced.announce(batch)
    }

    fn open_one<E: From<Error>>(
        &self,
        scope: &Scope,
        until: Instant,
        source: &impl Fn() -> Result<Source, E>,
    ) -> Result<Arc<Projection>, E> {
        loop {
            if let Some(projection) = self.0.await_open(scope, until)? {
                return Ok(projection);
            }
            let Source { snapshot, model } = source()?;
            let chunks = snapshot.namespace(scope).map_err(Error::from)?.map_or(0, |row| row.chunks);
            self.0.start(scope, chunks, until, snapshot, model)?;
        }
    }

    /// Shows `visit` each open projection, one after the other, which does not count as using it.
    pub fn each_open(&self, mut visit: impl FnMut(&Projection)) {
        let scopes = self.0.places.lock().open_scopes();
        for scope in scopes {
            // Held no longer than it is looked at: what is held cannot be closed.
            let projection = self.0.places.lock().peek(&scope).map(Arc::clone);
            if let Some(projection) = projection {
                visit(&projection);
            }
        }
    }

    /// The namespaces that have been in the making for longer than opening takes.
    pub fn lagging(&self) -> Vec<Scope> {
        let places = self.0.places.lock();
        let lagging = places.builds().filter(|(_, build)| build.since.elapsed() >= LAGGING_AFTER);
        lagging.map(|(scope, _)| scope.clone()).collect()
    }

    /// How many are open, and what became of the others.
    pub fn counts(&self) -> Counts {
        self.0.places.lock().counts()
    }

    /// Writes what has gathered in memory to disk, of each namespace whatever becomes of the others; see
    /// [`Projection::flush`]. The first error is returned.
    pub fn flush(&self, all: bool) -> Result<(), Error> {
        let mut outcome = Ok(());
        self.each_open(|projection| outcome = std::mem::replace(&mut outcome, Ok(())).and(projection.flush(all)));
        outcome
    }

    /// Tends the graph of each open projection, whatever becomes of the others; see [`Projection::tend_graph`]. The
    /// first error is returned.
    pub fn tend_graphs(&self, stop: &AtomicBool) -> Result<(), Error> {
        let mut outcome = Ok(());
        self.each_open(|projection| outcome = std::mem::replace(&mut outcome, Ok(())).and(projection.tend_graph(stop)));
        outcome
    }

    /// Closes the projections that were not used for the idle time at `now`, and those beyond the other bounds.
    pub fn close_unused(&self, now: Instant) {
        self.0.make_room();
        loop {
            let places = self.0.places.lock();
            let Some(scope) = places.idle(now, self.0.bounds.idle) else { return };
            self.0.shut(places, &scope);
        }
    }

    /// Opens nothing any more, gives up what is being built, and writes everything to disk. The first error is returned;
    /// nothing is lost then.
    pub fn close(&self) -> Result<(), Error> {
        self.0.stop.store(true, Ordering::Release);
        let mut places = self.0.places.lock();
        self.0.changed.notify_all();
        while places.builds().next().is_some() {
            self.0.changed.wait(&mut places);
        }
        drop(places);
        self.flush(true)
    }

    /// Deletes the projection of a namespace, open or not, so that its next use builds it from storage.
    pub fn discard(&self, scope: &Scope) -> Result<(), Error> {
        self.0.discard_if(scope, None)
    }

    /// As [`Projections::discard`], unless another has taken the place of `projection`.
    pub fn replace(&self, projection: &Arc<Projection>) -> Result<(), Error> {
        self.0.discard_if(projection.scope(), Some(projection))
    }
}

impl Shared {
    fn folder_of(&self, scope: &Scope) -> PathBuf {
        self.folder.join(file_name(&scope.to_string()))
    }

    /// Waits until the projection of a namespace is open, or has no place and this caller may open it (`None`).
    fn await_open(&self, scope: &Scope, until: Instant) -> Result<Option<Arc<Projection>>, Error> {
        let mut places = self.places.lock();
        loop {
            if let Some(projection) = places.used(scope) {
                return Ok(Some(projection));
            }
            let build = match places.get(scope) {
                Some(Place::Building(build)) => Some(Arc::clone(build)),
                Some(Place::Open(_) | Place::Leaving) => None,
                None => return Ok(None),
            };
            let in_time = self.wait(&mut places, until);
            match build.as_ref().and_then(|build| build.outcome.get()) {
                Some(Ok(projection)) => return Ok(Some(Arc::clone(projection))),
                Some(Err(error)) => return Err(Error::Build(Arc::clone(error))),
                None => in_time.map_err(|()| unready(&mut places, build.as_deref()))?,
            }
        }
    }

    /// Waits for a change of the places; an error when it is too late for any.
    fn wait(&self, places: &mut MutexGuard<'_, Places>, until: Instant) -> Result<(), ()> {
        if self.changed.wait_until(places, until).timed_out() { Err(()) } else { Ok(()) }
    }

    /// Begins to build the projection of a namespace once it is its turn, unless another caller has begun.
    fn start(
        self: &Arc<Self>,
        scope: &Scope,
        chunks: u64,
        until: Instant,
        snapshot: Box<dyn Snapshot>,
        model: Model,
    ) -> Result<(), Error> {
        let mut places = self.places.lock();
        loop {
            if self.stop.load(Ordering::Acquire) {
                return Err(Error::Stopped);
            }
            if places.get(scope).is_some() {
                return Ok(());
            }
            if places.admits(chunks, self.bounds.builds_max) {
                break;
            }
            self.wait(&mut places, until).map_err(|()| unready(&mut places, None))?;
        }
        let build = places.begin(scope, chunks, Arc::clone(&self.stop));
        drop(places);
        let (shared, place) = (Arc::clone(self), scope.clone());
        let span = tracing::Span::current();
        let run = move || span.in_scope(|| shared.build(&place, build, snapshot, &model));
        let spawned = thread::Builder::new().name("loom-open".into()).spawn(run);
        spawned.map(drop).map_err(|error| {
            self.places.lock().free(scope);
            self.changed.notify_all();
            Error::from_io("projection", &error)
        })
    }

    /// Opens or builds a projection, and says how that ended.
    fn build(&self, scope: &Scope, build: Arc<Build>, snapshot: Box<dyn Snapshot>, model: &Model) {
        let folder = self.folder_of(scope);
        let opened = catch_unwind(AssertUnwindSafe(|| {
            self.make_room();
            let announced = Arc::clone(&self.announced);
            Projection::open(&folder, scope, snapshot.as_ref(), model, announced, &build.progress)
        }));
        drop(snapshot);
        let opened = opened.unwrap_or_else(|_| {
            let message = "building it panicked; standard error has the message".into();
            Err(Error::Backend { what: "projection", message, disk_full: false })
        });
        let mut places = self.places.lock();
        if build.discarded.load(Ordering::Acquire) {
            places.leave(scope);
            drop(places);
            drop(opened);
            if let Err(error) = remove_folder(&folder) {
                tracing::error!(%scope, %error, "a projection could not be deleted");
            }
            places = self.places.lock();
            places.free(scope);
        } else {
            let outcome = match opened {
                Ok(projection) => {
                    let projection = Arc::new(projection);
                    places.open(scope, Arc::clone(&projection));
                    Ok(projection)
                }
                Err(error) => {
                    places.free(scope);
                    Err(Arc::new(error))
                }
            };
            // The place was this build's until now, and nobody else sets its outcome.
            build.outcome.get_or_init(|| outcome);
        }
        // Before anyone looks, so that the outcome is held by those who wait for it alone.
        drop(build);
        drop(places);
        self.changed.notify_all();
    }

    /// Closes projections that nobody uses until the bounds hold, or all that are left are in use.
    fn make_room(&self) {
        loop {
            let mut places = self.places.lock();
            let Some(scope) = places.surplus(&self.bounds) else { return };
            self.shut(places, &scope);
        }
    }

    /// Writes out and closes a projection that nobody holds.
    fn shut(&self, mut places: MutexGuard<'_, Places>, scope: &Scope) {
        let projection = places.leave(scope);
        drop(places);
        let _leaving = Leaving { shared: self, scope };
        let Some(projection) = projection else { return };
        if projection.totals().unsaved > UNWRITTEN_MAX
            && let Err(error) = projection.flush(true)
        {
            // It is caught up from storage when it is opened again, which takes longer.
            tracing::warn!(%scope, %error, "a projection was closed and could not be written");
        }
        drop(projection);
        self.places.lock().closed_total += 1;
    }

    fn discard_if(&self, scope: &Scope, only: Option<&Arc<Projection>>) -> Result<(), Error> {
        let mut places = self.places.lock();
        loop {
            match places.get(scope) {
                Some(Place::Open(open)) if only.is_some_and(|only| !Arc::ptr_eq(only, &open.projection)) => {
                    return Ok(());
                }
                Some(Place::Building(build)) => {
                    build.discarded.fetch_or(only.is_none(), Ordering::AcqRel);
                    return Ok(());
                }
                // Ends by itself.
                Some(Place::Leaving) => self.changed.wait(&mut places),
                Some(Place::Open(_)) | None => break,
            }
        }
        let open = places.leave(scope);
        drop(places);
        let _leaving = Leaving { shared: self, scope };
        if let Some(open) = open {
            // Whoever still holds it must not write into the folder of its successor.
            open.leave_files();
        }
        remove_folder(&self.folder_of(scope))
    }
}

/// A place that is being left, which is free once this is dropped.
struct Leaving<'s> {
    shared: &'s Shared,
    scope: &'s Scope,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.shared.places.lock().free(self.scope);
        self.shared.changed.notify_all();
    }
}

fn unready(places: &mut Places, build: Option<&Build>) -> Error {
    places.unready_total += 1;
    Error::Unready { percent: build.map_or(0, |build| build.progress.percent()) }
}

fn remove_folder(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::from_io("projection", &error)),
        _ => Ok(()),
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
