//! What a plan's answer is, worked out in the plainest way on the values as they were made.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use loom_datasets::plan::{Comparison, Function, Period};
use num_bigint::BigInt;
use num_rational::BigRational;
use serde_json::Value;

use super::made::{Case, Day, Made, exact};

/// What an answer says.
#[derive(Debug, PartialEq)]
pub struct Expected {
    pub rows: Vec<Vec<Value>>,
    pub row_ids: Vec<Vec<u64>>,
    pub truncated: bool,
}

/// A value that can be compared with others of its type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Absent,
    Text(String),
    Number(BigRational),
    Bool(bool),
    Day(Day),
    Month(i32, u32),
    Moment(Day, u64),
    Time(u64),
}

/// One row of each dataset, in the order of the plan's datasets.
type Joined = Vec<usize>;
/// A row of the result with what orders it where nothing else does.
type Row<K> = (Vec<Known>, K);

pub fn expected(case: &Case) -> Expected {
    let model = Model {
        case,
        values: case
            .tables
            .iter()
            .map(|table| table.rows.iter().map(|row| row.values.iter().map(known).collect()).collect())
            .collect(),
    };
    let joined = model.joined();
    let limit = case.plan.limit;
    if case.plan.aggregates.is_empty() {
        let ids = |joined: &Joined| -> Vec<u64> {
            joined.iter().enumerate().map(|(dataset, row)| case.tables[dataset].rows[*row].id).collect()
        };
        let mut rows: Vec<Row<Vec<u64>>> = joined.iter().map(|joined| (model.selected(joined), ids(joined))).collect();
        rows.sort_by(|one, other| model.ordered(&one.0, &other.0).then_with(|| one.1.cmp(&other.1)));
        let truncated = rows.len() > limit;
        rows.truncate(limit);
        let (rows, row_ids): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        return Expected { rows: rows.iter().map(|row| json(row)).collect(), row_ids, truncated };
    }
    let mut rows = model.groups(&joined);
    let groups = case.plan.group_by.len();
    rows.sort_by(|one, other| {
        let of_groups =
            || one[..groups].iter().zip(&other[..groups]).map(|(one, other)| absent_last(one, other, false));
        model.ordered(one, other).then_with(|| of_groups().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    });
    let truncated = rows.len() > limit;
    rows.truncate(limit);
    Expected { rows: rows.iter().map(|row| json(row)).collect(), row_ids: Vec::new(), truncated }
}

struct Model<'a> {
    case: &'a Case,
    /// Of each dataset, of each row.
    values: Vec<Vec<Vec<Known>>>,
}

