//! Names of things in code, found verbatim and by their parts.

use std::collections::BTreeSet;

use loom::Engine;

use crate::harness::{Folder, add, search, uris};

const NAMES: [&str; 12] = [
    "atomic_write_json",
    "atomicWriteJson",
    "atomic-write.json",
    "1.0.21",
    "RS32",
    "1.0.2",
    "RS232",
    "orders_daily",
    "daily_orders",
    "pool.max-size",
    "userId",
    "HTTPServerError",
];

fn stored() -> (Folder, Engine) {
    let folder = Folder::new();
    let engine = folder.open();
    for name in NAMES {
        add(&engine, name, &format!("# Notes\n\nThis page is about {name} and how to use it."));
    }
    (folder, engine)
}

/// Case 14.
#[test]
fn a_name_finds_its_own_document_first() {
    let (_folder, engine) = stored();
    for name in NAMES {
        // Two names of the same words have one vector, so that by meaning alone they tie.
        let modes = if name.contains("daily") { &["lexical"][..] } else { &["lexical", "hybrid"] };
        for mode in modes {
            let found = search(&engine, mode, name, 12);
            assert_eq!(uris(&found).first(), Some(&name), "{mode} {name}: {:?}", uris(&found));
            let asked = search(&engine, mode, &format!("how do I use {name}?"), 12);
            assert_eq!(uris(&asked).first(), Some(&name), "{mode} asked for {name}: {:?}", uris(&asked));
        }
    }
}

#[test]
fn the_parts_of_a_name_find_every_spelling() {
    let (_folder, engine) = stored();
    let spellings: BTreeSet<&str> = ["atomic_write_json", "atomicWriteJson", "atomic-write.json"].into();
    for query in ["atomic write json", "write", "WRITE", "json atomic", "atomic_write", "writeJson"] {
        let found = search(&engine, "lexical", query, 12);
        let found: BTreeSet<&str> = uris(&found).into_iter().collect();
        assert!(found.is_superset(&spellings), "{query}: {found:?}");
    }
    for (query, name) in
        [("max size", "pool.max-size"), ("user id", "userId"), ("http server error", "HTTPServerError")]
    {
        assert_eq!(uris(&search(&engine, "lexical", query, 12)).first(), Some(&name), "{query}");
    }
}
