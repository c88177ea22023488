//! `loom model`: which embedding models serve, whether one works, and moving a folder to another.

use std::path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};

use super::client::{Client, Missing, Remote};
use super::failure::Failure;
use super::screen::{Screen, counted, grouped, harmless};
use super::settings::{Global, Identity};
use crate::embed::{self, BUILT_IN_MODEL, ENDPOINT_PREFIX, EmbedKind, EmbedSettings, Embedder, LOCAL_PREFIX};
use crate::{Config, Engine, Error, ModelRow};

/// How long a check may take, an endpoint's attempts included.
const CHECK_WAIT: Duration = Duration::from_mins(2);
/// How often the progress of a move is looked at.
const PROGRESS_POLL: Duration = Duration::from_millis(100);

const QUESTION: &str = "How do I get a new passport?";
const ANSWER: &str = "Applications for travel documents are handed in at the town hall, with a photograph.";
const OTHER: &str = "The parser stops at the first token that the grammar does not allow.";
/// How many texts of the length of a chunk the speed is measured with.
const CHUNKS: usize = 8;
const CHUNK_CHARS: usize = 1_000;

/// List embedding models, check one, or move a folder to another
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    identity: Identity,
}

#[derive(Subcommand)]
enum Command {
    /// Show the configured model, which one serves each namespace, and how many vectors there are of each
    List,
    /// Load a model, embed a few sentences and show what it is worth
    Check(Named),
    /// Embed the whole data folder under another model, and have that one serve
    Switch(Named),
}

#[derive(clap::Args)]
struct Named {
    /// The folder of a transformer, `loom-static-256` for the model in the binary, or `openai:<model>`
    model: String,
}

impl Named {
    /// As `LOOM_EMBEDDING_MODEL` names it; a folder may be given without `local:`, and is made absolute.
    fn setting(&self) -> String {
        let given = self.model.trim();
        let known = given == BUILT_IN_MODEL || given.starts_with(ENDPOINT_PREFIX);
        let folder = given.strip_prefix(LOCAL_PREFIX).unwrap_or(given);
        match path::absolute(folder) {
            Ok(folder) if !known && folder.is_dir() => format!("{LOCAL_PREFIX}{}", folder.display()),
            _ => given.to_owned(),
        }
    }
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    match &args.command {
        Command::List => list(global, &args.identity, screen),
        Command::Check(named) => check(named, screen),
        Command::Switch(named) => switch(global, &args.identity, named, screen),
    }
}

fn list(global: &Global, identity: &Identity, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, identity, Missing::Refuse)?;
    let engine = match &client {
        Client::Local(engine) => engine,
        Client::Http(_) => return list_served(&client.call("namespace.list", json!({}))?, screen),
    };
    let (configured, rows) = (engine.configured_model().to_owned(), engine.models()?);
    client.close();
    if screen.is_json() {
        return screen.json(&json!({ "configured": configured, "namespaces": rows }));
    }
    screen.line(format!("configured: {}", screen.strong(&configured)))?;
    for row in rows {
        let (org, namespace, chunks) = (harmless(&row.org), harmless(&row.namespace), counted(row.chunks, "chunk"));
        screen.line(format!(
            "{org}/{namespace}: {chunks}, served by {} of {} dimensions",
            screen.strong(&row.serving),
            row.dimensions
        ))?;
        for (model, vectors) in &row.vectors {
            let moving = if row.building.as_ref() == Some(model) { ", which is to serve" } else { "" };
            screen.line(format!("  {} of {}{moving}", counted(*vectors, "vector"), harmless(model)))?;
        }
    }
    Ok(())
}

/// What a server tells: its namespaces, without counting vectors.
fn list_served(answer: &Value, screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        return screen.json(answer);
    }
    for row in answer["namespaces"].as_array().into_iter().flatten() {
        let text = |name: &str| harmless(row[name].as_str().unwrap_or_default());
        let chunks = counted(row["chunks"].as_u64().unwrap_or_default(), "chunk");
        screen.line(format!(
            "{}: {chunks}, served by {}",
            text("namespace"),
            screen.strong(row["embedding_model"].as_str().unwrap_or_default())
        ))?;
        let moving = &row["reembedding"];
        if let Some(model) = moving["model"].as_str() {
            let (done, total) = (moving["done"].as_u64(), moving["total"].as_u64());
            let (done, total) = (grouped(done.unwrap_or_default()), grouped(total.unwrap_or_default()));
            screen.line(format!("  moving to {}: {done} of {total}", harmless(model)))?;
        }
    }
    Ok(())
}

/// What a check found.
#[derive(Serialize)]
struct Checked {
    model: String,
    dimensions: usize,
    load_ms: u64,
    /// Texts of the length of a chunk, embedded together.
    chunks_per_second: f64,
    query_ms: f64,
    similarity_related: f32,
    similarity_unrelated: f32,
    /// The similarity that one in a hundred unrelated pairs exceeds; 0 where it is not known.
    noise_floor: f32,
}

