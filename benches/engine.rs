//! How fast the engine is on a folder of Markdown, against what its work costs bare, in one run.
//!
//! ```sh
//! cargo bench --bench engine -- path/to/folder    # or LOOM_BENCH_MD=path/to/folder
//! ```
//!
//! Without a folder it takes this repository's `docs`. Nothing is written beside a temporary folder, which should
//! lie on a real disk (`TMPDIR`), since a sync costs nothing in memory. Which files are read and which queries are
//! asked depends on the folder alone.

mod markdown;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loom::chunk::{self, ChunkSettings};
use loom::embed::{self, EmbedKind, EmbedSettings, Embedder};
use loom::{Caller, Config, Engine};
use serde_json::{Value, json};

use markdown::Tree;

const FOLDER_DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
const FILES_MAX: usize = 20_000;
const BYTES_MAX: usize = 256 << 20;
/// A call takes so many documents, or so much text, whichever is reached first.
const BATCH_DOCUMENTS: usize = 500;
const BATCH_BYTES: usize = 4 << 20;
const QUERIES_MAX: usize = 200;
const QUERY_CHARS_MAX: usize = 200;
const UPSERTS: usize = 100;
const NOTE_CHARS: usize = 1000;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What a piece of work took.
#[derive(Clone, Copy, Default)]
struct Spent {
    wall_s: f64,
    /// Of all threads of the process; `None` where the system does not say.
    cpu_s: Option<f64>,
}

/// What the ingest took, by the engine's own timings too.
struct Ingest {
    spent: Spent,
    chunks: u64,
    embed_s: f64,
    store_s: f64,
}

/// Milliseconds of calls, sorted.
struct Latencies(Vec<f64>);

fn main() -> Outcome<()> {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let given = given.or_else(|| std::env::var("LOOM_BENCH_MD").ok());
    let root = PathBuf::from(given.unwrap_or_else(|| FOLDER_DEFAULT.to_owned()));
    let tree = Tree::read(&root, FILES_MAX, BYTES_MAX)?;
    let bytes: usize = tree.documents.iter().map(|(_, text)| text.len()).sum();
    if tree.documents.is_empty() {
        return Err(format!("{} holds no Markdown that is UTF-8", root.display()).into());
    }
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let embedder = embed::from_settings(&EmbedSettings::default())?;
    embedder.embed(&["the table is read once"], EmbedKind::Passage, in_an_hour())?;

    let (inputs, cutting) = spent(|| inputs(&tree));
    let chunks = inputs.len();
    let distinct: BTreeSet<&str> = inputs.iter().map(String::as_str).collect();
    let distinct: Vec<&str> = distinct.into_iter().collect();
    let (vectors, embedding) = spent_ok(|| Ok(embedder.embed(&distinct, EmbedKind::Passage, in_an_hour())?))?;
    let distinct = vectors.len();
    drop(vectors);

    let engine = Engine::open(&data, Config::default())?;
    let ingest = ingest(&engine, &tree)?;
    if ingest.chunks != chunks as u64 {
        return Err(format!("the engine cut {} chunks, this benchmark {chunks}", ingest.chunks).into());
    }
    let queries = queries(&tree);
    let mut out = io::stdout().lock();
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
    writeln!(
        out,
        "{name}: {} documents ({} left out), {:.1} MiB, {chunks} chunks, {distinct} distinct\n",
        tree.documents.len(),
        tree.left_out,
        float(bytes) / f64::from(1 << 20),
    )?;
    print_ingest(&mut out, &ingest, cutting, embedding)?;
    print_searches(&mut out, &engine, embedder.as_ref(), &queries)?;
    print_upserts(&mut out, &engine, folder.path(), &tree)?;
    let ((), closing) = spent_ok(|| Ok(engine.close()?))?;
    drop(engine);
    let (engine, opening) = spent_ok(|| Ok(Engine::open(&data, Config::default())?))?;
    let (_, first) = spent_ok(|| search(&engine, "hybrid", &queries[0]))?;
    writeln!(out, "\n{:<44}{:>10}", "milliseconds of", "wall")?;
    for (what, spent) in [("closing", closing), ("opening", opening), ("the first search after it", first)] {
        writeln!(out, "{what:<44}{:>10.1}", spent.wall_s * 1e3)?;
    }
    Ok(())
}

/// The documents in portions as large as one call takes.
fn batches(tree: &Tree) -> Vec<&[(String, String)]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, (_, text)) in tree.documents.iter().enumerate() {
        bytes += text.len();
        if at + 1 - start == BATCH_DOCUMENTS || bytes >= BATCH_BYTES || at + 1 == tree.documents.len() {
            batches.push(&tree.documents[start..=at]);
            (start, bytes) = (at + 1, 0);
        }
    }
    batches
}

