//! What an operator does: backups while a server runs, restoring, compacting, and a disk that is nearly full.

use std::fs;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::{Caller, Code, Config, DoctorOptions, Engine, FreeSpace, restore_backup};
use serde_json::{Map, Value, json};

use crate::cli::Loom;
use crate::server::Server;

fn call(engine: &Engine, op: &str, input: Value) -> Result<Value, loom::Error> {
    let Value::Object(input) = input else { panic!("an object") };
    Ok(engine.call(&Caller::local(), op, input)?.output)
}

fn filled(folder: &std::path::Path) -> Engine {
    let engine = Engine::open(folder, Config::default()).unwrap();
    for at in 0..20 {
        let content = format!("# Note {at}\n\nThe lantern of harbour {at} is lit at dusk.\n");
        call(&engine, "knowledge.upsert", json!({ "source_uri": format!("n/{at}"), "content": content })).unwrap();
    }
    call(&engine, "knowledge.delete", json!({ "source_uri": "n/3" })).unwrap();
    engine
}

fn asked(engine: &Engine) -> Value {
    let hits = call(engine, "knowledge.search", json!({ "query": "lantern of harbour 7", "top_k": 5 })).unwrap();
    let list = call(engine, "knowledge.list", json!({ "limit": 100, "include_superseded": true })).unwrap();
    json!([hits["results"], list])
}

#[test]
fn a_backup_taken_through_a_server_is_restored_and_answers_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let engine = filled(&folder.path().join("data"));
    let mut local = Vec::new();
    let summary = engine.backup(&Caller::local(), &mut local).unwrap();
    let before = asked(&engine);
    let server = Server::start(engine);
    let agent = ureq::Agent::new_with_defaults();
    let url = format!("{}/v1/backup", server.base);
    let remote = agent.post(&url).send_json(json!({})).unwrap().body_mut().read_to_vec().unwrap();
    assert!(remote == local, "both doors give the same backup");
    let refused = agent.post(&url).header("content-type", "text/plain").send("").expect_err("it is refused");
    assert!(matches!(refused, ureq::Error::StatusCode(422)), "{refused}");
    server.stop();

    let restored = folder.path().join("restored");
    fs::create_dir_all(restored.join("index/stale")).unwrap();
    assert_eq!(restore_backup(&restored, &mut remote.as_slice()).unwrap(), summary);
    assert!(!restored.join("index/stale").exists());
    let engine = Engine::open(&restored, Config::default()).unwrap();
    assert_eq!(asked(&engine), before);
    let report = engine.doctor(DoctorOptions { deep: true, repair: false }).unwrap();
    assert!(report.sound, "{report:?}");
    drop(engine);
    let refused = restore_backup(&restored, &mut remote.as_slice()).expect_err("it holds documents");
    assert!(refused.to_string().contains("holds a store already"), "{refused}");
}

#[test]
fn the_command_line_backs_up_restores_and_compacts() {
    let loom = Loom::new();
    let folder = loom.data();
    drop(filled(&folder));
    let ran = loom.run(["backup", "a.loom"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(ran.out.starts_with("backed up: 20 document versions, 20 chunks"), "{ran:?}");
    let ran = loom.run(["backup", "a.loom"]);
    assert!(ran.status == 2 && ran.err.contains("--force"), "{ran:?}");
    assert_eq!(loom.run(["backup", "a.loom", "--force"]).status, 0);
    assert_eq!(fs::read_dir(loom.work()).unwrap().count(), 1, "nothing is left beside the backup");

    let ran = loom.run(["restore-backup", "a.loom"]);
    assert!(ran.status == 1 && ran.err.contains("holds a store already"), "{ran:?}");
    let ran = loom.run(["restore-backup", "a.loom", "--data", "other"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    let ran = loom.run(["compact", "--json", "--data", "other"]);
    let compacted: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(compacted["bytes_after"].as_u64() <= compacted["bytes_before"].as_u64(), "{compacted}");
    assert_eq!(loom.run(["doctor", "--deep", "--data", "other"]).status, 0);

    let mut cut = fs::OpenOptions::new().append(true).open(loom.work().join("a.loom")).unwrap();
    cut.write_all(b"x").unwrap();
    let ran = loom.run(["restore-backup", "a.loom", "--data", "third"]);
    assert!(ran.status == 1 && ran.err.contains("no whole backup"), "{ran:?}");
    assert!(!loom.work().join("third/loom.redb").exists());
}

#[test]
fn below_the_limit_of_free_space_nothing_is_stored_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(u64::MAX));
    let look = Arc::clone(&free);
    let free_space = FreeSpace::of(move |_| Ok(look.load(Ordering::SeqCst)));
    let engine = Engine::open(folder.path(), Config { free_space, ..Config::default() }).unwrap();
    let upsert = |uri: &str| call(&engine, "knowledge.upsert", json!({ "source_uri": uri, "content": "lantern" }));
    free.store(1 << 20, Ordering::SeqCst);
    let refused = upsert("a").expect_err("there is no room");
    assert_eq!(refused.code, Code::BackendUnavailable);
    assert!(refused.message.contains("LOOM_DISK_FREE_MIN_BYTES"), "{refused}");
    let readiness = engine.readiness();
    assert!(!readiness.ready && readiness.detail["store"].as_str().unwrap().contains("free"), "{readiness:?}");
    let takes_writes = |engine: &Engine| {
        engine.metrics().unwrap().iter().any(|(name, _, value)| *name == "loom_takes_writes" && *value > 0.5)
    };
    assert!(!takes_writes(&engine));

    free.store(1 << 40, Ordering::SeqCst);
    upsert("a").expect("it resumes by itself");
    upsert("b").expect("it goes on");
    assert!(engine.readiness().ready && takes_writes(&engine));
    free.store(0, Ordering::SeqCst);
    // What is known may be relied on for a moment; a write larger than it never is.
    assert!(call(&engine, "knowledge.list", Map::new().into()).is_ok());
    let deleted = call(&engine, "knowledge.delete", json!({ "source_uri": "a" })).unwrap();
    assert_eq!(deleted["deleted"], true, "{deleted}");
}
