//! What is known of a namespace beside its totals: what it is for and who may find it.

use loom_storage::{Scope, Snapshot};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The kind of a namespace that nobody gave another.
pub const KIND_DEFAULT: &str = "memory";

/// Who finds what a namespace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Its owner: searched with the addressed namespace.
    #[default]
    Private,
    /// A team: searched when nothing private is close to the query.
    Public,
}

/// What a namespace is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceFacts {
    /// What it is for, such as `memory`, `code` or `tracker`.
    #[serde(default = "kind_default")]
    pub kind: String,
    /// Who finds what it holds.
    #[serde(default)]
    pub visibility: Visibility,
}

fn kind_default() -> String {
    KIND_DEFAULT.to_owned()
}

impl Default for NamespaceFacts {
    fn default() -> Self {
        Self { kind: kind_default(), visibility: Visibility::Private }
    }
}

/// The key of the record that says what a namespace is.
pub fn facts_key(scope: &Scope) -> String {
    format!("namespace/{}/{}", scope.org, scope.namespace)
}

/// What a namespace is; the defaults for one of which nothing was said.
pub fn facts(snapshot: &dyn Snapshot, scope: &Scope) -> Result<NamespaceFacts, Error> {
    match snapshot.record(&facts_key(scope))? {
        Some(record) => serde_json::from_slice(&record.value).map_err(Error::internal),
        None => Ok(NamespaceFacts::default()),
    }
}
