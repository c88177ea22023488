//! The command line: every command works on a data folder, or through the server that holds it.

mod add;
mod audit;
mod backup;
mod blobs;
mod call;
mod client;
mod compact;
mod completions;
mod config;
#[cfg(feature = "datasets")]
mod datasets;
mod demo;
mod doctor;
mod erase;
mod eval;
#[cfg(feature = "extract")]
mod extractor;
mod failure;
mod get;
#[cfg(feature = "datasets")]
mod grid;
mod ingest;
mod list;
#[cfg(feature = "mcp")]
mod mcp;
mod model;
mod outline;
#[cfg(feature = "datasets")]
mod query;
mod reasons;
mod rechunk;
mod restore;
mod rm;
mod screen;
mod search;
mod secrets;
mod serve;
mod service;
mod settings;
mod source;
mod status;
mod token;

use std::env;
use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use failure::Failure;
use screen::Screen;
use settings::Global;

/// Keeps documents in one folder and finds passages in them, offline.
#[derive(Parser)]
#[command(name = "loom", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Add(add::Args),
    Ingest(ingest::Args),
    Search(search::Args),
    Get(get::Args),
    Outline(outline::Args),
    List(list::Args),
    #[cfg(feature = "datasets")]
    Datasets(datasets::Args),
    #[cfg(feature = "datasets")]
    Query(Box<query::Args>),
    Rm(rm::Args),
    Restore(restore::Args),
    Serve(serve::Args),
    Call(call::Args),
    Status(status::Args),
    Config(config::Args),
    Service(service::Args),
    Doctor(doctor::Args),
    Eval(eval::Args),
    #[cfg(feature = "extract")]
    Extractor(extractor::Args),
    Rechunk(rechunk::Args),
    LexicalStatsRebuild(rechunk::RebuildArgs),
    Backup(backup::Args),
    RestoreBackup(backup::RestoreArgs),
    Compact(compact::Args),
    Blobs(blobs::Args),
    Model(model::Args),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Args),
    Token(token::Args),
    Audit(audit::Args),
    Secrets(secrets::Args),
    Erase(erase::Args),
    Demo(demo::Args),
    Completions(completions::Args),
}

/// Runs the command that the process was started with.
///
/// The status is 0 when it is done, 1 when it failed and 2 when it was used wrongly. The result goes to standard
/// output, everything else to standard error. A reader that stops reading the output early is no failure.
pub fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    #[cfg(feature = "extract")]
    if let Command::Extractor(args) = &command
        && let Some(ended) = args.as_process()
    {
        return ended;
    }
    let level = if is_server(&command) { "info" } else { "error" };
    let filter = EnvFilter::try_from_env("LOOM_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match env::var("LOOM_LOG_FORMAT").as_deref() {
        Ok("json") => log.json().init(),
        _ => log.init(),
    }
    let mut screen = Screen::stdout(global.json);
    let done = run(&global, command, &mut screen);
    match done.and_then(|()| screen.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => report(&failure, &mut screen),
    }
}

fn run(global: &Global, command: Command, screen: &mut Screen) -> Result<(), Failure> {
    match command {
        Command::Add(args) => add::run(global, args, screen),
        Command::Ingest(args) => ingest::run(global, &args, screen),
        Command::Search(args) => search::run(global, &args, screen),
        Command::Get(args) => get::run(global, &args, screen),
        Command::Outline(args) => outline::run(global, &args, screen),
        Command::List(args) => list::run(global, &args, screen),
        #[cfg(feature = "datasets")]
        Command::Datasets(args) => datasets::run(global, &args, screen),
        #[cfg(feature = "datasets")]
        Command::Query(args) => query::run(global, &args, screen),
        Command::Rm(args) => rm::run(global, args, screen),
        Command::Restore(args) => restore::run(global, &args, screen),
        Command::Serve(args) => serve::run(global, &args, screen),
        Command::Call(args) => call::run(global, &args, screen),
        Command::Status(args) => status::run(global, &args, screen),
        Command::Config(args) => config::run(&args, screen),
        Command::Service(args) => service::run(global, &args, screen),
        Command::Doctor(args) => doctor::run(global, &args, screen),
        Command::Eval(args) => eval::run(global, &args, screen),
        #[cfg(feature = "extract")]
        Command::Extractor(args) => extractor::run(&args, screen),
        Command::Rechunk(args) => rechunk::run(global, &args, screen),
        Command::LexicalStatsRebuild(args) => rechunk::rebuild(global, &args, screen),
        Command::Backup(args) => backup::run(global, &args, screen),
        Command::RestoreBackup(args) => backup::restore(global, &args, screen),
        Command::Compact(args) => compact::run(global, &args, screen),
        Command::Blobs(args) => blobs::run(global, &args, screen),
        Command::Model(args) => model::run(global, &args, screen),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(global, &args, screen),
        Command::Token(args) => token::run(global, &args, screen),
        Command::Audit(args) => audit::run(global, &args, screen),
        Command::Secrets(args) => secrets::run(global, &args, screen),
        Command::Erase(args) => erase::run(global, &args, screen),
        Command::Demo(args) => demo::run(&args, screen),
        Command::Completions(args) => completions::run(&args, screen),
    }
}

fn is_server(command: &Command) -> bool {
    #[cfg(feature = "extract")]
    if let Command::Extractor(args) = command {
        return args.is_server();
    }
    matches!(command, Command::Serve(_))
}

fn report(failure: &Failure, screen: &mut Screen) -> ExitCode {
    let printed = match failure.to_json() {
        Some(error) if screen.is_json() => screen.json(&error).and_then(|()| screen.flush()),
        _ => screen.flush(),
    };
    tracing::debug!(?failure, ?printed, "failed");
    // Standard error is the last place to say it: when that is closed too, the status alone tells.
    let _ = io::Write::write_all(&mut io::stderr(), format!("error: {failure}\n").as_bytes());
    ExitCode::from(if matches!(failure, Failure::Usage(_)) { 2 } else { 1 })
}
