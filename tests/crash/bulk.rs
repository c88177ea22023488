//! Case 21: a bulk add of 2,000 documents, killed at random moments, and then projections that are damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use loom::{Config, DoctorOptions, Engine};
use serde_json::{Value, json};

use crate::after::answers;
use crate::calls::ok;
use crate::random::Random;
use crate::server::{Client, Embedding, Server};
use crate::{rounds, setting};

const CALLS: usize = 4;
const DOCS_PER_CALL: usize = 500;
/// Rounds between two comparisons with a clean rebuild.
const REBUILD_EVERY: u64 = 4;
const QUERIES: [&str; 3] = ["the lantern number 7 burns oil", "wick cotton", "number 1499"];
const BUILT_IN: Embedding = Embedding { model: String::new(), base_url: String::new() };

fn uri(doc: usize) -> String {
    format!("lantern/{doc:04}")
}

fn entries(doc: usize) -> Value {
    let text =
        format!("# Lantern\n\nThe lantern number {doc} burns oil.\n\n# Wick\n\nIts wick is cotton, {doc} turns.");
    json!({ "source_uri": uri(doc), "content": text })
}

/// Adds the documents until the server is gone.
fn add_all(client: &Client, answered: impl Fn()) -> usize {
    for nth in 0..CALLS {
        let docs = nth * DOCS_PER_CALL..(nth + 1) * DOCS_PER_CALL;
        let input = json!({ "entries": docs.map(entries).collect::<Vec<_>>() });
        let Some(answer) = client.post("knowledge.bulk_add", &input) else { return nth };
        assert_eq!(answer["written"].as_array().map(Vec::len), Some(DOCS_PER_CALL), "{answer}");
        answered();
    }
    CALLS
}

#[test]
fn a_killed_bulk_add_is_there_call_by_call_and_its_projections_heal() {
    let mut random = Random(setting("LOOM_CRASH_SEED", 1).wrapping_add(21));
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &BUILT_IN);
    let started = Instant::now();
    assert_eq!(add_all(&Client::new(&server.base), || {}), CALLS);
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap();
    server.kill();
    damage(folder.path());
    for round in 0..rounds() {
        // Shown when a round fails.
        eprintln!("bulk round {round}");
        let folder = tempfile::tempdir().unwrap();
        let moment = Duration::from_micros(random.below(whole));
        let answered = add_and_kill(folder.path(), moment);
        verify(folder.path(), answered, round % REBUILD_EVERY == 0);
    }
}

/// Adds the documents to a new folder and kills the server after `moment`; how many calls were answered.
fn add_and_kill(folder: &Path, moment: Duration) -> usize {
    let server = Server::start(folder, &BUILT_IN);
    let client = Client::new(&server.base);
    let (answers, answered) = channel();
    thread::scope(|scope| {
        let adding = scope.spawn(move || add_all(&client, || answers.send(()).unwrap_or(())));
        wait(&answered, moment);
        server.kill();
        adding.join().unwrap()
    })
}

/// Waits for the moment, or for the last answer when that comes first.
fn wait(answered: &Receiver<()>, moment: Duration) {
    let end = Instant::now() + moment;
    while answered.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok() {}
}

/// Every answered call's documents are there and those of the next call are all there or all absent; a folder with
/// healed projections answers as one with none does.
fn verify(folder: &Path, answered: usize, compare: bool) {
    let engine = Engine::open(folder, Config::default()).unwrap();
    let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
    let listed = addresses(&engine);
    let calls = listed.len() / DOCS_PER_CALL;
    assert!((answered..=CALLS.min(answered + 1)).contains(&calls), "{} documents of {answered} calls", listed.len());
    assert_eq!(listed, (0..calls * DOCS_PER_CALL).map(uri).collect::<Vec<_>>());
    if compare {
        let healed = answers(&engine, &QUERIES);
        drop(engine);
        assert_eq!(healed, rebuilt(folder));
    }
}

fn addresses(engine: &Engine) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let input = json!({ "limit": 500, "cursor": cursor, "fields": ["source_uri"] });
        let page = ok(engine, "knowledge.list", input);
        let rows = page["rows"].as_array().unwrap().iter();
        found.extend(rows.map(|row| row["source_uri"].as_str().unwrap().to_owned()));
        if page["next_cursor"].is_null() {
            found.sort();
            return found;
        }
        cursor = page["next_cursor"].clone();
    }
}

/// What a clean rebuild answers.
fn rebuilt(folder: &Path) -> Vec<Value> {
    fs::remove_dir_all(folder.join("index")).unwrap();
    answers(&Engine::open(folder, Config::default()).unwrap(), &QUERIES)
}

/// Cuts a vector file, flips a byte of a lexical segment, deletes the index folder: each is healed, and a search
/// answers as after a clean rebuild.
fn damage(folder: &Path) {
    let index = folder.join("index");
    drop(Engine::open(folder, Config::default()).unwrap());
    let right = rebuilt(folder);
    assert!(right.iter().all(|hits| !hits.as_array().unwrap().is_empty()), "everything asked for is found");
    for (what, damage) in [
        ("a truncated vector file", &(|| cut(&file(&index, "rows-"))) as &dyn Fn()),
        ("a flipped byte in a lexical segment", &|| flip(&file(&index, ".idx"))),
        ("a deleted index folder", &|| fs::remove_dir_all(&index).unwrap()),
    ] {
        damage();
        let engine = Engine::open(folder, Config::default()).unwrap();
        assert_eq!(answers(&engine, &QUERIES), right, "{what}");
        let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
        assert!(report.sound, "{what}: {:?}", report.findings);
    }
}

/// The first file below a folder whose name has a part.
fn file(folder: &Path, part: &str) -> PathBuf {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().unwrap().to_string_lossy().contains(part) {
                return path;
            }
        }
    }
    panic!("no file has {part:?} in its name");
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(path, bytes).unwrap();
}
