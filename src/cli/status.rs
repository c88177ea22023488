//! `loom status`: what is held, how big it is, what runs, and what fails.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted, grouped, harmless};
use super::settings::{Global, Identity};

/// Show what is held, how big it is, what runs and what fails
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let namespaces = client.call("namespace.list", json!({}))?["namespaces"].clone();
    let numbers: BTreeMap<String, f64> = client.numbers()?.into_iter().collect();
    let readiness = client.readiness()?;
    let place = match &client {
        Client::Local(_) => "this command (no server runs)".to_owned(),
        Client::Http(remote) => remote.address().to_owned(),
    };
    client.close();
    let bytes = global.folder().ok().map(|folder| size(&folder)).filter(|bytes| *bytes > 0);
    if screen.is_json() {
        return screen.json(&json!({
            "place": place, "namespaces": namespaces, "numbers": numbers, "readiness": readiness, "bytes": bytes,
        }));
    }
    let number = |name: &str| numbers.get(name).copied().unwrap_or_default();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "gauges of counts are whole and positive"
    )]
    let whole = |name: &str| number(name) as u64;
    screen.line(format!("held by {place}"))?;
    let held = [("loom_documents", "document"), ("loom_chunks", "chunk"), ("loom_versions", "version")];
    let held = held.map(|(name, noun)| counted(whole(name), noun)).join(", ");
    let size = bytes.map_or_else(String::new, |bytes| format!(", {} bytes on disk", grouped(bytes)));
    screen.line(format!("{held}{size}"))?;
    for namespace in namespaces.as_array().into_iter().flatten() {
        let documents = counted(namespace["documents"].as_u64().unwrap_or_default(), "document");
        let name = harmless(namespace["namespace"].as_str().unwrap_or_default());
        let moving = match namespace["reembedding"].as_object() {
            Some(moving) => format!("  moving to {}: {} of {}", moving["model"], moving["done"], moving["total"]),
            None => String::new(),
        };
        screen.line(format!("    {}  {documents}{moving}", screen.strong(&name)))?;
    }
    let runs = [("loom_ingests_open", "ingest"), ("loom_projections_building", "index being built")];
    let runs: Vec<String> =
        runs.iter().filter(|(name, _)| whole(name) > 0).map(|(name, noun)| counted(whole(name), noun)).collect();
    screen.line(if runs.is_empty() { "nothing runs".to_owned() } else { format!("runs: {}", runs.join(", ")) })?;
    let failing = readiness["detail"]["failing"].as_array().cloned().unwrap_or_default();
    for failure in &failing {
        let text = |name: &str| harmless(failure[name].as_str().unwrap_or_default());
        screen.line(format!("{} fails since {}: {}", screen.strong(&text("what")), text("since"), text("error")))?;
    }
    if whole("loom_takes_writes") == 0 {
        screen.line("nothing is stored at the moment: the disk is nearly full or the storage failed")?;
    } else if failing.is_empty() {
        screen.line("nothing fails")?;
    }
    Ok(())
}

/// The bytes of the files below a folder.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

impl Client {
    /// The gauges, by name.
    fn numbers(&self) -> Result<Vec<(String, f64)>, Failure> {
        match self {
            Self::Local(engine) => {
                Ok(engine.metrics()?.into_iter().map(|(name, _, value)| (name.to_owned(), value)).collect())
            }
            Self::Http(remote) => {
                let text = remote.metrics()?;
                let rows = text.lines().filter(|line| !line.starts_with('#'));
                Ok(rows.filter_map(|line| line.split_once(' ')).filter_map(gauge).collect())
            }
        }
    }

    /// What the readiness probe says.
    fn readiness(&self) -> Result<Value, Failure> {
        match self {
            Self::Local(engine) => {
                let readiness = engine.readiness();
                Ok(json!({ "ready": readiness.ready, "detail": readiness.detail }))
            }
            Self::Http(remote) => remote.readiness(),
        }
    }
}

fn gauge((name, value): (&str, &str)) -> Option<(String, f64)> {
    Some((name.to_owned(), value.trim().parse().ok()?))
}
