//! `loom audit`: who did what, and who was refused.

use serde_json::{Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, harmless};
use super::settings::{Global, Identity};

/// The most records that one call answers.
const PAGE: usize = 500;

/// Show who did what and who was refused, newest first
#[derive(clap::Args)]
pub struct Args {
    /// Only this operation
    #[arg(long, value_name = "NAME")]
    op: Option<String>,
    /// Only this actor, such as `user:local`
    #[arg(long, value_name = "ACTOR")]
    actor: Option<String>,
    /// Only refusals
    #[arg(long)]
    refused: bool,
    /// Only of the namespace that is named; without, of all
    #[arg(long)]
    here: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let (mut records, mut cursor) = (Vec::<Value>::new(), Value::Null);
    while records.len() < args.limit {
        let mut input = json!({
            "op": args.op.as_deref().unwrap_or_default(), "actor": args.actor.as_deref().unwrap_or_default(),
            "refused": args.refused, "limit": (args.limit - records.len()).min(PAGE), "cursor": cursor,
        });
        if !args.here {
            input["namespace"] = "*".into();
        }
        let answer = client.call("audit.list", input)?;
        records.extend(answer["records"].as_array().into_iter().flatten().cloned());
        cursor = answer["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    client.close();
    if screen.is_json() {
        return screen.json(&json!({ "records": records }));
    }
    if records.is_empty() {
        return screen.line(screen.faint("no records"));
    }
    for record in &records {
        let text = |name: &str| harmless(record[name].as_str().unwrap_or_default());
        let count = record["count"].as_u64().filter(|count| *count > 1).map_or(String::new(), |n| format!(" x{n}"));
        let outcome = match text("outcome").as_str() {
            "refused" => screen.strong(&format!("refused{count} ({})", text("code"))),
            done => done.to_owned(),
        };
        let actor = if text("actor").is_empty() { "(nobody known)".into() } else { text("actor") };
        screen.line(format!("{}  {}  {actor}  {}  {outcome}", text("at"), text("op"), text("namespace")))?;
        if record["what"].as_object().is_some_and(|what| !what.is_empty()) {
            screen.line(format!("    {}", screen.faint(&harmless(&record["what"].to_string()))))?;
        }
    }
    Ok(())
}
