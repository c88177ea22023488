//! The result of a plan as JSON.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float64Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, i256,
};
use loom_extract::contract::CellType;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::bind::{At, Bound};
use super::functions;
use crate::decimal;
use crate::error::Error;
use crate::moment;
use crate::plan::{Function, Period, Plan};
use crate::schema::Description;

/// The greatest whole number up to which a double holds every one.
const INTEGER_MAX: i64 = 1 << 53;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "QueryResultColumn")]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// The type of its values: `string`, `number`, `bool`, `date`, `datetime`, `time` or `duration` (seconds).
    #[serde(rename = "type")]
    pub column_type: String,
    /// The alias of the dataset that its values come from; null where they count rows.
    pub dataset: Option<String>,
    /// The column that its values come from; null where they count rows.
    pub column: Option<String>,
    /// What was calculated; null where nothing was.
    #[serde(rename = "fn")]
    pub function: Option<String>,
}

/// How the values of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// As its type is.
    Plain,
    /// Months counted from year 0.
    Month,
}

/// The columns of a result.
pub(super) fn columns(plan: &Plan, bound: &Bound, datasets: &[&Description]) -> Vec<ResultColumn> {
    let of = |(dataset, column): At| &datasets[dataset].columns[column];
    let from = |at: Option<At>, name: &String, column_type: &str, function: Option<Function>| ResultColumn {
        name: name.clone(),
        column_type: column_type.to_owned(),
        dataset: at.map(|(dataset, _)| plan.datasets[dataset].clone()),
        column: at.map(|at| of(at).name.clone()),
        function: function.map(|function| function.name().to_owned()),
    };
    let mut names = bound.names.iter();
    let mut name = || names.next().cloned().unwrap_or_default();
    let groups = bound.groups.iter().map(|group| {
        let column_type = match group.by {
            None => of(group.at).column_type.name(),
            Some(Period::Day) => CellType::Date.name(),
            Some(Period::Month) => CellType::String.name(),
            Some(Period::Year) => CellType::Number.name(),
        };
        from(Some(group.at), &name(), column_type, None)
    });
    let mut columns: Vec<ResultColumn> = groups.collect();
    for aggregate in &bound.aggregates {
        let column_type = match (aggregate.function, aggregate.at) {
            (Function::Count | Function::CountDistinct, _) | (_, None) => CellType::Number.name(),
            (_, Some(at)) => of(at).column_type.name(),
        };
        columns.push(from(aggregate.at, &name(), column_type, Some(aggregate.function)));
    }
    columns.extend(bound.select.iter().map(|at| from(Some(*at), &name(), of(*at).column_type.name(), None)));
    columns
}

/// Rows, and of each its numbers.
type Rows = (Vec<Vec<Value>>, Vec<Vec<u64>>);

/// The rows of a result, and of each its numbers in the datasets where it is a row of them.
pub(super) fn rows(bound: &Bound, batches: &[RecordBatch]) -> Result<Rows, Error> {
    let width = bound.names.len();
    let written = |at: usize| match bound.groups.get(at).and_then(|group| group.by) {
        Some(Period::Month) => Written::Month,
        _ => Written::Plain,
    };
    let (mut rows, mut row_ids) = (Vec::new(), Vec::new());
    for batch in batches {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().take(width).enumerate();
            rows.push(values.map(|(at, array)| value(array, row, written(at))).collect::<Result<_, _>>()?);
            if bound.aggregates.is_empty() {
                let numbers = batch.columns().iter().skip(width);
                let number =
                    |array: &ArrayRef| u64::try_from(array.as_primitive::<Int64Type>().value(row)).unwrap_or(0);
                row_ids.push(numbers.map(number).collect());
            }
        }
    }
    Ok((rows, row_ids))
}

/// The first rows of a snapshot's columns.
pub(super) fn values(array: &ArrayRef, row: usize) -> Result<Value, Error> {
    value(array, row, Written::Plain)
}

fn value(array: &ArrayRef, row: usize, written: Written) -> Result<Value, Error> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Decimal128(..) => number(i256::from_i128(array.as_primitive::<Decimal128Type>().value(row))),
        DataType::Decimal256(..) => number(array.as_primitive::<Decimal256Type>().value(row)),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Date32 => moment::day_text(array.as_primitive::<Date32Type>().value(row)).into(),
        DataType::Timestamp(..) => {
            moment::moment_text(array.as_primitive::<TimestampMicrosecondType>().value(row)).into()
        }
        DataType::Time64(_) => moment::time_text(array.as_primitive::<Time64MicrosecondType>().value(row)).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Int32 if written == Written::Month => {
            functions::month_text(functions::int32(array).value(row)).into()
        }
        DataType::Int32 => functions::int32(array).value(row).into(),
        other => return Err(Error::defect(format!("a result of type {other}"))),
    })
}

/// A whole number that every reader of JSON takes as it is; any other as text.
fn number(value: i256) -> Value {
    let text = decimal::text(value);
    match text.parse::<i64>() {
        Ok(integer) if integer.abs() <= INTEGER_MAX => integer.into(),
        Ok(_) | Err(_) => text.into(),
    }
}
