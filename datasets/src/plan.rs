//! What a caller asks to be calculated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most datasets of a plan.
pub const DATASETS_MAX: usize = 4;
/// The most conditions, groups, aggregates, selected columns or orders of a plan, each.
pub const PARTS_MAX: usize = 64;
/// The most values of one condition.
pub const VALUES_MAX: usize = 1_000;
/// The most pairs of columns that a join compares.
pub const JOIN_COLUMNS_MAX: usize = 8;

/// A calculation over datasets. Columns and aliases are names, never parts of a language.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The datasets by their aliases; the first is the one that others are joined to.
    pub datasets: Vec<String>,
    /// Conditions that every row must meet before any join.
    #[serde(rename = "where")]
    pub conditions: Vec<QueryFilter>,
    /// How each further dataset joins one before it.
    pub joins: Vec<QueryJoin>,
    /// What aggregates are calculated for each value of.
    pub group_by: Vec<QueryGroup>,
    /// What is calculated.
    pub aggregates: Vec<QueryAggregate>,
    /// The columns of the rows that are returned where nothing is calculated.
    pub select: Vec<QueryColumn>,
    /// The order of the result.
    pub order_by: Vec<QueryOrder>,
    /// The most rows of the result.
    pub limit: usize,
    /// Whether rows that state totals of others count as rows.
    pub include_totals: bool,
}

/// A column of the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryColumn {
    /// The alias of its dataset; may be empty where the plan has one.
    #[serde(default)]
    pub dataset: String,
    /// Its name in the dataset.
    pub column: String,
    /// Its name in the result; empty for its own.
    #[serde(default, rename = "as")]
    pub name: String,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryFilter {
    /// The alias of the dataset; may be empty where the plan has one.
    #[serde(default)]
    pub dataset: String,
    /// The column.
    pub column: String,
    /// How its value compares. No comparison but `is_null` holds of an absent value.
    pub op: Comparison,
    /// What it is compared with; a number may be given as text, so that each of its digits counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// What `in` and `not_in` compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
}

/// How a value compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// One of `values`.
    In,
    /// None of `values`.
    NotIn,
    /// Absent.
    IsNull,
    /// Present.
    NotNull,
    /// A text that has `value` in it.
    Contains,
    /// A text that starts with `value`.
    StartsWith,
}

/// How a dataset joins one before it: rows are joined where all the pairs are equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryJoin {
    /// The alias of the dataset that joins.
    pub dataset: String,
    /// The columns that are compared.
    pub on: Vec<QueryJoinOn>,
}

/// A pair of columns that are equal in joined rows. Absent values equal nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryJoinOn {
    /// A column of the dataset that joins.
    pub column: String,
    /// The alias of an earlier dataset; may be empty where there is one.
    #[serde(default)]
    pub with_dataset: String,
    /// Its column.
    pub with_column: String,
}

/// What aggregates are calculated for each value of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryGroup {
    /// The alias of the dataset; may be empty where the plan has one.
    #[serde(default)]
    pub dataset: String,
    /// The column.
    pub column: String,
    /// The day, month or year of a date or date-time, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Period>,
    /// Its name in the result; empty for the column's, with the period behind it.
    #[serde(default, rename = "as")]
    pub name: String,
}

/// A part of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// `2026-01-31`
    Day,
    /// `2026-01`
    Month,
    /// `2026`
    Year,
}

/// A calculation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryAggregate {
    /// What is calculated.
    #[serde(rename = "fn")]
    pub function: Function,
    /// The alias of the dataset; may be empty where the plan has one.
    #[serde(default)]
    pub dataset: String,
    /// The column whose values are taken, absent ones left out; `count` without one counts rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Its name in the result; empty for one such as `sum(amount)`.
    #[serde(default, rename = "as")]
    pub name: String,
}

/// What is calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// How many.
    Count,
    /// How many different ones.
    CountDistinct,
    /// Their sum; of none, null.
    Sum,
    /// Their average, rounded to nine decimal places half to even; of none, null.
    Avg,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// One column that the result is ordered by. Absent values come last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryOrder {
    /// A column of the result, by its name there.
    pub column: String,
    /// Whether the greatest comes first.
    #[serde(default)]
    pub descending: bool,
}

impl Comparison {
    /// Its name in a plan.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::In => "in",
            Self::NotIn => "not_in",
            Self::IsNull => "is_null",
            Self::NotNull => "not_null",
            Self::Contains => "contains",
            Self::StartsWith => "starts_with",
        }
    }
}

impl Period {
    /// Its name in a plan.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

impl Function {
    /// Its name in a plan.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::CountDistinct => "count_distinct",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}
