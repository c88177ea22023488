//! `namespace.list`: the namespaces of a tenant with their totals.

use std::collections::BTreeMap;

use loom_storage::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Entry;
use crate::access::Addresses;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::namespaces::{self, NamespaceKind};
use crate::op::{Facts, Kind, Query, Role};

/// The most namespaces of a page.
const LIMIT_MAX: u32 = 1_000;

/// See the module.
pub struct List;

/// The input of `namespace.list`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// Only namespaces of these kinds; empty: of any.
    #[serde(default)]
    kinds: Vec<NamespaceKind>,
    /// Also deleted ones.
    #[serde(default)]
    include_deleted: bool,
    /// At most this many (1-1000).
    #[serde(default = "limit_default")]
    limit: u32,
    /// Where to go on: `next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

fn limit_default() -> u32 {
    LIMIT_MAX
}

/// The output of `namespace.list`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The namespaces that the caller reaches and that were written to or created, by name.
    namespaces: Vec<Entry>,
    /// The cursor of the next page; null after the last.
    next_cursor: Option<String>,
}

impl Query for List {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "namespace.list",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: true,
        summary: "The namespaces of a tenant with their totals.",
    };
    const ADDRESSES: Addresses = Addresses::Organisation;

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        limits::name("org", &input.org)?;
        limits::range("limit", input.limit, 1, LIMIT_MAX)?;
        let after = input.cursor.unwrap_or_default();
        if !after.is_empty() {
            limits::name("cursor", &after)?;
        }
        let snapshot = reading.snapshot();
        let mut all = BTreeMap::new();
        for row in snapshot.namespaces(Some(&input.org))? {
            all.insert(row.scope.namespace.clone(), (Some(row), None));
        }
        namespaces::each(snapshot, &input.org, |scope, known| {
            all.entry(scope.namespace).or_insert((None, None)).1 = Some(known.facts);
            Ok(())
        })?;
        let mut page = Vec::new();
        for (name, (row, facts)) in all.into_iter().filter(|(name, _)| *name > after) {
            let facts = facts.unwrap_or_default();
            let scope = Scope::new(&input.org, &name);
            let is_asked_for = (input.include_deleted || !facts.is_deleted())
                && (input.kinds.is_empty() || input.kinds.contains(&facts.kind));
            if !is_asked_for || !reading.reaches(&scope)? {
                continue;
            }
            if page.len() == input.limit as usize {
                let next_cursor = page.last().map(|last: &Entry| last.namespace.clone());
                return Ok(Output { namespaces: page, next_cursor });
            }
            page.push(Entry::of(reading, &scope, row.as_ref(), facts)?);
        }
        Ok(Output { namespaces: page, next_cursor: None })
    }
}
