//! A plan held against the datasets it names: every name found, every value of its column's type.

use arrow::datatypes::i256;
use loom_extract::contract::{CellType, Value as CellValue};
use loom_extract::written::{self, NumberStyle};
use serde_json::Value;

use crate::decimal;
use crate::error::Error;
use crate::moment;
use crate::plan::{
    Comparison, DATASETS_MAX, Function, JOIN_COLUMNS_MAX, PARTS_MAX, Period, Plan, QueryFilter, VALUES_MAX,
};
use crate::schema::{Column, Description, Held};

/// A column: the number of its dataset in the plan, and its number there.
pub(super) type At = (usize, usize);

/// A plan whose names are places.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub conditions: Vec<Condition>,
    /// Of each dataset past the first, in the order of joining.
    pub joins: Vec<Join>,
    pub groups: Vec<Group>,
    pub aggregates: Vec<Aggregate>,
    pub select: Vec<At>,
    /// The names of the result's columns.
    pub names: Vec<String>,
    /// Columns of the result, and whether the greatest comes first.
    pub order: Vec<(usize, bool)>,
}

#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub at: At,
    pub test: Test,
}

#[derive(Clone, Debug)]
pub(super) enum Test {
    IsNull,
    NotNull,
    /// One of `eq ne lt le gt ge`.
    Compare(Comparison, Literal),
    OneOf(Vec<Literal>),
    NoneOf(Vec<Literal>),
    Contains(String),
    StartsWith(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Number(i256),
    Double(f64),
    Bool(bool),
    Date(i32),
    Moment(i64),
    Time(i64),
}

#[derive(Clone, Debug)]
pub(super) struct Join {
    /// The number of the dataset that joins.
    pub dataset: usize,
    /// Its columns, and those of earlier ones.
    pub on: Vec<(At, At)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub at: At,
    pub by: Option<Period>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregate {
    pub function: Function,
    pub at: Option<At>,
}

/// Holds a plan against its datasets.
pub(super) fn bind(plan: &Plan, datasets: &[&Description]) -> Result<Bound, Error> {
    let binder = Binder { plan, datasets };
    binder.check_shape()?;
    let joins = binder.joins()?;
    let conditions = plan.conditions.iter().enumerate().map(|(at, filter)| binder.condition(at, filter));
    let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
    let mut names = Vec::new();
    let groups = binder.groups(&mut names)?;
    let aggregates = binder.aggregates(&mut names)?;
    let select = if plan.aggregates.is_empty() { binder.select(&mut names)? } else { Vec::new() };
    check_names(&names)?;
    let order = binder.order(&names)?;
    Ok(Bound { conditions, joins, groups, aggregates, select, names, order })
}

struct Binder<'a> {
    plan: &'a Plan,
    datasets: &'a [&'a Description],
}

