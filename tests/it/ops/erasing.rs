//! Erasures: what they reach is in no answer and in no file, and nothing brings it back.

use std::fs;
use std::path::Path;

use loom::{Caller, Code, Engine, Identity, Role, Roles, UploadRequest};
use serde_json::{Value, json};

use crate::harness::{Folder, add, call, holder, ok, refused, search};

/// A word that stands nowhere else.
const MARKER: &str = "zqxmarkerqzx";

/// Documents that are written at once.
const BULK: usize = 200;

/// The files below a folder that hold the marker.
fn marked(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            if bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes()) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// Whoever holds a token for this person.
fn person(user_id: &str) -> Caller {
    Caller::of(Identity {
        subject: "phone".into(),
        org: "dev".into(),
        roles: Roles::new([("*", Role::Writer)]),
        agent: None,
        user_id: Some(user_id.into()),
        session_id: None,
    })
}

fn as_person(engine: &Engine, caller: &Caller, op: &str, input: Value) -> Value {
    let Value::Object(input) = input else { panic!("an object") };
    engine.call(caller, op, input).unwrap_or_else(|error| panic!("{op}: {}", error.message)).output
}

/// Writes documents that hold the marker wherever a document can, as `caller`, to a namespace.
fn write_marked(engine: &Engine, caller: &Caller, namespace: &str) {
    let run = |op: &str, more: Value| {
        let mut input = json!({ "namespace": namespace });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        as_person(engine, caller, op, input)
    };
    let text = |line: &str| format!("# About {MARKER}\n\nThe {line} of {MARKER} is `key_{MARKER}`.");
    run(
        "knowledge.add",
        json!({
            "source_uri": format!("doc/{MARKER}"), "content": text("first"), "title": format!("Title {MARKER}"),
            "description": MARKER, "tags": [MARKER], "metadata": { "k": MARKER }, "agent": MARKER, "session_id": MARKER,
            "original_bytes_b64": "enF4bWFya2VycXp4IG9yaWdpbmFs", "original_filename": format!("{MARKER}.txt"),
        }),
    );
    run("knowledge.upsert", json!({ "source_uri": format!("doc/{MARKER}"), "content": text("second") }));
    run("knowledge.upsert", json!({ "source_uri": format!("doc/{MARKER}"), "content": text("second") }));
    run("knowledge.add", json!({ "source_uri": format!("gone/{MARKER}"), "content": text("deleted") }));
    run("knowledge.delete", json!({ "source_uri": format!("gone/{MARKER}") }));
    // Enough for the indexes to be written to disk.
    let entry =
        |at: usize| json!({ "source_uri": format!("bulk/{at}"), "content": format!("Number {at} of {MARKER}.") });
    run("knowledge.bulk_add", json!({ "entries": (0..BULK).map(entry).collect::<Vec<_>>() }));
    let named =
        UploadRequest { namespace: namespace.into(), filename: format!("{MARKER}.md"), ..UploadRequest::default() };
    let mut upload = engine.begin_upload(caller, named).expect("it begins");
    upload.write(text("upload").as_bytes()).expect("it fits");
    upload.finish().expect("it is stored");
}

fn request(engine: &Engine, input: Value) -> String {
    let id = ok(engine, "erasure.request", input)["erasure_id"].as_str().unwrap().to_owned();
    engine.run_erasures().expect("it runs");
    let status = ok(engine, "erasure.status", json!({ "erasure_id": id }));
    assert_eq!(status["erasures"][0]["state"], "done", "{status}");
    id
}

/// Whether a folder holds what is searched of the namespace `private`.
fn is_of_private(entry: &std::io::Result<fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().file_name().to_string_lossy().contains("private")
}

