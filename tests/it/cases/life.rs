//! Deleting, restoring and writing again: what is live is found, and nothing else.

use serde_json::{Value, json};

use crate::harness::{Folder, add, ok, search, uris};

const MODES: [&str; 3] = ["lexical", "semantic", "hybrid"];

/// Case 20.
#[test]
fn each_step_of_a_documents_life_is_what_searches_find() {
    let folder = Folder::new();
    let mut engine = folder.open();
    let text = "# Lantern\n\nThe lantern burns whale oil.\n\n# Wick\n\nThe wick is cotton.";
    add(&engine, "neighbour", "# Compass\n\nThe compass points north.");
    let found = |engine: &loom::Engine, why: &str| {
        let counts = MODES.map(|mode| {
            let hits = search(engine, mode, "lantern whale oil wick cotton", 50);
            hits.iter().filter(|hit| hit["source_uri"] == "lantern").count()
        });
        assert!(counts.iter().all(|count| *count == counts[0]), "{why}: the legs agree: {counts:?}");
        counts[0]
    };
    for reopen in [false, true] {
        let step = |engine: &mut loom::Engine, op: &str, input: Value, live: usize| {
            ok(engine, op, input);
            assert_eq!(found(engine, op), live, "after {op}");
            if reopen {
                engine.close().unwrap();
                *engine = reopened(engine, &folder);
                assert_eq!(found(engine, op), live, "after {op} and a restart");
            }
        };
        let doc = json!({ "source_uri": "lantern", "content": text });
        let uri = json!({ "source_uri": "lantern" });
        step(&mut engine, "knowledge.add", doc.clone(), 2);
        step(&mut engine, "knowledge.delete", uri.clone(), 0);
        step(&mut engine, "knowledge.restore", uri.clone(), 2);
        step(&mut engine, "knowledge.restore", uri.clone(), 2);
        step(&mut engine, "knowledge.delete", uri.clone(), 0);
        step(&mut engine, "knowledge.add", doc.clone(), 2);
        step(&mut engine, "knowledge.add", doc.clone(), 2);
        step(
            &mut engine,
            "knowledge.update_metadata",
            json!({ "source_uri": "lantern", "title": "T", "reindex": true }),
            2,
        );
        step(&mut engine, "knowledge.bulk_delete", json!({ "source_uris": ["lantern", "absent", "lantern"] }), 0);
        step(&mut engine, "knowledge.delete", uri.clone(), 0);
        step(
            &mut engine,
            "knowledge.upsert",
            json!({ "source_uri": "lantern", "content": "# Lantern\n\nIt is out." }),
            1,
        );
        step(&mut engine, "knowledge.delete", uri, 0);
    }
}

/// Opens the folder anew in place of a closed engine.
fn reopened(closed: &mut loom::Engine, folder: &Folder) -> loom::Engine {
    let other = tempfile::tempdir().unwrap();
    // The closed engine must let go of the folder before it can be opened again.
    *closed = loom::Engine::open(other.path(), loom::Config::default()).unwrap();
    folder.open()
}

#[test]
fn the_same_text_elsewhere_outlives_a_delete() {
    let folder = Folder::new();
    let engine = folder.open();
    let text = "The sextant hangs behind the door.";
    for uri in ["a", "b"] {
        add(&engine, uri, text);
    }
    for (delete, live) in [("a", "b"), ("b", "a")] {
        ok(&engine, "knowledge.delete", json!({ "source_uri": delete }));
        for mode in MODES {
            assert_eq!(uris(&search(&engine, mode, "sextant behind the door", 5)), [live], "{mode}");
        }
        ok(&engine, "knowledge.restore", json!({ "source_uri": delete }));
        for mode in MODES {
            assert_eq!(search(&engine, mode, "sextant behind the door", 5).len(), 2, "{mode}");
        }
    }
}

#[test]
fn background_work_never_touches_what_is_live() {
    let folder = Folder::new();
    let engine = folder.open();
    // More chunks than are kept in memory, so that the background thread writes while documents come and go.
    for round in 0..22 {
        let entries: Vec<Value> = (0..500)
            .map(|n| json!({ "source_uri": format!("bulk/{n}"), "content": format!("Barrel {n} of round {round}.") }))
            .collect();
        ok(&engine, "knowledge.bulk_add", json!({ "entries": entries }));
        let uri = json!({ "source_uri": "bulk/7" });
        ok(&engine, "knowledge.delete", uri.clone());
        if round % 2 == 0 {
            ok(&engine, "knowledge.restore", uri);
        }
        let sought = format!("barrel 7 of round {round}");
        for mode in MODES {
            let hits = search(&engine, mode, &sought, 100);
            assert!(
                hits.iter().all(|hit| hit["content"].as_str().unwrap().contains(&format!("round {round}."))),
                "{mode}"
            );
            let seven = hits.iter().any(|hit| hit["source_uri"] == "bulk/7");
            if mode == "lexical" || round % 2 == 1 {
                assert_eq!(seven, round % 2 == 0, "{mode} round {round}");
            }
        }
    }
    let list = ok(&engine, "namespace.list", json!({}));
    assert_eq!(
        (&list["namespaces"][0]["documents"], &list["namespaces"][0]["versions"]),
        (&json!(499), &json!(11_000))
    );
}
