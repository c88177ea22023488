//! Ingests of files, killed at random moments: each job that was acknowledged publishes once, however often its process
//! died under it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use loom::{Config, DoctorOptions, Engine};
use serde_json::{Value, json};

use crate::calls::{ok, search};
use crate::random::Random;
use crate::server::{Client, Embedding, Server};
use crate::{kill, rounds, setting};

const WRITERS: u64 = 3;
const SOURCES_PER_WRITER: u64 = 3;
/// Rounds that a folder lives; all jobs are followed to their ends after the last.
const LIFE: u64 = 10;
const BUILT_IN: Embedding = Embedding { model: String::new(), base_url: String::new() };
/// How long the jobs of a life may take once nobody kills them.
const PATIENCE: Duration = Duration::from_mins(5);

/// What a writer asked of one source.
#[derive(Clone, Default)]
struct Asked {
    /// The acknowledged jobs in order, by id, and the body of each.
    jobs: Vec<(String, u64)>,
    /// Bodies of ingests that were not answered: each may be a job or not.
    unanswered: Vec<u64>,
}

#[test]
fn a_killed_ingest_publishes_once() {
    let mut random = Random(setting("LOOM_CRASH_SEED", 1).wrapping_add(5));
    let rounds = rounds().div_ceil(2);
    let mut published = 0;
    for first in (0..rounds).step_by(usize::try_from(LIFE).unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        let mut asked = vec![
            vec![Asked::default(); usize::try_from(SOURCES_PER_WRITER).unwrap()];
            usize::try_from(WRITERS).unwrap()
        ];
        for round in first..rounds.min(first + LIFE) {
            // Shown when a round fails.
            eprintln!("ingest round {round}");
            run_and_kill(folder.path(), round, &mut random, &mut asked);
        }
        published += verify(folder.path(), &asked);
    }
    eprintln!("{rounds} rounds, {published} revisions published");
    assert!(published > rounds, "{published} revisions");
}

fn uri(writer: usize, source: usize) -> String {
    format!("w{writer}/{source}.md")
}

/// The text of a file. A word of its own finds it.
fn text(body: u64) -> String {
    format!("# File\n\nIts marker is marker{body:x}x.\n\n{}", "It says more of valves and pumps. ".repeat(20))
}

/// Serves the folder while writers ingest files, and kills the server at a random moment.
fn run_and_kill(folder: &Path, round: u64, random: &mut Random, asked: &mut [Vec<Asked>]) {
    let server = Server::start(folder, &BUILT_IN);
    let (answers, answered) = channel();
    thread::scope(|scope| {
        for (writer, asked) in asked.iter_mut().enumerate() {
            let (client, answers, random) = (Client::new(&server.base), answers.clone(), Random(random.next()));
            scope.spawn(move || write(&client, writer, round, random, asked, &answers));
        }
        drop(answers);
        kill(server, &answered, random);
    });
}

/// Ingests files until the server is gone.
fn write(client: &Client, writer: usize, round: u64, mut random: Random, asked: &mut [Asked], answers: &Sender<()>) {
    for step in 0.. {
        let body = (round << 32) | ((writer as u64) << 24) | step;
        let source = usize::try_from(random.below(SOURCES_PER_WRITER)).unwrap();
        let Some(upload) = client.upload("file.md", text(body).as_bytes()) else { return };
        let Some(upload_id) = upload["upload_id"].as_str() else {
            assert_eq!(upload["error"]["code"], "OVERLOADED", "{upload}");
            continue;
        };
        let input = json!({ "upload_id": upload_id, "source_uri": uri(writer, source) });
        match client.post("knowledge.ingest", &input) {
            None => return asked[source].unanswered.push(body),
            Some(answer) if answer["error"]["code"] == "OVERLOADED" => continue,
            Some(answer) => {
                let id = answer["ingestion_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
                asked[source].jobs.push((id.to_owned(), body));
            }
        }
        if answers.send(()).is_err() {
            return;
        }
    }
}

/// Follows every job to its end and holds the documents against them; how many revisions were published.
fn verify(folder: &Path, asked: &[Vec<Asked>]) -> u64 {
    let mut config = Config::default();
    config.extraction.program = Some(PathBuf::from(env!("CARGO_BIN_EXE_loom")));
    let engine = Engine::open(folder, config).unwrap();
    let mut published = 0;
    for (writer, asked) in asked.iter().enumerate() {
        for (source, asked) in asked.iter().enumerate() {
            let states: Vec<Value> = asked.jobs.iter().map(|(id, _)| ended(&engine, id)).collect();
            assert!(states.iter().all(|status| status["state"] == "ready"), "{states:?}");
            let revisions: Vec<u64> = states.iter().map(|status| status["revision"].as_u64().unwrap()).collect();
            assert!(revisions.is_sorted_by(|a, b| a < b), "in the order they were asked: {revisions:?}");
            published += revisions.len() as u64;
            check(&engine, &uri(writer, source), asked, &revisions);
        }
    }
    let report = engine.doctor(DoctorOptions { repair: false, deep: true }).unwrap();
    assert!(report.sound, "{:?}", report.findings);
    engine.close().unwrap();
    published
}

/// The document has one revision for each job, the last one's text, and is found by it alone.
fn check(engine: &Engine, uri: &str, asked: &Asked, revisions: &[u64]) {
    // A job that was never acknowledged may run behind the others.
    let until = Instant::now() + PATIENCE;
    let document = loop {
        let document = ok(engine, "knowledge.get", json!({ "source_uri": uri }));
        let revision = document["revision"].as_u64().unwrap_or(0);
        if revision >= revisions.last().copied().unwrap_or(0) {
            break document;
        }
        assert!(Instant::now() < until, "{document}");
    };
    let (revision, jobs) = (document["revision"].as_u64().unwrap_or(0), revisions.len() as u64);
    let extra = revision.checked_sub(jobs).unwrap_or_else(|| panic!("{uri}: {revision} revisions of {jobs} jobs"));
    assert!(extra <= asked.unanswered.len() as u64, "{uri}: {revision} revisions of {jobs} jobs");
    if revision == 0 {
        return;
    }
    let content = document["content"].as_str().unwrap();
    let last = asked.jobs.last().map(|(_, body)| *body);
    let body = last.into_iter().chain(asked.unanswered.iter().copied()).find(|body| content == text(*body));
    let body = body.unwrap_or_else(|| panic!("{uri} has another text: {content}"));
    assert!(is_found(engine, uri, body), "{uri}");
    for (_, earlier) in asked.jobs.iter().rev().filter(|(_, earlier)| *earlier != body).take(3) {
        assert!(!is_found(engine, uri, *earlier), "{uri}");
    }
}

/// Whether a search for the marker of a body finds a passage of the document that has it.
fn is_found(engine: &Engine, uri: &str, body: u64) -> bool {
    let marker = format!("marker{body:x}x");
    let is_it =
        |hit: &Value| hit["source_uri"] == uri && hit["content"].as_str().is_some_and(|text| text.contains(&marker));
    search(engine, "lexical", &marker, 5).iter().any(is_it)
}

fn ended(engine: &Engine, id: &str) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = ok(engine, "knowledge.ingest_status", json!({ "ingestion_id": id }));
        if !matches!(status["state"].as_str(), Some("pending" | "processing")) {
            return status;
        }
        assert!(Instant::now() < until, "{status}");
        thread::yield_now();
    }
}