impl Latencies {
    fn of<T>(calls: impl Iterator<Item = Outcome<(T, Spent)>>) -> Outcome<(Vec<T>, Self)> {
        let (mut answers, mut latencies) = (Vec::new(), Vec::new());
        for call in calls {
            let (answer, spent) = call?;
            answers.push(answer);
            latencies.push(spent.wall_s * 1e3);
        }
        latencies.sort_by(f64::total_cmp);
        Ok((answers, Self(latencies)))
    }

    /// The latency that `percent` of the calls do not exceed.
    fn at(&self, percent: usize) -> f64 {
        self.0[(self.0.len() * percent).div_ceil(100).max(1) - 1]
    }
}

/// What the engine embeds for each chunk of the documents.
fn inputs(tree: &Tree) -> Vec<String> {
    let mut inputs = Vec::new();
    for (_, text) in &tree.documents {
        let cut = chunk::cut(text, ChunkSettings::default());
        let front = cut.front_matter.unwrap_or_default();
        let (title, description) = (front.title.unwrap_or_default(), front.description.unwrap_or_default());
        inputs.extend(cut.pieces.iter().map(|piece| {
            let context = chunk::context(&title, &description, &piece.section_path, piece.table_header.as_deref());
            let [start, end] = [piece.place.byte_start, piece.place.byte_end].map(|byte| usize::try_from(byte).ok());
            embed::input(&context, start.zip(end).and_then(|(start, end)| text.get(start..end)).unwrap_or_default())
        }));
        if cut.pieces.is_empty() && !(title.is_empty() && description.is_empty()) {
            inputs.push(chunk::context(&title, &description, &[], None));
        }
    }
    inputs
}

/// Headings of several words, each once, evenly drawn from all of them in their order as text.
fn queries(tree: &Tree) -> Vec<String> {
    let mut headings = BTreeSet::new();
    for (_, text) in &tree.documents {
        let sections = chunk::cut(text, ChunkSettings::default()).sections;
        headings.extend(sections.into_iter().filter_map(|mut section| section.path.pop()).filter(|heading| {
            heading.split_whitespace().nth(1).is_some()
                && heading.chars().any(char::is_alphanumeric)
                && heading.chars().count() <= QUERY_CHARS_MAX
        }));
    }
    let count = headings.len().min(QUERIES_MAX);
    let headings: Vec<String> = headings.into_iter().collect();
    let mut drawn: Vec<String> = (0..count).map(|at| headings[at * headings.len() / count].clone()).collect();
    if drawn.is_empty() {
        drawn.push("a folder without headings".to_owned());
    }
    drawn
}

fn call(engine: &Engine, op: &str, input: Value) -> Outcome<loom::Answer> {
    let Value::Object(input) = input else { return Err("an input is an object".into()) };
    engine.call(&Caller::local(), op, input).map_err(|error| format!("{op}: {}", error.message).into())
}

fn ingest(engine: &Engine, tree: &Tree) -> Outcome<Ingest> {
    let mut ingest = Ingest { spent: Spent::default(), chunks: 0, embed_s: 0.0, store_s: 0.0 };
    let batches: Vec<Value> = batches(tree).into_iter().map(entries).collect();
    let ((), spent) = spent_ok(|| {
        for batch in batches {
            let answer = call(engine, "knowledge.bulk_add", batch)?;
            let written = answer.output["written"].as_array().ok_or("an answer lists what was written")?;
            ingest.chunks += written.iter().filter_map(|entry| entry["chunks_created"].as_u64()).sum::<u64>();
            for (stage, ms) in answer.timings {
                match stage {
                    "embed" => ingest.embed_s += ms / 1e3,
                    "store" => ingest.store_s += ms / 1e3,
                    _ => {}
                }
            }
        }
        Ok(())
    })?;
    ingest.spent = spent;
    Ok(ingest)
}

fn entries(documents: &[(String, String)]) -> Value {
    let entries: Vec<Value> =
        documents.iter().map(|(path, text)| json!({ "source_uri": path, "content": text })).collect();
    json!({ "entries": entries })
}

/// The heading of the first hit.
fn search(engine: &Engine, mode: &str, query: &str) -> Outcome<Option<String>> {
    let input = json!({ "query": query, "search_mode": mode, "namespace_scope": "this" });
    let answer = call(engine, "knowledge.search", input)?.output;
    let heading = answer["results"][0]["section_path"].as_array().and_then(|path| path.last()?.as_str());
    Ok(heading.map(str::to_owned))
}

