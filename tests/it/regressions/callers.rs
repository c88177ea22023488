//! Callers whose threads are not Loom's.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use serde_json::json;

use crate::harness::{Folder, ok};

/// Every thread of the process's rayon pool once waited for an index whose opener waited for that pool.
#[test]
fn tasks_of_the_callers_own_pool_may_all_wait_for_an_index() {
    let folder = Folder::new();
    let engine = folder.open();
    // So many that opening takes longer than it takes the pool's threads to wait for it.
    for part in 0..6 {
        let entries: Vec<_> = (part * 500..(part + 1) * 500)
            .map(|number| json!({ "source_uri": format!("doc/{number}"), "content": format!("The pump {number} runs.") }))
            .collect();
        ok(&engine, "knowledge.bulk_add", json!({ "entries": entries }));
    }
    engine.close().expect("it is closed");
    drop(engine);
    let engine = folder.open();
    let (done, answered) = mpsc::channel();
    let calls = thread::spawn(move || {
        let found: usize = (0..64_u32)
            .into_par_iter()
            .map(|number| {
                let input = json!({ "query": format!("pump {number}"), "namespace_scope": "this" });
                ok(&engine, "knowledge.search", input)["results"].as_array().expect("results").len()
            })
            .sum();
        done.send(found).expect("somebody waits for it");
    });
    let found = answered.recv_timeout(Duration::from_secs(100)).expect("the calls are answered");
    calls.join().expect("no panic");
    assert_eq!(found, 64 * 5);
}
