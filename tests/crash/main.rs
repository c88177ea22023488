//! Kills the real process at random moments of writes of every kind, and holds what is left against what was
//! acknowledged.
//!
//! `LOOM_CRASH_ROUNDS` sets the rounds of each test (default 200), `LOOM_CRASH_SEED` the order of things.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod after;
mod backup;
mod bulk;
#[path = "../it/calls.rs"]
#[allow(dead_code, reason = "the other tests also call what must be refused")]
mod calls;
#[path = "../it/cases/models/endpoint.rs"]
#[allow(dead_code, reason = "the other tests also bound what it answers")]
mod endpoint;
mod ingests;
mod known;
mod random;
mod server;
mod writer;

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use backup::Backup;
use endpoint::Endpoint;
use known::{Journal, Ticks};
use random::Random;
use server::{Client, Embedding, Server};
use writer::Writer;

const WRITERS: u32 = 4;
/// Answers after which a round's process is killed, at most.
const ANSWERS_MAX: u64 = 60;
/// Rounds that a folder lives: its history is checked after each, so that it must not grow for ever.
const LIFE: u64 = 50;
/// Rounds between two rebuilds of the projections.
const REBUILD_EVERY: u64 = 10;
/// Rounds between two changes of the embedding model, in the lives that change it.
const MODEL_EVERY: u64 = 3;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

fn rounds() -> u64 {
    setting("LOOM_CRASH_ROUNDS", 200)
}

#[test]
fn a_killed_process_loses_nothing_acknowledged_and_returns_nothing_deleted() {
    let endpoint = Endpoint::start(32);
    let mut random = Random(setting("LOOM_CRASH_SEED", 1));
    let rounds = rounds();
    let mut whole_backups = 0;
    for first in (0..rounds).step_by(usize::try_from(LIFE).unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        let mut journals = vec![Journal::default(); usize::try_from(WRITERS).unwrap()];
        for round in first..rounds.min(first + LIFE) {
            // Shown when a round fails.
            eprintln!("round {round}");
            let embedding = embedding(&endpoint, round);
            let backups = run_and_kill(folder.path(), &embedding, round, &mut random, &mut journals);
            whole_backups += backups.len();
            if !backups.is_empty() {
                let one = usize::try_from(random.below(backups.len() as u64)).unwrap();
                backup::verify(&backups[one], &embedding, &journals, &mut random);
            }
            after::verify(&after::open(folder.path(), &embedding), &mut journals);
            if round % REBUILD_EVERY == REBUILD_EVERY - 1 || round + 1 == rounds {
                after::rebuild(folder.path(), &embedding);
            }
        }
    }
    eprintln!("{rounds} rounds, {whole_backups} backups came to their end");
    assert!(whole_backups > 0, "no backup came to its end");
}

/// Every other life stays with the built-in model; in the others the namespace moves between two models, often enough
/// that processes die in the middle of a move.
fn embedding(endpoint: &Endpoint, round: u64) -> Embedding {
    let model = match (round / LIFE % 2, round / MODEL_EVERY % 2) {
        (0, 0) => "openai:dim32",
        (0, _) => "openai:dim48",
        _ => "",
    };
    Embedding { model: model.to_owned(), base_url: endpoint.base.clone() }
}

/// Serves the folder, writes from several threads, takes backups meanwhile, and kills the server at a random moment.
/// Returns the backups that came to their end.
fn run_and_kill(
    folder: &Path,
    embedding: &Embedding,
    round: u64,
    random: &mut Random,
    journals: &mut [Journal],
) -> Vec<Backup> {
    let server = Server::start(folder, embedding);
    let (ticks, (answers, answered)) = (&Ticks::default(), channel());
    thread::scope(|scope| {
        let writers: Vec<_> = (0..)
            .zip(&mut *journals)
            .map(|(number, journal)| {
                let writer = Writer {
                    number,
                    client: Client::new(&server.base),
                    random: Random(random.next()),
                    journal: std::mem::take(journal),
                    round,
                    ticks,
                    answers: answers.clone(),
                };
                scope.spawn(move || writer.run())
            })
            .collect();
        let client = Client::new(&server.base);
        let backups = scope.spawn(move || backup::take_all(&client, ticks, &answers));
        kill(server, &answered, random);
        for (journal, writer) in journals.iter_mut().zip(writers) {
            *journal = writer.join().unwrap();
        }
        backups.join().unwrap()
    })
}

/// Kills after a random number of answers and then of microseconds; every fourth time the server is told to end before
/// and dies while it writes the projections.
fn kill(server: Server, answered: &Receiver<()>, random: &mut Random) {
    for _ in 0..=random.below(ANSWERS_MAX) {
        answered.recv_timeout(Duration::from_mins(1)).expect("the server answers");
    }
    let ends = random.below(4) == 0;
    if ends {
        server.ask_to_end();
    }
    let moment = Instant::now() + Duration::from_micros(random.below(if ends { 30_000 } else { 4_000 }));
    while answered.recv_timeout(moment.saturating_duration_since(Instant::now())).is_ok() {}
    server.kill();
}
