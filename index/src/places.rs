//! The places of the namespaces among the open projections: what each is doing, and which one has to go.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use loom_storage::Scope;

use crate::error::Error;
use crate::progress::Progress;
use crate::projection::Projection;

/// From how many live chunks on a namespace is large: building it may take seconds.
const LARGE_CHUNKS: u64 = 10_000;

/// What the open projections of a store may take together. A projection in use is never closed, so that while more of
/// them are in use at once the bounds are passed.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many are open; the least recently used is closed before a further one is opened. At least 1. Default 64.
    pub open_max: usize,
    /// About how many bytes of memory they hold; the least recently used are closed first, and the last used one
    /// stays however large it is. Default 1 GiB.
    pub bytes_max: u64,
    /// How long one stays open without use. Default five minutes.
    pub idle: Duration,
    /// How many are opened or built at once, large namespaces at most half of them. At least 1. Default 4.
    pub builds_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { open_max: 64, bytes_max: 1 << 30, idle: Duration::from_mins(5), builds_max: 4 }
    }
}

/// How many projections are open, and what became of the others since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Open ones, those included that are being closed.
    pub open: usize,
    /// Those being opened or built.
    pub building: usize,
    /// About how many bytes of memory the open ones hold.
    pub bytes: u64,
    /// How often one was opened or built.
    pub opened_total: u64,
    /// How often one was closed for not being used.
    pub closed_total: u64,
    /// How often a caller was told to come back because one was not open yet.
    pub unready_total: u64,
}

/// A projection on its way to being open, in a thread of its own.
pub(crate) struct Build {
    pub(crate) progress: Progress,
    pub(crate) since: Instant,
    pub(crate) is_large: bool,
    /// Whether what is built is to be deleted, and built again from what storage holds then.
    pub(crate) discarded: AtomicBool,
    /// What it came to. Those who waited take the projection from here, so that it is in use until the last of them
    /// has it.
    pub(crate) outcome: OnceLock<Result<Arc<Projection>, Arc<Error>>>,
}

/// An open projection.
pub(crate) struct Open {
    pub(crate) projection: Arc<Projection>,
    /// When it was last asked for, and in which place among all the askings.
    used: Instant,
    turn: u64,
    /// What it held when that could last be seen.
    bytes: u64,
}

impl Open {
    /// Whether nobody holds it and nothing is lost when it is closed.
    ///
    /// A reference is made of another that is in use, or under the lock of the places: the only one stays the only one.
    fn is_free(&self) -> bool {
        Arc::strong_count(&self.projection) == 1 && !self.projection.is_between_models()
    }
}

/// What a namespace's projection is doing; a namespace without a place has none open.
pub(crate) enum Place {
    Open(Open),
    Building(Arc<Build>),
    /// It is being written out and closed, or its files are being deleted: until that is done nobody opens it.
    Leaving,
}

/// Every place.
#[derive(Default)]
pub(crate) struct Places {
    by_scope: HashMap<Scope, Place>,
    turns: u64,
    opened_total: u64,
    pub(crate) closed_total: u64,
    pub(crate) unready_total: u64,
}

impl Places {
    /// The place of a namespace.
    pub(crate) fn get(&self, scope: &Scope) -> Option<&Place> {
        self.by_scope.get(scope)
    }

    /// The namespaces whose projection is open.
    pub(crate) fn open_scopes(&self) -> Vec<Scope> {
        let open = self.by_scope.iter().filter(|(_, place)| matches!(place, Place::Open(_)));
        open.map(|(scope, _)| scope.clone()).collect()
    }

    /// The builds under way.
    pub(crate) fn builds(&self) -> impl Iterator<Item = (&Scope, &Arc<Build>)> {
        self.by_scope.iter().filter_map(|(scope, place)| match place {
            Place::Building(build) => Some((scope, build)),
            Place::Open(_) | Place::Leaving => None,
        })
    }

    /// The open projection of a namespace, which this does not count as using.
    pub(crate) fn peek(&self, scope: &Scope) -> Option<&Arc<Projection>> {
        match self.by_scope.get(scope) {
            Some(Place::Open(open)) => Some(&open.projection),
            Some(Place::Building(_) | Place::Leaving) | None => None,
        }
    }

