//! Functions that plans need and the library has not, or not as they are meant here.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Decimal256Array, Int32Array, Int64Array};
use arrow::compute::kernels::comparison::{contains, starts_with};
use arrow::datatypes::{DataType, Date32Type, Decimal256Type, Int64Type, TimeUnit, TimestampMicrosecondType, i256};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::logical_expr::{ColumnarValue, Expr, Volatility, create_udf};

use crate::decimal;
use crate::moment;
use crate::plan::Period;
use crate::typing::SCALE;

/// The type of sums that are divided.
pub(super) const SUM: DataType = DataType::Decimal256(76, SCALE);
const MICROS_A_DAY: i64 = 86_400_000_000;

/// The day, the month (counted from year 0) or the year of a date or a moment.
pub(super) fn period(value: Expr, of: &DataType, by: Period) -> Expr {
    let answers = if by == Period::Day { DataType::Date32 } else { DataType::Int32 };
    let compute = move |arguments: &[ColumnarValue]| {
        let array = only(arguments)?;
        let days: Date32Array = match array.data_type() {
            DataType::Date32 => array.as_primitive::<Date32Type>().clone(),
            DataType::Timestamp(TimeUnit::Microsecond, _) => array
                .as_primitive::<TimestampMicrosecondType>()
                .unary(|micros| i32::try_from(micros.div_euclid(MICROS_A_DAY)).unwrap_or(i32::MAX)),
            other => return exec_err!("{other} has no days"),
        };
        let answer: ArrayRef = match by {
            Period::Day => Arc::new(days),
            Period::Month => Arc::new(days.unary::<_, arrow::datatypes::Int32Type>(moment::month)),
            Period::Year => {
                Arc::new(days.unary::<_, arrow::datatypes::Int32Type>(|day| moment::month(day).div_euclid(12)))
            }
        };
        Ok(ColumnarValue::Array(answer))
    };
    create_udf(by.name(), vec![of.clone()], answers, Volatility::Immutable, Arc::new(compute)).call(vec![value])
}

/// A sum divided by a count, rounded to nine places half to even; null where the count is zero.
pub(super) fn average(sum: Expr, count: Expr) -> Expr {
    let compute = |arguments: &[ColumnarValue]| {
        let arrays = ColumnarValue::values_to_arrays(arguments)?;
        let [sums, counts] = arrays.as_slice() else { return exec_err!("an average has a sum and a count") };
        let (sums, counts): (&Decimal256Array, &Int64Array) =
            (sums.as_primitive::<Decimal256Type>(), counts.as_primitive::<Int64Type>());
        let averages =
            sums.iter().zip(counts).map(|(sum, count)| decimal::divide(sum?, i256::from_i128(i128::from(count?))));
        let averages: Decimal256Array = averages.collect();
        Ok(ColumnarValue::Array(Arc::new(averages.with_data_type(SUM))))
    };
    let function =
        create_udf("exact_average", vec![SUM, DataType::Int64], SUM, Volatility::Immutable, Arc::new(compute));
    function.call(vec![sum, count])
}

/// How a text is looked for in others, letter by letter.
#[derive(Clone, Copy)]
pub(super) enum Look {
    Anywhere,
    AtTheStart,
}

/// Whether a text has another in it.
pub(super) fn has(value: Expr, text: &str, look: Look) -> Expr {
    let compute = move |arguments: &[ColumnarValue]| {
        let [ColumnarValue::Array(texts), ColumnarValue::Scalar(text)] = arguments else {
            return exec_err!("a column is searched for one text");
        };
        let text = text.to_scalar()?;
        let found = match look {
            Look::Anywhere => contains(texts, &text),
            Look::AtTheStart => starts_with(texts, &text),
        };
        Ok(ColumnarValue::Array(Arc::new(found.map_err(DataFusionError::from)?)))
    };
    let name = match look {
        Look::Anywhere => "has_text",
        Look::AtTheStart => "starts_with_text",
    };
    let types = vec![DataType::Utf8, DataType::Utf8];
    let function = create_udf(name, types, DataType::Boolean, Volatility::Immutable, Arc::new(compute));
    function.call(vec![value, Expr::Literal(ScalarValue::Utf8(Some(text.to_owned())), None)])
}

fn only(arguments: &[ColumnarValue]) -> Result<ArrayRef> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [array] = arrays.as_slice() else { return exec_err!("one argument is needed") };
    Ok(Arc::clone(array))
}

/// Months are counted from year 0.
pub(super) fn month_text(month: i32) -> String {
    format!("{:04}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1)
}

/// The numbers of an array of 32-bit numbers.
pub(super) fn int32(array: &ArrayRef) -> &Int32Array {
    array.as_primitive::<arrow::datatypes::Int32Type>()
}