#[test]
fn no_byte_of_an_erased_namespace_is_left_in_the_folder() {
    let folder = Folder::new();
    let engine = folder.open();
    ok(&engine, "namespace.create", json!({ "namespace": "private", "title": MARKER }));
    write_marked(&engine, &person("ana"), "private");
    // Among others' documents, so that pages hold both.
    for round in 0..3 {
        let entry =
            |at: usize| json!({ "source_uri": format!("kept/{round}/{at}"), "content": format!("What stays, {at}.") });
        ok(&engine, "knowledge.bulk_add", json!({ "entries": (0..BULK).map(entry).collect::<Vec<_>>() }));
        let mine =
            |at: usize| json!({ "source_uri": format!("{MARKER}/{round}/{at}"), "content": format!("{MARKER} {at}") });
        let entries: Vec<Value> = (0..BULK).map(mine).collect();
        ok(&engine, "knowledge.bulk_add", json!({ "namespace": "private", "entries": entries }));
    }
    let found =
        ok(&engine, "knowledge.search", json!({ "namespace": "private", "query": MARKER, "namespace_scope": "this" }));
    assert!(!found["results"].as_array().unwrap().is_empty());
    engine.close().unwrap();
    drop(engine);
    let before = marked(folder.path());
    assert!(
        before.iter().any(|name| name == "loom.redb") && before.iter().any(|name| name == "blobs.redb"),
        "{before:?}"
    );
    // Terms and vectors are in no file as they are spelled: the files go as a whole.
    let indexed = || fs::read_dir(folder.path().join("index")).unwrap().filter(is_of_private).count();
    assert_eq!(indexed(), 1);

    let engine = folder.open();
    let id = request(&engine, json!({ "namespace": "private", "scope": "namespace", "confirm": "private" }));
    let status = ok(&engine, "erasure.status", json!({ "erasure_id": id }))["erasures"][0].clone();
    let counts = ["documents", "versions", "originals"].map(|name| status[name].as_u64().unwrap());
    assert_eq!(counts, [4 * BULK as u64 + 1, 4 * BULK as u64 + 4, 2]);
    assert_eq!(ok(&engine, "namespace.get", json!({ "namespace": "private" }))["found"], false);
    let found =
        ok(&engine, "knowledge.search", json!({ "namespace": "private", "query": MARKER, "namespace_scope": "this" }));
    assert_eq!(found["results"], json!([]));
    assert_eq!(refused(&engine, "namespace.restore", json!({ "namespace": "private" })).code, Code::NotFound);
    engine.compact(&Caller::local()).expect("it compacts");
    engine.close().unwrap();
    drop(engine);
    assert_eq!((marked(folder.path()), indexed()), (Vec::new(), 0));

    let engine = folder.open();
    assert_eq!(search(&engine, "hybrid", "what stays", 5).len(), 5);
    let report = engine.doctor(loom::DoctorOptions { deep: true, ..loom::DoctorOptions::default() }).unwrap();
    assert!(report.findings.iter().all(|finding| finding.severity != loom::Severity::Error), "{:?}", report.findings);
    let restored = json!({ "namespace": "private", "source_uri": format!("gone/{MARKER}") });
    assert_eq!(ok(&engine, "knowledge.restore", restored)["reason"], "not_found");
    // The name can be used again, from revision 1.
    let again = json!({ "namespace": "private", "source_uri": "new", "content": "new words" });
    ok(&engine, "knowledge.add", again);
    let read = ok(&engine, "knowledge.get", json!({ "namespace": "private", "source_uri": "new" }));
    assert_eq!(read["revision"], 1);
}

#[test]
fn a_persons_documents_go_and_those_of_others_stay() {
    let folder = Folder::new();
    let engine = folder.open();
    let (ana, ben) = (person("ana"), person("ben"));
    write_marked(&engine, &ana, "team");
    write_marked(&engine, &ana, "other");
    // A namespace that holds nothing but what she sent.
    let bare = UploadRequest { namespace: "bare".into(), filename: "a.md".into(), ..UploadRequest::default() };
    let mut upload = engine.begin_upload(&ana, bare).expect("it begins");
    upload.write(MARKER.as_bytes()).expect("it fits");
    upload.finish().expect("it is stored");
    let by = |caller: &Caller, uri: &str, content: &str| {
        as_person(
            &engine,
            caller,
            "knowledge.upsert",
            json!({ "namespace": "team", "source_uri": uri, "content": content }),
        )
    };
    by(&ben, "bens", "The harbour of Ben.");
    by(&ana, "shared", &format!("Ana wrote {MARKER} here."));
    by(&ben, "shared", "Ben wrote over it.");
    by(&ben, "taken", "Ben began this.");
    by(&ana, "taken", &format!("Ana went on with {MARKER}."));
    assert_eq!(
        refused(&engine, "erasure.request", json!({ "scope": "user", "user": "ana", "confirm": "an" })).code,
        Code::ConfirmMismatch
    );
    request(&engine, json!({ "scope": "user", "user": "ana", "confirm": "ana" }));

    let get = |uri: &str| {
        ok(&engine, "knowledge.get", json!({ "namespace": "team", "source_uri": uri, "include_superseded": true }))
    };
    assert_eq!(get("bens")["content"], "The harbour of Ben.");
    assert_eq!((&get("shared")["content"], &get("shared")["revision"]), (&json!("Ben wrote over it."), &json!(2)));
    assert_eq!(get(&format!("doc/{MARKER}"))["found"], false);
    // What she wrote over another's is not brought back, and neither is the other's under it.
    let taken = json!({ "namespace": "team", "source_uri": "taken" });
    assert_eq!(ok(&engine, "knowledge.restore", taken.clone())["reason"], "not_restorable");
    assert_eq!(ok(&engine, "knowledge.get", taken)["found"], false);
    let hits = ok(
        &engine,
        "knowledge.search",
        json!({ "namespace": "team", "query": "harbour Ben", "namespace_scope": "this" }),
    );
    assert!(!hits["results"].as_array().unwrap().is_empty(), "{hits}");
    let report = engine.doctor(loom::DoctorOptions { deep: true, ..loom::DoctorOptions::default() }).unwrap();
    assert!(report.findings.iter().all(|finding| finding.severity != loom::Severity::Error), "{:?}", report.findings);
    engine.compact(&Caller::local()).expect("it compacts");
    engine.close().unwrap();
    drop(engine);
    assert_eq!(marked(folder.path()), Vec::<String>::new());
    let engine = folder.open();
    let next = ok(&engine, "knowledge.add", json!({ "namespace": "team", "source_uri": "taken", "content": "anew" }));
    assert!(next["doc_id"].is_string());
    let read = ok(&engine, "knowledge.get", json!({ "namespace": "team", "source_uri": "taken" }));
    assert_eq!(read["revision"], 3, "numbers that were cited are not given again");
}

