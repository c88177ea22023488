//! Names and values that would be something else in a language.

use loom_extract::contract::CellType;
use serde_json::json;

use crate::harness::{Held, calculator, plan, run, table};

const INJECTION: &str = "x\"); DROP TABLE \"t\"; --";

#[test]
fn columns_of_any_name_are_calculated_over_and_named_once() {
    let names = ["c", "c", "c", "c (2)", "", "select", "🦀", INJECTION, "d0_c0", "row", "total", "A", "a"];
    let columns: Vec<(&str, CellType)> = names.iter().map(|name| (*name, CellType::Number)).collect();
    let cells: Vec<String> = (1..=names.len()).map(|number| number.to_string()).collect();
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    let held = [Held::of(&table(&columns, &[&cells, &cells]))];
    let own: Vec<String> = held[0].dataset.description.columns.iter().map(|column| column.name.clone()).collect();
    assert_eq!(own[..6], ["c", "c (3)", "c (4)", "c (2)", "column 5", "select"]);
    for (at, name) in own.iter().enumerate() {
        let plan = plan(json!({
            "where": [{"column": name, "op": "ge", "value": 1}],
            "group_by": [{"column": name}],
            "aggregates": [{"fn": "sum", "column": name, "as": "\"; --"}],
            "order_by": [{"column": "\"; --", "descending": true}]
        }));
        let answer = run(&calculator(), &plan, &held).unwrap();
        assert_eq!(answer.rows, [[json!(at + 1), json!(2 * (at + 1))]], "{name:?}");
        assert_eq!((answer.columns[0].name.as_str(), answer.columns[1].name.as_str()), (name.as_str(), "\"; --"));
    }
    let all = run(&calculator(), &plan(json!({})), &held).unwrap();
    let shown: Vec<&String> = all.columns.iter().map(|column| &column.name).collect();
    assert_eq!(shown, own.iter().collect::<Vec<_>>());
}

#[test]
fn aliases_are_any_text() {
    let (one, other) = ("d1", "🦀\" JOIN");
    let held = [
        Held::of(&table(&[("k", CellType::String)], &[&["a"]])),
        Held::of(&table(&[("k", CellType::String)], &[&["a"]])),
    ];
    let plan = plan(json!({
        "datasets": [one, other],
        "joins": [{"dataset": other, "on": [{"column": "k", "with_dataset": one, "with_column": "k"}]}]
    }));
    let answer = run(&calculator(), &plan, &held).unwrap();
    assert_eq!(answer.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>(), ["d1.k", "🦀\" JOIN.k"]);
    assert_eq!((answer.rows, answer.row_ids), (vec![vec![json!("a"), json!("a")]], vec![vec![2, 2]]));
    assert_eq!(answer.statement.matches("\"🦀\"\" JOIN\"").count(), 2, "{}", answer.statement);
}

#[test]
fn texts_of_a_language_are_values() {
    let texts = ["'; DROP TABLE t; --", "=cmd|' /C calc'!A0", "%", "_", "\\", "a%b", INJECTION, "NULL", "$1", "{}"];
    let rows: Vec<[&str; 1]> = texts.iter().map(|text| [*text]).collect();
    let rows: Vec<&[&str]> = rows.iter().map(<[&str; 1]>::as_slice).collect();
    let held = [Held::of(&table(&[("t", CellType::String)], &rows))];
    for text in texts {
        for (op, least) in [("eq", 1), ("contains", 1), ("starts_with", 1)] {
            let plan = plan(json!({"where": [{"column": "t", "op": op, "value": text}]}));
            let answer = run(&calculator(), &plan, &held).unwrap();
            let holds = |other: &&&str| match op {
                "eq" => **other == text,
                "contains" => other.contains(text),
                _ => other.starts_with(text),
            };
            let found: Vec<Vec<serde_json::Value>> = texts.iter().filter(holds).map(|text| vec![json!(text)]).collect();
            assert!(found.len() >= least);
            assert_eq!(answer.rows, found, "{op} {text}");
            assert!(!answer.statement.contains(text) || text.len() < 3, "a value stands in {}", answer.statement);
            assert_eq!(answer.parameters, [json!(text)]);
        }
    }
}

#[test]
fn a_name_that_is_not_there_is_said_to_be_missing_where_it_is() {
    let held = [Held::of(&table(&[("n", CellType::Number), ("t", CellType::String)], &[]))];
    for (parts, field) in [
        (json!({"select": [{"column": "N"}]}), "select[0].column"),
        (json!({"where": [{"column": "x", "op": "is_null"}]}), "where[0].column"),
        (json!({"where": [{"column": "n", "op": "eq", "value": "ten"}]}), "where[0].value"),
        (json!({"where": [{"column": "n", "op": "eq", "value": "1e400"}]}), "where[0].value"),
        (json!({"where": [{"column": "n", "op": "eq"}]}), "where[0].value"),
        (json!({"where": [{"column": "n", "op": "in", "value": 1}]}), "where[0].values"),
        (json!({"where": [{"column": "n", "op": "contains", "value": "1"}]}), "where[0].op"),
        (json!({"aggregates": [{"fn": "sum", "column": "t"}]}), "aggregates[0].column"),
        (json!({"aggregates": [{"fn": "sum"}]}), "aggregates[0].column"),
        (json!({"group_by": [{"column": "t", "by": "day"}], "aggregates": [{"fn": "count"}]}), "group_by[0].by"),
        (json!({"group_by": [{"column": "t"}]}), "aggregates"),
        (json!({"select": [{"column": "n"}, {"column": "n"}]}), "select"),
        (json!({"order_by": [{"column": "x"}]}), "order_by[0].column"),
        (json!({"datasets": []}), "datasets"),
        (json!({"datasets": ["", "b"]}), "joins"),
    ] {
        match run(&calculator(), &plan(parts.clone()), &held) {
            Err(loom_datasets::Error::Plan { field: named, message }) => assert_eq!(named, field, "{parts}: {message}"),
            other => panic!("{parts}: {other:?}"),
        }
    }
}
