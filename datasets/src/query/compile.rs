//! From a bound plan to the library's.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, i256};
use datafusion::common::ScalarValue;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::MemTable;
use datafusion::execution::context::SessionContext;
use datafusion::functions_aggregate::expr_fn::{avg, count, count_distinct, max, min, sum};
use datafusion::logical_expr::{Expr, JoinType, SortExpr, cast, lit, not};
use datafusion::prelude::ident;

use super::bind::{At, Bound, Condition, Literal, Test};
use super::functions::{self, Look};
use crate::decimal::{self, NARROW_DIGITS, WIDE_DIGITS};
use crate::error::Error;
use crate::plan::{Comparison, Function};
use crate::schema::Description;
use crate::typing::{ROW, SCALE, TOTAL, stored_name};

/// The type of numbers below 10¹⁶.
pub(super) const NARROW: DataType = DataType::Decimal128(NARROW_DIGITS, SCALE);
/// The type of all other exact numbers.
const WIDE: DataType = DataType::Decimal256(WIDE_DIGITS, SCALE);

/// The columns of a dataset that a plan reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Needed {
    /// By their names in the file.
    pub columns: BTreeSet<String>,
    /// Whether the rows that state totals are left out.
    pub leaves_totals: bool,
}

/// The columns of one dataset, each in batches of the same lengths.
pub(super) struct Columns {
    pub names: Vec<String>,
    pub types: Vec<DataType>,
    pub arrays: Vec<Arc<Vec<ArrayRef>>>,
}

/// What a plan reads of each dataset.
pub(super) fn needed(bound: &Bound, datasets: &[&Description], include_totals: bool) -> Vec<Needed> {
    let mut needed: Vec<Needed> = datasets
        .iter()
        .map(|description| Needed {
            columns: BTreeSet::from([ROW.to_owned()]),
            leaves_totals: !include_totals && description.totals.count > 0,
        })
        .collect();
    let conditions = bound.conditions.iter().map(|condition| condition.at);
    let joins = bound.joins.iter().flat_map(|join| &join.on).flat_map(|(one, other)| [*one, *other]);
    let groups = bound.groups.iter().map(|group| group.at);
    let aggregates = bound.aggregates.iter().filter_map(|aggregate| aggregate.at);
    for (dataset, column) in conditions.chain(joins).chain(groups).chain(aggregates).chain(bound.select.iter().copied())
    {
        needed[dataset].columns.insert(stored_name(column));
    }
    for needed in &mut needed {
        if needed.leaves_totals {
            needed.columns.insert(TOTAL.to_owned());
        }
    }
    needed
}

/// A plan as the library runs it: `limit` rows and one more where there are more; first the columns of the result, then, where
/// rows are returned, their numbers in each dataset.
pub(super) fn compile(
    context: &SessionContext,
    bound: &Bound,
    datasets: &[&Description],
    needed: &[Needed],
    columns: &[Columns],
    (limit, parts): (usize, usize),
) -> Result<DataFrame, Error> {
    let types = columns.iter().enumerate().flat_map(|(dataset, columns)| {
        let names = columns.names.iter().map(move |name| format!("d{dataset}_{name}"));
        names.zip(columns.types.iter().cloned())
    });
    let compiler = Compiler { bound, datasets, types: types.collect(), parts };
    let mut tables = Vec::new();
    for (dataset, columns) in columns.iter().enumerate() {
        tables.push(Some(compiler.table(context, dataset, columns, needed[dataset].leaves_totals)?));
    }
    let mut frame = tables[0].take().ok_or_else(|| Error::defect("a plan without datasets"))?;
    for join in &bound.joins {
        let table = tables[join.dataset].take().ok_or_else(|| Error::defect("a dataset joined twice"))?;
        let on = join.on.iter().map(|(own, other)| compiler.equal(*other, *own));
        frame = frame.join_on(table, JoinType::Inner, on.collect::<Vec<_>>()).map_err(Error::defect)?;
    }
    let frame = if bound.aggregates.is_empty() { compiler.rows(frame)? } else { compiler.groups(frame)? };
    frame.limit(0, Some(limit.saturating_add(1))).map_err(Error::defect)
}

/// The name of a value in the library's plan, which no name of a caller is.
fn value_name((dataset, column): At) -> String {
    format!("d{dataset}_{}", stored_name(column))
}

fn result_name(at: usize) -> String {
    format!("r{at}")
}

