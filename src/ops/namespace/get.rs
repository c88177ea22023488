//! `namespace.get`: one namespace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Entry;
use crate::context::Reading;
use crate::error::Error;
use crate::namespaces;
use crate::op::{Facts, Kind, Query, Role};

/// See the module.
pub struct Get;

/// The input of `namespace.get`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace; `@me` for the caller's own.
    #[serde(default)]
    namespace: String,
}

/// The output of `namespace.get`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether it was ever written to or created.
    found: bool,
    /// What it is and holds, deleted or not; null when there is none.
    namespace: Option<Entry>,
}

impl Query for Get {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "namespace.get",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "One namespace: its kind, visibility, owner, place and totals.",
    };

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        let scope = reading.scope_in_any_state(&input.org, &input.namespace)?;
        let known = namespaces::known(reading.snapshot(), &scope)?;
        let row = reading.snapshot().namespace(&scope)?;
        if row.is_none() && known.changed.is_none() {
            return Ok(Output { found: false, namespace: None });
        }
        Ok(Output { found: true, namespace: Some(Entry::of(reading, &scope, row.as_ref(), known.facts)?) })
    }
}