impl Binder<'_> {
    fn check_shape(&self) -> Result<(), Error> {
        let plan = self.plan;
        if plan.datasets.is_empty() || plan.datasets.len() > DATASETS_MAX {
            let message = format!("a plan reads 1 to {DATASETS_MAX} datasets; this one names {}", plan.datasets.len());
            return Err(Error::plan("datasets", message));
        }
        for (at, alias) in plan.datasets.iter().enumerate() {
            if plan.datasets[..at].contains(alias) {
                let message = format!("the alias {alias:?} is taken: give each dataset an alias of its own");
                return Err(Error::plan(format!("datasets[{at}].alias"), message));
            }
        }
        let lengths = [
            ("where", plan.conditions.len()),
            ("group_by", plan.group_by.len()),
            ("aggregates", plan.aggregates.len()),
            ("select", plan.select.len()),
            ("order_by", plan.order_by.len()),
        ];
        if let Some((field, length)) = lengths.into_iter().find(|(_, length)| *length > PARTS_MAX) {
            return Err(Error::plan(field, format!("{field} may have {PARTS_MAX} entries; it has {length}")));
        }
        if plan.aggregates.is_empty() && !plan.group_by.is_empty() {
            return Err(Error::plan("aggregates", "group_by needs aggregates to calculate for each group"));
        }
        if !plan.aggregates.is_empty() && !plan.select.is_empty() {
            let message = "a plan with aggregates returns its groups: name the columns in group_by instead of select";
            return Err(Error::plan("select", message));
        }
        Ok(())
    }

    fn joins(&self) -> Result<Vec<Join>, Error> {
        let plan = self.plan;
        if plan.joins.len() + 1 != plan.datasets.len() {
            let message = format!(
                "each dataset past the first joins an earlier one: {} datasets need {} joins, and there are {}",
                plan.datasets.len(),
                plan.datasets.len() - 1,
                plan.joins.len()
            );
            return Err(Error::plan("joins", message));
        }
        let mut joined = vec![0];
        let mut joins = Vec::new();
        for (at, join) in plan.joins.iter().enumerate() {
            let field = format!("joins[{at}]");
            let dataset = self.dataset(&format!("{field}.dataset"), &join.dataset)?;
            if joined.contains(&dataset) {
                let message = format!("{:?} is in the plan already: each dataset joins once", join.dataset);
                return Err(Error::plan(format!("{field}.dataset"), message));
            }
            if join.on.is_empty() || join.on.len() > JOIN_COLUMNS_MAX {
                let message =
                    format!("a join compares 1 to {JOIN_COLUMNS_MAX} pairs of columns; this one has {}", join.on.len());
                return Err(Error::plan(format!("{field}.on"), message));
            }
            let mut on = Vec::new();
            for (pair, names) in join.on.iter().enumerate() {
                let field = format!("{field}.on[{pair}]");
                let own = self.column_of(&format!("{field}.column"), dataset, &names.column)?;
                let with = match (&names.with_dataset, joined.as_slice()) {
                    (alias, [only]) if alias.is_empty() => *only,
                    (alias, _) => self.dataset(&format!("{field}.with_dataset"), alias)?,
                };
                if !joined.contains(&with) {
                    let message = format!("{:?} is not in the plan yet: join an earlier dataset", names.with_dataset);
                    return Err(Error::plan(format!("{field}.with_dataset"), message));
                }
                let other = self.column_of(&format!("{field}.with_column"), with, &names.with_column)?;
                let (one, two) = (self.of(own).column_type, self.of(other).column_type);
                if one != two {
                    let message = format!(
                        "{:?} holds {} and {:?} {}: only columns of one type are joined",
                        names.column,
                        one.name(),
                        names.with_column,
                        two.name()
                    );
                    return Err(Error::plan(field, message));
                }
                on.push((own, other));
            }
            joined.push(dataset);
            joins.push(Join { dataset, on });
        }
        Ok(joins)
    }

    fn condition(&self, number: usize, filter: &QueryFilter) -> Result<Condition, Error> {
        let field = format!("where[{number}]");
        let at = self.column(&field, &filter.dataset, &filter.column)?;
        let column = self.of(at);
        let takes_values = matches!(filter.op, Comparison::In | Comparison::NotIn);
        let takes_value = !takes_values && !matches!(filter.op, Comparison::IsNull | Comparison::NotNull);
        if filter.values.is_some() != takes_values {
            let message = if takes_values {
                format!("{} compares with a list: give it values", filter.op.name())
            } else {
                format!("{} takes no values: only in and not_in do", filter.op.name())
            };
            return Err(Error::plan(format!("{field}.values"), message));
        }
        let given = filter.value.as_ref().filter(|value| !value.is_null());
        let value_field = format!("{field}.value");
        if takes_value && given.is_none() {
            let message = format!("{} needs a value; is_null and not_null ask for absent ones", filter.op.name());
            return Err(Error::plan(value_field, message));
        }
        if !takes_value && given.is_some() {
            return Err(Error::plan(value_field, format!("{} takes no value", filter.op.name())));
        }
        let value = given.unwrap_or(&Value::Null);
        let list = || {
            let values = filter.values.as_deref().unwrap_or_default();
            if values.len() > VALUES_MAX {
                let message = format!("values may have {VALUES_MAX} entries; it has {}", values.len());
                return Err(Error::plan(format!("{field}.values"), message));
            }
            let literals = values.iter().enumerate().map(|(at, value)| {
                let field = format!("{field}.values[{at}]");
                Ok(literal(&field, column, value)?.exact())
            });
            Ok(literals.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect())
        };
        let test = match filter.op {
            Comparison::IsNull => Test::IsNull,
            Comparison::NotNull => Test::NotNull,
            Comparison::In => Test::OneOf(list()?),
            Comparison::NotIn => Test::NoneOf(list()?),
            Comparison::Contains | Comparison::StartsWith => {
                if column.column_type != CellType::String {
                    let message = format!(
                        "{} compares text, and {:?} holds {}",
                        filter.op.name(),
                        column.name,
                        column.column_type.name()
                    );
                    return Err(Error::plan(format!("{field}.op"), message));
                }
                let Some(text) = value.as_str() else {
                    return Err(Error::plan(value_field, format!("{} takes a text", filter.op.name())));
                };
                let text = text.to_owned();
                if filter.op == Comparison::Contains { Test::Contains(text) } else { Test::StartsWith(text) }
            }
            op @ (Comparison::Eq
            | Comparison::Ne
            | Comparison::Lt
            | Comparison::Le
            | Comparison::Gt
            | Comparison::Ge) => literal(&value_field, column, value)?.compared(op),
        };
        Ok(Condition { at, test })
    }

    fn groups(&self, names: &mut Vec<String>) -> Result<Vec<Group>, Error> {
        let groups = self.plan.group_by.iter().enumerate().map(|(number, group)| {
            let field = format!("group_by[{number}]");
            let at = self.column(&field, &group.dataset, &group.column)?;
            let column = self.of(at);
            if group.by.is_some() && !matches!(column.column_type, CellType::Date | CellType::Datetime) {
                let message = format!(
                    "{:?} holds {}: only dates have days, months and years",
                    column.name,
                    column.column_type.name()
                );
                return Err(Error::plan(format!("{field}.by"), message));
            }
            let own = self.result_name(at);
            let own = group.by.map_or(own.clone(), |by| format!("{own} by {}", by.name()));
            names.push(if group.name.is_empty() { own } else { group.name.clone() });
            Ok(Group { at, by: group.by })
        });
        groups.collect()
    }

    fn aggregates(&self, names: &mut Vec<String>) -> Result<Vec<Aggregate>, Error> {
        let aggregates = self.plan.aggregates.iter().enumerate().map(|(number, aggregate)| {
            let field = format!("aggregates[{number}]");
            let function = aggregate.function;
            let Some(name) = &aggregate.column else {
                if function != Function::Count {
                    let message = format!("{} needs a column; only count does without", function.name());
                    return Err(Error::plan(format!("{field}.column"), message));
                }
                names.push(if aggregate.name.is_empty() { "count".into() } else { aggregate.name.clone() });
                return Ok(Aggregate { function, at: None });
            };
            let at = self.column(&field, &aggregate.dataset, name)?;
            let column = self.of(at);
            let adds = matches!(function, Function::Sum | Function::Avg);
            if adds && !matches!(column.column_type, CellType::Number | CellType::Duration) {
                let message = format!(
                    "{:?} holds {}, and {} adds numbers: knowledge.dataset_approve can change its type",
                    column.name,
                    column.column_type.name(),
                    function.name()
                );
                return Err(Error::plan(format!("{field}.column"), message));
            }
            let own = format!("{}({})", function.name(), self.result_name(at));
            names.push(if aggregate.name.is_empty() { own } else { aggregate.name.clone() });
            Ok(Aggregate { function, at: Some(at) })
        });
        aggregates.collect()
    }

    /// The columns of the rows; all that are stored where none is named.
    fn select(&self, names: &mut Vec<String>) -> Result<Vec<At>, Error> {
        if self.plan.select.is_empty() {
            let all = self.datasets.iter().enumerate().flat_map(|(dataset, description)| {
                let stored = description.columns.iter().enumerate().filter(|(_, column)| column.held != Held::Not);
                stored.map(move |(at, _)| (dataset, at))
            });
            let all: Vec<At> = all.collect();
            names.extend(all.iter().map(|at| self.result_name(*at)));
            return Ok(all);
        }
        let select = self.plan.select.iter().enumerate().map(|(number, column)| {
            let at = self.column(&format!("select[{number}]"), &column.dataset, &column.column)?;
            names.push(if column.name.is_empty() { self.result_name(at) } else { column.name.clone() });
            Ok(at)
        });
        select.collect()
    }

    fn order(&self, names: &[String]) -> Result<Vec<(usize, bool)>, Error> {
        let order = self.plan.order_by.iter().enumerate().map(|(number, order)| {
            let at = names.iter().position(|name| *name == order.column).ok_or_else(|| {
                let message = format!("the result has no column {:?}; it has {}", order.column, listed(names.iter()));
                Error::plan(format!("order_by[{number}].column"), message)
            })?;
            Ok((at, order.descending))
        });
        order.collect()
    }

    fn of(&self, (dataset, column): At) -> &Column {
        &self.datasets[dataset].columns[column]
    }

    fn dataset(&self, field: &str, alias: &str) -> Result<usize, Error> {
        if alias.is_empty() && self.plan.datasets.len() == 1 {
            return Ok(0);
        }
        self.plan.datasets.iter().position(|known| known == alias).ok_or_else(|| {
            let message = format!("the plan has no dataset {alias:?}; it has {}", listed(self.plan.datasets.iter()));
            Error::plan(field, message)
        })
    }

    fn column(&self, field: &str, alias: &str, name: &str) -> Result<At, Error> {
        let dataset = self.dataset(&format!("{field}.dataset"), alias)?;
        self.column_of(&format!("{field}.column"), dataset, name)
    }

    fn column_of(&self, field: &str, dataset: usize, name: &str) -> Result<At, Error> {
        let description = self.datasets[dataset];
        match description.column(name) {
            Some((_, column)) if column.held == Held::Not => {
                let message = format!("{name:?} is not stored: every place for its type was taken by earlier columns");
                Err(Error::plan(field, message))
            }
            Some((at, _)) => Ok((dataset, at)),
            None => {
                let names = listed(description.columns.iter().map(|column| &column.name));
                Err(Error::plan(field, format!("the dataset has no column {name:?}; it has {names}")))
            }
        }
    }

    fn result_name(&self, at: At) -> String {
        let name = &self.of(at).name;
        if self.plan.datasets.len() == 1 { name.clone() } else { format!("{}.{name}", self.plan.datasets[at.0]) }
    }
}

