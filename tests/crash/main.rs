//! Kills the real process at random moments of mixed writes, and holds what is left against what was acknowledged.
//!
//! `LOOM_CRASH_ROUNDS` sets the rounds (default 50), `LOOM_CRASH_SEED` the order of things.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use loom::{Caller, Config, DoctorOptions, Engine};
use serde_json::{Value, json};

const WRITERS: u32 = 4;
const DOCS_PER_WRITER: u32 = 5;
/// Acknowledged writes after which a round's process is killed, at most.
const ACKS_MAX: u64 = 60;

/// What a writer knows of one document: its body's number, `None` when it is deleted or was never written.
type State = Option<u64>;

/// What the writers know: the acknowledged state of each document, and the states that a write whose answer never
/// came may have left.
#[derive(Clone, Default)]
struct Known(BTreeMap<String, Vec<State>>);

/// A small generator of numbers (SplitMix64): rounds can be repeated by their seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

#[test]
fn a_killed_process_loses_nothing_acknowledged_and_returns_nothing_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(setting("LOOM_CRASH_SEED", 1));
    let mut known = Known::default();
    for round in 0..setting("LOOM_CRASH_ROUNDS", 50) {
        run_and_kill(folder.path(), round, &mut random, &mut known);
        verify(folder.path(), &mut known, round);
    }
}

#[test]
fn a_deleted_projection_folder_is_rebuilt_with_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let mut known = Known::default();
    run_and_kill(folder.path(), 0, &mut Random(7), &mut known);
    let answers = |engine: &Engine| {
        let ask = |mode: &str, query: &str| {
            let input = json!({ "query": query, "search_mode": mode, "top_k": 50, "namespace_scope": "this" });
            call(engine, "knowledge.search", input)["results"].clone()
        };
        let queries = ["words of filler", "section two body", "marker"];
        queries.map(|query| ["hybrid", "semantic", "lexical"].map(|mode| ask(mode, query)))
    };
    let engine = Engine::open(folder.path(), Config::default()).unwrap();
    let before = answers(&engine);
    assert!(before.iter().flatten().any(|hits| !hits.as_array().unwrap().is_empty()));
    drop(engine);
    std::fs::remove_dir_all(folder.path().join("index")).unwrap();
    let engine = Engine::open(folder.path(), Config::default()).unwrap();
    assert_eq!(before, answers(&engine));
}

/// Serves the folder, writes from several threads, and kills the server after a random number of answers.
fn run_and_kill(folder: &Path, round: u64, random: &mut Random, known: &mut Known) {
    let (mut child, base) = serve(folder);
    let (acks, acked) = channel();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (base, acks, seed) = (base.clone(), acks.clone(), random.next());
            let mine = Known(
                known
                    .0
                    .iter()
                    .filter(|(uri, _)| uri.starts_with(&prefix(writer)))
                    .map(|(uri, states)| (uri.clone(), states.clone()))
                    .collect(),
            );
            thread::spawn(move || write_until_refused(&base, writer, round, &mut Random(seed), mine, &acks))
        })
        .collect();
    drop(acks);
    kill_after(&mut child, &acked, 1 + random.below(ACKS_MAX));
    for writer in writers {
        known.0.extend(writer.join().unwrap().0);
    }
}

fn serve(folder: &Path) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_loom"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let base =
        line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("the server said {line:?}")).to_owned();
    (child, base)
}

