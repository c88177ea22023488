//! `collection.list`: the collections that the caller reaches, as a tree.

use std::collections::HashMap;

use loom_storage::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Addresses;
use crate::context::Reading;
use crate::error::Error;
use crate::limits;
use crate::namespaces::{self, NamespaceFacts, NamespaceKind, Visibility};
use crate::op::{Facts, Kind, Query, Role};

/// The most collections of a page.
const LIMIT_MAX: u32 = 1_000;

/// See the module.
pub struct List;

/// The input of `collection.list`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// Only what stands in this collection, at whatever level; empty: all.
    #[serde(default)]
    parent: String,
    /// At most this many (1-1000).
    #[serde(default = "limit_default")]
    limit: u32,
    /// How many to pass over: `next_offset` of the page before.
    #[serde(default)]
    offset: u32,
}

fn limit_default() -> u32 {
    LIMIT_MAX
}

/// The output of `collection.list`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The collections, each after the one that it stands in, those of one place by title.
    collections: Vec<Entry>,
    /// Where the next page begins; null after the last.
    next_offset: Option<u32>,
}

/// One collection.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CollectionEntry")]
struct Entry {
    /// Its name, which documents are written under.
    namespace: String,
    /// Its title.
    title: String,
    /// The collection that it stands in, when the caller reaches that; null at the top.
    parent: Option<String>,
    /// The titles from the outermost collection that the caller reaches to its own.
    path: Vec<String>,
    /// Who finds what it holds.
    visibility: Visibility,
    /// Whose it is, as an actor.
    owner: String,
    /// Live documents.
    documents: u64,
}

impl Query for List {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "collection.list",
        role: Role::Viewer,
        kind: Kind::Read,
        audited: false,
        mcp_all_listed: false,
        summary: "The collections of a tenant as a tree.",
    };
    const ADDRESSES: Addresses = Addresses::Organisation;

    fn answer(reading: &Reading<'_>, input: Input) -> Result<Output, Error> {
        limits::name("org", &input.org)?;
        limits::range("limit", input.limit, 1, LIMIT_MAX)?;
        let start = if input.parent.is_empty() { None } else { Some(reading.scope(&input.org, &input.parent)?) };
        let mut reached = Vec::new();
        namespaces::each(reading.snapshot(), &input.org, |scope, known| {
            let facts = known.facts;
            if facts.kind == NamespaceKind::Collection && !facts.is_deleted() && reading.reaches(&scope)? {
                reached.push((scope.namespace, facts));
            }
            Ok(())
        })?;
        let ordered = tree(reached, start.as_ref().map(|scope| scope.namespace.as_str()));
        let (from, to) = (input.offset as usize, input.offset.saturating_add(input.limit));
        let more = ordered.len() > to as usize;
        let mut collections = Vec::new();
        for (namespace, facts, path) in ordered.into_iter().skip(from).take(input.limit as usize) {
            let scope = Scope::new(&input.org, &namespace);
            let documents = reading.snapshot().namespace(&scope)?.map_or(0, |row| row.documents);
            let NamespaceFacts { title, parent, visibility, owner, .. } = facts;
            collections.push(Entry { namespace, title, parent, path, visibility, owner, documents });
        }
        Ok(Output { collections, next_offset: more.then_some(to) })
    }
}

/// The collections below `start` (all for `None`) in the order of the tree, each with the titles down to it.
fn tree(reached: Vec<(String, NamespaceFacts)>, start: Option<&str>) -> Vec<(String, NamespaceFacts, Vec<String>)> {
    let names: std::collections::HashSet<String> = reached.iter().map(|(name, _)| name.clone()).collect();
    let mut below: HashMap<Option<String>, Vec<(String, NamespaceFacts)>> = HashMap::new();
    for (name, mut facts) in reached {
        facts.parent = facts.parent.filter(|parent| names.contains(parent));
        below.entry(facts.parent.clone()).or_default().push((name, facts));
    }
    for place in below.values_mut() {
        place.sort_by_cached_key(|(name, facts)| {
            std::cmp::Reverse((namespaces::folded_title(&facts.title), name.clone()))
        });
    }
    let mut ordered = Vec::new();
    let mut waiting: Vec<(String, NamespaceFacts, Vec<String>)> = Vec::new();
    let mut enter = |place: Option<String>, path: &[String], waiting: &mut Vec<_>| {
        for (name, facts) in below.remove(&place).unwrap_or_default() {
            let path = path.iter().cloned().chain([facts.title.clone()]).collect();
            waiting.push((name, facts, path));
        }
    };
    enter(start.map(str::to_owned), &[], &mut waiting);
    while let Some((name, facts, path)) = waiting.pop() {
        enter(Some(name.clone()), &path, &mut waiting);
        ordered.push((name, facts, path));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_follows_the_one_it_stands_in_and_the_unreached_leave_no_gap() {
        let of = |title: &str, parent: Option<&str>| NamespaceFacts {
            title: title.into(),
            parent: parent.map(Into::into),
            ..NamespaceFacts::default()
        };
        let all = vec![
            ("b".into(), of("Beta", None)),
            ("a2".into(), of("two", Some("a"))),
            ("a".into(), of("alpha", None)),
            ("a1".into(), of("One", Some("a"))),
            ("hidden-child".into(), of("Child", Some("hidden"))),
            ("a1x".into(), of("x", Some("a1"))),
        ];
        let shown = |start| {
            let ordered = tree(all.clone(), start);
            ordered.into_iter().map(|(_, _, path)| path.join("/")).collect::<Vec<_>>()
        };
        assert_eq!(shown(None), ["alpha", "alpha/One", "alpha/One/x", "alpha/two", "Beta", "Child"]);
        assert_eq!(shown(Some("a")), ["One", "One/x", "two"]);
        assert!(shown(Some("b")).is_empty());
    }
}
