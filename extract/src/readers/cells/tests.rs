use super::*;
use crate::contract::{CellType, Column, Row};

fn typed_column(texts: &[&str], comma_is_decimal: bool) -> Table {
    let rows = texts.iter().zip(1..).map(|(text, number)| Row(number, vec![Cell::Text((*text).to_owned())])).collect();
    let mut table =
        Table { columns: vec![Column::default()], total_rows: texts.len() as u64, rows, ..Table::default() };
    type_cells(&mut table, comma_is_decimal);
    table
}

fn written(table: &Table) -> Vec<String> {
    table
        .rows
        .iter()
        .map(|row| match &row.1[0] {
            Cell::Empty => "-".to_owned(),
            Cell::Text(text) => format!("'{text}'"),
            Cell::Typed { value, .. } => format!("{value:?}").replace('"', ""),
        })
        .collect()
}

#[test]
fn values_have_the_types_that_their_text_has() {
    for (text, expected) in [
        ("10.01", "Number(10.01)"),
        ("-0.50", "Number(-0.50)"),
        ("9007199254740993", "Number(9007199254740993)"),
        ("12345678901234567890123456789012345678", "Number(12345678901234567890123456789012345678)"),
        ("1e400", "Number(1e400)"),
        (".5", "Number(.5)"),
        ("0", "Number(0)"),
        ("007", "'007'"),
        ("+49301234", "'+49301234'"),
        ("5.", "'5.'"),
        ("1.2.3", "'1.2.3'"),
        ("NaN", "'NaN'"),
        ("12%", "'12%'"),
        ("TRUE", "Bool(true)"),
        ("False", "Bool(false)"),
        ("yes", "'yes'"),
        ("2024-02-29", "Date(2024-02-29)"),
        ("2023-02-29", "'2023-02-29'"),
        ("2024/12/01", "Date(2024-12-01)"),
        ("01/02/2024", "'01/02/2024'"),
        ("2024-01-31 12:30", "Datetime(2024-01-31T12:30:00)"),
        ("2024-01-31T12:30:05.25+0100", "Datetime(2024-01-31T12:30:05.25+01:00)"),
        ("2024-01-31T12:30:05Z", "Datetime(2024-01-31T12:30:05Z)"),
        ("2024-01-31T25:30:05Z", "'2024-01-31T25:30:05Z'"),
        ("2024-01-3é", "'2024-01-3é'"),
        ("  ", "-"),
    ] {
        assert_eq!(written(&typed_column(&[text], false)), [expected], "{text}");
    }
}

#[test]
fn groups_and_decimal_commas_need_the_whole_column() {
    for (texts, comma_is_decimal, expected) in [
        (&["1,234.50", "7", "1,234,567"][..], false, &["Number(1234.50)", "Number(7)", "Number(1234567)"][..]),
        (&["1,234", "n/a"], false, &["'1,234'", "'n/a'"]),
        (&["1.234,5", "7", "0,25"], false, &["Number(1234.5)", "Number(7)", "Number(0.25)"]),
        (&["1,234"], false, &["Number(1234)"]),
        (&["1,234"], true, &["'1,234'"]),
        (&["1,234", "1,23"], true, &["Number(1.234)", "Number(1.23)"]),
        (&["1.234.567", "1.234"], false, &["Number(1234567)", "Number(1234)"]),
        (&["1,23,456"], false, &["'1,23,456'"]),
    ] {
        assert_eq!(written(&typed_column(texts, comma_is_decimal)), expected, "{texts:?}");
    }
}

#[test]
fn errors_are_told_among_numbers_only_and_mixtures_are_said() {
    let table = typed_column(&["1", "NaN", "#DIV/0!"], false);
    assert_eq!(written(&table), ["Number(1)", "Error(NaN)", "Error(#DIV/0!)"]);
    assert_eq!((table.columns[0].column_type, table.columns[0].mixed), (CellType::Number, false));
    let table = typed_column(&["1", "two", "nan"], false);
    assert_eq!(written(&table), ["Number(1)", "'two'", "'nan'"]);
    assert_eq!((table.columns[0].column_type, table.columns[0].mixed), (CellType::String, true));
}
