//! `loom ingest`: has files extracted and stored.
//!
//! Each file is uploaded and its ingest asked for, some at a time; the jobs run meanwhile, and are followed to their ends when
//! all are asked for.

mod fetch;
pub mod follow;
mod inputs;
pub mod request;

use std::fs::File;
use std::io::{self, Read};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::add::Label;
use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use follow::{Asked, Fate};
use inputs::{Input, Source};
use request::Request;

/// How many files are sent at the same time.
const ASKED_AT_ONCE: usize = 8;

/// Have files extracted and stored: each becomes a document's next revision
#[derive(clap::Args)]
pub struct Args {
    /// Files, folders, patterns such as `docs/**/*.pdf`, https addresses; `-` for standard input
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,
    /// The source URI of the one file given [default: file:// and the absolute path, or the address]
    #[arg(long, value_name = "URI")]
    source_uri: Option<String>,
    /// Source URIs are this and the path below the folder given, instead of file:// and the absolute path
    #[arg(long, value_name = "URI", conflicts_with = "source_uri")]
    prefix: Option<String>,
    #[command(flatten)]
    label: Label,
    /// The format, where the name does not tell it; needed for standard input
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// The encoding of texts, such as `shift_jis`, where the file does not tell it
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
    /// The dialect of SQL, such as postgres
    #[arg(long, value_name = "NAME")]
    sql_dialect: Option<String>,
    /// Publish what could be read of a file when a part of it is lost
    #[arg(long)]
    allow_partial: bool,
    /// Print the jobs' ids and do not wait for their ends
    #[arg(long)]
    no_wait: bool,
    /// Print what would be uploaded, and upload nothing
    #[arg(long, conflicts_with = "no_wait")]
    dry_run: bool,
    /// How long to wait for each job, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    /// A host that addresses may lead to although it is on this machine or network, and over http; may be repeated
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let inputs = inputs::find(args, global.folder().ok().as_deref())?;
    if args.dry_run {
        return show_plan(&inputs, screen);
    }
    let client = Client::open(global, &args.identity, Missing::Create)?;
    let asked = ask_all(&client, args, inputs)?;
    if args.no_wait {
        let shown = follow::show_ids(&asked, screen);
        client.close();
        return shown;
    }
    let ended = follow::to_the_end(&client, asked, Duration::from_secs(args.timeout));
    client.close();
    follow::show(&ended?, screen)
}

fn show_plan(inputs: &[Input], screen: &mut Screen) -> Result<(), Failure> {
    let format = |input: &Input| loom_extract::formats::of(&input.filename, "");
    if screen.is_json() {
        let rows = inputs.iter().map(|input| {
            let size = input.size();
            json!({ "source_uri": input.source_uri, "filename": input.filename, "format": format(input), "size": size })
        });
        return screen.json(&json!({ "would_ingest": rows.collect::<Vec<Value>>() }));
    }
    for input in inputs {
        let line = format!("{}  {}  {}", input.shown, format(input), input.source_uri);
        screen.line(super::screen::harmless(&line))?;
    }
    screen.line(format!("{} would be ingested", inputs.len()))
}

/// Uploads the files and asks for their ingests, several at a time: each waits for the disk, and they wait together.
fn ask_all(client: &Client, args: &Args, inputs: Vec<Input>) -> Result<Vec<Asked>, Failure> {
    let threads = ASKED_AT_ONCE.min(inputs.len());
    let inputs = Mutex::new(inputs.into_iter().enumerate());
    let of_one_thread = || {
        let mut asked = Vec::new();
        while let Some((at, input)) = { inputs.lock().unwrap_or_else(PoisonError::into_inner).next() } {
            asked.push((at, ask(client, args, input)?));
        }
        Ok::<_, Failure>(asked)
    };
    let mut asked = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(of_one_thread)).collect();
        let mut asked = Vec::new();
        for thread in threads {
            asked.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok::<_, Failure>(asked)
    })?;
    asked.sort_by_key(|(at, _)| *at);
    Ok(asked.into_iter().map(|(_, asked)| asked).collect())
}

/// Uploads one file and asks for its ingest. What is wrong with the file itself ends its own row only.
fn ask(client: &Client, args: &Args, input: Input) -> Result<Asked, Failure> {
    let Input { shown, source_uri, filename, source } = input;
    let read = match source {
        Source::File(path) => open(&path).map(|file| (Box::new(file) as Box<dyn Read + Send>, String::new())),
        Source::StandardInput => Ok((Box::new(io::stdin()) as Box<dyn Read + Send>, String::new())),
        Source::Address(address) => fetch::fetch(&address, &args.allow_host)
            .map(|fetched| (Box::new(io::Cursor::new(fetched.bytes)) as Box<dyn Read + Send>, fetched.content_type)),
        Source::Unreadable(reason) => Err(reason),
    };
    let (mut body, content_type) = match read {
        Ok(read) => read,
        Err(reason) => return Ok(Asked::refused(shown, source_uri, reason)),
    };
    let mut input = request::labelled(&source_uri, &filename, &args.label);
    input["allow_partial"] = args.allow_partial.into();
    input["options"] = json!({
        "format": args.format.as_deref().unwrap_or_default(),
        "encoding": args.encoding.as_deref().unwrap_or_default(),
        "sql_dialect": args.sql_dialect.as_deref().unwrap_or_default(),
    });
    let request = Request { filename: &filename, content_type: &content_type, input };
    Ok(match request.send(client, &mut body)? {
        Ok(id) => Asked { shown, source_uri, fate: Fate::Open(id) },
        Err(refusal) => Asked::refused(shown, source_uri, refusal.to_string()),
    })
}

fn open(path: &PathBuf) -> Result<File, String> {
    File::open(path).map_err(|error| error.to_string())
}
