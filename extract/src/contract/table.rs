//! Tables with typed cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table, its cells typed and with the source's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The sheet's name or the caption; empty where it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The columns in order. Every row has as many cells.
    pub columns: Vec<Column>,
    /// How many rows of the source make up the columns' names; 0 where the names come from elsewhere.
    pub header_rows: u32,
    /// The rows below the header, in order.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// How many rows the source has below the header: more than there are in `rows` where the table was cut.
    pub total_rows: u64,
    /// Whether the rows of the source are numbered (a sheet, a file of records), so that a passage of it can be cited by
    /// them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbered: bool,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// The header's words, possibly empty or repeated: a heading over several rows is joined by ` / `.
    pub name: String,
    /// The type of its values: [`CellType::String`] where they are of more than one, or none has a value.
    #[serde(rename = "type")]
    pub column_type: CellType,
    /// Whether it has values of more than one type.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row(
    /// Its number in the source, from 1, the header's rows counted; rows left out because they are blank leave gaps.
    pub u64,
    /// Its cells.
    pub Vec<Cell>,
);

/// The type of a cell or a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellType {
    /// Text.
    #[default]
    String,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// A day.
    Date,
    /// A day and a time.
    Datetime,
    /// A time of day.
    Time,
    /// A length of time.
    Duration,
}

/// A cell: in JSON `null` where it is empty, a string where it is text, and an object otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Nothing.
    #[default]
    Empty,
    /// Text.
    Text(String),
    /// A value of another type.
    Typed {
        /// The value.
        #[serde(flatten)]
        value: Value,
        /// How the source shows it, where that is not how the value is written here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

/// A value that is not text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A number's decimal digits, exactly as many as the source has: `-12.50`, `1e-7`. Never `NaN` or infinite.
    Number(String),
    /// True or false.
    Bool(bool),
    /// A day, `2026-01-31`.
    Date(String),
    /// A day and a time, `2026-01-31T12:30:00`, with `Z` or an offset where the source has one.
    Datetime(String),
    /// A time of day, `12:30:00`.
    Time(String),
    /// Seconds, as decimal digits: `93600`, `0.5`.
    Duration(String),
    /// What stands where a value could not be computed: `#DIV/0!`.
    Error(String),
    /// A formula without a stored value: its text.
    Formula(String),
}

impl CellType {
    /// Its name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::Time => "time",
            Self::Duration => "duration",
        }
    }
}

impl Value {
    /// Its type; `None` for what is no value.
    pub fn cell_type(&self) -> Option<CellType> {
        match self {
            Self::Number(_) => Some(CellType::Number),
            Self::Bool(_) => Some(CellType::Bool),
            Self::Date(_) => Some(CellType::Date),
            Self::Datetime(_) => Some(CellType::Datetime),
            Self::Time(_) => Some(CellType::Time),
            Self::Duration(_) => Some(CellType::Duration),
            Self::Error(_) | Self::Formula(_) => None,
        }
    }

    /// As it is written in a passage when the source shows it no other way.
    pub fn written(&self) -> &str {
        match self {
            Self::Bool(true) => "TRUE",
            Self::Bool(false) => "FALSE",
            Self::Number(text)
            | Self::Date(text)
            | Self::Datetime(text)
            | Self::Time(text)
            | Self::Duration(text)
            | Self::Error(text)
            | Self::Formula(text) => text,
        }
    }
}

impl Cell {
    /// A value as the source shows it.
    pub fn typed(value: Value, shown: &str) -> Self {
        let text = (value.written() != shown).then(|| shown.to_owned());
        Self::Typed { value, text }
    }

    /// Its type; `None` where it has no value.
    pub fn cell_type(&self) -> Option<CellType> {
        match self {
            Self::Empty => None,
            Self::Text(_) => Some(CellType::String),
            Self::Typed { value, .. } => value.cell_type(),
        }
    }

    /// As the source shows it; empty for an empty cell.
    pub fn shown(&self) -> &str {
        match self {
            Self::Empty => "",
            Self::Text(text) => text,
            Self::Typed { value, text } => text.as_deref().unwrap_or_else(|| value.written()),
        }
    }
}

impl Table {
    /// Sets each column's type from its cells.
    pub fn infer_types(&mut self) {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let mut types = self.rows.iter().filter_map(|row| row.1.get(at)).filter_map(Cell::cell_type);
            let first = types.next();
            column.mixed = types.any(|other| Some(other) != first);
            column.column_type = if column.mixed { CellType::String } else { first.unwrap_or_default() };
        }
    }
}