fn print_ingest(out: &mut impl io::Write, ingest: &Ingest, cutting: Spent, embedding: Spent) -> Outcome<()> {
    writeln!(out, "{:<44}{:>10}{:>10}{:>12}", "ingest, seconds", "wall", "CPU", "chunks/s")?;
    let inside = |wall_s| Spent { wall_s, cpu_s: None };
    let rest_s = ingest.spent.wall_s - ingest.embed_s - ingest.store_s;
    let chunks = float(usize::try_from(ingest.chunks)?);
    for (what, spent) in [
        ("knowledge.bulk_add", ingest.spent),
        ("  of it: checking, cutting, hashing", inside(rest_s)),
        ("  of it: embedding, known inputs looked up", inside(ingest.embed_s)),
        ("  of it: commit and projections", inside(ingest.store_s)),
        ("bare: cutting", cutting),
        ("bare: embedding the distinct inputs", embedding),
    ] {
        let cpu = spent.cpu_s.map_or_else(|| "-".to_owned(), |cpu_s| format!("{cpu_s:.2}"));
        writeln!(out, "{what:<44}{:>10.2}{cpu:>10}{:>12.0}", spent.wall_s, chunks / spent.wall_s)?;
    }
    let ratio = |spent: fn(&Spent) -> Option<f64>| {
        let both = spent(&ingest.spent).zip(spent(&embedding)).filter(|(_, bare)| *bare > 0.0);
        both.map_or_else(|| "-".to_owned(), |(whole, bare)| format!("{:.1}", whole / bare))
    };
    let (wall, cpu) = (ratio(|spent| Some(spent.wall_s)), ratio(|spent| spent.cpu_s));
    writeln!(out, "{:<44}{wall:>10}{cpu:>10}\n", "ratio to the bare embedding")?;
    Ok(())
}

fn print_searches(
    out: &mut impl io::Write,
    engine: &Engine,
    embedder: &dyn Embedder,
    queries: &[String],
) -> Outcome<()> {
    let title = format!("search for {} headings, milliseconds", queries.len());
    writeln!(out, "{title:<44}{:>10}{:>10}{:>10}{:>14}", "p50", "p95", "ratio", "first right")?;
    let bare = queries.iter().map(|query| spent_ok(|| Ok(embedder.embed(&[query], EmbedKind::Query, in_an_hour())?)));
    let (_, bare) = Latencies::of(bare)?;
    for mode in ["hybrid", "semantic", "lexical"] {
        search(engine, mode, &queries[0])?;
        let (headings, latencies) =
            Latencies::of(queries.iter().map(|query| spent_ok(|| search(engine, mode, query))))?;
        let right = headings.iter().zip(queries).filter(|(heading, query)| heading.as_ref() == Some(query)).count();
        let right = format!("{:.0}%", 100.0 * float(right) / float(queries.len()));
        print_latencies(out, mode, &latencies, &bare, &right)?;
    }
    print_latencies(out, "bare: embedding the query", &bare, &bare, "")
}

fn print_upserts(out: &mut impl io::Write, engine: &Engine, folder: &Path, tree: &Tree) -> Outcome<()> {
    let note: String = tree.documents[0].1.chars().take(NOTE_CHARS).collect();
    let mut file = File::create(folder.join("floor"))?;
    let (mut upserts, mut appends) = (Vec::new(), Vec::new());
    for at in 0..UPSERTS {
        // In turns, so that whatever else the disk does meets both.
        appends.push(spent_ok(|| {
            file.write_all(note.as_bytes())?;
            Ok(file.sync_data()?)
        }));
        let input = json!({ "source_uri": format!("note://{at}"), "content": format!("{note}\n\nNote {at}.") });
        upserts.push(spent_ok(|| call(engine, "knowledge.upsert", input)));
    }
    let (_, floor) = Latencies::of(appends.into_iter())?;
    let (_, upserts) = Latencies::of(upserts.into_iter())?;
    let title = format!("{UPSERTS} durable writes of {} bytes, ms", note.len());
    writeln!(out, "\n{title:<44}{:>10}{:>10}{:>10}", "p50", "p95", "ratio")?;
    print_latencies(out, "knowledge.upsert", &upserts, &floor, "")?;
    print_latencies(out, "floor: append to a file and fdatasync", &floor, &floor, "")
}

fn print_latencies(
    out: &mut impl io::Write,
    what: &str,
    latencies: &Latencies,
    bare: &Latencies,
    right: &str,
) -> Outcome<()> {
    let (half, most) = (latencies.at(50), latencies.at(95));
    Ok(writeln!(out, "{what:<44}{half:>10.3}{most:>10.3}{:>10.1}{right:>14}", half / bare.at(50))?)
}

fn spent<T>(work: impl FnOnce() -> T) -> (T, Spent) {
    let (cpu, wall) = (cpu_s(), Instant::now());
    let done = work();
    let wall_s = wall.elapsed().as_secs_f64();
    (done, Spent { wall_s, cpu_s: cpu_s().zip(cpu).map(|(after, before)| after - before) })
}

fn spent_ok<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Spent)> {
    let (done, spent) = spent(work);
    Ok((done?, spent))
}

/// When an embedding may be given up: later than any here takes.
fn in_an_hour() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

/// The CPU seconds of the process so far, which Linux counts in hundredths.
fn cpu_s() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
fn float(count: usize) -> f64 {
    count as f64
}