#[test]
fn who_may_not_administer_all_may_not_erase_a_person() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "text");
    let admin = holder(&[("local", Role::Admin)]);
    let run = |op: &str, input: Value| {
        let Value::Object(input) = input else { panic!("an object") };
        engine.call(&admin, op, input)
    };
    let error = run("erasure.request", json!({ "scope": "user", "user": "local", "confirm": "local" })).unwrap_err();
    assert_eq!(error.code, Code::Forbidden);
    let id =
        ok(&engine, "erasure.request", json!({ "scope": "user", "user": "x", "confirm": "x" }))["erasure_id"].clone();
    assert_eq!(run("erasure.status", json!({ "erasure_id": id })).unwrap_err().code, Code::NotFound);
    assert_eq!(run("erasure.status", json!({})).unwrap().output["erasures"], json!([]));
    run("erasure.request", json!({ "namespace": "local", "scope": "namespace", "confirm": "local" })).unwrap();
    engine.run_erasures().unwrap();
    let listed = run("erasure.status", json!({})).unwrap().output;
    assert_eq!(listed["erasures"].as_array().unwrap().len(), 1);
    assert_eq!(call(&engine, "knowledge.get", json!({ "source_uri": "a" })).unwrap()["found"], false);
}

#[test]
fn versions_past_their_days_go() {
    let folder = Folder::new();
    let day = 86_400_000;
    let open = |chunks_days, documents_days| {
        folder.open_with(|config| {
            config.retention.chunks_days = chunks_days;
            config.retention.documents_days = documents_days;
        })
    };
    let engine = open(0, 0);
    add(&engine, "a", "one");
    folder.clock.advance_ms(day);
    add(&engine, "a", "two");
    add(&engine, "b", "three");
    let total = |engine: &Engine| {
        engine.run_retention().expect("it runs");
        let entry = &ok(engine, "namespace.get", json!({}))["namespace"];
        (entry["documents"].as_u64().unwrap(), entry["versions"].as_u64().unwrap())
    };
    folder.clock.advance_ms(10 * day);
    assert_eq!(total(&engine), (2, 3), "it is off until it is set");
    drop(engine);
    let engine = open(11, 0);
    assert_eq!(total(&engine), (2, 3), "the first version is eleven days old, not more");
    folder.clock.advance_ms(1);
    assert_eq!(total(&engine), (2, 3));
    let earlier = |engine: &Engine| ok(engine, "knowledge.list", json!({ "include_superseded": true }))["rows"].clone();
    assert!(!earlier(&engine).to_string().contains("\"chars\":3,\"superseded\""), "what it held is gone");
    drop(engine);
    let engine = open(0, 10);
    assert_eq!(total(&engine), (0, 0), "all of it is older than ten days");
    assert_eq!(search(&engine, "hybrid", "two three", 5), Vec::<Value>::new());
}
