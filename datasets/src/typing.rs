//! From a table of cells to columns of values.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, BooleanBuilder, Date32Builder, Decimal128Array, Decimal128Builder, Decimal256Array,
    Decimal256Builder, Float64Builder, Int64Array, Int64Builder, StringBuilder, Time64MicrosecondBuilder,
    TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, Schema, i256};
use arrow::record_batch::RecordBatch;
use loom_extract::contract::{Cell, CellType, Table};

use crate::convert::{Reading, Typed};
use crate::decimal::{self, NARROW_DIGITS, PLACES, SHORT_DIGITS, WIDE_DIGITS};
use crate::error::Error;
use crate::schema::{DESCRIBED_MAX, Description, Held, RejectedRow};
use crate::totals;

/// The column of the rows' numbers in the source.
pub(crate) const ROW: &str = "row";
/// The column that says which rows state totals.
pub(crate) const TOTAL: &str = "total";
/// The most characters of a rejected value that are shown.
const SHOWN_CHARS_MAX: usize = 200;
/// The decimal places of numbers, as a type has them.
pub(crate) const SCALE: i8 = 9;
const _: () = assert!(SCALE.unsigned_abs() as usize == PLACES);

/// A table's values.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// What it is.
    pub description: Description,
    /// Its rows: the numbers of the rows, which of them state totals, and the stored columns.
    pub(crate) rows: RecordBatch,
}

/// The name of a stored column's values, whatever its own name is.
pub(crate) fn stored_name(at: usize) -> String {
    format!("c{at}")
}

/// Types a table: each column as it was inferred, or as `types` says.
///
/// A row with an error in a cell, or a value that its column's type cannot hold, is rejected whole.
///
/// # Errors
/// [`Error::NoSuchColumn`] where `types` names a column that the table does not have.
pub fn type_table(table: &Table, types: &BTreeMap<String, CellType>) -> Result<Dataset, Error> {
    let mut description = Description::of(table, types).map_err(Error::NoSuchColumn)?;
    let mut columns: Vec<Building> = description
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.held != Held::Not)
        .map(|(at, column)| Building {
            at,
            reading: Reading::of(column.column_type, || table.rows.iter().filter_map(move |row| row.1.get(at))),
            values: Values::of(column.column_type, column.held),
        })
        .collect();
    let mut numbers = Int64Builder::with_capacity(table.rows.len());
    let mut values = Vec::with_capacity(columns.len());
    for row in &table.rows {
        values.clear();
        let misfit = columns.iter().find_map(|column| {
            let cell = row.1.get(column.at).unwrap_or(&Cell::Empty);
            match column.reading.value(cell) {
                Ok(value) => {
                    values.push(value);
                    None
                }
                Err(reason) => Some((column.at, cell, reason)),
            }
        });
        if let Some((at, cell, reason)) = misfit {
            description.rejected.count += 1;
            if description.rejected.first.len() < DESCRIBED_MAX {
                description.rejected.first.push(RejectedRow {
                    row_id: row.0,
                    column: description.columns[at].name.clone(),
                    value: cell.shown().chars().take(SHOWN_CHARS_MAX).collect(),
                    reason: reason.to_owned(),
                });
            }
            continue;
        }
        numbers.append_value(i64::try_from(row.0).unwrap_or(i64::MAX));
        for (column, value) in columns.iter_mut().zip(&values) {
            column.values.push(*value);
        }
    }
    let numbers = numbers.finish();
    description.row_count = numbers.len() as u64;
    let arrays: Vec<(usize, ArrayRef)> =
        columns.into_iter().map(|column| (column.at, column.values.finish())).collect();
    let audit = totals::audit(&description, &numbers, &arrays);
    let rows = batch(numbers, audit.marks, arrays)?;
    description.totals = audit.totals;
    description.warnings = audit.warnings;
    Ok(Dataset { description, rows })
}

fn batch(numbers: Int64Array, marks: BooleanArray, arrays: Vec<(usize, ArrayRef)>) -> Result<RecordBatch, Error> {
    let mut fields = vec![Field::new(ROW, DataType::Int64, false), Field::new(TOTAL, DataType::Boolean, false)];
    let mut columns: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(marks)];
    for (at, array) in arrays {
        fields.push(Field::new(stored_name(at), array.data_type().clone(), true));
        columns.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::defect)
}

