//! `loom mcp`: the door for agents on this machine.

mod install;

use std::sync::Arc;

use clap::{Subcommand, ValueEnum};
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio;
use serde_json::{Map, Value};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use crate::Error;
use crate::mcp::{Agents, Calls, Registry, Toolset, refusal};

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

/// Answers messages until the input ends.
fn serve(global: &Global, args: &Args) -> Result<(), Failure> {
    let mut settings = args.identity.config()?.mcp;
    if let Some(toolset) = args.toolset {
        settings.toolset = match toolset {
            Tools::Default => Toolset::Default,
            Tools::All => Toolset::All,
        };
    }
    settings.read_only |= args.read_only;
    let client = Arc::new(Client::open(global, &args.identity, Missing::Create)?);
    let agents = Agents::new(Registry::new(settings), Arc::new(Through(Arc::clone(&client))));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("loom-mcp")
        .enable_all()
        .build()
        .map_err(|error| Failure::from(Error::internal(error)))?;
    let served = runtime.block_on(async {
        // A client that leaves before it has said who it is has simply left.
        let Ok(running) = agents.serve(stdio()).await else { return Ok(()) };
        running.waiting().await.map(|_| ()).map_err(|error| Failure::from(Error::internal(error)))
    });
    runtime.shutdown_background();
    if let Some(client) = Arc::into_inner(client) {
        client.close();
    }
    served
}

/// Calls in this process, or of the server that holds the folder.
struct Through(Arc<Client>);

impl Calls for Through {
    fn call(&self, op: &str, input: Map<String, Value>) -> Result<Value, Value> {
        self.0.call(op, Value::Object(input)).map_err(|failure| match failure.to_json() {
            Some(mut error) => error["error"].take(),
            None => refusal(&Error::internal(failure.to_string())),
        })
    }
}