fn check(named: &Named, screen: &mut Screen) -> Result<(), Failure> {
    let settings =
        EmbedSettings { model: named.setting(), ..Config::from_lookup(&super::settings::setting)?.embedding };
    let started = Instant::now();
    let embedder = embed::from_settings(&settings).map_err(Error::from)?;
    let load_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let checked = measure(&embedder, load_ms).map_err(Error::from)?;
    if screen.is_json() {
        return screen.json(&checked);
    }
    screen.line(screen.strong(&checked.model))?;
    let Checked { dimensions, chunks_per_second, query_ms, noise_floor, .. } = checked;
    screen.line(format!("{dimensions} dimensions, read in {load_ms} ms"))?;
    screen.line(format!("{chunks_per_second:.1} chunks a second, a query in {query_ms:.1} ms"))?;
    let (related, unrelated) = (checked.similarity_related, checked.similarity_unrelated);
    screen.line(format!("similarity of a question and its answer {related:.2}, and something else {unrelated:.2}"))?;
    if noise_floor > 0.0 {
        screen.line(format!("one in a hundred unrelated pairs is more similar than {noise_floor:.2}"))?;
    }
    if related <= unrelated {
        return Err(Failure::Unmet(
            "the model takes something else for the answer: it is not one for searching".into(),
        ));
    }
    screen.line("it works")
}

fn measure(embedder: &Arc<dyn Embedder>, load_ms: u64) -> Result<Checked, embed::EmbedError> {
    let until = Instant::now() + CHECK_WAIT;
    let dimensions = embedder.dim(until)?;
    let started = Instant::now();
    let question = embedder.embed(&[QUESTION], EmbedKind::Query, until)?;
    let query_ms = started.elapsed().as_secs_f64() * 1e3;
    let answers = embedder.embed(&[ANSWER, OTHER], EmbedKind::Passage, until)?;
    let chunk: String = ANSWER.chars().chain(" ".chars()).cycle().take(CHUNK_CHARS).collect();
    let started = Instant::now();
    let vectors = embedder.embed(&[chunk.as_str(); CHUNKS], EmbedKind::Passage, until)?;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let chunks_per_second = vectors.len() as f64 / started.elapsed().as_secs_f64();
    let similarity = |answer: &[f32]| question[0].iter().zip(answer).map(|(a, b)| a * b).sum::<f32>();
    Ok(Checked {
        model: embedder.model().to_owned(),
        dimensions,
        load_ms,
        chunks_per_second,
        query_ms,
        similarity_related: similarity(&answers[0]),
        similarity_unrelated: similarity(&answers[1]),
        noise_floor: embedder.card().noise_floor,
    })
}

fn switch(global: &Global, identity: &Identity, named: &Named, screen: &mut Screen) -> Result<(), Failure> {
    let setting = named.setting();
    let client = Client::open_with(global, identity, Missing::Refuse, |config| {
        config.embedding.model.clone_from(&setting);
    })?;
    let engine = match &client {
        Client::Local(engine) => engine,
        Client::Http(remote) => return Err(served(remote, &setting)),
    };
    finish(engine)?;
    let (model, rows) = (engine.configured_model().to_owned(), engine.models()?);
    client.close();
    let elsewhere: Vec<&ModelRow> = rows.iter().filter(|row| row.serving != model).collect();
    if let Some(row) = elsewhere.first() {
        let (org, namespace) = (harmless(&row.org), harmless(&row.namespace));
        return Err(Failure::Unmet(format!(
            "{org}/{namespace} is still served by {}: repeat the command",
            row.serving
        )));
    }
    if screen.is_json() {
        return screen.json(&json!({
            "model": model, "set": { "LOOM_EMBEDDING_MODEL": setting }, "namespaces": rows,
        }));
    }
    let chunks = counted(rows.iter().map(|row| row.chunks).sum(), "chunk");
    let namespaces = counted(rows.len() as u64, "namespace");
    screen.line(format!("{namespaces} with {chunks} are served by {}", screen.strong(&model)))?;
    screen.line(format!(
        "Set LOOM_EMBEDDING_MODEL={} for the server and for every other command: one that runs without it moves the \
         folder back.",
        harmless(&setting)
    ))
}

/// What to do where a server has the folder.
fn served(remote: &Remote, setting: &str) -> Failure {
    Failure::Usage(format!(
        "the server at {} has the data folder: start it anew with LOOM_EMBEDDING_MODEL={setting}, and it moves the \
         folder in the background while the earlier model serves; or stop it and repeat this command",
        remote.address()
    ))
}

/// Moves all namespaces, with progress on standard error when that is a terminal.
fn finish(engine: &Engine) -> Result<(), Failure> {
    let style = ProgressStyle::with_template("{spinner} {bar:30} {human_pos} of {human_len} chunks ({eta})");
    let bar = ProgressBar::no_length().with_style(style.expect("the template is constant, and every run parses it"));
    let moved = thread::scope(|scope| {
        let moving = scope.spawn(|| engine.finish_moves());
        while !moving.is_finished() {
            let (done, total) = engine.moves_progress()?;
            bar.set_length(total);
            bar.set_position(done);
            thread::sleep(PROGRESS_POLL);
        }
        moving.join().unwrap_or_else(|_| Err(Error::internal("the move panicked")))
    });
    bar.finish_and_clear();
    Ok(moved?)
}
