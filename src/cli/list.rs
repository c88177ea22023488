//! `loom list`: the documents.

use serde_json::{Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, counted, harmless};
use super::settings::{Global, Identity};

/// The most rows that one call answers.
const PAGE: usize = 500;

/// List the documents, newest first
#[derive(clap::Args)]
pub struct Args {
    /// Only documents with this tag; any of them when repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only documents whose source URI starts so; any of them when repeated
    #[arg(long = "prefix", value_name = "URI")]
    prefixes: Vec<String>,
    /// List deleted and replaced versions too
    #[arg(long)]
    deleted: bool,
    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let mut left = args.limit.unwrap_or(usize::MAX);
    let mut cursor = Value::Null;
    let mut count = 0;
    // The rows are printed page by page, as one document: a folder may hold more than fits in memory.
    if screen.is_json() {
        screen.raw("{\"rows\":[")?;
    }
    while left > 0 {
        let input = json!({
            "tags": args.tags, "uri_prefix": args.prefixes, "include_superseded": args.deleted,
            "limit": left.min(PAGE), "cursor": cursor,
        });
        let answer = client.call("knowledge.list", input)?;
        let rows = answer["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        for row in rows {
            print(row, count, screen)?;
            count += 1;
        }
        left = left.saturating_sub(rows.len());
        cursor = answer["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    client.close();
    if screen.is_json() {
        screen.raw("]}\n")
    } else if count == 0 {
        screen.line(screen.faint("no documents"))
    } else {
        Ok(())
    }
}

fn print(row: &Value, index: usize, screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        return screen.raw(&format!("{}{row}", if index == 0 { "" } else { "," }));
    }
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    let day = text("ingested_at").split('T').next().unwrap_or_default();
    let mut facts =
        format!("{day}  revision {}  {}", row["revision"], counted(row["chunks"].as_u64().unwrap_or(0), "chunk"));
    let tags: Vec<&str> = row["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !tags.is_empty() {
        facts.push_str("  tags: ");
        facts.push_str(&tags.join(", "));
    }
    if row["superseded"] == true {
        facts.push_str("  not live");
    }
    screen.line(format!("{}  {}", screen.strong(text("source_uri")), harmless(text("title"))))?;
    screen.line(format!("    {}", screen.faint(&facts)))
}
