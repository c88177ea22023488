//! `loom serve`: the engine behind the local HTTP API.

use std::net::SocketAddr;

use serde_json::json;

use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use crate::Engine;

/// Serve the HTTP API on one data folder
#[derive(clap::Args)]
pub struct Args {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, env = "LOOM_LISTEN", value_name = "ADDR:PORT", default_value = "127.0.0.1:7777")]
    listen: SocketAddr,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    if global.server.is_some() {
        return Err(Failure::Usage("a server has a folder of its own: name it with --data, not --server".into()));
    }
    let _ = (Engine::open(&global.folder()?, args.identity.config()?).map_err(Failure::Open)?, args.listen, json!({}));
    screen.flush()
}
