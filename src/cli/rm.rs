//! `loom rm`: deletes documents.

use serde_json::{Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::get::not_found;
use super::screen::{Screen, counted, harmless};
use super::settings::{Global, Identity};
use super::source;

/// The most documents that one call deletes.
const BATCH: usize = 500;

/// Delete documents; `loom restore` brings one back
#[derive(clap::Args)]
pub struct Args {
    /// The documents' source URIs, or the paths of the files they were added from
    #[arg(required = true)]
    source_uris: Vec<String>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let mut arguments = args.source_uris;
    arguments.sort();
    arguments.dedup();
    let mut deleted = Vec::new();
    let mut absent = Vec::new();
    for batch in arguments.chunks(BATCH) {
        let exact = delete(&client, &batch.iter().map(String::as_str).collect::<Vec<_>>())?;
        let mut others = Vec::new();
        for (argument, result) in batch.iter().zip(exact) {
            if result["deleted"] == true {
                deleted.push(result);
            } else {
                match source::candidates(argument)?.pop().filter(|other| other != argument) {
                    Some(other) => others.push((argument, other)),
                    None => absent.push(argument.clone()),
                }
            }
        }
        others.sort_by(|a, b| a.1.cmp(&b.1));
        others.dedup_by(|a, b| a.1 == b.1);
        let results = delete(&client, &others.iter().map(|(_, other)| other.as_str()).collect::<Vec<_>>())?;
        for ((argument, _), result) in others.iter().zip(results) {
            if result["deleted"] == true {
                deleted.push(result);
            } else {
                absent.push((*argument).clone());
            }
        }
    }
    client.close();
    if screen.is_json() {
        screen.json(&json!({ "deleted": deleted, "not_found": absent }))?;
    } else {
        for result in &deleted {
            let chunks = counted(result["chunks_tombstoned"].as_u64().unwrap_or_default(), "chunk");
            let source_uri = harmless(result["source_uri"].as_str().unwrap_or_default());
            screen.line(format!("deleted {source_uri} ({chunks})"))?;
        }
    }
    match absent.as_slice() {
        [] => Ok(()),
        [one] => Err(not_found(one)),
        [first, ..] => Err(Failure::Unmet(format!(
            "{} of {} documents are not there, {first} among them: `loom list` names those that are stored",
            absent.len(),
            arguments.len()
        ))),
    }
}

/// One result for each of `source_uris`, in their order.
fn delete(client: &Client, source_uris: &[&str]) -> Result<Vec<Value>, Failure> {
    if source_uris.is_empty() {
        return Ok(Vec::new());
    }
    let mut answer = client.call("knowledge.bulk_delete", json!({ "source_uris": source_uris }))?;
    let Value::Array(results) = answer["deleted"].take() else { return Ok(Vec::new()) };
    Ok(results)
}