struct Compiler<'a> {
    bound: &'a Bound,
    datasets: &'a [&'a Description],
    /// Of the values by their names in the plan.
    types: HashMap<String, DataType>,
    /// How many parts are worked on at a time.
    parts: usize,
}

impl Compiler<'_> {
    /// The rows of a dataset that meet its conditions.
    fn table(
        &self,
        context: &SessionContext,
        dataset: usize,
        columns: &Columns,
        leaves_totals: bool,
    ) -> Result<DataFrame, Error> {
        let (schema, batches) = batches(dataset, columns)?;
        // In the order of the source: what comes first is in the first part.
        let share = batches.len().div_ceil(self.parts).max(1);
        let mut parts: Vec<Vec<RecordBatch>> = batches.chunks(share).map(<[RecordBatch]>::to_vec).collect();
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let table = MemTable::try_new(schema, parts).map_err(Error::defect)?;
        let mut frame = context.read_table(Arc::new(table)).map_err(Error::defect)?;
        if leaves_totals {
            frame = frame.filter(not(ident(format!("d{dataset}_{TOTAL}")))).map_err(Error::defect)?;
        }
        let conditions = self.bound.conditions.iter().filter(|condition| condition.at.0 == dataset);
        match conditions.map(|condition| self.test(condition)).reduce(Expr::and) {
            Some(all) => frame.filter(all).map_err(Error::defect),
            None => Ok(frame),
        }
    }

    fn test(&self, condition: &Condition) -> Expr {
        let value = ident(value_name(condition.at));
        match &condition.test {
            Test::IsNull => value.is_null(),
            Test::NotNull => value.is_not_null(),
            Test::Compare(op, literal) => {
                let (value, literal) = self.comparable(condition.at, value, literal);
                match op {
                    Comparison::Ne => value.not_eq(literal),
                    Comparison::Lt => value.lt(literal),
                    Comparison::Le => value.lt_eq(literal),
                    Comparison::Gt => value.gt(literal),
                    Comparison::Ge => value.gt_eq(literal),
                    _ => value.eq(literal),
                }
            }
            // An empty list holds of nothing, and nothing absent is in none.
            Test::OneOf(literals) if literals.is_empty() => lit(false),
            Test::NoneOf(literals) if literals.is_empty() => value.is_not_null(),
            Test::OneOf(literals) => self.one_of(condition.at, value, literals, false),
            Test::NoneOf(literals) => self.one_of(condition.at, value, literals, true),
            Test::Contains(text) => functions::has(value, text, Look::Anywhere),
            Test::StartsWith(text) => functions::has(value, text, Look::AtTheStart),
        }
    }

    fn one_of(&self, at: At, value: Expr, literals: &[Literal], negated: bool) -> Expr {
        let is_narrow = literals.iter().all(|literal| !matches!(literal, Literal::Number(number) if !fits(*number)));
        let (value, narrow) = if is_narrow { (value, self.is_narrow(at)) } else { (cast(value, WIDE), false) };
        value.in_list(literals.iter().map(|literal| scalar(literal, narrow)).collect(), negated)
    }

    /// A value and a literal in one type.
    fn comparable(&self, at: At, value: Expr, literal: &Literal) -> (Expr, Expr) {
        match literal {
            Literal::Number(number) if self.is_narrow(at) && fits(*number) => (value, scalar(literal, true)),
            Literal::Number(_) => (cast(value, WIDE), scalar(literal, false)),
            _ => (value, scalar(literal, false)),
        }
    }

    fn equal(&self, one: At, other: At) -> Expr {
        let values = (ident(value_name(one)), ident(value_name(other)));
        match (self.stored(one), self.stored(other)) {
            (one, other) if one == other => values.0.eq(values.1),
            (DataType::Float64, _) | (_, DataType::Float64) => {
                cast(values.0, DataType::Float64).eq(cast(values.1, DataType::Float64))
            }
            _ => cast(values.0, WIDE).eq(cast(values.1, WIDE)),
        }
    }

    /// The rows, and their numbers, in the order asked for, then in that of the source.
    fn rows(&self, frame: DataFrame) -> Result<DataFrame, Error> {
        let values = self.bound.select.iter().enumerate();
        let mut columns: Vec<Expr> =
            values.map(|(at, value)| ident(value_name(*value)).alias(result_name(at))).collect();
        let numbers = (0..self.datasets.len()).map(|dataset| format!("d{dataset}_{ROW}"));
        let mut order = self.order();
        for number in numbers {
            order.push(ident(number.clone()).sort(true, false));
            columns.push(ident(number));
        }
        frame.select(columns).and_then(|frame| frame.sort(order)).map_err(Error::defect)
    }

    /// What is calculated of each group, in the order asked for, then in that of the groups.
    fn groups(&self, frame: DataFrame) -> Result<DataFrame, Error> {
        let groups = self.bound.groups.iter().enumerate().map(|(at, group)| {
            let value = ident(value_name(group.at));
            let value = match group.by {
                None => value,
                Some(by) => functions::period(value, self.stored(group.at), by),
            };
            value.alias(result_name(at))
        });
        let groups: Vec<Expr> = groups.collect();
        let mut calculated = Vec::new();
        let mut columns: Vec<Expr> = (0..groups.len()).map(|at| ident(result_name(at))).collect();
        for (at, aggregate) in self.bound.aggregates.iter().enumerate() {
            let name = format!("a{at}");
            let result = result_name(groups.len() + at);
            let value = aggregate.at.map_or_else(|| lit(1_i64), |at| ident(value_name(at)));
            let is_double = aggregate.at.is_some_and(|at| *self.stored(at) == DataType::Float64);
            match aggregate.function {
                Function::Avg if !is_double => {
                    let many = format!("n{at}");
                    calculated.push(sum(value.clone()).alias(&name));
                    calculated.push(count(value).alias(&many));
                    columns.push(functions::average(cast(ident(name), functions::SUM), ident(many)).alias(result));
                    continue;
                }
                Function::Avg => calculated.push(avg(value).alias(&name)),
                Function::Count => calculated.push(count(value).alias(&name)),
                Function::CountDistinct => calculated.push(count_distinct(value).alias(&name)),
                Function::Sum => calculated.push(sum(value).alias(&name)),
                Function::Min => calculated.push(min(value).alias(&name)),
                Function::Max => calculated.push(max(value).alias(&name)),
            }
            columns.push(ident(name).alias(result));
        }
        let mut order = self.order();
        order.extend((0..groups.len()).map(|at| ident(result_name(at)).sort(true, false)));
        let frame =
            frame.aggregate(groups, calculated).and_then(|frame| frame.select(columns)).map_err(Error::defect)?;
        if order.is_empty() { Ok(frame) } else { frame.sort(order).map_err(Error::defect) }
    }

    fn order(&self) -> Vec<SortExpr> {
        let order = self.bound.order.iter();
        order.map(|(at, descending)| ident(result_name(*at)).sort(!descending, false)).collect()
    }

    fn stored(&self, at: At) -> &DataType {
        self.types.get(&value_name(at)).unwrap_or(&DataType::Null)
    }

    fn is_narrow(&self, at: At) -> bool {
        *self.stored(at) == NARROW
    }
}

