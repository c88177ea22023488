//! The engine at scale, against what its work costs bare: raw tantivy, raw usearch, one redb commit, the bare
//! embedding, all in one run over the same texts and vectors.
//!
//! ```sh
//! cargo bench --bench scale -- path/to/markdown              # 100,000 chunks
//! cargo bench --bench scale -- path/to/markdown 10000 100000 300000
//! ```
//!
//! With `--ingest` it stops after the ingest, for a profiler, with `--namespaces` after the ingest and searches of many
//! namespaces, and with `--search` after what is searched one at a time.
//!
//! The chunks are cut from the Markdown below the folder, which is repeated with changed words until there are
//! enough. Nothing is written beside a temporary folder, which should lie on a real disk (`TMPDIR`), since a sync
//! costs nothing in memory. CPU time is the measure wherever it can be: a busy machine disturbs it least.

mod baseline;
mod corpus;
mod engine;
mod extras;
#[allow(dead_code, reason = "the other benchmark also counts what is left out")]
#[path = "../markdown/mod.rs"]
mod markdown;
mod measure;
mod process;
mod report;

use std::error::Error;
use std::path::Path;

use loom::embed::{self, EmbedSettings};

use corpus::Corpus;
use report::Report;

type Outcome<T> = Result<T, Box<dyn Error>>;

const CHUNKS_DEFAULT: usize = 100_000;
const FOLDER_DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [mode, folder, queries] = arguments.as_slice()
        && mode == process::SERVE
    {
        return process::serve(Path::new(folder), Path::new(queries));
    }
    let root = arguments.first().map_or(FOLDER_DEFAULT, String::as_str);
    let mut sizes = arguments.iter().skip(1).map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes.push(CHUNKS_DEFAULT);
    }
    for size in sizes {
        at_size(Path::new(root), size)?;
    }
    Ok(())
}

fn at_size(root: &Path, size: usize) -> Outcome<()> {
    let embedder = embed::from_settings(&EmbedSettings::default())?;
    let corpus = Corpus::read(root, size, embedder.as_ref())?;
    let mut report = Report::begin(&corpus);
    let folder = tempfile::tempdir()?;
    let lexical = baseline::Tantivy::build(&corpus, &folder.path().join("tantivy"), &mut report)?;
    let data = folder.path().join("data");
    let engine = engine::ingest(&corpus, &data, &mut report)?;
    let asked_for = |only: &str| std::env::args().any(|argument| argument == only);
    if asked_for("--ingest") {
        return report.disk(&corpus, &data);
    }
    if asked_for("--namespaces") {
        extras::fan_out(&engine, &corpus, folder.path(), &mut report)?;
        return Ok(engine.close()?);
    }
    let vectors = baseline::Usearch::build(&corpus, &mut report)?;
    engine::searches(&engine, &corpus, &lexical, &vectors, &mut report)?;
    drop((lexical, vectors));
    engine::filtered(&engine, &corpus, &mut report)?;
    extras::extras(&engine, &corpus, &mut report)?;
    extras::fan_out(&engine, &corpus, folder.path(), &mut report)?;
    if asked_for("--search") {
        return Ok(engine.close()?);
    }
    engine::parallel(&engine, &corpus, &mut report)?;
    engine::upserts(&engine, &corpus, folder.path(), &mut report)?;
    engine.close()?;
    drop(engine);
    engine::reopen(&corpus, &data, &mut report)?;
    process::http(&corpus, &data, &mut report)?;
    process::memory(&corpus, &data, folder.path(), &mut report)?;
    report.disk(&corpus, &data)
}
