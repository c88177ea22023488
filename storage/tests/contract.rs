//! Both backends keep the contract.

use std::sync::Arc;

use loom_storage::contract::{Place, check_store};
use loom_storage::{MemoryStore, RedbOptions, RedbStore, Store};

#[test]
fn redb_keeps_the_contract() {
    check_store(&|| {
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let open = move || -> Box<dyn Store> {
            Box::new(RedbStore::open(folder.path(), &RedbOptions::default()).expect("it opens"))
        };
        Box::new(open) as Place
    });
}

#[test]
fn the_model_keeps_the_contract() {
    check_store(&|| {
        let store = MemoryStore::default();
        Box::new(move || -> Box<dyn Store> { Box::new(store.clone()) }) as Place
    });
}