/// At most thirty names.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    const SHOWN: usize = 30;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn check_names(names: &[String]) -> Result<(), Error> {
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        None => Ok(()),
        Some((_, name)) => {
            let message =
                format!("two columns of the result are called {name:?}: give one of them another name with `as`");
            Err(Error::plan("select", message))
        }
    }
}

/// A value to compare with: exactly, or lying between two that a column can hold.
enum Given {
    Exact(Literal),
    /// Greater than this one, and less than the next.
    Above(i256),
}

impl Given {
    /// The value where a column can hold it.
    fn exact(self) -> Option<Literal> {
        match self {
            Self::Exact(literal) => Some(literal),
            Self::Above(_) => None,
        }
    }

    fn compared(self, op: Comparison) -> Test {
        match (self, op) {
            (Self::Exact(literal), op) => Test::Compare(op, literal),
            (Self::Above(_), Comparison::Ne) => Test::NotNull,
            (Self::Above(below), Comparison::Lt | Comparison::Le) => {
                Test::Compare(Comparison::Le, Literal::Number(below))
            }
            (Self::Above(below), Comparison::Gt | Comparison::Ge) => {
                Test::Compare(Comparison::Gt, Literal::Number(below))
            }
            (Self::Above(_), _) => Test::OneOf(Vec::new()),
        }
    }
}

