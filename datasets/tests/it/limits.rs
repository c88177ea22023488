//! What a plan may use.

use std::time::Instant;

use loom_datasets::{Calculator, Error, Limits};
use loom_extract::contract::CellType;
use serde_json::json;

use crate::harness::{Held, calculator, limits, plan, run, run_until, table};

/// A dataset of so many rows, each with a text of its own.
fn many(rows: usize) -> Held {
    let texts: Vec<String> = (0..rows).map(|row| format!("text number {row} of its own")).collect();
    let cells: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
    Held::of(&table(&[("t", CellType::String)], &cells.iter().map(<[&str; 1]>::as_slice).collect::<Vec<_>>()))
}

fn groups() -> loom_datasets::Plan {
    plan(json!({"group_by": [{"column": "t"}], "aggregates": [{"fn": "count"}], "limit": 1}))
}

fn is_limit(result: Result<loom_datasets::Answer, Error>, says: &str) {
    match result {
        Err(Error::Limit(message)) => assert!(message.contains(says), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_past_the_limit_are_not_read() {
    let held = [many(11)];
    let calculator = |rows| Calculator::new(Limits { rows, ..limits() });
    is_limit(run(&calculator(10), &groups(), &held), "11 rows; a query may read 10");
    assert_eq!(run(&calculator(11), &groups(), &held).unwrap().rows_read, 11);
}

#[test]
fn memory_past_the_limit_is_not_taken() {
    let held = [many(40_000)];
    let with = |memory_bytes| run(&Calculator::new(Limits { memory_bytes, ..limits() }), &groups(), &held);
    is_limit(with(100_000), "the columns of the plan take more than the 100000 bytes");
    // Enough for the columns, and not for the groups.
    is_limit(with(2_600_000), "needs more than the 2600000 bytes");
    assert!(with(64 << 20).unwrap().truncated);
}

#[test]
fn a_calculator_that_refused_a_plan_answers_the_next() {
    let held = [many(40_000), many(3)];
    let calculator = Calculator::new(Limits { memory_bytes: 2_600_000, ..limits() });
    is_limit(run(&calculator, &groups(), &held[..1]), "bytes");
    assert_eq!(run(&calculator, &groups(), &held[1..]).unwrap().rows.len(), 1);
}

#[test]
fn a_deadline_that_has_come_ends_a_plan() {
    is_limit(run_until(&calculator(), &groups(), &[many(3)], Instant::now()), "time");
    is_limit(run_until(&calculator(), &plan(json!({"limit": 0})), &[many(0)], Instant::now()), "time");
}

#[test]
fn a_plan_that_would_take_forever_ends_at_its_deadline() {
    let same: Vec<[&str; 1]> = vec![["a"]; 60_000];
    let rows: Vec<&[&str]> = same.iter().map(<[&str; 1]>::as_slice).collect();
    let held: Vec<Held> = (0..2).map(|_| Held::of(&table(&[("t", CellType::String)], &rows))).collect();
    let plan = plan(json!({
        "datasets": ["a", "b"], "joins": [{"dataset": "b", "on": [{"column": "t", "with_column": "t"}]}],
        "group_by": [{"dataset": "a", "column": "t"}], "aggregates": [{"fn": "count"}]
    }));
    let until = Instant::now() + std::time::Duration::from_millis(100);
    is_limit(run_until(&calculator(), &plan, &held, until), "time");
}

#[test]
fn parts_past_their_bounds_are_refused() {
    let held = [many(1)];
    let filters = |count: usize| json!({"where": vec![json!({"column": "t", "op": "not_null"}); count]});
    assert!(run(&calculator(), &plan(filters(64)), &held).is_ok());
    let values = |count: usize| json!({"where": [{"column": "t", "op": "in", "values": vec!["a"; count]}]});
    assert!(run(&calculator(), &plan(values(1_000)), &held).is_ok());
    for (parts, named) in [
        (filters(65), "where"),
        (values(1_001), "where[0].values"),
        (json!({"datasets": ["a", "b", "c", "d", "e"]}), "datasets"),
        (json!({"aggregates": vec![json!({"fn": "count"}); 65]}), "aggregates"),
    ] {
        match run(&calculator(), &plan(parts), &held) {
            Err(Error::Plan { field, .. }) => assert_eq!(field, named),
            other => panic!("{other:?}"),
        }
    }
}
