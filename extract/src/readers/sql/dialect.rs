//! The dialects of SQL, as far as they differ in how statements are told apart.

use crate::contract::{Refusal, RefusalCode};

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Generic,
    Ansi,
    Postgres,
    Redshift,
    DuckDb,
    Snowflake,
    MySql,
    Sqlite,
    SqlServer,
    Oracle,
    BigQuery,
    ClickHouse,
    Hive,
    Databricks,
    Teradata,
}

/// The names that `options.sql_dialect` takes.
const NAMES: &[(&str, Dialect)] = &[
    ("generic", Dialect::Generic),
    ("ansi", Dialect::Ansi),
    ("postgres", Dialect::Postgres),
    ("postgresql", Dialect::Postgres),
    ("redshift", Dialect::Redshift),
    ("duckdb", Dialect::DuckDb),
    ("snowflake", Dialect::Snowflake),
    ("mysql", Dialect::MySql),
    ("mariadb", Dialect::MySql),
    ("sqlite", Dialect::Sqlite),
    ("mssql", Dialect::SqlServer),
    ("tsql", Dialect::SqlServer),
    ("oracle", Dialect::Oracle),
    ("bigquery", Dialect::BigQuery),
    ("clickhouse", Dialect::ClickHouse),
    ("hive", Dialect::Hive),
    ("spark", Dialect::Databricks),
    ("sparksql", Dialect::Databricks),
    ("databricks", Dialect::Databricks),
    ("teradata", Dialect::Teradata),
];

/// How much of a file is looked at to tell its dialect.
const SAMPLE_BYTES: usize = 256 * 1024;

/// What speaks for a dialect when the text holds it, in lower case.
const SIGNS: &[(&str, Dialect)] = &[
    ("mergetree", Dialect::ClickHouse),
    ("auto_increment", Dialect::MySql),
    ("engine=innodb", Dialect::MySql),
    ("\ndelimiter ", Dialect::MySql),
    ("pg_catalog", Dialect::Postgres),
    ("language plpgsql", Dialect::Postgres),
    ("from stdin", Dialect::Postgres),
    ("bigserial", Dialect::Postgres),
    ("nvarchar(max)", Dialect::SqlServer),
    ("[dbo]", Dialect::SqlServer),
    ("identity(1,1)", Dialect::SqlServer),
    ("varchar2", Dialect::Oracle),
    ("%rowtype", Dialect::Oracle),
    ("dbms_output", Dialect::Oracle),
    ("autoincrement", Dialect::Sqlite),
    ("\npragma ", Dialect::Sqlite),
];

impl Dialect {
    /// The dialect of that name, or the one the text looks like where the name is empty.
    ///
    /// # Errors
    /// [`RefusalCode::InvalidOption`] for a name that is unknown.
    pub fn named(name: &str, text: &str) -> Result<Self, Refusal> {
        let name = name.trim().to_ascii_lowercase();
        if name.is_empty() {
            return Ok(Self::guess(text));
        }
        let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, dialect)| *dialect);
        named.ok_or_else(|| {
            let name: String = name.chars().take(40).collect();
            let message = format!("options.sql_dialect names no known dialect: {name:?}");
            Refusal::new(RefusalCode::InvalidOption, message)
        })
    }

    fn guess(text: &str) -> Self {
        let sample = format!("\n{}", text[..text.floor_char_boundary(SAMPLE_BYTES)].to_ascii_lowercase());
        if let Some((_, dialect)) = SIGNS.iter().find(|(sign, _)| sample.contains(sign)) {
            return *dialect;
        }
        if sample.lines().any(|line| line.trim() == "go") { Self::SqlServer } else { Self::Generic }
    }

    /// Whether a backslash in quotes takes the next character for itself.
    pub fn has_backslashes(self) -> bool {
        matches!(
            self,
            Self::MySql | Self::BigQuery | Self::ClickHouse | Self::Hive | Self::Databricks | Self::Snowflake
        )
    }

    /// Whether double quotes hold text rather than a name.
    pub fn quotes_text_twice(self) -> bool {
        matches!(self, Self::MySql | Self::BigQuery | Self::Hive | Self::Databricks)
    }

    /// Whether `#` starts a comment.
    pub fn has_hash_comments(self) -> bool {
        matches!(self, Self::MySql | Self::BigQuery)
    }

    /// Whether `$$` and `$tag$` quote.
    pub fn has_dollar_quotes(self) -> bool {
        matches!(
            self,
            Self::Generic | Self::Postgres | Self::Redshift | Self::DuckDb | Self::Snowflake | Self::Databricks
        )
    }

    /// Whether comments nest.
    pub fn nests_comments(self) -> bool {
        matches!(self, Self::Postgres | Self::DuckDb | Self::SqlServer | Self::Redshift)
    }
}
