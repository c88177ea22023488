//! Two that want one folder.

use std::process::Stdio;
use std::time::{Duration, Instant};

use loom::{Config, Engine, OpenError};
use serde_json::json;

use crate::cli::Loom;
use crate::harness::{Folder, add, ok, search, uris};
use crate::server::Server;

/// Case 23.
#[test]
fn the_second_to_open_a_folder_is_told_who_holds_it() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "The kettle is on the stove.");
    let locked = || {
        let started = Instant::now();
        let opened = Engine::open(folder.path(), Config::default());
        assert!(started.elapsed() < Duration::from_secs(2), "it says so at once");
        let Some(OpenError::Locked { folder: named, holder, address }) = opened.err() else {
            panic!("the folder is in use")
        };
        assert_eq!(named, folder.path());
        assert!(holder.contains(&std::process::id().to_string()), "{holder}");
        address
    };
    assert_eq!(locked(), None);
    engine.announce("http://127.0.0.1:1").unwrap();
    assert_eq!(locked().as_deref(), Some("http://127.0.0.1:1"));
    add(&engine, "b", "The kettle boils.");
    assert_eq!(uris(&search(&engine, "lexical", "kettle stove", 1)), ["a"], "the first goes on unharmed");
    drop(engine);
    let engine = folder.open();
    assert_eq!(search(&engine, "hybrid", "kettle", 5).len(), 2);
}

#[test]
fn a_second_server_is_refused_and_commands_go_through_the_first() {
    let loom = Loom::new();
    let engine = Engine::open(&loom.data(), Config::default()).unwrap();
    add(&engine, "a", "The kettle is on the stove.");
    let started = Instant::now();
    let second = loom.run(["serve", "--listen", "127.0.0.1:0"]);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert_eq!(second.status, 1, "{second:?}");
    for named in [loom.data().display().to_string(), std::process::id().to_string()] {
        assert!(second.err.contains(&named), "{}", second.err);
    }
    let server = Server::start(engine.clone());
    engine.announce(&server.base).unwrap();
    let added = loom.run(["call", "knowledge.add", r#"{"source_uri":"b","content":"The kettle boils."}"#]);
    assert_eq!(added.status, 0, "{added:?}");
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "b" }))["found"], true, "it went through the server");
    let commands: Vec<_> = (0..4)
        .map(|_| loom.command().args(["search", "kettle", "--json"]).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    for command in commands {
        let ran = command.wait_with_output().unwrap();
        assert!(ran.status.success());
        let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    }
    drop(server);
    drop(engine);
    assert_eq!(loom.run(["list"]).status, 0, "the folder is free again");
}
