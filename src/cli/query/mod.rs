//! `loom query`: a calculation over datasets, from flags or from a plan in JSON.

mod flags;

use std::fs;
use std::io::{self, Read as _};

use serde_json::{Map, Value, json};

use self::flags::Parts;
use super::client::{Client, Missing};
use super::datasets::datasets_of;
use super::failure::Failure;
use super::grid::{Grid, shown};
use super::screen::{Screen, counted};
use super::settings::{Global, Identity};

/// Calculate over the datasets of ingested files: exactly, and over every row
#[derive(clap::Args)]
#[command(
    after_help = "Columns are written as their names, with `alias.` before them where there are several datasets.\n\
    Conditions: 'year=2025', 'amount>=10.5', 'region!=North', 'region in North,South', 'note~late' (contains),\n\
    'note^=INC-' (starts with), 'closed is null', 'closed is not null'."
)]
pub struct Args {
    /// The files, each as [ALIAS=]SOURCE[#DATASET]
    #[arg(required_unless_present = "plan", value_name = "SOURCE")]
    sources: Vec<String>,
    /// The plan as JSON, from a file or from standard input (-), as knowledge.query takes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sources", "sum", "avg", "min", "max", "count", "count_distinct",
        "by", "conditions", "joins", "select", "order", "include_totals"])]
    plan: Option<String>,
    /// Add up a column
    #[arg(long, value_name = "COLUMN")]
    sum: Vec<String>,
    /// Average a column
    #[arg(long, value_name = "COLUMN")]
    avg: Vec<String>,
    /// The least value of a column
    #[arg(long, value_name = "COLUMN")]
    min: Vec<String>,
    /// The greatest value of a column
    #[arg(long, value_name = "COLUMN")]
    max: Vec<String>,
    /// Count rows, or the values of a column
    #[arg(long, value_name = "COLUMN", num_args = 0..=1, default_missing_value = "")]
    count: Vec<String>,
    /// Count the different values of a column
    #[arg(long, value_name = "COLUMN")]
    count_distinct: Vec<String>,
    /// Calculate for each value of a column; of a date for each COLUMN:day, COLUMN:month or COLUMN:year
    #[arg(long, value_name = "COLUMN")]
    by: Vec<String>,
    /// Only rows that meet a condition
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// Join a dataset to an earlier one: NEW.COLUMN=EARLIER.COLUMN, several with `,` between
    #[arg(long = "join", value_name = "PAIRS")]
    joins: Vec<String>,
    /// Print rows: these columns of them
    #[arg(long, value_name = "COLUMN")]
    select: Vec<String>,
    /// Order by a column of the result; COLUMN:desc for the greatest first
    #[arg(long, value_name = "COLUMN")]
    order: Vec<String>,
    /// The most rows of the result
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Have rows that state totals of others count too
    #[arg(long)]
    include_totals: bool,
    /// Print the result as CSV
    #[arg(long)]
    csv: bool,
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
    let plan = match &args.plan {
        Some(file) => read_plan(file)?,
        None => of_flags(client, args)?,
    };
    let answer = client.call("knowledge.query", Value::Object(plan))?;
    if screen.is_json() {
        return screen.json(&answer);
    }
    let columns = list(&answer["columns"]).iter().map(|column| shown(&column["name"]));
    let rows = list(&answer["rows"]).iter().map(|row| list(row).iter().map(shown));
    if args.csv {
        screen.raw(&csv_line(columns))?;
        return rows.map(csv_line).try_for_each(|line| screen.raw(&line));
    }
    let mut grid = Grid::new(columns);
    rows.for_each(|row| grid.row(row));
    grid.print(screen)?;
    let read = counted(answer["receipt"]["rows_read"].as_u64().unwrap_or_default(), "row");
    let ms = answer["receipt"]["elapsed_ms"].as_f64().unwrap_or_default();
    let more = if answer["truncated"] == true { ", more than --limit" } else { "" };
    screen.line(screen.faint(&format!(
        "{}{more} of {read} read in {ms:.0} ms",
        counted(list(&answer["rows"]).len() as u64, "row")
    )))?;
    for reason in list(&answer["incomplete"]) {
        screen.line(format!("! not complete: {}", shown(reason)))?;
    }
    for snapshot in list(&answer["receipt"]["snapshots"]) {
        let left_out = snapshot["total_rows_left_out"].as_u64().unwrap_or_default();
        if left_out > 0 {
            let rows = counted(left_out, "row");
            screen.line(screen.faint(&format!("{rows} of totals left out of {}", shown(&snapshot["source_uri"]))))?;
        }
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let cells = cells.map(|cell| {
        let needs_quotes = cell.contains([',', '"', '\n', '\r']) || cell.starts_with(' ') || cell.ends_with(' ');
        if needs_quotes { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    });
    cells.collect::<Vec<_>>().join(",") + "\n"
}

fn read_plan(file: &str) -> Result<Map<String, Value>, Failure> {
    let mut text = String::new();
    let read = if file == "-" {
        io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        fs::read_to_string(file).map(|read| text = read)
    };
    read.map_err(Failure::io(format!("cannot read the plan {file}")))?;
    serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("the plan {file} is no JSON object: {error}")))
}

fn of_flags(client: &Client, args: &Args) -> Result<Map<String, Value>, Failure> {
    let mut parts = Parts::default();
    for given in &args.sources {
        let (alias, source, dataset_id) = flags::source(given);
        let (source_uri, found) = datasets_of(client, source, dataset_id, 0)?;
        // One dataset needs no alias.
        let number = if args.sources.len() > 1 { parts.datasets().len() + 1 } else { 0 };
        let alias = if alias.is_empty() && number > 0 { format!("d{number}") } else { alias.to_owned() };
        parts.add_dataset(&alias, &source_uri, dataset_id, list(&found["datasets"]));
    }
    let groups = args.by.iter().map(|by| parts.group(by)).collect::<Vec<_>>();
    let functions = [
        ("sum", &args.sum),
        ("avg", &args.avg),
        ("min", &args.min),
        ("max", &args.max),
        ("count", &args.count),
        ("count_distinct", &args.count_distinct),
    ];
    let aggregates =
        functions.iter().flat_map(|(function, columns)| columns.iter().map(|column| parts.aggregate(function, column)));
    let aggregates: Vec<Value> = aggregates.collect();
    let conditions =
        args.conditions.iter().map(|condition| parts.condition(condition)).collect::<Result<Vec<_>, _>>()?;
    let joins = args.joins.iter().map(|join| parts.join(join)).collect::<Result<Vec<_>, _>>()?;
    let plan = json!({
        "datasets": parts.datasets(), "where": conditions, "joins": joins, "group_by": groups, "aggregates": aggregates,
        "select": args.select.iter().map(|column| parts.column(column)).collect::<Vec<_>>(),
        "order_by": args.order.iter().map(|order| flags::order(order)).collect::<Vec<_>>(),
        "limit": args.limit, "include_totals": args.include_totals,
    });
    let Value::Object(plan) = plan else { return Err(Failure::Usage("no plan was made".into())) };
    Ok(plan)
}
