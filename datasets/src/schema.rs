//! What a dataset is: its columns, what it needs an answer to, what it left out.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use loom_extract::contract::{CellType, Table};
use loom_extract::written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most text and time columns that a dataset holds.
pub const TEXT_COLUMNS_MAX: usize = 24;
/// The most number and duration columns.
pub const NUMBER_COLUMNS_MAX: usize = 32;
/// How many of those hold nine decimal places exactly; the others are doubles.
pub const EXACT_COLUMNS_MAX: usize = 24;
/// The most date and date-time columns.
pub const DATE_COLUMNS_MAX: usize = 8;
/// The most columns of true and false.
pub const BOOL_COLUMNS_MAX: usize = 8;
/// How many rejected rows, and rows that state totals, are described.
pub const DESCRIBED_MAX: usize = 20;

/// What a dataset is, without its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The columns of the table in its order, those that are not stored included.
    pub columns: Vec<Column>,
    /// What is to be answered before the schema is trusted.
    pub clarifications: Vec<Clarification>,
    /// The rows it holds.
    pub row_count: u64,
    /// The rows it does not hold because a value of theirs is none of its column's type.
    pub rejected: Rejected,
    /// The rows that state totals of others. They are among [`Self::row_count`].
    pub totals: Totals,
    /// What a person should know of its values, a sentence each.
    pub warnings: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, which no other column of the dataset has.
    pub name: String,
    /// The type that its values are held as.
    pub column_type: CellType,
    /// The type that the extractor told from its values.
    pub inferred: CellType,
    /// How its values are held.
    pub held: Held,
}

/// How the values of a column are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// As they are; numbers to nine decimal places.
    Exact,
    /// As doubles.
    Double,
    /// Not at all: every place for its type was taken.
    Not,
}

/// A question about a schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clarification {
    /// What is unclear.
    pub code: ClarificationCode,
    /// The column it is about; empty where it is about all.
    pub column: String,
    /// What was found, in a sentence.
    pub detail: String,
}

/// What is unclear about a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClarificationCode {
    /// A column's values are of more than one type; they are held as text.
    MixedTypes,
    /// A column has no name in the header and was given one.
    GeneratedName,
    /// A column's name is another's too, and was given a number.
    DuplicateName,
    /// Every name reads as a number or a date: the header may be a row of data.
    HeaderLikeData,
    /// A column is not stored because every place for its type is taken.
    PastCapacity,
}

impl fmt::Display for ClarificationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MixedTypes => "mixed_types",
            Self::GeneratedName => "generated_name",
            Self::DuplicateName => "duplicate_name",
            Self::HeaderLikeData => "header_like_data",
            Self::PastCapacity => "past_capacity",
        })
    }
}

/// Rows that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DatasetRejectedRows")]
pub struct Rejected {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Vec<RejectedRow>,
}

/// A row that is left out, and the value that it is left out for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DatasetRejectedRow")]
pub struct RejectedRow {
    /// Its number in the source.
    pub row_id: u64,
    /// The column.
    pub column: String,
    /// The value as the source shows it.
    pub value: String,
    /// Why the column cannot hold it.
    pub reason: String,
}

/// Rows that state totals of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DatasetTotalRows")]
pub struct Totals {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Vec<TotalRow>,
}

/// A row that states the totals of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DatasetTotalRow")]
pub struct TotalRow {
    /// Its number in the source.
    pub row_id: u64,
    /// What it calls itself.
    pub label: String,
    /// Whether it adds up the rows since the total before it, rather than all rows above.
    pub is_subtotal: bool,
    /// The columns in which it states another sum than its rows have.
    pub disagreements: Vec<Disagreement>,
}

/// A total that is not the sum of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DatasetDisagreement")]
pub struct Disagreement {
    /// The column.
    pub column: String,
    /// What the row states.
    pub stated: String,
    /// What its rows add up to.
    pub computed: String,
}

impl Description {
    /// The columns of a table, typed as it says or as `types` says for some of them, and what is to be answered about
    /// them; rows are counted later.
    ///
    /// # Errors
    /// The name of a column in `types` that the table does not have.
    pub fn of(table: &Table, types: &BTreeMap<String, CellType>) -> Result<Self, String> {
        let (names, mut clarifications) = names(table);
        if let Some(unknown) = types.keys().find(|name| !names.contains(name)) {
            return Err(unknown.clone());
        }
        let mut places = Places::default();
        let mut past = Vec::new();
        let columns = table.columns.iter().zip(names).map(|(column, name)| {
            let column_type = types.get(&name).copied().unwrap_or(column.column_type);
            let held = places.take(column_type);
            if column.mixed {
                clarifications.push(Clarification {
                    code: ClarificationCode::MixedTypes,
                    detail: format!("{name:?} holds values of more than one type, and is held as text"),
                    column: name.clone(),
                });
            }
            if held == Held::Not {
                past.push(Clarification {
                    code: ClarificationCode::PastCapacity,
                    detail: format!(
                        "{name:?} is not stored: a dataset holds {} columns of its type, and those are taken",
                        capacity(column_type)
                    ),
                    column: name.clone(),
                });
            }
            Column { name, column_type, inferred: column.column_type, held }
        });
        let columns = columns.collect();
        clarifications.extend(past);
        Ok(Self {
            columns,
            clarifications,
            row_count: 0,
            rejected: Rejected::default(),
            totals: Totals::default(),
            warnings: Vec::new(),
        })
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns.iter().enumerate().find(|(_, column)| column.name == name)
    }

