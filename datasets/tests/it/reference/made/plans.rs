//! Plans as they are made.

use loom_datasets::Plan;
use loom_datasets::plan::{
    Comparison, Function, Period, QueryAggregate, QueryColumn, QueryFilter, QueryGroup, QueryJoin, QueryJoinOn,
    QueryOrder,
};
use loom_extract::contract::CellType;
use serde_json::Value;

use super::tables::{Key, MadeTable};
use super::tape::Tape;
use super::values::{Made, Reach};

const ALIASES: &[&str] = &["t", "select", "d1", "🦀"];
const ANY: &[Comparison] = &[
    Comparison::Eq,
    Comparison::Ne,
    Comparison::Lt,
    Comparison::Le,
    Comparison::Gt,
    Comparison::Ge,
    Comparison::In,
    Comparison::NotIn,
    Comparison::IsNull,
    Comparison::NotNull,
];
const OF_TEXT: &[Comparison] = &[Comparison::Contains, Comparison::StartsWith];
const OF_ANY: &[Function] = &[Function::Count, Function::CountDistinct, Function::Min, Function::Max];
const OF_NUMBERS: &[Function] = &[Function::Sum, Function::Avg];
const PERIODS: &[Option<Period>] = &[None, Some(Period::Day), Some(Period::Month), Some(Period::Year)];

/// Tables, and a plan over them.
#[derive(Clone, Debug)]
pub struct Case {
    pub tables: Vec<MadeTable>,
    pub plan: Plan,
    /// Of each condition of the plan, the values that it compares with.
    pub compared: Vec<Vec<Made>>,
    /// Of each aggregate or selected column, or group before them, the dataset and the column; none where rows are counted.
    pub columns: Vec<Option<(usize, usize)>>,
}

pub fn case(tape: &[u32]) -> Case {
    let mut tape = Tape::new(tape);
    let count = *tape.pick(&[1, 1, 1, 2, 2, 3, 4]);
    let keys = [Key::by_chance(&mut tape), Key::by_chance(&mut tape)];
    let rows_max = if count > 2 { 9 } else { 30 };
    let tables: Vec<MadeTable> = (0..count).map(|_| MadeTable::by_chance(&mut tape, &keys, rows_max)).collect();
    let datasets: Vec<String> = if count == 1 && tape.once_in(2) {
        vec![String::new()]
    } else {
        ALIASES[..count].iter().map(|alias| (*alias).to_owned()).collect()
    };
    let mut maker = Maker { tape, tables: &tables, datasets: &datasets };
    let joins = maker.joins();
    let (conditions, compared) = (0..*maker.tape.pick(&[0, 1, 0, 1, 2, 3])).map(|_| maker.condition()).unzip();
    let mut plan = Plan {
        datasets: datasets.clone(),
        conditions,
        joins,
        limit: *maker.tape.pick(&[10_000, 10_000, 10_000, 10_000, 1, 3, 20, 100, 0]),
        include_totals: maker.tape.once_in(2),
        ..Plan::default()
    };
    let columns = maker.result(&mut plan);
    plan.order_by = maker.order(&plan, &columns);
    Case { tables, plan, compared, columns }
}

struct Maker<'a> {
    tape: Tape<'a>,
    tables: &'a [MadeTable],
    datasets: &'a [String],
}

