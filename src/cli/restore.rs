//! `loom restore`: brings a deleted document back.

use serde_json::json;

use super::client::{Client, Missing};
use super::failure::Failure;
use super::get::not_found;
use super::screen::{Screen, counted, harmless};
use super::settings::{Global, Identity};
use super::source;

/// Bring a deleted document back
#[derive(clap::Args)]
pub struct Args {
    /// The document's source URI, or the path of the file it was added from
    source_uri: String,
    /// Only when the deleted document has this revision
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let mut answer = json!({});
    let mut named = args.source_uri.clone();
    for source_uri in source::candidates(&args.source_uri)? {
        answer =
            client.call("knowledge.restore", json!({ "source_uri": source_uri, "if_revision": args.if_revision }))?;
        if answer["reason"] != "not_found" {
            named = source_uri;
            break;
        }
    }
    client.close();
    let restored = answer["restored"] == true;
    if screen.is_json() {
        screen.json(&answer)?;
    } else if restored {
        let chunks = counted(answer["chunks_restored"].as_u64().unwrap_or_default(), "chunk");
        screen.line(format!("restored {}, revision {} ({chunks})", harmless(&named), answer["revision"]))?;
        if answer["original"] == "gone" {
            screen.line("its original file is no longer stored; its text is")?;
        }
    }
    if restored {
        return Ok(());
    }
    let why = match answer["reason"].as_str().unwrap_or_default() {
        "not_found" => return Err(not_found(&args.source_uri)),
        "live" => "it is not deleted".to_owned(),
        "revision_mismatch" => match answer["revision"].as_u64() {
            None => "it has another revision than --if-revision says".to_owned(),
            Some(revision) => format!("it has revision {revision}, not the one that --if-revision names"),
        },
        "expired" => "it was deleted too long ago".to_owned(),
        "not_restorable" => "its stored version cannot be brought back: add it again".to_owned(),
        other => format!("the engine says {other}"),
    };
    Err(Failure::Unmet(format!("{named} is not restored: {why}")))
}