struct Building {
    /// Its place among the table's columns.
    at: usize,
    reading: Reading,
    values: Values,
}

/// The values of a column while it is made.
enum Values {
    Text(StringBuilder),
    /// Numbers so far below 10¹⁶, and the largest of them.
    Narrow(Decimal128Builder, i128),
    Wide(Decimal256Builder),
    Double(Float64Builder),
    Bool(BooleanBuilder),
    Date(Date32Builder),
    Moment(TimestampMicrosecondBuilder),
    Time(Time64MicrosecondBuilder),
}

impl Values {
    fn of(column_type: CellType, held: Held) -> Self {
        match column_type {
            CellType::String => Self::Text(StringBuilder::new()),
            CellType::Number | CellType::Duration if held == Held::Double => Self::Double(Float64Builder::new()),
            CellType::Number | CellType::Duration => Self::Narrow(Decimal128Builder::new(), 0),
            CellType::Bool => Self::Bool(BooleanBuilder::new()),
            CellType::Date => Self::Date(Date32Builder::new()),
            CellType::Datetime => Self::Moment(TimestampMicrosecondBuilder::new()),
            CellType::Time => Self::Time(Time64MicrosecondBuilder::new()),
        }
    }

    fn push(&mut self, value: Typed<'_>) {
        if let (Self::Narrow(values, _), Typed::Number(number)) = (&mut *self, value)
            && number.wrapping_abs() >= decimal::power(NARROW_DIGITS)
        {
            *self = Self::Wide(widened(&values.finish()));
        }
        match (self, value) {
            (Self::Text(values), Typed::Text(text)) => values.append_value(text),
            (Self::Text(values), _) => values.append_null(),
            (Self::Narrow(values, largest), Typed::Number(number)) => {
                let number = number.to_i128().unwrap_or_default();
                *largest = (*largest).max(number.abs());
                values.append_value(number);
            }
            (Self::Narrow(values, _), _) => values.append_null(),
            (Self::Wide(values), Typed::Number(number)) => values.append_value(number),
            (Self::Wide(values), _) => values.append_null(),
            (Self::Double(values), Typed::Number(number)) => values.append_value(double(number)),
            (Self::Double(values), _) => values.append_null(),
            (Self::Bool(values), Typed::Bool(value)) => values.append_value(value),
            (Self::Bool(values), _) => values.append_null(),
            (Self::Date(values), Typed::Date(days)) => values.append_value(days),
            (Self::Date(values), _) => values.append_null(),
            (Self::Moment(values), Typed::Moment(micros)) => values.append_value(micros),
            (Self::Moment(values), _) => values.append_null(),
            (Self::Time(values), Typed::Time(micros)) => values.append_value(micros),
            (Self::Time(values), _) => values.append_null(),
        }
    }
    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut values) => Arc::new(values.finish()),
            Self::Narrow(mut values, largest) => {
                let is_short = largest < 10_i128.pow(u32::from(SHORT_DIGITS));
                let digits = if is_short { SHORT_DIGITS } else { NARROW_DIGITS };
                let (_, values, nulls) = values.finish().into_parts();
                Arc::new(Decimal128Array::new(values, nulls).with_data_type(DataType::Decimal128(digits, SCALE)))
            }
            Self::Wide(mut values) => {
                let (_, values, nulls) = values.finish().into_parts();
                Arc::new(Decimal256Array::new(values, nulls).with_data_type(DataType::Decimal256(WIDE_DIGITS, SCALE)))
            }
            Self::Double(mut values) => Arc::new(values.finish()),
            Self::Bool(mut values) => Arc::new(values.finish()),
            Self::Date(mut values) => Arc::new(values.finish()),
            Self::Moment(mut values) => Arc::new(values.finish()),
            Self::Time(mut values) => Arc::new(values.finish()),
        }
    }
}

fn widened(narrow: &Decimal128Array) -> Decimal256Builder {
    let mut wide = Decimal256Builder::with_capacity(narrow.len() + 1);
    for value in narrow {
        wide.append_option(value.map(i256::from_i128));
    }
    wide
}

/// The double nearest to a number of nine decimal places.
fn double(number: i256) -> f64 {
    decimal::text(number).parse().unwrap_or_default()
}

#[cfg(test)]
mod tests;
