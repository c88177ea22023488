//! `loom serve`: the engine behind the local HTTP API.

use serde_json::json;

use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity, setting};
use crate::Engine;
use crate::http;

/// Where the server listens when nobody says.
const LISTEN: &str = "127.0.0.1:7777";

/// Serve the HTTP API on a data folder
#[derive(clap::Args)]
pub struct Args {
    #[arg(
        long,
        value_name = "ADDR:PORT",
        help = "The address to listen on; port 0 takes a free one; other machines may reach it only with LOOM_AUTH=token \
                [env: LOOM_LISTEN] [default: 127.0.0.1:7777]"
    )]
    listen: Option<String>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    if global.server.is_some() {
        return Err(Failure::Usage("a server has a folder of its own: name it with --data, not --server".into()));
    }
    let folder = global.folder()?;
    super::config::warn_of_unknown();
    leave_no_core();
    let listen = args.listen.clone().or_else(|| setting("LOOM_LISTEN")).unwrap_or_else(|| LISTEN.to_owned());
    let engine = Engine::open(&folder, args.identity.config()?).map_err(Failure::Open)?;
    tracing::info!(folder = %folder.display(), "the data folder is open");
    let mut announced = Ok(());
    http::serve(engine, &listen, http::signalled(), |address| announced = announce(&address.to_string(), screen))?;
    announced
}

/// A core file would hold keys and documents.
fn leave_no_core() {
    #[cfg(all(unix, feature = "extract"))]
    if let Err(error) = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0) {
        tracing::warn!(%error, "a crash may leave a core file, which holds documents");
    }
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