fn fits(number: i256) -> bool {
    number.wrapping_abs() < decimal::power(NARROW_DIGITS)
}

fn scalar(literal: &Literal, narrow: bool) -> Expr {
    let scalar = match literal {
        Literal::Text(text) => ScalarValue::Utf8(Some(text.clone())),
        Literal::Number(number) => match number.to_i128().filter(|_| narrow) {
            Some(number) => ScalarValue::Decimal128(Some(number), NARROW_DIGITS, SCALE),
            None => ScalarValue::Decimal256(Some(*number), WIDE_DIGITS, SCALE),
        },
        Literal::Double(number) => ScalarValue::Float64(Some(*number)),
        Literal::Bool(value) => ScalarValue::Boolean(Some(*value)),
        Literal::Date(days) => ScalarValue::Date32(Some(*days)),
        Literal::Moment(micros) => ScalarValue::TimestampMicrosecond(Some(*micros), None),
        Literal::Time(micros) => ScalarValue::Time64Microsecond(Some(*micros)),
    };
    Expr::Literal(scalar, None)
}

/// The columns of a dataset as batches under the names of the plan.
fn batches(dataset: usize, columns: &Columns) -> Result<(SchemaRef, Vec<RecordBatch>), Error> {
    let fields = columns
        .names
        .iter()
        .zip(&columns.types)
        .map(|(name, of)| Field::new(format!("d{dataset}_{name}"), of.clone(), name != ROW && name != TOTAL));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let count = columns.arrays.first().map_or(0, |batches| batches.len());
    let batches = (0..count).map(|batch| {
        let arrays = columns.arrays.iter().map(|batches| Arc::clone(&batches[batch])).collect();
        RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(Error::defect)
    });
    let batches = batches.collect::<Result<_, _>>()?;
    Ok((schema, batches))
}
