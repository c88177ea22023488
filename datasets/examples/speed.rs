//! Answers plans over a large table as fast as it can, one for each line of its input: `speed FOLDER ROWS THREADS`.
//!
//! It first writes the tables to the folder as Parquet files. To each line, which is the name of a plan, it answers with a line of
//! JSON: the seconds taken and the rows.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "an example fails by panicking, and answers by printing")]

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use loom_datasets::{Calculator, Dataset, Limits, Plan, Source, type_table};
use loom_extract::contract::{Cell, CellType, Column, Row, Table, Value};
use serde_json::json;

const CUSTOMERS: u64 = 10_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, rows, threads] = arguments.as_slice() else { panic!("speed FOLDER ROWS THREADS") };
    let folder = Path::new(folder);
    fs::create_dir_all(folder).unwrap();
    let datasets = [sales(rows.parse().unwrap()), customers()];
    let files = datasets.each_ref().map(|dataset| dataset.to_parquet().unwrap());
    fs::write(folder.join("sales.parquet"), &files[0]).unwrap();
    fs::write(folder.join("customers.parquet"), &files[1]).unwrap();
    let calculator = Calculator::new(Limits {
        rows: 10_000_000,
        memory_bytes: 512 << 20,
        cache_bytes: 512 << 20,
        threads: threads.parse().unwrap(),
    });
    let loads = files.each_ref().map(|file| move || Ok(file.clone()));
    let sources: Vec<Source<'_>> = (0..2)
        .map(|at| Source {
            snapshot_id: ["sales", "customers"][at],
            description: &datasets[at].description,
            load: &loads[at],
        })
        .collect();
    println!("{}", json!({"sizes": files.each_ref().map(Vec::len)}));
    for name in std::io::stdin().lock().lines() {
        let plan = plan(&name.unwrap());
        let began = Instant::now();
        let answer = calculator.run(&plan, &sources[..plan.datasets.len()], began + Duration::from_mins(1)).unwrap();
        println!("{}", json!({"seconds": began.elapsed().as_secs_f64(), "rows": answer.rows}));
    }
}

fn plan(name: &str) -> Plan {
    let joins = json!([{"dataset": "c", "on": [{"column": "id", "with_column": "customer"}]}]);
    let sum = json!({"fn": "sum", "dataset": "s", "column": "amount"});
    let parts = match name {
        "group" => json!({
            "datasets": ["s"],
            "where": [{"column": "quantity", "op": "ge", "value": 3}, {"column": "region", "op": "ne", "value": "region 7"}],
            "group_by": [{"column": "region"}],
            "aggregates": [sum, {"fn": "count"}],
        }),
        "months" => json!({
            "datasets": ["s"],
            "group_by": [{"column": "day", "by": "month"}, {"column": "region"}],
            "aggregates": [sum, {"fn": "max", "column": "price"}],
        }),
        "join" => json!({
            "datasets": ["s", "c"],
            "joins": joins,
            "group_by": [{"dataset": "c", "column": "segment"}],
            "aggregates": [sum, {"fn": "count"}],
        }),
        other => panic!("no plan is called {other}"),
    };
    let mut plan = json!({
        "datasets": [], "where": [], "joins": [], "group_by": [], "aggregates": [], "select": [], "order_by": [],
        "limit": 10_000, "include_totals": false
    });
    for (field, part) in parts.as_object().unwrap() {
        plan[field] = part.clone();
    }
    serde_json::from_value(plan).unwrap()
}

fn sales(rows: u64) -> Dataset {
    let columns = [
        ("id", CellType::Number),
        ("customer", CellType::Number),
        ("region", CellType::String),
        ("product", CellType::String),
        ("amount", CellType::Number),
        ("quantity", CellType::Number),
        ("price", CellType::Number),
        ("discount", CellType::Number),
        ("paid", CellType::Bool),
        ("day", CellType::Date),
        ("at", CellType::Datetime),
        ("note", CellType::String),
    ];
    let row = |id: u64| {
        let chance = id.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20;
        let day = format!("{}-{:02}-{:02}", 2020 + chance % 6, 1 + chance / 7 % 12, 1 + chance / 91 % 28);
        vec![
            number(id.to_string()),
            number((chance / 3 % CUSTOMERS).to_string()),
            Cell::Text(format!("region {}", chance / 11 % 12)),
            Cell::Text(format!("product {}", chance / 17 % 1_000)),
            number(format!("{}.{:02}", chance / 5 % 10_000, chance / 13 % 100)),
            number((1 + chance / 19 % 10).to_string()),
            number(format!("{}.{:04}", chance / 23 % 100, chance / 29 % 10_000)),
            number(format!("0.{}", chance / 31 % 10)),
            typed(Value::Bool(chance.is_multiple_of(2))),
            typed(Value::Date(day.clone())),
            typed(Value::Datetime(format!("{day}T{:02}:{:02}:00Z", chance / 37 % 24, chance / 41 % 60))),
            Cell::Text(format!("note {}", chance % 100_000)),
        ]
    };
    dataset(&columns, (1..=rows).map(|id| Row(id, row(id))).collect())
}

fn customers() -> Dataset {
    let columns = [("id", CellType::Number), ("segment", CellType::String)];
    let row = |id: u64| Row(id + 1, vec![number(id.to_string()), Cell::Text(format!("segment {}", id % 9))]);
    dataset(&columns, (0..CUSTOMERS).map(row).collect())
}

fn dataset(columns: &[(&str, CellType)], rows: Vec<Row>) -> Dataset {
    let columns = columns.iter().map(|(name, column_type)| Column {
        name: (*name).to_owned(),
        column_type: *column_type,
        mixed: false,
    });
    let table = Table { columns: columns.collect(), total_rows: rows.len() as u64, rows, ..Table::default() };
    type_table(&table, &BTreeMap::new()).unwrap()
}

fn number(digits: String) -> Cell {
    typed(Value::Number(digits))
}

fn typed(value: Value) -> Cell {
    Cell::Typed { value, text: None }
}
