//! `loom demo`: Loom's own documents, stored and asked, as the shortest proof that it works.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use uuid::Uuid;

use super::client::Client;
use super::failure::Failure;
use super::screen::{Screen, counted};
use super::search::print_hit;
use crate::{Config, Engine};

/// The documents are in the binary, since it may run anywhere.
const DOCUMENTS: &[(&str, &str)] = &[
    ("README.md", include_str!("../../README.md")),
    ("ARCHITECTURE.md", include_str!("../../ARCHITECTURE.md")),
    ("CHANGELOG.md", include_str!("../../CHANGELOG.md")),
    ("docs/decisions.md", include_str!("../../docs/decisions.md")),
    ("docs/formats.md", include_str!("../../docs/formats.md")),
];

const QUESTIONS: [&str; 3] = [
    "How do I search over HTTP?",
    "What happens to search when the index files are deleted?",
    "Which files does loom add leave out of a folder?",
];

/// How many passages answer a question, and how many lines of each are shown.
const TOP_K: usize = 2;
const PASSAGE_LINES: usize = 6;

/// Store Loom's own documents in a temporary folder and ask three questions of them
#[derive(clap::Args)]
pub struct Args {}

/// A folder that is gone when the demonstration ends, however it ends.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("loom-demo-{}", Uuid::now_v7()));
        fs::create_dir(&path).map_err(Failure::io(format!("cannot make the folder {}", path.display())))?;
        Ok(Self(path))
    }

    fn remove(mut self) -> Result<(), Failure> {
        let path = std::mem::take(&mut self.0);
        fs::remove_dir_all(&path).map_err(Failure::io(format!("cannot remove the folder {}", path.display())))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty()
            && let Err(error) = fs::remove_dir_all(&self.0)
        {
            tracing::warn!(folder = %self.0.display(), %error, "a temporary folder stays");
        }
    }
}

pub fn run(_: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let folder = TemporaryFolder::new()?;
    // The defaults, whatever the environment says: the demonstration needs no network.
    let client = Client::Local(Engine::open(&folder.0, Config::default()).map_err(Failure::Open)?);
    let (chunks, seconds) = store(&client)?;
    if !screen.is_json() {
        let documents = counted(DOCUMENTS.len() as u64, "document");
        screen.line(format!(
            "Stored {documents} of this repository in a temporary folder, as {}, in {seconds:.2} s.\n",
            counted(chunks, "chunk")
        ))?;
    }
    let mut answers = Vec::new();
    for question in QUESTIONS {
        answers.push(ask(&client, question, screen)?);
    }
    client.close();
    folder.remove()?;
    if screen.is_json() {
        return screen.json(&json!({
            "documents": DOCUMENTS.len(), "chunks": chunks, "seconds": seconds, "answers": answers,
        }));
    }
    screen
        .line("The temporary folder is removed. With documents of your own: `loom add PATH`, then `loom search WORDS`.")
}

/// Stores the documents; answers how many chunks they have and how many seconds it took.
fn store(client: &Client) -> Result<(u64, f64), Failure> {
    let started = Instant::now();
    let entries: Vec<Value> = DOCUMENTS
        .iter()
        .map(|(name, content)| json!({ "source_uri": format!("loom://{name}"), "title": name, "content": content }))
        .collect();
    let answer = client.call("knowledge.bulk_add", json!({ "entries": entries }))?;
    let written = answer["written"].as_array().into_iter().flatten();
    let chunks = written.filter_map(|entry| entry["chunks_created"].as_u64()).sum();
    Ok((chunks, started.elapsed().as_secs_f64()))
}

/// Asks one question and prints the passages found.
fn ask(client: &Client, question: &str, screen: &mut Screen) -> Result<Value, Failure> {
    let started = Instant::now();
    let mut answer =
        client.call("knowledge.search", json!({ "query": question, "top_k": TOP_K, "narrow_spans": true }))?;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let results = answer["results"].take();
    let hits = results.as_array().map(Vec::as_slice).unwrap_or_default();
    if hits.is_empty() {
        return Err(Failure::Unmet(format!("no passage found for {question:?}, which is a defect")));
    }
    if !screen.is_json() {
        screen.line(format!("{} {}", screen.strong(question), screen.faint(&format!("({milliseconds:.1} ms)"))))?;
        screen.line("")?;
        for (index, hit) in hits.iter().enumerate() {
            print_hit(hit, index + 1, PASSAGE_LINES, screen)?;
        }
    }
    Ok(json!({ "question": question, "milliseconds": milliseconds, "results": results }))
}