    /// Whether something is to be answered that an approval answers.
    pub fn is_clear(&self) -> bool {
        self.clarifications.is_empty()
    }

    /// Takes away the questions that an approval answers: all but those about columns that are not stored.
    pub fn settle(&mut self) {
        self.clarifications.retain(|clarification| clarification.code == ClarificationCode::PastCapacity);
    }
}

/// The names of a table's columns as a dataset has them, each once.
pub fn column_names(table: &Table) -> Vec<String> {
    names(table).0
}

/// The names of a table's columns, each once, and what is unclear about them.
fn names(table: &Table) -> (Vec<String>, Vec<Clarification>) {
    let mut clarifications = Vec::new();
    let given: Vec<&str> = table.columns.iter().map(|column| column.name.trim()).collect();
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::with_capacity(given.len());
    for (at, name) in given.iter().enumerate() {
        let wanted = if name.is_empty() { format!("column {}", at + 1) } else { (*name).to_owned() };
        // A name that the header has elsewhere is not taken from the column that bears it.
        let is_given_later = |candidate: &String| given[at + 1..].contains(&candidate.as_str());
        let mut unique = wanted.clone();
        let mut number = 2;
        while taken.contains_key(&unique) || (unique != *name && is_given_later(&unique)) {
            unique = format!("{wanted} ({number})");
            number += 1;
        }
        let code = if name.is_empty() {
            let detail = format!("the header has no name for column {}, which is called {unique:?}", at + 1);
            Some((ClarificationCode::GeneratedName, detail))
        } else if unique != wanted {
            let first = taken.get(&wanted).map_or(at + 1, |first| first + 1);
            let detail =
                format!("the header names column {} as column {first}, {wanted:?}: it is called {unique:?}", at + 1);
            Some((ClarificationCode::DuplicateName, detail))
        } else {
            None
        };
        if let Some((code, detail)) = code {
            clarifications.push(Clarification { code, column: unique.clone(), detail });
        }
        taken.insert(unique.clone(), at);
        names.push(unique);
    }
    if table.header_rows > 0 && !given.is_empty() && given.iter().all(|name| reads_as_data(name)) {
        let detail =
            format!("every name in the header reads as a number or a date, such as {:?}: it may be data", given[0]);
        clarifications.push(Clarification { code: ClarificationCode::HeaderLikeData, column: String::new(), detail });
    }
    (names, clarifications)
}

fn reads_as_data(name: &str) -> bool {
    use written::NumberStyle::{CommaGroups, DecimalComma, Plain};
    [Plain, CommaGroups, DecimalComma].into_iter().any(|style| written::number(name, style).is_some())
        || written::moment(name).is_some()
}

/// The places for columns that are still free.
struct Places {
    text: usize,
    exact: usize,
    doubles: usize,
    dates: usize,
    bools: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            text: TEXT_COLUMNS_MAX,
            exact: EXACT_COLUMNS_MAX,
            doubles: NUMBER_COLUMNS_MAX - EXACT_COLUMNS_MAX,
            dates: DATE_COLUMNS_MAX,
            bools: BOOL_COLUMNS_MAX,
        }
    }
}

impl Places {
    fn take(&mut self, column_type: CellType) -> Held {
        let take = |free: &mut usize, held| match free.checked_sub(1) {
            Some(left) => {
                *free = left;
                held
            }
            None => Held::Not,
        };
        match column_type {
            CellType::String | CellType::Time => take(&mut self.text, Held::Exact),
            CellType::Date | CellType::Datetime => take(&mut self.dates, Held::Exact),
            CellType::Bool => take(&mut self.bools, Held::Exact),
            CellType::Number | CellType::Duration if self.exact > 0 => take(&mut self.exact, Held::Exact),
            CellType::Number | CellType::Duration => take(&mut self.doubles, Held::Double),
        }
    }
}

fn capacity(column_type: CellType) -> usize {
    match column_type {
        CellType::String | CellType::Time => TEXT_COLUMNS_MAX,
        CellType::Number | CellType::Duration => NUMBER_COLUMNS_MAX,
        CellType::Date | CellType::Datetime => DATE_COLUMNS_MAX,
        CellType::Bool => BOOL_COLUMNS_MAX,
    }
}