    /// The open projection of a namespace, used now.
    pub(crate) fn used(&mut self, scope: &Scope) -> Option<Arc<Projection>> {
        let Some(Place::Open(open)) = self.by_scope.get_mut(scope) else { return None };
        self.turns += 1;
        (open.used, open.turn) = (Instant::now(), self.turns);
        Some(Arc::clone(&open.projection))
    }

    /// Whether one more may be built at once.
    pub(crate) fn admits(&self, chunks: u64, builds_max: usize) -> bool {
        let running = self.builds().count();
        let large = self.builds().filter(|(_, build)| build.is_large).count();
        running < builds_max.max(1) && (!is_large(chunks) || large < (builds_max / 2).max(1))
    }

    /// Takes the place of a namespace that has none.
    pub(crate) fn begin(&mut self, scope: &Scope, chunks: u64, stop: Arc<AtomicBool>) -> Arc<Build> {
        let build = Arc::new(Build {
            // The lexical and the vector index each take in every chunk.
            progress: Progress::new(2 * chunks, stop),
            since: Instant::now(),
            is_large: is_large(chunks),
            discarded: AtomicBool::new(false),
            outcome: OnceLock::new(),
        });
        self.turns += 1;
        self.by_scope.insert(scope.clone(), Place::Building(Arc::clone(&build)));
        build
    }

    /// Opens the place of a namespace, used now.
    pub(crate) fn open(&mut self, scope: &Scope, projection: Arc<Projection>) {
        self.turns += 1;
        self.opened_total += 1;
        let bytes = projection.held_bytes().unwrap_or_default();
        let open = Open { projection, used: Instant::now(), turn: self.turns, bytes };
        self.by_scope.insert(scope.clone(), Place::Open(open));
    }

    /// Marks the place of a namespace as being left; what was open there.
    pub(crate) fn leave(&mut self, scope: &Scope) -> Option<Arc<Projection>> {
        match self.by_scope.insert(scope.clone(), Place::Leaving) {
            Some(Place::Open(open)) => Some(open.projection),
            Some(Place::Building(_) | Place::Leaving) | None => None,
        }
    }

    /// Gives up the place of a namespace.
    pub(crate) fn free(&mut self, scope: &Scope) {
        self.by_scope.remove(scope);
    }

    /// The namespace to close next for the bounds to hold, the least recently used of the free ones.
    pub(crate) fn surplus(&mut self, bounds: &Bounds) -> Option<Scope> {
        let open = self.by_scope.values().filter(|place| !matches!(place, Place::Leaving)).count();
        let over = open > bounds.open_max.max(1) || self.bytes() > bounds.bytes_max;
        let free = self.opened().filter(|(_, open)| over && open.turn < self.turns && open.is_free());
        free.min_by_key(|(_, open)| open.turn).map(|(scope, _)| scope.clone())
    }

    /// A namespace that was not used for `idle` at `now` and that is free.
    pub(crate) fn idle(&self, now: Instant, idle: Duration) -> Option<Scope> {
        let unused = |open: &Open| now.saturating_duration_since(open.used) >= idle;
        self.opened().find(|(_, open)| unused(open) && open.is_free()).map(|(scope, _)| scope.clone())
    }

    /// The counts.
    pub(crate) fn counts(&mut self) -> Counts {
        let building = self.builds().count();
        Counts {
            open: self.by_scope.len() - building,
            building,
            bytes: self.bytes(),
            opened_total: self.opened_total,
            closed_total: self.closed_total,
            unready_total: self.unready_total,
        }
    }

    fn opened(&self) -> impl Iterator<Item = (&Scope, &Open)> {
        self.by_scope.iter().filter_map(|(scope, place)| match place {
            Place::Open(open) => Some((scope, open)),
            Place::Building(_) | Place::Leaving => None,
        })
    }

    fn bytes(&mut self) -> u64 {
        let mut bytes = 0;
        for place in self.by_scope.values_mut() {
            if let Place::Open(open) = place {
                open.bytes = open.projection.held_bytes().unwrap_or(open.bytes);
                bytes += open.bytes;
            }
        }
        bytes
    }
}

fn is_large(chunks: u64) -> bool {
    chunks >= LARGE_CHUNKS
}