impl Maker<'_> {
    fn any(&mut self) -> (usize, usize) {
        let dataset = self.tape.below(self.tables.len());
        (dataset, self.tape.below(self.tables[dataset].columns.len()))
    }

    fn column_type(&self, (dataset, column): (usize, usize)) -> CellType {
        self.tables[dataset].columns[column].column_type
    }

    fn name(&self, (dataset, column): (usize, usize)) -> String {
        self.tables[dataset].columns[column].name.clone()
    }

    fn alias(&mut self, dataset: usize) -> String {
        let may_be_empty = self.datasets.len() == 1 && self.tape.once_in(2);
        if may_be_empty { String::new() } else { self.datasets[dataset].clone() }
    }

    /// Each dataset past the first, in an order of chance.
    fn joins(&mut self) -> Vec<QueryJoin> {
        let mut open: Vec<usize> = (1..self.tables.len()).collect();
        let mut joined = vec![0];
        let mut joins = Vec::new();
        while !open.is_empty() {
            let dataset = open.remove(self.tape.below(open.len()));
            let pairs = 1 + self.tape.below(2);
            let on = (0..pairs).map(|_| self.pair(dataset, &joined)).collect();
            joins.push(QueryJoin { dataset: self.datasets[dataset].clone(), on });
            joined.push(dataset);
        }
        joins
    }

    fn pair(&mut self, dataset: usize, joined: &[usize]) -> QueryJoinOn {
        let with = *self.tape.pick(joined);
        let mut pairs = Vec::new();
        for (own, column) in self.tables[dataset].columns.iter().enumerate() {
            let others = self.tables[with].columns.iter().enumerate();
            let alike = others.filter(|(_, other)| other.column_type == column.column_type);
            pairs.extend(alike.map(|(other, _)| (own, other)));
        }
        // The first two columns are keys: of one type in every table.
        let (own, other) =
            if self.tape.once_in(3) { *self.tape.pick(&pairs) } else { *self.tape.pick(&[(0, 0), (0, 0), (1, 1)]) };
        let with_dataset =
            if joined.len() == 1 && self.tape.once_in(2) { String::new() } else { self.datasets[with].clone() };
        QueryJoinOn { column: self.name((dataset, own)), with_dataset, with_column: self.name((with, other)) }
    }

    fn condition(&mut self) -> (QueryFilter, Vec<Made>) {
        let at = self.any();
        let column_type = self.column_type(at);
        let is_text = column_type == CellType::String;
        let op = if is_text && self.tape.once_in(3) { *self.tape.pick(OF_TEXT) } else { *self.tape.pick(ANY) };
        let count = match op {
            Comparison::IsNull | Comparison::NotNull => 0,
            Comparison::In | Comparison::NotIn => self.tape.below(5),
            _ => 1,
        };
        let compared: Vec<Made> = (0..count).map(|_| self.compared(at)).collect();
        let mut values: Vec<Value> = compared.iter().map(|made| self.json(made)).collect();
        let filter = QueryFilter {
            dataset: self.alias(at.0),
            column: self.name(at),
            op,
            values: matches!(op, Comparison::In | Comparison::NotIn).then(|| values.clone()),
            value: if count == 1 && !matches!(op, Comparison::In | Comparison::NotIn) { values.pop() } else { None },
        };
        (filter, compared)
    }

    /// A value that is there, most times, or another.
    fn compared(&mut self, (dataset, column): (usize, usize)) -> Made {
        let rows = &self.tables[dataset].rows;
        let there: Vec<&Made> =
            rows.iter().map(|row| &row.values[column]).filter(|value| **value != Made::Absent).collect();
        if !there.is_empty() && !self.tape.once_in(3) {
            return (*self.tape.pick(&there)).clone();
        }
        let reach = *self.tape.pick(&[Reach::Fine, Reach::Plain, Reach::Large, Reach::Huge]);
        let column_type = self.column_type((dataset, column));
        for _ in 0..4 {
            let made = Made::by_chance(&mut self.tape, column_type, reach);
            if made != Made::Absent {
                return made;
            }
        }
        match column_type {
            CellType::String => Made::Text("a".into()),
            CellType::Number | CellType::Duration => Made::Number("1".into()),
            CellType::Bool => Made::Bool(true),
            CellType::Date => Made::Day((2026, 1, 1)),
            CellType::Datetime => Made::Moment((2026, 1, 1), 0),
            CellType::Time => Made::Time(0),
        }
    }

    /// A value as a plan has it: numbers as text or, where JSON has them too, as numbers.
    fn json(&mut self, made: &Made) -> Value {
        match made {
            Made::Bool(value) => (*value).into(),
            Made::Number(digits) => {
                let integer = digits.parse::<i64>().ok().filter(|integer| integer.abs() < 1 << 53);
                integer.filter(|_| self.tape.once_in(2)).map_or_else(|| digits.clone().into(), Value::from)
            }
            other => other.text().into(),
        }
    }

    fn result(&mut self, plan: &mut Plan) -> Vec<Option<(usize, usize)>> {
        let mut columns = Vec::new();
        let calculates = !self.tape.once_in(3);
        if !calculates {
            for at in 0..self.tape.below(5) {
                let column = self.any();
                let (dataset, name) = (self.alias(column.0), format!("r{at}"));
                plan.select.push(QueryColumn { dataset, column: self.name(column), name });
                columns.push(Some(column));
            }
            if columns.is_empty() {
                let all = self.tables.iter().enumerate();
                columns
                    .extend(all.flat_map(|(at, table)| (0..table.columns.len()).map(move |column| Some((at, column)))));
            }
            return columns;
        }
        for at in 0..self.tape.below(4) {
            let column = self.any();
            let has_days = matches!(self.column_type(column), CellType::Date | CellType::Datetime);
            let by = if has_days { *self.tape.pick(PERIODS) } else { None };
            let (dataset, name) = (self.alias(column.0), format!("g{at}"));
            plan.group_by.push(QueryGroup { dataset, column: self.name(column), by, name });
            columns.push(Some(column));
        }
        for at in 0..=self.tape.below(4) {
            let name = format!("a{at}");
            if self.tape.once_in(6) {
                plan.aggregates.push(QueryAggregate {
                    function: Function::Count,
                    dataset: String::new(),
                    column: None,
                    name,
                });
                columns.push(None);
                continue;
            }
            let column = self.any();
            let adds =
                matches!(self.column_type(column), CellType::Number | CellType::Duration) && !self.tape.once_in(3);
            let function = *self.tape.pick(if adds { OF_NUMBERS } else { OF_ANY });
            let (dataset, name_there) = (self.alias(column.0), self.name(column));
            plan.aggregates.push(QueryAggregate { function, dataset, column: Some(name_there), name });
            columns.push(Some(column));
        }
        columns
    }

    fn order(&mut self, plan: &Plan, columns: &[Option<(usize, usize)>]) -> Vec<QueryOrder> {
        let names: Vec<String> = if !plan.aggregates.is_empty() {
            let groups = plan.group_by.iter().map(|group| group.name.clone());
            groups.chain(plan.aggregates.iter().map(|aggregate| aggregate.name.clone())).collect()
        } else if plan.select.is_empty() {
            let own = columns.iter().flatten().map(|at| match self.datasets {
                [_] => self.name(*at),
                several => format!("{}.{}", several[at.0], self.name(*at)),
            });
            own.collect()
        } else {
            plan.select.iter().map(|selected| selected.name.clone()).collect()
        };
        let order = (0..self.tape.below(4))
            .map(|_| QueryOrder { column: self.tape.pick(&names).clone(), descending: self.tape.once_in(2) });
        order.collect()
    }
}
