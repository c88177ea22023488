//! `loom mcp`: the door for agents on this machine.

mod door;
mod input;
mod install;

use std::sync::Arc;
use std::thread;

use clap::{Subcommand, ValueEnum};
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio;

use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use crate::Error;
use crate::mcp::{Agents, Calls, Registry, Toolset};
use door::Door;
use input::Lines;

/// Threads that carry messages, beside those of the calls.
const ASYNC_THREADS: usize = 2;

/// Serve agents over the Model Context Protocol on standard input and output, or set a client up for it
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[arg(long, value_enum, help = "The tools to list [env: LOOM_MCP_TOOLSET] [default: default]")]
    toolset: Option<Tools>,
    #[arg(long, help = "Offer only what reads [env: LOOM_MCP_READ_ONLY]")]
    read_only: bool,
    #[command(flatten)]
    identity: Identity,
}

#[derive(Clone, Copy, ValueEnum)]
enum Tools {
    /// The few that an agent needs
    Default,
    /// Each operation that is listed for agents
    All,
}

#[derive(Subcommand)]
enum Action {
    /// Print the configuration of a client, or write it
    Install(install::Args),
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    match &args.action {
        Some(Action::Install(install)) => install::run(global, args, install, screen),
        None => serve(global, args),
    }
}

/// Answers messages until the input ends. What an agent asks first, the tools, needs no folder: it is opened meanwhile.
fn serve(global: &Global, args: &Args) -> Result<(), Failure> {
    let mut config = args.identity.config()?;
    if let Some(toolset) = args.toolset {
        config.mcp.toolset = match toolset {
            Tools::Default => Toolset::Default,
            Tools::All => Toolset::All,
        };
    }
    config.mcp.read_only |= args.read_only;
    let (registry, message_bytes_max) = (Registry::new(config.mcp.clone()), config.http.max_body_bytes);
    // A place that cannot be meant is told at once, not by each call.
    global.place()?;
    let door = Arc::new(Door::new(global, &args.identity, config));
    let opening = Arc::clone(&door);
    let opened = thread::Builder::new().name("loom-open".into()).spawn(move || {
        if let Err(failure) = opening.open() {
            tracing::error!(%failure, "the documents cannot be reached; each call tries again");
        }
    });
    opened.map_err(Failure::io("cannot start a thread"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(ASYNC_THREADS)
        .thread_name("loom-mcp")
        .enable_all()
        .build()
        .map_err(|error| Failure::from(Error::internal(error)))?;
    let agents = Agents::new(registry, Arc::clone(&door) as Arc<dyn Calls>);
    let served = runtime.block_on(async {
        let (input, output) = stdio();
        // A client that leaves before it has said who it is has simply left.
        let Ok(running) = agents.serve((Lines::new(input, message_bytes_max), output)).await else { return Ok(()) };
        running.waiting().await.map(|_| ()).map_err(|error| Failure::from(Error::internal(error)))
    });
    runtime.shutdown_background();
    door.close();
    served
}
