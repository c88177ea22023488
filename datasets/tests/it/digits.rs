//! Sums, averages and comparisons to the last digit.

use loom_extract::contract::{Cell, CellType, Table, Value};
use serde_json::json;

use crate::harness::{Held, calculator, plan, run, table};

fn numbers(texts: &[&str]) -> Table {
    let rows: Vec<[&str; 1]> = texts.iter().map(|text| [*text]).collect();
    table(&[("n", CellType::Number)], &rows.iter().map(<[&str; 1]>::as_slice).collect::<Vec<_>>())
}

/// What an aggregate of numbers is.
fn of(function: &str, texts: &[&str]) -> serde_json::Value {
    let plan = plan(json!({"aggregates": [{"fn": function, "column": "n"}]}));
    let answer = run(&calculator(), &plan, &[Held::of(&numbers(texts))]).unwrap();
    answer.rows[0][0].clone()
}

#[test]
fn sums_are_those_of_the_digits() {
    assert_eq!(of("sum", &["10.01", "20"]), json!("30.01"));
    assert_eq!(of("sum", &["0.1"; 10]), json!(1));
    assert_eq!(of("sum", &["9007199254740993"]), json!("9007199254740993"));
    assert_eq!(of("sum", &["9007199254740992"]), json!(9_007_199_254_740_992_i64));
    assert_eq!(of("sum", &["-9007199254740993", "0.000000001"]), json!("-9007199254740992.999999999"));
    assert_eq!(of("sum", &["9".repeat(38).as_str(), "1"]), json!(format!("1{}", "0".repeat(38))));
    let largest = format!("{}.{}", "9".repeat(55), "9".repeat(9));
    assert_eq!(of("sum", &[&largest, &largest]), json!(format!("1{}.{}8", "9".repeat(55), "9".repeat(8))));
    assert_eq!(of("sum", &[]), json!(null));
    assert_eq!(of("sum", &["", ""]), json!(null));
}

#[test]
fn averages_are_rounded_half_to_even_at_nine_places() {
    assert_eq!(of("avg", &["1", "2", "2"]), json!("1.666666667"));
    assert_eq!(of("avg", &["0.000000001", "0"]), json!(0));
    assert_eq!(of("avg", &["0.000000003", "0"]), json!("0.000000002"));
    assert_eq!(of("avg", &["-0.000000003", "0"]), json!("-0.000000002"));
    assert_eq!(of("avg", &["1", ""]), json!(1), "an absent value counts for none");
    assert_eq!(of("avg", &[]), json!(null));
}

#[test]
fn numbers_that_differ_in_the_last_of_38_digits_are_two() {
    let (one, other) = (format!("{}8", "9".repeat(37)), "9".repeat(38));
    assert_eq!(of("count_distinct", &[&one, &other, &one]), json!(2));
    let held = [Held::of(&numbers(&[&one, &other]))];
    for (op, rows) in [("eq", vec![json!(other)]), ("lt", vec![json!(one)]), ("ge", vec![json!(other)])] {
        let plan = plan(json!({"where": [{"column": "n", "op": op, "value": other}]}));
        let answer = run(&calculator(), &plan, &held).unwrap();
        assert_eq!(answer.rows.concat(), rows, "{op}");
    }
}

#[test]
fn a_comparison_takes_all_the_places_of_its_value() {
    let held = [Held::of(&numbers(&["0.1", "0.100000001"]))];
    for (op, value, rows) in [
        ("eq", "0.1000000001", 0),
        ("ne", "0.1000000001", 2),
        ("lt", "0.1000000001", 1),
        ("le", "0.1000000001", 1),
        ("gt", "0.1000000001", 1),
        ("ge", "0.1000000001", 1),
        ("lt", "0.0999999999", 0),
        ("gt", "-0.0000000001", 2),
        ("eq", "0.1000000000", 1),
    ] {
        let plan = plan(json!({"where": [{"column": "n", "op": op, "value": value}]}));
        assert_eq!(run(&calculator(), &plan, &held).unwrap().rows.len(), rows, "{op} {value}");
    }
}

