//! `loom outline`: a document's sections, or the text of one.

use serde_json::{Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::get::not_found;
use super::screen::{Screen, counted};
use super::settings::{Global, Identity};
use super::source;

/// Print a document's sections, or the text of one
#[derive(clap::Args)]
pub struct Args {
    /// The document's source URI, or the path of the file it was added from
    source_uri: String,
    /// Print the text of this section: its headings from the outermost in, one option for each
    #[arg(long = "section", value_name = "HEADING")]
    sections: Vec<String>,
    /// With --section: leave out the sections below it
    #[arg(long, requires = "sections")]
    own_text: bool,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let mut answer = json!({});
    for source_uri in source::candidates(&args.source_uri)? {
        let input = json!({
            "source_uri": source_uri, "section_path": args.sections, "include_children": !args.own_text,
        });
        answer = client.call("knowledge.outline", input)?;
        if answer["found"] == true {
            break;
        }
    }
    client.close();
    let section = answer["section_content"].as_str();
    if screen.is_json() {
        screen.json(&answer)?;
    } else if let Some(text) = section {
        screen.text(text)?;
    } else if args.sections.is_empty() && answer["found"] == true {
        print_tree(&answer, screen)?;
    }
    if answer["found"] != true {
        return Err(not_found(&args.source_uri));
    }
    if !args.sections.is_empty() && section.is_none() {
        let path = args.sections.join(" > ");
        return Err(Failure::Unmet(format!(
            "no section {path}: `loom outline {}` prints the sections",
            args.source_uri
        )));
    }
    Ok(())
}

fn print_tree(answer: &Value, screen: &mut Screen) -> Result<(), Failure> {
    let title = answer["title"].as_str().unwrap_or_default();
    if !title.is_empty() {
        screen.line(screen.strong(title))?;
    }
    let sections = answer["sections"].as_array().map(Vec::as_slice).unwrap_or_default();
    for section in sections {
        let depth = section["path"].as_array().map_or(0, Vec::len).saturating_sub(1);
        let heading =
            section["title"].as_str().filter(|heading| !heading.is_empty()).unwrap_or("(before the first heading)");
        let chars = counted(section["chars"].as_u64().unwrap_or_default(), "character");
        screen.line(format!("{}{heading}  {}", "  ".repeat(depth), screen.faint(&chars)))?;
    }
    if sections.is_empty() {
        screen.line(screen.faint("no sections"))?;
    }
    Ok(())
}
