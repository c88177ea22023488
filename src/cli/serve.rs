//! `loom serve`: the engine behind the local HTTP API.

use serde_json::json;

use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use crate::Engine;
use crate::http;

/// Serve the HTTP API on a data folder
#[derive(clap::Args)]
pub struct Args {
    /// The loopback address to listen on; port 0 takes a free one
    #[arg(long, env = "LOOM_LISTEN", value_name = "ADDR:PORT", default_value = "127.0.0.1:7777")]
    listen: String,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    if global.server.is_some() {
        return Err(Failure::Usage("a server has a folder of its own: name it with --data, not --server".into()));
    }
    let folder = global.folder()?;
    let engine = Engine::open(&folder, args.identity.config()?).map_err(Failure::Open)?;
    tracing::info!(folder = %folder.display(), "the data folder is open");
    let mut announced = Ok(());
    http::serve(engine, &args.listen, http::signalled(), |address| announced = announce(&address.to_string(), screen))?;
    announced
}

/// Prints the address, for whoever started the server and waits for the line.
fn announce(address: &str, screen: &mut Screen) -> Result<(), Failure> {
    let address = format!("http://{address}");
    if screen.is_json() {
        screen.json(&json!({ "listening": address }))?;
    } else {
        screen.line(format!("listening on {address}"))?;
    }
    screen.flush()
}