#[test]
fn what_no_number_is_held_of_is_rejected_and_counted() {
    let mut table = numbers(&["1", "1e400", "2"]);
    table.rows[2].1[0] = Cell::Typed { value: Value::Error("NaN".into()), text: None };
    let held = Held::of(&table);
    let description = &held.dataset.description;
    assert_eq!((description.row_count, description.rejected.count), (1, 2));
    let rejected: Vec<_> = description.rejected.first.iter().map(|row| (row.row_id, row.value.as_str())).collect();
    assert_eq!(rejected, [(3, "1e400"), (4, "NaN")]);
    assert!(description.rejected.first[0].reason.contains("55 digits"), "{}", description.rejected.first[0].reason);
    let plan = plan(json!({"aggregates": [{"fn": "sum", "column": "n"}, {"fn": "count"}]}));
    assert_eq!(run(&calculator(), &plan, &[held]).unwrap().rows, [[json!(1), json!(1)]]);
}

#[test]
fn numbers_past_the_first_24_are_doubles_and_join_exact_ones_of_the_same_digits() {
    const DIGITS: [&str; 3] = ["0.1", "123456789.123456789", "98765432109.987654321"];
    let names: Vec<String> = (0..25).map(|at| format!("n{at}")).collect();
    let columns: Vec<(&str, CellType)> = names.iter().map(|name| (name.as_str(), CellType::Number)).collect();
    let rows: Vec<Vec<&str>> = DIGITS.iter().map(|digits| vec![*digits; 25]).collect();
    let wide = Held::of(&table(&columns, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    let exact = Held::of(&numbers(&DIGITS));
    let plan = plan(json!({
        "datasets": ["wide", "exact"],
        "joins": [{"dataset": "exact", "on": [{"column": "n", "with_column": "n24"}]}],
        "select": [{"dataset": "wide", "column": "n24", "as": "double"}, {"dataset": "exact", "column": "n", "as": "n"}]
    }));
    let answer = run(&calculator(), &plan, &[wide, exact]).unwrap();
    let rows = DIGITS.map(|digits| vec![json!(digits.parse::<f64>().unwrap()), json!(digits)]);
    assert_eq!(answer.rows, rows);
}

#[test]
fn texts_that_are_empty_are_there_and_texts_that_are_absent_are_not() {
    let mut table = table(&[("t", CellType::String)], &[&["a"], &[""], &["b"]]);
    table.rows[2].1[0] = Cell::Text(String::new());
    let held = [Held::of(&table)];
    let aggregates =
        json!([{"fn": "count"}, {"fn": "count", "column": "t", "as": "there"}, {"fn": "min", "column": "t"}]);
    let answer = run(&calculator(), &plan(json!({"aggregates": aggregates})), &held).unwrap();
    assert_eq!(answer.rows, [[json!(3), json!(2), json!("")]]);
    for (op, ids) in [("is_null", vec![[3]]), ("not_null", vec![[2], [4]])] {
        let plan = plan(json!({"where": [{"column": "t", "op": op}]}));
        assert_eq!(run(&calculator(), &plan, &held).unwrap().row_ids, ids, "{op}");
    }
}

#[test]
fn the_last_moment_of_the_calendar_is_a_moment() {
    let columns = [("at", CellType::Datetime)];
    let held = [Held::of(&table(&columns, &[&["9999-12-31T23:59:59.999999"], &["0001-01-01T00:00:00Z"]]))];
    assert_eq!(held[0].dataset.description.rejected.first, []);
    let answer = run(&calculator(), &plan(json!({"order_by": [{"column": "at"}]})), &held).unwrap();
    assert_eq!(answer.rows, [[json!("0001-01-01T00:00:00Z")], [json!("9999-12-31T23:59:59.999999Z")]]);
    let plan = plan(json!({"where": [{"column": "at", "op": "eq", "value": "9999-12-31T23:59:59.999999Z"}]}));
    assert_eq!(run(&calculator(), &plan, &held).unwrap().row_ids, [[2]]);
}

#[test]
fn a_day_is_compared_with_days_alone() {
    let held = [Held::of(&table(&[("d", CellType::Date)], &[&["2026-01-31"], &["2026-02-01"]]))];
    let with = |value: &str| plan(json!({"where": [{"column": "d", "op": "le", "value": value}]}));
    assert_eq!(run(&calculator(), &with("2026-01-31"), &held).unwrap().row_ids, [[2]]);
    assert_eq!(run(&calculator(), &with("2026-02-01T00:00:00Z"), &held).unwrap().row_ids, [[2], [3]]);
    for value in ["2026-01-31T12:00:00", "2026-01-31T12:00:00Z", "20260131", "31/01/2026", "soon"] {
        let error = run(&calculator(), &with(value), &held).unwrap_err();
        assert!(
            matches!(&error, loom_datasets::Error::Plan { field, .. } if field == "where[0].value"),
            "{value}: {error}"
        );
    }
}
