//! One namespace that hangs, and everyone else; calls that take too long; a server that is told to stop meanwhile.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use loom::{Code, Config, Engine};
use serde_json::{Value, json};

use super::models::endpoint::{Endpoint, HELD};
use crate::cli::{Loom, Serving};
use crate::harness::{Folder, add, call, hits, ok, refused, search, uris};
use crate::server::Server;

/// Longer than any test that passes.
const LONG_MS: u64 = 600_000;

/// An engine whose model is served by an endpoint that the test can hold, with a document that can be found.
fn hanging(folder: &Folder, endpoint: &Endpoint, set: impl FnOnce(&mut Config)) -> Engine {
    let engine = folder.open_with(|config| {
        config.embedding.model = "openai:fake".into();
        config.embedding.base_url.clone_from(&endpoint.base);
        config.embedding.timeout_ms = LONG_MS;
        set(config);
    });
    add(&engine, "a", "The rocking horse.");
    engine
}

fn query(namespace: &str, query: &str) -> Value {
    json!({ "namespace": namespace, "namespace_scope": "this", "query": query })
}

#[test]
fn a_namespace_that_hangs_leaves_workers_for_the_others() {
    const WORKERS: usize = 4;
    let (folder, endpoint) = (Folder::new(), Endpoint::start(48));
    let engine = hanging(&folder, &endpoint, |config| {
        config.http.workers = WORKERS;
        config.http.queue_wait_ms = LONG_MS;
    });
    ok(&engine, "knowledge.add", json!({ "namespace": "hung", "source_uri": "b", "content": "The piano." }));
    let server = Server::start(engine);
    endpoint.hold();
    thread::scope(|scope| {
        let calls: Vec<_> =
            (0..2 * WORKERS).map(|_| scope.spawn(|| server.post("knowledge.search", &query("hung", HELD)))).collect();
        endpoint.until_waiting(WORKERS * 3 / 4);
        for mode in ["lexical", "hybrid"] {
            let mut input = query("local", "rocking horse");
            input["search_mode"] = json!(mode);
            let (status, answer) = server.post("knowledge.search", &input);
            assert_eq!((status, uris(&hits(&answer))), (200, vec!["a"]), "{answer}");
        }
        let (_, metrics) = server.get("/metrics");
        assert!(metrics.lines().any(|line| line == "loom_http_workers_busy 3"), "{metrics}");
        endpoint.release();
        for call in calls {
            let (status, answer) = call.join().unwrap();
            assert_eq!(status, 200, "{answer}");
        }
    });
}

/// The folder of the only namespace's index.
fn index_folder(folder: &Path) -> std::path::PathBuf {
    let mut folders = fs::read_dir(folder.join("index")).unwrap();
    folders.next().expect("the index of the namespace").unwrap().path()
}

#[cfg(unix)]
#[test]
fn a_namespace_whose_index_is_built_says_so_and_the_others_answer() {
    let folder = Folder::new();
    add(&folder.open(), "a", "The rocking horse.");
    // Building waits at the file that says whose the index is, until something is written into it.
    let pipe = index_folder(folder.path()).join("namespace.txt");
    fs::remove_file(&pipe).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let server = Server::start(folder.open_with(|config| config.http.index_wait_ms = 0));
    for _ in 0..2 {
        let (status, answer) = server.post("knowledge.search", &query("local", "horse"));
        assert_eq!((status, &answer["error"]["code"]), (503, &json!("OVERLOADED")), "{answer}");
        assert!(answer["error"]["retry_after_s"].as_u64().is_some_and(|seconds| seconds > 0), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("index is being rebuilt"), "{answer}");
    }
    // A write is durable without it, and is not refused for it.
    let piano = json!({ "source_uri": "b", "content": "The piano." });
    assert_eq!(server.post("knowledge.add", &piano).0, 200);
    let elsewhere = json!({ "namespace": "other", "source_uri": "c", "content": "The drum." });
    assert_eq!(server.post("knowledge.add", &elsewhere).0, 200);
    // A search of all of the caller's namespaces leaves it out and says so; one that names it is refused.
    let everywhere = json!({ "namespace": "other", "query": "drum" });
    let (status, answer) = server.post("knowledge.search", &everywhere);
    assert_eq!((status, &answer["namespaces_skipped"]), (200, &json!(["local"])), "{answer}");
    assert_eq!(uris(&hits(&answer)), ["c"]);
    let named = json!({ "namespace": "other", "namespaces": ["local"], "query": "drum" });
    assert_eq!(server.post("knowledge.search", &named).0, 503);
    fs::write(&pipe, "nobody's").unwrap();
    let answer = loop {
        match server.post("knowledge.search", &query("local", "piano")) {
            (200, answer) => break answer,
            (status, answer) => assert_eq!((status, &answer["error"]["code"]), (503, &json!("OVERLOADED"))),
        }
    };
    assert_eq!(uris(&hits(&answer))[0], "b", "the write is found by the first search that is answered");
}

