//! Many clients that use every operation at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loom::DoctorOptions;
use serde_json::{Value, json};

use crate::harness::{Folder, add, ok};
use crate::server::Server;

const CLIENTS: u64 = 64;

/// How long they go on: `LOOM_CROWD_SECONDS`, default 4.
fn duration() -> Duration {
    let seconds = std::env::var("LOOM_CROWD_SECONDS").ok().and_then(|given| given.parse().ok()).unwrap_or(4);
    Duration::from_secs(seconds)
}

/// The `nth` call of a client.
fn call(client: u64, nth: u64) -> (&'static str, Value) {
    let at = (client * 31 + nth * 17) % 97;
    let uri = format!("doc/{}", at % 13);
    let namespace = format!("n{}", at % 3);
    let mut input = match at % 20 {
        0..=3 => {
            return (
                "knowledge.search",
                json!({ "namespace": namespace, "query": "harbour master", "explain": at.is_multiple_of(2) }),
            );
        }
        4 | 5 => {
            return (
                "knowledge.upsert",
                json!({ "namespace": namespace, "source_uri": uri, "content": format!("# H {at}\n\nThe harbour {client} {nth}.") }),
            );
        }
        6 => ("knowledge.delete", json!({ "source_uri": uri })),
        7 => ("knowledge.restore", json!({ "source_uri": uri })),
        8 => ("knowledge.get", json!({ "source_uri": uri, "include_superseded": true })),
        9 => ("knowledge.list", json!({ "include_superseded": true, "limit": 5 })),
        10 => ("knowledge.history", json!({ "source_uri": uri })),
        11 => ("knowledge.outline", json!({ "source_uri": uri })),
        12 => (
            "knowledge.update_metadata",
            json!({ "source_uri": uri, "title": format!("T{nth}"), "reindex": at.is_multiple_of(3) }),
        ),
        13 => ("knowledge.inspect", json!({ "sample_limit": 2 })),
        14 => ("knowledge.dedup_list", json!({ "include_chunk_clusters": true })),
        15 => ("collection.create", json!({ "title": format!("c{}", at % 5), "derive_name": true })),
        16 => ("namespace.update", json!({ "title": format!("t{nth}") })),
        17 => (
            "knowledge.bulk_add",
            json!({ "entries": [{ "source_uri": uri, "content": "one" }, { "source_uri": "b", "content": "two" }] }),
        ),
        18 => ("knowledge.reads", json!({})),
        _ => ("namespace.list", json!({})),
    };
    input.1["namespace"] = namespace.into();
    input
}

#[test]
fn a_crowd_of_clients_is_answered_and_leaves_everything_in_order() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| {
        config.clock = loom::Clock::system();
        config.ids = loom::Ids::system();
    });
    for namespace in ["n0", "n1", "n2"] {
        ok(
            &engine,
            "knowledge.add",
            json!({ "namespace": namespace, "source_uri": "doc/0", "content": "The harbour." }),
        );
    }
    let server = Server::start(engine.clone());
    let (answered, turned_away) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = Instant::now() + duration();
    thread::scope(|threads| {
        for client in 0..CLIENTS {
            let (server, answered, turned_away) = (&server, &answered, &turned_away);
            threads.spawn(move || {
                for nth in 0.. {
                    if Instant::now() >= end {
                        return;
                    }
                    let (op, input) = call(client, nth);
                    let (status, answer) = server.post(op, &input);
                    match status {
                        200 | 404 | 409 => answered.fetch_add(1, Ordering::Relaxed),
                        503 if answer["error"]["code"] == "OVERLOADED" => turned_away.fetch_add(1, Ordering::Relaxed),
                        other => panic!("{op} {input}: {other} {answer}"),
                    };
                }
            });
        }
    });
    let (answered, turned_away) = (answered.into_inner(), turned_away.into_inner());
    assert!(answered > CLIENTS, "{answered} answered, {turned_away} turned away");
    server.stop();
    drop(engine);
    let engine = folder.open();
    let report = engine.doctor(DoctorOptions { deep: true, ..DoctorOptions::default() }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
    add(&engine, "after", "all is well");
    eprintln!("{answered} calls were answered, {turned_away} turned away");
}
