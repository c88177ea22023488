//! `loom compact`: gives back disk space.

use serde_json::json;

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted};
use super::settings::{Global, Identity};
use crate::Caller;

/// Give back the disk space that nothing needs any more; no server may hold the folder
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let Client::Local(engine) = &client else { return Err(client.served()?) };
    let compacted = engine.compact(&Caller::local())?;
    client.close();
    if screen.is_json() {
        return screen.json(&json!({
            "bytes_before": compacted.bytes_before, "bytes_after": compacted.bytes_after,
            "blobs_removed": compacted.blobs_removed,
        }));
    }
    screen.line(format!(
        "compacted: {} bytes before, {} after; {} removed that no document names",
        compacted.bytes_before,
        compacted.bytes_after,
        counted(compacted.blobs_removed, "original")
    ))
}
