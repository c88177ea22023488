#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use loom_extract::contract::{Cell, CellType, Column, Row, Table, Value};

use crate::schema::{ClarificationCode, Description, Held};
use crate::snapshot::Snapshot;
use crate::{Error, query, type_table};

fn table(columns: &[(&str, CellType)], rows: &[&[&str]]) -> Table {
    let columns: Vec<Column> = columns
        .iter()
        .map(|(name, column_type)| Column { name: (*name).to_owned(), column_type: *column_type, mixed: false })
        .collect();
    let cell = |text: &&str| if text.is_empty() { Cell::Empty } else { Cell::Text((*text).to_owned()) };
    let rows: Vec<Row> =
        rows.iter().zip(2..).map(|(cells, number)| Row(number, cells.iter().map(cell).collect())).collect();
    Table { name: String::new(), columns, header_rows: 1, total_rows: rows.len() as u64, rows, numbered: true }
}

/// The values of the first column where it is retyped, and the rows that do not fit with the reasons.
fn retyped(texts: &[&str], to: CellType) -> (Vec<String>, Vec<(u64, String)>) {
    let rows: Vec<[&str; 1]> = texts.iter().map(|text| [*text]).collect();
    let rows: Vec<&[&str]> = rows.iter().map(<[&str; 1]>::as_slice).collect();
    let dataset = type_table(&table(&[("c", CellType::String)], &rows), &BTreeMap::from([("c".into(), to)])).unwrap();
    let snapshot = Snapshot::open(dataset.to_parquet().unwrap()).unwrap();
    let values = query::sample(&dataset.description, &snapshot, 100).unwrap().concat();
    let shown = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let rejected = dataset.description.rejected.first.into_iter().map(|row| (row.row_id, row.reason));
    (values.iter().map(shown).collect(), rejected.collect())
}

fn asked(description: &Description) -> Vec<(ClarificationCode, &str)> {
    description.clarifications.iter().map(|asked| (asked.code, asked.column.as_str())).collect()
}

#[test]
fn each_of_the_five_questions_is_asked_of_what_it_is_about() {
    let mut mixed = table(&[("a", CellType::String), ("", CellType::Number), ("a", CellType::Number)], &[]);
    mixed.columns[0].mixed = true;
    let description = type_table(&mixed, &BTreeMap::new()).unwrap().description;
    assert_eq!(
        asked(&description),
        [
            (ClarificationCode::GeneratedName, "column 2"),
            (ClarificationCode::DuplicateName, "a (2)"),
            (ClarificationCode::MixedTypes, "a"),
        ]
    );
    let mut years =
        table(&[("2024", CellType::Number), ("2025-01-31", CellType::Number), ("1.5", CellType::Number)], &[]);
    let description = |table: &Table| type_table(table, &BTreeMap::new()).unwrap().description;
    assert_eq!(asked(&description(&years)), [(ClarificationCode::HeaderLikeData, "")]);
    years.columns[1].name = "region".into();
    assert_eq!(asked(&description(&years)), [], "one name is no number");
    years.columns[1].name = "2025".into();
    years.header_rows = 0;
    assert_eq!(asked(&description(&years)), [], "the names are not from a row");
    let columns = vec![("b", CellType::Bool); 9];
    let past = type_table(&table(&columns, &[]), &BTreeMap::new()).unwrap().description;
    assert_eq!(asked(&past).last(), Some(&(ClarificationCode::PastCapacity, "b (9)")));
}

#[test]
fn an_approval_answers_all_but_what_is_not_stored() {
    let columns = vec![("b", CellType::Bool); 9];
    let mut description = type_table(&table(&columns, &[]), &BTreeMap::new()).unwrap().description;
    assert!(!description.is_clear());
    description.settle();
    assert_eq!(asked(&description), [(ClarificationCode::PastCapacity, "b (9)")]);
}

#[test]
fn names_are_given_once_and_none_takes_anothers() {
    let names = |given: &[&str]| -> Vec<String> {
        let columns: Vec<(&str, CellType)> = given.iter().map(|name| (*name, CellType::String)).collect();
        let dataset = type_table(&table(&columns, &[]), &BTreeMap::new()).unwrap();
        dataset.description.columns.into_iter().map(|column| column.name).collect()
    };
    assert_eq!(names(&["c", "c", "c", "c (2)"]), ["c", "c (3)", "c (4)", "c (2)"]);
    assert_eq!(names(&["", "column 1", " "]), ["column 1 (2)", "column 1", "column 3"]);
    assert_eq!(names(&[" a ", "a"]), ["a", "a (2)"]);
}

#[test]
fn a_dataset_holds_so_many_columns_of_a_type() {
    let held = |column_types: &[CellType], count: usize| -> Vec<Held> {
        let names: Vec<String> = (0..count).map(|at| format!("c{at}")).collect();
        let columns = names.iter().enumerate().map(|(at, name)| (name.as_str(), column_types[at % column_types.len()]));
        let dataset = type_table(&table(&columns.collect::<Vec<_>>(), &[]), &BTreeMap::new()).unwrap();
        dataset.description.columns.iter().map(|column| column.held).collect()
    };
    for (column_types, exact, doubles) in [
        (&[CellType::String, CellType::Time][..], 24, 0),
        (&[CellType::Number, CellType::Duration], 24, 8),
        (&[CellType::Date, CellType::Datetime], 8, 0),
        (&[CellType::Bool], 8, 0),
    ] {
        let wanted = [vec![Held::Exact; exact], vec![Held::Double; doubles], vec![Held::Not; 2]].concat();
        assert_eq!(held(column_types, wanted.len()), wanted, "{column_types:?}");
    }
}

