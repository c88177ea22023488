//! `loom datasets`: what the tables of a file became, and approving a schema.

use serde_json::{Map, Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::get::not_found;
use super::grid::Grid;
use super::screen::{Screen, counted};
use super::settings::{Global, Identity};
use super::source;

/// Print the typed datasets of an ingested file: schemas, open questions, first rows
#[derive(clap::Args)]
pub struct Args {
    /// The document's source URI, or the path of the file it was ingested from
    source_uri: String,
    /// One dataset of it
    #[arg(long, value_name = "ID")]
    dataset: Option<String>,
    /// How many of the first rows to print
    #[arg(long, default_value_t = 5, value_name = "COUNT")]
    rows: u32,
    /// Approve the schema as it is printed, with the types that --type changes
    #[arg(long)]
    approve: bool,
    /// With --approve: hold a column as this type: string, number, bool, date, datetime, time or duration
    #[arg(long = "type", value_name = "COLUMN=TYPE", requires = "approve")]
    types: Vec<String>,
    #[command(flatten)]
    identity: Identity,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::open(global, &args.identity, Missing::Refuse)?;
    let done = work(&client, args, screen);
    client.close();
    done
}

fn work(client: &Client, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let dataset_id = args.dataset.as_deref().unwrap_or_default();
    let (source_uri, answer) = datasets_of(client, &args.source_uri, dataset_id, args.rows)?;
    let datasets = answer["datasets"].as_array().map(Vec::as_slice).unwrap_or_default();
    if datasets.is_empty() && args.approve {
        return Err(Failure::Unmet(format!("{source_uri} has no such dataset")));
    }
    if !args.approve {
        if screen.is_json() {
            return screen.json(&answer);
        }
        if datasets.is_empty() {
            return screen.line(screen.faint("no datasets: the document is no file with tables"));
        }
        return datasets.iter().try_for_each(|dataset| print(dataset, screen));
    }
    let [dataset] = datasets else {
        let ids: Vec<&str> = datasets.iter().filter_map(|dataset| dataset["dataset_id"].as_str()).collect();
        return Err(Failure::Usage(format!("name one dataset with --dataset: {}", ids.join(", "))));
    };
    let input = json!({
        "source_uri": source_uri, "dataset_id": dataset["dataset_id"], "snapshot_id": dataset["snapshot_id"],
        "columns": types(&args.types)?,
    });
    let approved = client.call("knowledge.dataset_approve", input)?;
    if screen.is_json() {
        return screen.json(&approved);
    }
    print(&approved["dataset"], screen)
}

/// The datasets of the first address that the argument may mean and that is live, and that address.
pub fn datasets_of(client: &Client, argument: &str, dataset_id: &str, rows: u32) -> Result<(String, Value), Failure> {
    for source_uri in source::candidates(argument)? {
        let input = json!({ "source_uri": source_uri, "dataset_id": dataset_id, "sample_rows": rows });
        let answer = client.call("knowledge.dataset_get", input)?;
        if answer["found"] == true {
            return Ok((source_uri, answer));
        }
    }
    Err(not_found(argument))
}

fn types(given: &[String]) -> Result<Map<String, Value>, Failure> {
    let pairs = given.iter().map(|pair| {
        let (column, to) = pair.rsplit_once('=').ok_or_else(|| {
            Failure::Usage(format!("--type takes COLUMN=TYPE, such as amount=number; it was {pair:?}"))
        })?;
        Ok((column.to_owned(), Value::from(to)))
    });
    pairs.collect()
}

fn print(dataset: &Value, screen: &mut Screen) -> Result<(), Failure> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let id = text(&dataset["dataset_id"]);
    let rows = counted(dataset["row_count"].as_u64().unwrap_or_default(), "row");
    let state = text(&dataset["schema_state"]).replace('_', " ");
    screen.line(format!("{}  {}", screen.strong(&id), screen.faint(&format!("{rows}, {state}"))))?;
    let columns = dataset["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut schema = Grid::new(["column", "type", ""]);
    for column in columns {
        let mut remarks = Vec::new();
        if column["inferred"] != column["type"] {
            remarks.push(format!("read as {}", text(&column["inferred"])));
        }
        if column["stored"] == false {
            remarks.push("not stored".into());
        }
        if column["double"] == true {
            remarks.push("as doubles".into());
        }
        schema.row([text(&column["name"]), text(&column["type"]), remarks.join(", ")]);
    }
    schema.print(screen)?;
    let each = |list: &Value| list.as_array().cloned().unwrap_or_default();
    for question in each(&dataset["clarifications"]) {
        screen.line(format!("? {}: {}", text(&question["code"]), text(&question["detail"])))?;
    }
    let rejected = dataset["rejected_rows"]["count"].as_u64().unwrap_or_default();
    if rejected > 0 {
        screen.line(format!("! {} rejected", counted(rejected, "row")))?;
        for row in each(&dataset["rejected_rows"]["first"]).iter().take(5) {
            let (column, value, reason) = (text(&row["column"]), text(&row["value"]), text(&row["reason"]));
            screen.line(format!("    row {}: {column} is {value:?}, {reason}", row["row_id"]))?;
        }
    }
    let totals = dataset["total_rows"]["count"].as_u64().unwrap_or_default();
    if totals > 0 {
        let says = if totals == 1 { "states" } else { "state" };
        let left_out = "left out of queries unless --include-totals";
        screen.line(format!("= {} {says} totals of others, {left_out}", counted(totals, "row")))?;
    }
    for warning in each(&dataset["warnings"]).iter().chain(&each(&dataset["incomplete"])) {
        screen.line(format!("! {}", text(warning)))?;
    }
    let sample = each(&dataset["sample"]);
    if !sample.is_empty() {
        let mut grid = Grid::new(columns.iter().map(|column| text(&column["name"])));
        for row in &sample {
            grid.row(each(row).iter().map(super::grid::shown));
        }
        screen.line("")?;
        grid.print(screen)?;
    }
    screen.line("")
}
