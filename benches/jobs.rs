//! Files as jobs against the same texts as documents: upload, extraction in another process and publishing, beside
//! `knowledge.bulk_add`.
//!
//! ```sh
//! cargo bench --bench jobs -- path/to/markdown [FILES]    # 1,000 files
//! ```
//!
//! Both store the same files in folders of their own, below `TMPDIR`, in turns; wall time is the measure, since the
//! extraction is another process's. The median of the rounds is printed.

#[path = "markdown/mod.rs"]
mod markdown;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loom::{Caller, Config, Engine, UploadRequest};
use serde_json::{Value, json};

use markdown::Tree;

const FOLDER_DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
const FILES_DEFAULT: usize = 1_000;
const BYTES_MAX: usize = 256 << 20;
const ROUNDS: usize = 3;
/// A call of `bulk_add` takes so many documents, or so much text, whichever is reached first.
const BATCH_DOCUMENTS: usize = 500;
const BATCH_BYTES: usize = 1 << 20;
/// Files are sent so many at a time, as `loom ingest` does.
const ASKED_AT_ONCE: usize = 8;
const POLL: Duration = Duration::from_millis(5);

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn main() -> Outcome<()> {
    let mut given = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let root = PathBuf::from(given.next().unwrap_or_else(|| FOLDER_DEFAULT.to_owned()));
    let files = given.next().map_or(Ok(FILES_DEFAULT), |files| files.parse())?;
    let tree = Tree::read(&root, files, BYTES_MAX)?;
    let bytes: usize = tree.documents.iter().map(|(_, text)| text.len()).sum();
    println!("{} files of {}, {bytes} bytes", tree.documents.len(), root.display());
    let (mut added, mut jobs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        added.push(timed(&tree, bulk_add)?);
        jobs.push(timed(&tree, as_jobs)?);
    }
    let [(added_s, chunks), (jobs_s, job_chunks)] = [added, jobs].map(|mut rounds: Vec<(f64, u64)>| {
        rounds.sort_by(|left, right| left.0.total_cmp(&right.0));
        rounds[ROUNDS / 2]
    });
    println!("knowledge.bulk_add   {added_s:8.2} s  {chunks} chunks");
    println!("jobs                 {jobs_s:8.2} s  {job_chunks} chunks");
    println!("the rate of jobs to that of bulk_add  {:.2} (wanted: at least 0.5)", added_s / jobs_s);
    Ok(())
}

/// The seconds that `store` takes on a folder of its own, and the chunks it made.
fn timed(tree: &Tree, store: fn(&Engine, &Tree) -> Outcome<u64>) -> Outcome<(f64, u64)> {
    let folder = tempfile::tempdir()?;
    let mut config = Config::default();
    config.extraction.program = Some(Path::new(env!("CARGO_BIN_EXE_loom")).to_owned());
    let engine = Engine::open(folder.path(), config)?;
    let started = Instant::now();
    let chunks = store(&engine, tree)?;
    let seconds = started.elapsed().as_secs_f64();
    engine.close()?;
    Ok((seconds, chunks))
}

fn bulk_add(engine: &Engine, tree: &Tree) -> Outcome<u64> {
    let (mut entries, mut bytes, mut chunks) = (Vec::new(), 0, 0);
    for (at, (path, text)) in tree.documents.iter().enumerate() {
        bytes += text.len();
        entries.push(json!({ "source_uri": path, "content": text }));
        if entries.len() == BATCH_DOCUMENTS || bytes >= BATCH_BYTES || at + 1 == tree.documents.len() {
            let answer = call(engine, "knowledge.bulk_add", json!({ "entries": std::mem::take(&mut entries) }))?;
            let written = answer["written"].as_array().into_iter().flatten();
            chunks += written.filter_map(|entry| entry["chunks_created"].as_u64()).sum::<u64>();
            bytes = 0;
        }
    }
    Ok(chunks)
}

fn as_jobs(engine: &Engine, tree: &Tree) -> Outcome<u64> {
    let next = AtomicUsize::new(0);
    let of_one_thread = || -> Result<Vec<(usize, String)>, String> {
        let mut asked = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, text)) = tree.documents.get(at) else { return Ok(asked) };
            asked.push((at, ask(engine, path, text).map_err(|error| format!("{path}: {error}"))?));
        }
    };
    let mut jobs = thread::scope(|scope| {
        let threads: Vec<_> = (0..ASKED_AT_ONCE).map(|_| scope.spawn(of_one_thread)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        joined.collect::<Result<Vec<_>, String>>()
    })?
    .concat();
    jobs.sort_unstable();
    let mut chunks = 0;
    for ((_, job), (path, _)) in jobs.iter().zip(&tree.documents) {
        let status = loop {
            let status = call(engine, "knowledge.ingest_status", json!({ "ingestion_id": job }))?;
            if !matches!(status["state"].as_str(), Some("pending" | "processing")) {
                break status;
            }
            thread::sleep(POLL);
        };
        // A file that has front matter and nothing else is no document by extraction.
        if status["state"] != "ready" && status["error_code"] != "no_text" {
            return Err(format!("{path}: {status}").into());
        }
        chunks += status["chunks"].as_u64().unwrap_or(0);
    }
    Ok(chunks)
}

/// Uploads a file and asks for its ingest: the job's id.
fn ask(engine: &Engine, path: &str, text: &str) -> Outcome<String> {
    let request = UploadRequest { filename: path.to_owned(), ..UploadRequest::default() };
    let mut upload = engine.begin_upload(&Caller::local(), request)?;
    upload.write(text.as_bytes())?;
    let upload_id = upload.finish()?.upload_id;
    let asked = call(engine, "knowledge.ingest", json!({ "upload_id": upload_id, "source_uri": path }))?;
    Ok(asked["ingestion_id"].as_str().ok_or("an ingest has an id")?.to_owned())
}

fn call(engine: &Engine, op: &str, input: Value) -> Outcome<Value> {
    let Value::Object(input) = input else { return Err("an input is an object".into()) };
    Ok(engine.call(&Caller::local(), op, input).map_err(|error| format!("{op}: {}", error.message))?.output)
}