fn literal(field: &str, column: &Column, value: &Value) -> Result<Given, Error> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
    };
    let literal = match (column.column_type, value) {
        (CellType::String, Value::String(text)) => Some(Literal::Text(text.clone())),
        (CellType::Number | CellType::Duration, Value::String(_) | Value::Number(_)) => {
            return number(column, &text).ok_or_else(|| unfit(field, column, value));
        }
        (CellType::Bool, Value::Bool(value)) => Some(Literal::Bool(*value)),
        (CellType::Date, Value::String(_)) => match written::moment(&text) {
            Some(CellValue::Date(day)) => moment::days(&day).map(Literal::Date),
            Some(CellValue::Datetime(at)) => moment::micros(&at).and_then(moment::day_of_midnight).map(Literal::Date),
            _ => None,
        },
        (CellType::Datetime, Value::String(_)) => match written::moment(&text) {
            Some(CellValue::Date(day)) => moment::days(&day).map(moment::midnight).map(Literal::Moment),
            Some(CellValue::Datetime(at)) => moment::micros(&at).map(Literal::Moment),
            _ => None,
        },
        (CellType::Time, Value::String(_)) => {
            written::time(&text).and_then(|time| moment::time_micros(&time)).map(Literal::Time)
        }
        _ => None,
    };
    literal.map(Given::Exact).ok_or_else(|| unfit(field, column, value))
}

fn number(column: &Column, text: &str) -> Option<Given> {
    if column.held == Held::Double {
        return text
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .map(|value| Given::Exact(Literal::Double(value)));
    }
    let digits = written::number(text, NumberStyle::Plain);
    let parsed = match (&digits, column.column_type) {
        (Some(digits), _) => decimal::floor(digits).ok(),
        (None, CellType::Duration) => moment::seconds(text).map(|seconds| (seconds, true)),
        (None, _) => None,
    };
    let (floor, is_exact) = parsed?;
    Some(if is_exact { Given::Exact(Literal::Number(floor)) } else { Given::Above(floor) })
}

fn unfit(field: &str, column: &Column, value: &Value) -> Error {
    let wanted = match column.column_type {
        CellType::String => "a text",
        CellType::Number => "a number of at most 55 digits before the point, as a number or a text",
        CellType::Bool => "true or false",
        CellType::Date => "a day such as \"2026-01-31\"",
        CellType::Datetime => "a moment such as \"2026-01-31T12:30:00Z\"",
        CellType::Time => "a time such as \"12:30:00\"",
        CellType::Duration => "seconds, or a length of time such as \"26:00:00\"",
    };
    let shown: String = value.to_string().chars().take(80).collect();
    Error::plan(field, format!("{:?} holds {}, and {shown} is not {wanted}", column.name, column.column_type.name()))
}
