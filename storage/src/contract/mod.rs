//! What every backend must do, as one suite of cases, and the means to compare two stores.
//!
//! A case panics with what it found. The cases know nothing of a backend but the traits.

mod batches;
mod blobs;
mod groups;
mod pages;
pub mod sample;
mod shared;
mod versions;
mod view;

use crate::store::Store;

pub use view::view;

/// A place for a store: each call opens what is there. The handle of the call before was dropped.
pub type Place = Box<dyn Fn() -> Box<dyn Store>>;

/// A case: a name and what must hold in a new place.
type Case = (&'static str, fn(&Place));

const CASES: &[&[Case]] = &[versions::CASES, shared::CASES, batches::CASES, pages::CASES, groups::CASES, blobs::CASES];

/// Runs every case, each in a place of its own that `fresh` makes, and verifies the store after it.
///
/// # Panics
///
/// When the backend breaks the contract; the last line printed before names the case.
pub fn check_store(fresh: &dyn Fn() -> Place) {
    for (name, case) in CASES.iter().copied().flatten() {
        eprintln!("contract: {name}");
        let place = fresh();
        case(&place);
        let mut faults = Vec::new();
        place().verify(true, &mut |fault| faults.push(fault)).expect("the store is verified");
        assert!(faults.is_empty(), "{name} leaves {faults:#?}");
    }
}
