//! `loom blobs`: what originals take, and what would go.

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};

/// Show what stored originals take, and which of them nothing needs any more
#[derive(clap::Args)]
pub struct Args {
    /// Remove now what the next sweep would
    #[arg(long)]
    sweep: bool,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let Client::Local(engine) = &client else { return Err(client.served()?) };
    let totals = engine.blobs(args.sweep)?;
    client.close();
    if screen.is_json() {
        return screen.json(&totals);
    }
    screen.line(format!("{} originals and artifacts, {} bytes", totals.blobs, totals.bytes))?;
    screen.line(format!("{} that nothing needs, {} bytes", totals.unneeded, totals.unneeded_bytes))?;
    let (verb, sweepable) = (if args.sweep { "removed" } else { "would be removed" }, totals.sweepable);
    screen.line(format!("{sweepable} old enough {verb}, {} bytes", totals.sweepable_bytes))
}