#[test]
fn a_row_with_a_value_that_does_not_fit_is_rejected_whole() {
    let mut table = table(&[("n", CellType::Number), ("d", CellType::Date)], &[]);
    let number = |digits: &str| Cell::typed(Value::Number(digits.into()), digits);
    let day = || Cell::typed(Value::Date("2026-01-31".into()), "31 Jan");
    table.rows = vec![
        Row(2, vec![number("1"), day()]),
        Row(3, vec![Cell::Text("many".into()), day()]),
        Row(4, vec![number("2"), Cell::typed(Value::Error("#DIV/0!".into()), "#DIV/0!")]),
        Row(5, vec![Cell::typed(Value::Formula("=A1".into()), "=A1"), day()]),
        Row(6, vec![number("3"), Cell::typed(Value::Date("2026-02-30".into()), "30 Feb")]),
        Row(9, vec![Cell::Empty, Cell::Text("  ".into())]),
    ];
    let description = type_table(&table, &BTreeMap::new()).unwrap().description;
    assert_eq!((description.row_count, description.rejected.count), (2, 4));
    let told = description.rejected.first.iter().map(|row| (row.row_id, row.column.as_str(), row.value.as_str()));
    assert_eq!(told.collect::<Vec<_>>(), [(3, "n", "many"), (4, "d", "#DIV/0!"), (5, "n", "=A1"), (6, "d", "30 Feb")]);
    let reasons: Vec<&str> = description.rejected.first.iter().map(|row| row.reason.as_str()).collect();
    assert_eq!(reasons[..3], ["not a number", "the cell holds an error", "the cell holds a formula without its value"]);
}

#[test]
fn the_first_rejected_rows_are_told_and_all_are_counted() {
    let long = "x".repeat(1_000);
    let rows = vec![[long.as_str()]; 50];
    let rows: Vec<&[&str]> = rows.iter().map(<[&str; 1]>::as_slice).collect();
    let description = type_table(&table(&[("n", CellType::Number)], &rows), &BTreeMap::new()).unwrap().description;
    assert_eq!((description.rejected.count, description.rejected.first.len()), (50, 20));
    assert_eq!(description.rejected.first[0].value.chars().count(), 200);
}

#[test]
fn days_whose_order_no_value_tells_are_no_days() {
    let (values, rejected) = retyped(&["03/04/2025", "05/06/2025"], CellType::Date);
    assert_eq!((values.len(), rejected.len()), (0, 2));
    assert!(rejected[0].1.contains("2026-01-31"), "{}", rejected[0].1);
    for (texts, days) in [
        (["03/04/2025", "31/12/2025"], ["2025-04-03", "2025-12-31"]),
        (["03/04/2025", "12/31/2025"], ["2025-03-04", "2025-12-31"]),
        (["3.4.2025", "31.12.2025"], ["2025-04-03", "2025-12-31"]),
    ] {
        assert_eq!(retyped(&texts, CellType::Date), (days.map(str::to_owned).to_vec(), Vec::new()), "{texts:?}");
    }
    let (values, rejected) = retyped(&["31/12/2025", "12/31/2025", "2025-01-02"], CellType::Date);
    assert_eq!((values, rejected.len()), (vec!["2025-01-02".to_owned()], 2), "the values contradict each other");
}

#[test]
fn a_decimal_comma_is_one_where_the_whole_column_has_it() {
    let numbers = |texts: &[&str]| retyped(texts, CellType::Number);
    assert_eq!(numbers(&["1.234,50", "0,5", "7"]).0, ["1234.5", "0.5", "7"]);
    assert_eq!(numbers(&["1,234.50", "2,000", "7"]).0, ["1234.5", "2000", "7"]);
    let (values, rejected) = numbers(&["1.234,50", "1,234.50", "7"]);
    assert_eq!((values, rejected.len()), (vec!["7".to_owned()], 2), "the texts contradict each other");
}

#[test]
fn columns_are_held_as_they_are_asked_to_be() {
    for (texts, to, values) in [
        (&["yes", "0", "TRUE"][..], CellType::Bool, &["true", "false", "true"][..]),
        (&["1:30", "26:00:00", "0.5"], CellType::Duration, &["90", "93600", "0.5"]),
        (
            &["2026-01-31", "2026-01-31T10:00:00+02:00"],
            CellType::Datetime,
            &["2026-01-31T00:00:00Z", "2026-01-31T08:00:00Z"],
        ),
        (&["12:30", "23:59:59.5"], CellType::Time, &["12:30:00", "23:59:59.5"]),
        (&["007", "1e3"], CellType::String, &["007", "1e3"]),
    ] {
        assert_eq!(retyped(texts, to), (values.iter().map(|text| (*text).to_owned()).collect(), Vec::new()), "{to:?}");
    }
    let unknown =
        type_table(&table(&[("c", CellType::String)], &[]), &BTreeMap::from([("C".into(), CellType::Number)]));
    assert!(matches!(unknown, Err(Error::NoSuchColumn(name)) if name == "C"));
}

#[test]
fn numbers_widen_where_a_large_one_comes_late() {
    let large = "9".repeat(38);
    let (values, rejected) = retyped(&["0.1", "", "-2.5", &large], CellType::Number);
    assert_eq!((values, rejected.len()), (vec!["0.1".into(), "null".into(), "-2.5".into(), large], 0));
}
