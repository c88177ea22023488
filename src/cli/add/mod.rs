//! `loom add`: stores files.
//!
//! One thread walks on demand, some threads read, hash and decode, and the calling thread sends batches. Between them
//! is a bounded queue, so that the memory taken does not depend on how much there is to add.

mod format;
mod read;
mod send;
mod stored;
mod tally;
pub mod walk;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use read::{Outcome, Reader};
use send::Sender;
use stored::Stored;
use tally::Tally;
use walk::{Root, Walk};

/// Read files that wait to be sent. Each is at most as large as a document may be.
const QUEUE: usize = 8;

/// Store files: each becomes a document; whatever is not Markdown or plain text is extracted first
#[derive(clap::Args)]
pub struct Args {
    /// Files and folders; `-` for standard input
    ///
    /// Of a folder, everything below it is added except hidden files, what .gitignore and .ignore files name, and
    /// what editors and operating systems leave behind.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The source URI of the one file given; needed for standard input [default: file:// and the absolute path]
    #[arg(long, value_name = "URI")]
    source_uri: Option<String>,
    /// Source URIs are this and the path below the folder given, instead of file:// and the absolute path
    #[arg(long, value_name = "URI", conflicts_with = "source_uri")]
    prefix: Option<String>,
    #[command(flatten)]
    label: Label,
    /// Store files again whose bytes are those already stored
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    identity: Identity,
}

/// What is said of every document besides its text.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Label {
    /// The title [default: what the file's front matter says, else the file's name without its extension]
    #[arg(long)]
    pub title: Option<String>,
    /// A description
    #[arg(long)]
    pub description: Option<String>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
}

impl Label {
    /// Tags as the engine keeps them, so that they can be compared with stored ones.
    fn tidy(mut self) -> Self {
        for tag in &mut self.tags {
            *tag = tag.trim().to_owned();
        }
        self
    }
}

pub fn run(global: &Global, args: Args, screen: &mut Screen) -> Result<(), Failure> {
    let started = Instant::now();
    if args.source_uri.is_some() && args.paths.len() > 1 {
        return Err(Failure::Usage("--source-uri names one document: give one file".into()));
    }
    let label = args.label.tidy();
    let roots = walk::roots(&args.paths, args.source_uri.as_deref(), args.prefix.as_deref())?;
    let content_bytes_max = args.identity.config()?.documents.content_bytes;
    let client = Client::open(global, &args.identity, Missing::Create)?;
    let known = Stored::of(&client, &roots)?;
    let reader = Reader { known: &known, label: &label, content_bytes_max, force: args.force };
    let progress = progress_bar();
    let added = add(&client, roots, global.folder().ok(), &reader, &progress);
    progress.finish_and_clear();
    let tally = added?;
    client.close();
    tally.print(started.elapsed(), screen)?;
    tally.verdict()
}

/// Reads everything below `roots` and stores what is new.
fn add(
    client: &Client,
    roots: Vec<Root>,
    own_folder: Option<PathBuf>,
    reader: &Reader<'_>,
    progress: &ProgressBar,
) -> Result<Tally, Failure> {
    let walk = Mutex::new(Walk::new(roots, own_folder));
    let threads = thread::available_parallelism().map_or(2, usize::from).min(QUEUE);
    thread::scope(|scope| {
        let (send, outcomes) = mpsc::sync_channel::<Outcome>(QUEUE);
        for _ in 0..threads {
            let (send, walk) = (send.clone(), &walk);
            scope.spawn(move || {
                // The lock is held for one step of the walk; a reader that panicked leaves a walk that still works.
                while let Some(found) = { walk.lock().unwrap_or_else(PoisonError::into_inner).next() } {
                    if send.send(reader.read(found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut sender = Sender::new(client, reader.known, reader.label);
        for outcome in outcomes {
            progress.inc(1);
            sender.take(outcome)?;
            progress.set_message(sender.tally().brief());
        }
        sender.finish()
    })
}

fn progress_bar() -> ProgressBar {
    // Hidden by itself when standard error is no terminal.
    let style = ProgressStyle::with_template("{spinner} {human_pos} files read, {msg} ({elapsed})");
    ProgressBar::new_spinner().with_style(style.expect("the template is constant, and every run parses it"))
}
