#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use loom_extract::contract::{Cell, CellType, Column, Row, Table, Value};

use crate::schema::{Description, Disagreement};
use crate::type_table;

/// What a table of a text and numbers is; an empty text is an empty cell.
fn described(rows: &[(&str, &[&str])]) -> Description {
    let width = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    let column = |name: String, column_type| Column { name, column_type, mixed: false };
    let numbers = (0..width).map(|at| column(format!("n{at}"), CellType::Number));
    let rows = rows.iter().zip(2..).map(|((label, numbers), id)| {
        let label = if label.is_empty() { Cell::Empty } else { Cell::Text((*label).to_owned()) };
        let numbers = numbers.iter().map(|digits| match *digits {
            "" => Cell::Empty,
            digits => Cell::typed(Value::Number(digits.into()), digits),
        });
        Row(id, std::iter::once(label).chain(numbers).collect())
    });
    let table = Table {
        columns: std::iter::once(column("product".into(), CellType::String)).chain(numbers).collect(),
        header_rows: 1,
        rows: rows.collect(),
        ..Table::default()
    };
    type_table(&table, &BTreeMap::new()).unwrap().description
}

/// Of each total its row, its label and whether it is of a part.
fn found(description: &Description) -> Vec<(u64, &str, bool)> {
    let first = description.totals.first.iter();
    first.map(|total| (total.row_id, total.label.as_str(), total.is_subtotal)).collect()
}

#[test]
fn subtotals_add_the_rows_since_the_last_and_the_total_adds_all() {
    let description = described(&[
        ("pear", &["10.01", "1"]),
        ("plum", &["20", "2"]),
        ("Subtotal", &["30.01", "3"]),
        ("fig", &["5", "3"]),
        ("Subtotal:", &["5", "3"]),
        ("Grand total", &["35.01", "6"]),
    ]);
    assert_eq!(found(&description), [(4, "Subtotal", true), (6, "Subtotal:", true), (7, "Grand total", false)]);
    assert_eq!((description.totals.count, description.row_count), (3, 6));
    assert_eq!(description.warnings, Vec::<String>::new());
    assert!(description.totals.first.iter().all(|total| total.disagreements.is_empty()));
}

#[test]
fn a_total_that_is_not_the_sum_says_what_the_sum_is() {
    let description = described(&[("pear", &["10.01", "1"]), ("plum", &["20", "2"]), ("Total", &["30.02", "3"])]);
    let wanted = Disagreement { column: "n0".into(), stated: "30.02".into(), computed: "30.01".into() };
    assert_eq!(description.totals.first[0].disagreements, [wanted]);
    let [warning] = description.warnings.as_slice() else { panic!("{:?}", description.warnings) };
    for said in ["row 4", "30.02", "\"n0\"", "30.01"] {
        assert!(warning.contains(said), "{warning}");
    }
}

#[test]
fn a_total_alone_in_its_words_is_one_even_where_nothing_agrees() {
    let description = described(&[("pear", &["10"]), ("plum", &["20"]), ("Total", &["31"])]);
    assert_eq!(found(&description), [(4, "Total", false)]);
    assert_eq!(description.warnings.len(), 1);
}

#[test]
fn a_product_called_total_is_a_row() {
    for rows in [
        &[("Total 0% yogurt", &["3"][..]), ("pear", &["10"]), ("plum", &["20"])][..],
        &[("pear", &["10"]), ("Total clean", &["7"]), ("plum", &["20"])],
        &[("pear", &["10"]), ("fig", &["15"]), ("Total", &["26"]), ("plum", &["20"])],
        &[("pear", &["10"]), ("totally new", &["10"])],
        &[("Total", &["30"]), ("pear", &["10"]), ("plum", &["20"])],
        &[("pear", &[""]), ("plum", &[""]), ("Total cost", &[""])],
    ] {
        assert_eq!(found(&described(rows)), [], "{rows:?}");
    }
}

#[test]
fn an_average_in_a_row_of_totals_is_no_disagreement() {
    let description = described(&[("pear", &["10", "3"]), ("plum", &["20", "4"]), ("Total", &["30", "3.5"])]);
    assert_eq!(found(&description), [(4, "Total", false)]);
    assert_eq!(description.totals.first[0].disagreements, []);
    assert_eq!(description.warnings, Vec::<String>::new());
}

#[test]
fn totals_are_known_in_other_tongues_and_letter_cases() {
    for label in ["TOTAL", "Summe:", "Gesamt", "Итого", "合計", "Total (EUR)", "المجموع"] {
        let description = described(&[("a", &["1"]), ("b", &["2"]), (label, &["3"])]);
        assert_eq!(found(&description), [(4, label, false)]);
    }
}

#[test]
fn the_first_totals_are_told_and_all_are_counted() {
    let mut rows: Vec<(&str, &[&str])> = Vec::new();
    for _ in 0..30 {
        rows.extend([("a", &["1"][..]), ("b", &["2"]), ("Subtotal", &["4"])]);
    }
    let description = described(&rows);
    assert_eq!((description.totals.count, description.totals.first.len(), description.warnings.len()), (30, 20, 20));
}
