//! Tables, the datasets they become, and plans run over them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use loom_datasets::{Answer, Calculator, Dataset, Error, Limits, Plan, Source, type_table};
use loom_extract::contract::{Cell, CellType, Column, Row, Table};
use serde_json::json;

/// A dataset and its stored rows.
pub struct Held {
    pub dataset: Dataset,
    pub file: Vec<u8>,
    id: String,
}

impl Held {
    pub fn of(table: &Table) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let dataset = type_table(table, &BTreeMap::new()).expect("no types are named");
        let file = dataset.to_parquet().expect("the rows are written to memory");
        Self { dataset, file, id: NEXT.fetch_add(1, Ordering::Relaxed).to_string() }
    }
}

/// A table whose cells are texts as a caller types them; an empty one is an empty cell.
pub fn table(columns: &[(&str, CellType)], rows: &[&[&str]]) -> Table {
    let columns: Vec<Column> = columns
        .iter()
        .map(|(name, column_type)| Column { name: (*name).to_owned(), column_type: *column_type, mixed: false })
        .collect();
    let cell = |text: &&str| if text.is_empty() { Cell::Empty } else { Cell::Text((*text).to_owned()) };
    let rows: Vec<Row> =
        rows.iter().zip(2..).map(|(cells, number)| Row(number, cells.iter().map(cell).collect())).collect();
    Table { name: String::new(), columns, header_rows: 1, total_rows: rows.len() as u64, rows, numbered: true }
}

pub fn limits() -> Limits {
    Limits { rows: 1_000_000, memory_bytes: 64 << 20, cache_bytes: 1 << 20, threads: 2 }
}

pub fn calculator() -> Calculator {
    Calculator::new(limits())
}

/// A plan over one dataset from its JSON.
pub fn plan(parts: serde_json::Value) -> Plan {
    let mut whole = json!({
        "datasets": [""], "where": [], "joins": [], "group_by": [], "aggregates": [], "select": [], "order_by": [],
        "limit": 1000, "include_totals": false
    });
    let serde_json::Value::Object(parts) = parts else { panic!("a plan is an object") };
    for (name, part) in parts {
        whole[name] = part;
    }
    serde_json::from_value(whole).expect("a plan")
}

pub fn run(calculator: &Calculator, plan: &Plan, held: &[Held]) -> Result<Answer, Error> {
    run_until(calculator, plan, held, Instant::now() + Duration::from_mins(1))
}

pub fn run_until(calculator: &Calculator, plan: &Plan, held: &[Held], until: Instant) -> Result<Answer, Error> {
    let loads: Vec<_> = held.iter().map(|held| || Ok(held.file.clone())).collect();
    let sources = held.iter().zip(&loads).map(|(held, load)| Source {
        snapshot_id: &held.id,
        description: &held.dataset.description,
        load,
    });
    calculator.run(plan, &sources.collect::<Vec<_>>(), until)
}