#[test]
fn a_call_past_its_deadline_is_refused_and_writes_nothing() {
    let (folder, endpoint) = (Folder::new(), Endpoint::start(48));
    drop(hanging(&folder, &endpoint, |_| {}));
    endpoint.hold();
    let engine = folder.open_with(|config| {
        config.embedding.model = "openai:fake".into();
        config.embedding.base_url.clone_from(&endpoint.base);
        config.deadlines.read_ms = 1;
        config.deadlines.write_ms = 1;
    });
    for (op, input) in [
        ("knowledge.search", query("local", HELD)),
        ("knowledge.add", json!({ "source_uri": "b", "content": format!("The {HELD}.") })),
    ] {
        let error = refused(&engine, op, input);
        assert!(matches!(error.code, Code::Overloaded | Code::ProviderUnavailable), "{op}: {error}");
    }
    assert_eq!(ok(&engine, "namespace.list", json!({}))["namespaces"][0]["versions"], 1);
    endpoint.release();
}

#[test]
fn closing_does_not_wait_for_a_provider() {
    let (folder, endpoint) = (Folder::new(), Endpoint::start(48));
    let engine = hanging(&folder, &endpoint, |_| {});
    endpoint.hold();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&engine, "knowledge.search", query("local", HELD)));
        endpoint.until_waiting(1);
        engine.close().unwrap();
        let error = waiting.join().unwrap().expect_err("it is not answered");
        assert_eq!(error.code, Code::Overloaded, "{error}");
    });
    drop(engine);
    let engine = folder.open();
    assert_eq!(uris(&search(&engine, "lexical", "horse", 1)), ["a"], "the folder is free, and nothing is lost");
    endpoint.release();
}

#[cfg(unix)]
#[test]
fn a_server_that_is_told_to_stop_answers_what_it_began_and_frees_the_folder() {
    let (loom, endpoint) = (Loom::new(), Endpoint::start(48));
    let mut command = loom.command();
    command.env("LOOM_EMBEDDING_MODEL", "openai:fake").env("LOOM_EMBEDDING_BASE_URL", &endpoint.base);
    let mut serving = Serving::start(command.env("LOOM_HTTP_DRAIN_MS", LONG_MS.to_string()));
    let post = |input: &Value| {
        let url = format!("{}/v1/knowledge.add", serving.base);
        ureq::post(&url).send_json(input).map(|mut answer| answer.body_mut().read_json::<Value>().unwrap())
    };
    endpoint.hold();
    thread::scope(|scope| {
        let begun = scope.spawn(|| post(&json!({ "source_uri": "a", "content": format!("The {HELD}.") })));
        endpoint.until_waiting(1);
        let pid = serving.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let address = serving.base.strip_prefix("http://").unwrap();
        while TcpStream::connect(address).is_ok() {
            thread::yield_now();
        }
        endpoint.release();
        assert_eq!(begun.join().unwrap().expect("it is answered")["chunks_created"], 1);
    });
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    let engine = Engine::open(&loom.data(), Config::default()).expect("the folder is free");
    assert_eq!(uris(&search(&engine, "lexical", HELD, 1)), ["a"]);
}