impl Model<'_> {
    fn place(&self, alias: &str, column: &str) -> (usize, usize) {
        let plan = &self.case.plan;
        let dataset = if alias.is_empty() { 0 } else { plan.datasets.iter().position(|known| known == alias).unwrap() };
        (dataset, self.case.tables[dataset].columns.iter().position(|known| known.name == column).unwrap())
    }

    fn value(&self, joined: &[usize], (dataset, column): (usize, usize)) -> &Known {
        &self.values[dataset][joined[dataset]][column]
    }

    /// Whether the conditions on a dataset hold of one of its rows.
    fn is_met(&self, dataset: usize, row: usize) -> bool {
        let plan = &self.case.plan;
        let is_left_out = self.case.tables[dataset].rows[row].is_total && !plan.include_totals;
        !is_left_out
            && plan.conditions.iter().zip(&self.case.compared).all(|(condition, compared)| {
                let (of, column) = self.place(&condition.dataset, &condition.column);
                of != dataset || holds(&self.values[dataset][row][column], condition.op, compared)
            })
    }

    fn joined(&self) -> Vec<Joined> {
        const NONE: usize = usize::MAX;
        let rows = |dataset: usize| (0..self.values[dataset].len()).filter(move |row| self.is_met(dataset, *row));
        let mut start = vec![NONE; self.values.len()];
        let mut all: Vec<Joined> = Vec::new();
        for row in rows(0) {
            start[0] = row;
            all.push(start.clone());
        }
        for join in &self.case.plan.joins {
            let dataset = self.case.plan.datasets.iter().position(|alias| *alias == join.dataset).unwrap();
            let mut next = Vec::new();
            for joined in &all {
                for row in rows(dataset) {
                    let mut joined = joined.clone();
                    joined[dataset] = row;
                    let is_equal = join.on.iter().all(|on| {
                        let own = self.value(&joined, self.place(&join.dataset, &on.column));
                        let other = self.value(&joined, self.place(&on.with_dataset, &on.with_column));
                        *own != Known::Absent && own == other
                    });
                    if is_equal {
                        next.push(joined);
                    }
                }
            }
            all = next;
        }
        all
    }

    fn selected(&self, joined: &Joined) -> Vec<Known> {
        self.case.columns.iter().flatten().map(|at| self.value(joined, *at).clone()).collect()
    }

    fn groups(&self, joined: &[Joined]) -> Vec<Vec<Known>> {
        let plan = &self.case.plan;
        let mut groups: BTreeMap<Vec<Known>, Vec<&Joined>> = BTreeMap::new();
        if plan.group_by.is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for joined in joined {
            let key = plan.group_by.iter().zip(&self.case.columns).map(|(group, at)| {
                let value = self.value(joined, at.unwrap());
                group.by.map_or_else(|| value.clone(), |by| period(value, by))
            });
            groups.entry(key.collect()).or_default().push(joined);
        }
        let calculated = groups.into_iter().map(|(mut row, joined)| {
            let aggregates = plan.aggregates.iter().zip(&self.case.columns[plan.group_by.len()..]);
            row.extend(aggregates.map(|(aggregate, at)| {
                let Some(at) = *at else { return whole(joined.len()) };
                let values =
                    joined.iter().map(|joined| self.value(joined, at)).filter(|value| **value != Known::Absent);
                calculated(aggregate.function, &values.collect::<Vec<_>>())
            }));
            row
        });
        calculated.collect()
    }

    fn ordered(&self, one: &[Known], other: &[Known]) -> Ordering {
        let plan = &self.case.plan;
        let names: Vec<String> = if !plan.aggregates.is_empty() {
            let groups = plan.group_by.iter().map(|group| group.name.clone());
            groups.chain(plan.aggregates.iter().map(|aggregate| aggregate.name.clone())).collect()
        } else if plan.select.is_empty() {
            let name = |(dataset, column): (usize, usize)| {
                let name = &self.case.tables[dataset].columns[column].name;
                if self.values.len() == 1 { name.clone() } else { format!("{}.{name}", plan.datasets[dataset]) }
            };
            self.case.columns.iter().flatten().map(|at| name(*at)).collect()
        } else {
            plan.select.iter().map(|selected| selected.name.clone()).collect()
        };
        let mut orders = plan.order_by.iter().map(|order| {
            let at = names.iter().position(|name| *name == order.column).unwrap();
            absent_last(&one[at], &other[at], order.descending)
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

fn known(made: &Made) -> Known {
    match made {
        Made::Number(digits) => Known::Number(exact::held(digits)),
        other => compared(other),
    }
}

/// A value of a plan: all the places of a number count.
fn compared(made: &Made) -> Known {
    match made {
        Made::Absent => Known::Absent,
        Made::Text(text) => Known::Text(text.clone()),
        Made::Number(digits) => Known::Number(exact::number(digits)),
        Made::Bool(value) => Known::Bool(*value),
        Made::Day(day) => Known::Day(*day),
        Made::Moment(day, micros) => Known::Moment(*day, *micros),
        Made::Time(micros) => Known::Time(*micros),
    }
}

fn holds(value: &Known, op: Comparison, with: &[Made]) -> bool {
    let with: Vec<Known> = with.iter().map(compared).collect();
    if op == Comparison::IsNull || *value == Known::Absent {
        return op == Comparison::IsNull && *value == Known::Absent;
    }
    let texts = || match (value, &with[0]) {
        (Known::Text(value), Known::Text(with)) => (value.as_str(), with.as_str()),
        other => panic!("{other:?} are no texts"),
    };
    match op {
        Comparison::Eq => *value == with[0],
        Comparison::Ne => *value != with[0],
        Comparison::Lt => *value < with[0],
        Comparison::Le => *value <= with[0],
        Comparison::Gt => *value > with[0],
        Comparison::Ge => *value >= with[0],
        Comparison::In => with.contains(value),
        Comparison::NotIn => !with.contains(value),
        Comparison::IsNull | Comparison::NotNull => true,
        Comparison::Contains => texts().0.contains(texts().1),
        Comparison::StartsWith => texts().0.starts_with(texts().1),
    }
}

fn period(value: &Known, by: Period) -> Known {
    let (Known::Day(day) | Known::Moment(day, _)) = value else { return Known::Absent };
    match by {
        Period::Day => Known::Day(*day),
        Period::Month => Known::Month(day.0, day.1),
        Period::Year => Known::Number(BigRational::from(BigInt::from(day.0))),
    }
}

fn whole(number: usize) -> Known {
    Known::Number(BigRational::from(BigInt::from(number)))
}

fn calculated(function: Function, values: &[&Known]) -> Known {
    let sum = || -> BigRational {
        let numbers = values.iter().map(|value| match value {
            Known::Number(number) => number,
            other => panic!("{other:?} is no number"),
        });
        numbers.sum()
    };
    match function {
        Function::Count => whole(values.len()),
        Function::CountDistinct => whole(values.iter().collect::<BTreeSet<_>>().len()),
        _ if values.is_empty() => Known::Absent,
        Function::Sum => Known::Number(sum()),
        Function::Avg => Known::Number(exact::rounded(&(sum() / BigRational::from(BigInt::from(values.len()))))),
        Function::Min => values.iter().min().map_or(Known::Absent, |value| (**value).clone()),
        Function::Max => values.iter().max().map_or(Known::Absent, |value| (**value).clone()),
    }
}

fn absent_last(one: &Known, other: &Known, descending: bool) -> Ordering {
    let absent = (*one == Known::Absent).cmp(&(*other == Known::Absent));
    let order = one.cmp(other);
    if absent.is_ne() || !descending { if absent.is_ne() { absent } else { order } } else { order.reverse() }
}

fn json(row: &[Known]) -> Vec<Value> {
    let values = row.iter().map(|value| match value {
        Known::Absent => Value::Null,
        Known::Text(text) => text.clone().into(),
        Known::Number(number) => {
            let text = exact::text(number);
            text.parse::<i64>().ok().filter(|whole| whole.abs() <= 1 << 53).map_or_else(|| text.into(), Value::from)
        }
        Known::Bool(value) => (*value).into(),
        Known::Day(day) => Made::Day(*day).text().into(),
        Known::Month(year, month) => format!("{year:04}-{month:02}").into(),
        Known::Moment(day, micros) => Made::Moment(*day, *micros).text().into(),
        Known::Time(micros) => Made::Time(*micros).text().into(),
    });
    values.collect()
}
