//! `loom get`: the text of one document.

use serde_json::json;

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::Screen;
use super::settings::{Global, Identity};
use super::source;

/// Print a document's text
#[derive(clap::Args)]
pub struct Args {
    /// The document's source URI, or the path of the file it was added from
    source_uri: String,
    /// Print the last version of a deleted document too
    #[arg(long)]
    deleted: bool,
    /// Print this revision, served or not
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let mut answer = json!({});
    for source_uri in source::candidates(&args.source_uri)? {
        answer =
            client.call("knowledge.get", json!({ "source_uri": source_uri, "include_superseded": args.deleted, "revision": args.revision, "agent": "cli" }))?;
        if answer["found"] == true {
            break;
        }
    }
    client.close();
    if screen.is_json() {
        screen.json(&answer)?;
    } else if let Some(content) = answer["content"].as_str() {
        screen.text(content)?;
    }
    if answer["found"] == true { Ok(()) } else { Err(not_found(&args.source_uri)) }
}

/// What a command says of a document that is not there.
pub fn not_found(source_uri: &str) -> Failure {
    Failure::Unmet(format!("no document {source_uri}: `loom list` names those that are stored"))
}
