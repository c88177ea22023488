//! The types of cells that a file gives as text.

use crate::contract::{Cell, Table, Value};
use crate::written::{NumberStyle, is_error, moment, number, number_style};

/// Gives the cells that are text the types that their text has: numbers, true and false, days and moments in the order that ISO
/// 8601 has. Groups of digits and decimal commas are told only where the whole column agrees, and a number that starts with a zero
/// (`007`) is a name. Where all other values of a column are numbers, `NaN` and `#DIV/0!` are errors. Columns get the types of
/// their cells.
///
/// `comma_is_decimal` says which way `1,234` is meant where nothing else tells: not known then, and left as text.
pub fn type_cells(table: &mut Table, comma_is_decimal: bool) {
    for at in 0..table.columns.len() {
        let texts = || {
            table.rows.iter().filter_map(|row| row.1.get(at)).map(Cell::shown).filter(|text| !text.trim().is_empty())
        };
        let style = number_style(texts, comma_is_decimal);
        let is_numeric = {
            let mut count = 0;
            let all = texts().filter(|text| !is_error(text)).all(|text| {
                count += 1;
                number(text, style).is_some()
            });
            all && count > 0
        };
        for row in &mut table.rows {
            let Some(cell) = row.1.get_mut(at) else { continue };
            let Cell::Text(text) = cell else { continue };
            if text.trim().is_empty() {
                *cell = Cell::Empty;
            } else if let Some(value) = typed(text, style, is_numeric) {
                *cell = Cell::typed(value, text);
            }
        }
    }
    table.infer_types();
}

fn typed(text: &str, style: NumberStyle, is_numeric: bool) -> Option<Value> {
    let trimmed = text.trim();
    // Nothing that is typed here is longer, and no sentence has to be looked at whole.
    if trimmed.len() > 400 {
        return None;
    }
    if let Some(digits) = number(trimmed, style) {
        return Some(Value::Number(digits));
    }
    if is_numeric && is_error(trimmed) {
        return Some(Value::Error(trimmed.to_owned()));
    }
    if trimmed.eq_ignore_ascii_case("true") || trimmed.eq_ignore_ascii_case("false") {
        return Some(Value::Bool(trimmed.len() == 4));
    }
    moment(trimmed)
}

#[cfg(test)]
mod tests;