fn kill_after(child: &mut Child, acked: &Receiver<()>, acks: u64) {
    for _ in 0..acks {
        acked.recv_timeout(Duration::from_mins(1)).expect("the server answers");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn prefix(writer: u32) -> String {
    format!("w{writer}/")
}

fn marker(body: u64) -> String {
    format!("marker{body}z")
}

fn text(body: u64) -> String {
    let filler = "Words of filler that stand in every text. ".repeat(usize::try_from(body % 4).unwrap() * 30);
    format!("# One\n\n{filler}\n\n# Two\n\nThe section two body says {}.\n", marker(body))
}

/// Writes to its own documents until the server is gone; what it then knows.
fn write_until_refused(
    base: &str,
    writer: u32,
    round: u64,
    random: &mut Random,
    mut known: Known,
    acks: &Sender<()>,
) -> Known {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    for step in 0.. {
        let uri = format!("{}{}", prefix(writer), random.below(DOCS_PER_WRITER.into()));
        let body = (round << 32) | (u64::from(writer) << 24) | step;
        let states = known.0.entry(uri.clone()).or_insert_with(|| vec![None]);
        let current = states[0];
        let deleted = |uri: &str| json!({ "source_uri": uri });
        let (op, input, after) = match random.below(8) {
            0 if current.is_some() => ("knowledge.delete", deleted(&uri), None),
            1 if current.is_some() => {
                ("knowledge.update_metadata", json!({ "source_uri": uri, "title": "t", "reindex": true }), current)
            }
            2 => {
                let entries = json!([{ "source_uri": uri, "content": text(body) }]);
                ("knowledge.bulk_add", json!({ "entries": entries }), Some(body))
            }
            3 if current.is_some() => {
                // A delete and its undoing: whichever of the two was answered last is the state.
                states.push(None);
                let deleted = post(&agent, base, "knowledge.delete", &json!({ "source_uri": uri }));
                if deleted.is_none() {
                    return known;
                }
                states.remove(0);
                ("knowledge.restore", json!({ "source_uri": uri }), current)
            }
            _ => ("knowledge.upsert", json!({ "source_uri": uri, "content": text(body) }), Some(body)),
        };
        states.push(after);
        match post(&agent, base, op, &input) {
            Some(answer) => {
                assert!(answer.get("error").is_none(), "{op}: {answer}");
                *states = vec![after];
            }
            None => return known,
        }
        if acks.send(()).is_err() {
            return known;
        }
    }
    known
}

/// The answer, or `None` when the server did not give one.
fn post(agent: &ureq::Agent, base: &str, op: &str, input: &Value) -> Option<Value> {
    let mut response = agent.post(format!("{base}/v1/{op}")).send_json(input).ok()?;
    response.body_mut().read_json().ok()
}

fn call(engine: &Engine, op: &str, input: Value) -> Value {
    let Value::Object(input) = input else { panic!("{op} takes an object") };
    engine.call(&Caller::local(), op, input).unwrap_or_else(|error| panic!("{op}: {error}")).output
}

/// Opens the folder as a restart does, and holds every document against what is known of it.
fn verify(folder: &Path, known: &mut Known, round: u64) {
    let engine = Engine::open(folder, Config::default()).unwrap();
    for (uri, states) in &mut known.0 {
        let got = call(&engine, "knowledge.get", json!({ "source_uri": uri }));
        let holds = |state: &State| match state {
            Some(body) => got["content"] == text(*body).as_str(),
            None => got["found"] == false,
        };
        let Some(state) = states.iter().copied().find(|state| holds(state)) else {
            panic!("round {round}: {uri} is none of {states:?}: {got}");
        };
        for body in states.iter().flatten() {
            let found = found_by_marker(&engine, uri, *body);
            assert_eq!(found, state == Some(*body), "round {round}: {uri}, {}", marker(*body));
        }
        *states = vec![state];
    }
    let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound, "round {round}: {:?}", report.findings);
}

fn found_by_marker(engine: &Engine, uri: &str, body: u64) -> bool {
    let input = json!({
        "query": marker(body), "search_mode": "lexical", "namespace_scope": "this", "uri_prefix": [uri], "top_k": 1,
    });
    let answer = call(engine, "knowledge.search", input);
    answer["results"].as_array().unwrap().iter().any(|hit| hit["content"].as_str().unwrap().contains(&marker(body)))
}
