//! `loom erase`: a namespace, or one person's documents, for good.

use std::thread;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted, harmless};
use super::settings::{Global, Identity};

/// How often a server is asked how far it is.
const POLL: Duration = Duration::from_millis(200);

/// Erase a namespace or one person's documents for good
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    identity: Identity,
}

#[derive(Subcommand)]
enum Action {
    /// Everything of a namespace: documents, history, originals, uploads, ingests
    Namespace {
        /// Its name
        name: String,
        /// The name once more
        #[arg(long, value_name = "NAME")]
        confirm: String,
    },
    /// What one person wrote, in every namespace
    User {
        /// The `user_id` of their tokens, or an actor such as `user:local`
        user: String,
        /// The same once more
        #[arg(long, value_name = "USER")]
        confirm: String,
    },
    /// The erasures of the last 90 days
    Status,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let answer = match &args.action {
        Action::Namespace { name, confirm } => {
            erase(&client, json!({ "namespace": name, "scope": "namespace", "confirm": confirm }))
        }
        Action::User { user, confirm } => erase(&client, json!({ "scope": "user", "user": user, "confirm": confirm })),
        Action::Status => client.call("erasure.status", json!({})),
    };
    client.close();
    let answer = answer?;
    if screen.is_json() {
        return screen.json(&answer);
    }
    let erasures = answer["erasures"].as_array().map(Vec::as_slice).unwrap_or_default();
    if erasures.is_empty() {
        return screen.line(screen.faint("no erasures"));
    }
    for erasure in erasures {
        print(erasure, screen)?;
    }
    if matches!(args.action, Action::Status) {
        return Ok(());
    }
    screen.line(
        screen.faint("`loom compact` takes what was erased out of the files as well; backups keep what they have"),
    )
}

/// Asks for an erasure and waits until it is done.
fn erase(client: &Client, input: Value) -> Result<Value, Failure> {
    let asked = client.call("erasure.request", input)?;
    loop {
        if let Client::Local(engine) = client {
            engine.run_erasures()?;
        }
        let answer = client.call("erasure.status", json!({ "erasure_id": asked["erasure_id"] }))?;
        if answer["erasures"][0]["state"] == "done" {
            return Ok(answer);
        }
        thread::sleep(POLL);
    }
}

fn print(erasure: &Value, screen: &mut Screen) -> Result<(), Failure> {
    let text = |name: &str| harmless(erasure[name].as_str().unwrap_or_default());
    let count = |name: &str, noun: &str| counted(erasure[name].as_u64().unwrap_or_default(), noun);
    let what = [count("documents", "document"), count("versions", "version"), count("originals", "original")];
    screen.line(format!(
        "{} {} {}: {}",
        text("state"),
        text("scope"),
        screen.strong(&text("target")),
        what.join(", ")
    ))?;
    let mut facts = format!("asked for {} by {}", text("requested_at"), text("requested_by"));
    for (name, words) in [("finished_at", "done"), ("error", "failed:")] {
        if !text(name).is_empty() {
            facts.extend(["  ", words, " ", &text(name)]);
        }
    }
    screen.line(format!("    {}", screen.faint(&facts)))
}
