//! Tables as they are made.

use loom_extract::contract::{CellType, Column, Row, Table};
use num_bigint::BigInt;
use num_rational::BigRational;

use super::exact;
use super::tape::Tape;
use super::values::{Made, Reach};

const TYPES: &[CellType] = &[
    CellType::Number,
    CellType::String,
    CellType::Date,
    CellType::Datetime,
    CellType::Bool,
    CellType::Time,
    CellType::Duration,
];
/// Column names that would be something else in a language.
const NAMES: &[&str] = &["key", "k (2)", "select", "🦀", "d0_c0", "\"", "x\"; DROP TABLE t; --", "r0", "count", "a.b"];

#[derive(Clone, Debug)]
pub struct MadeColumn {
    pub name: String,
    pub column_type: CellType,
    reach: Reach,
}

#[derive(Clone, Debug)]
pub struct MadeRow {
    pub id: u64,
    pub values: Vec<Made>,
    /// Whether it states the total of the rows above.
    pub is_total: bool,
}

#[derive(Clone, Debug)]
pub struct MadeTable {
    pub columns: Vec<MadeColumn>,
    pub rows: Vec<MadeRow>,
}

/// A few values that tables are joined by.
#[derive(Clone, Debug)]
pub struct Key {
    column_type: CellType,
    values: Vec<Made>,
}

impl Key {
    pub fn by_chance(tape: &mut Tape<'_>) -> Self {
        let column_type = *tape.pick(TYPES);
        let reach = *tape.pick(&[Reach::Plain, Reach::Fine, Reach::Plain, Reach::Large]);
        Self { column_type, values: (0..3).map(|_| Made::by_chance(tape, column_type, reach)).collect() }
    }
}

impl MadeTable {
    /// A table of at most so many rows, whose first columns have the values of these keys, or other ones.
    pub fn by_chance(tape: &mut Tape<'_>, keys: &[Key], rows_max: usize) -> Self {
        let others = 1 + tape.below(5);
        let types = keys.iter().map(|key| key.column_type).chain((0..others).map(|_| *tape.pick(TYPES)));
        let types: Vec<CellType> = types.collect();
        let columns = types.into_iter().enumerate().map(|(at, column_type)| {
            let reach = *tape.pick(&[Reach::Plain, Reach::Plain, Reach::Fine, Reach::Large, Reach::Huge]);
            MadeColumn { name: NAMES[at].to_owned(), column_type, reach }
        });
        let columns: Vec<MadeColumn> = columns.collect();
        let mut id = 1;
        let least = if tape.once_in(8) { 0 } else { rows_max / 3 };
        let rows = (0..least + tape.below(rows_max - least + 1)).map(|_| {
            id += 1 + u64::from(tape.once_in(8));
            let values = columns.iter().enumerate().map(|(at, column)| match keys.get(at) {
                Some(key) if !tape.once_in(6) => tape.pick(&key.values).clone(),
                _ => Made::by_chance(tape, column.column_type, column.reach),
            });
            MadeRow { id, values: values.collect(), is_total: false }
        });
        let rows = rows.collect();
        let mut table = Self { columns, rows };
        if tape.once_in(3) {
            table.state_total(id + 1);
        }
        table
    }

    /// The table as an extractor makes it.
    pub fn table(&self) -> Table {
        let columns = self.columns.iter().map(|column| Column {
            name: column.name.clone(),
            column_type: column.column_type,
            mixed: false,
        });
        let rows = self.rows.iter().map(|row| {
            let cells = row.values.iter().zip(&self.columns).map(|(value, column)| value.cell(column.column_type));
            Row(row.id, cells.collect())
        });
        Table {
            name: String::new(),
            columns: columns.collect(),
            header_rows: 1,
            total_rows: self.rows.len() as u64,
            rows: rows.collect(),
            numbered: true,
        }
    }

    /// Adds a row that states the total of a column, where there is one to state and a text to name it.
    fn state_total(&mut self, id: u64) {
        let first = |is: fn(CellType) -> bool| self.columns.iter().position(|column| is(column.column_type));
        let text = first(|of| of == CellType::String);
        let number = first(|of| matches!(of, CellType::Number | CellType::Duration));
        let (Some(text), Some(number)) = (text, number) else { return };
        let stated = self.rows.iter().filter_map(|row| match &row.values[number] {
            Made::Number(digits) => Some(exact::held(digits)),
            _ => None,
        });
        let sum: BigRational = stated.sum();
        if sum == BigRational::from(BigInt::ZERO) || !exact::is_held(&sum) {
            return;
        }
        let mut values = vec![Made::Absent; self.columns.len()];
        values[text] = Made::Text("Total".into());
        values[number] = Made::Number(exact::text(&sum));
        self.rows.push(MadeRow { id, values, is_total: true });
    }
}
