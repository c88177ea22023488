//! What is known of a namespace beside its totals: what it is for, who may find it, where it stands among collections.

use std::collections::HashMap;

use loom_storage::{Precondition, RecordWrite, Scope, Seq, Snapshot, Timestamp, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use crate::error::{Code, Error};

/// The most collections above a collection.
pub const DEPTH_MAX: usize = 8;
/// The longest title of a namespace, in characters.
pub const TITLE_CHARS_MAX: usize = 200;
/// Records read at a time.
const PAGE: usize = 512;

/// What a namespace is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamespaceKind {
    /// Documents of a person, a team or an agent.
    #[default]
    Memory,
    /// A folder of documents, which may stand in another one.
    Collection,
    /// What is known of a repository.
    Code,
    /// What is known of a tracker.
    Tracker,
}

impl NamespaceKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Collection => "collection",
            Self::Code => "code",
            Self::Tracker => "tracker",
        }
    }
}

/// Who finds what a namespace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Its owner: searched with the addressed namespace.
    #[default]
    Private,
    /// A team: searched when nothing private is close to the query.
    Public,
}

/// What a namespace is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceFacts {
    /// What it is for.
    #[serde(default)]
    pub kind: NamespaceKind,
    /// Who finds what it holds.
    #[serde(default)]
    pub visibility: Visibility,
    /// Its title, possibly empty.
    #[serde(default)]
    pub title: String,
    /// Whose it is, as an actor; possibly empty.
    #[serde(default)]
    pub owner: String,
    /// The collection that it stands in.
    #[serde(default)]
    pub parent: Option<String>,
    /// When it was created by an operation of its own.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Since when it is deleted.
    #[serde(default)]
    pub deleted_at: Option<Timestamp>,
}

impl NamespaceFacts {
    /// Whether it is deleted, and serves nothing until it is restored.
    pub fn is_deleted(&self) -> bool {
        self.deleted_at.is_some()
    }
}

/// What a namespace is, and the commit that last said so.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What it is; the defaults where nothing was said.
    pub facts: NamespaceFacts,
    /// The commit; `None` where nothing was said.
    pub changed: Option<Seq>,
}

/// The start of the keys of an organisation's records.
pub fn prefix(org: &str) -> String {
    format!("namespace/{org}/")
}

/// The key of the record that says what a namespace is.
pub fn facts_key(scope: &Scope) -> String {
    format!("{}{}", prefix(&scope.org), scope.namespace)
}

/// What is known of a namespace.
pub fn known(snapshot: &dyn Snapshot, scope: &Scope) -> Result<Known, Error> {
    let Some(record) = snapshot.record(&facts_key(scope))? else { return Ok(Known::default()) };
    let facts = serde_json::from_slice(&record.value).map_err(Error::internal)?;
    Ok(Known { facts, changed: Some(record.changed) })
}

/// What a namespace is; the defaults for one of which nothing was said.
pub fn facts(snapshot: &dyn Snapshot, scope: &Scope) -> Result<NamespaceFacts, Error> {
    Ok(known(snapshot, scope)?.facts)
}

/// Says what a namespace is.
pub fn write(scope: &Scope, facts: &NamespaceFacts) -> Result<Write, Error> {
    let value = serde_json::to_vec(facts).map_err(Error::internal)?;
    Ok(Write::Record(RecordWrite { key: facts_key(scope), value: Some(value) }))
}

/// Holds while nobody says anew what the namespace is.
pub fn unchanged(scope: &Scope, changed: Option<Seq>) -> Precondition {
    Precondition::Record { key: facts_key(scope), changed }
}

/// [`Code::NotFound`] for a deleted namespace.
pub fn refuse_deleted(snapshot: &dyn Snapshot, scope: &Scope) -> Result<(), Error> {
    if facts(snapshot, scope)?.is_deleted() {
        let message =
            format!("the namespace {} is deleted: namespace.restore brings it back with all it holds", scope.namespace);
        return Err(Error { field: Some("namespace".into()), ..Error::new(Code::NotFound, message) });
    }
    Ok(())
}

/// The collections above a namespace, the nearest first.
pub fn ancestors(snapshot: &dyn Snapshot, scope: &Scope) -> Result<Vec<Scope>, Error> {
    let mut above = Vec::new();
    let mut at = scope.clone();
    // A tree has no more levels; whatever is stored, this ends.
    while above.len() <= DEPTH_MAX {
        let Some(parent) = facts(snapshot, &at)?.parent else { break };
        at = Scope::new(&scope.org, &parent);
        above.push(at.clone());
    }
    Ok(above)
}

/// Calls `each` with what is known of every namespace of an organisation of which anything was said, by name.
pub fn each(
    snapshot: &dyn Snapshot,
    org: &str,
    mut each: impl FnMut(Scope, Known) -> Result<(), Error>,
) -> Result<(), Error> {
    let prefix = prefix(org);
    let mut after: Option<String> = None;
    loop {
        let page = snapshot.records(&prefix, after.as_deref(), PAGE)?;
        for record in page.items {
            let name = record.key.strip_prefix(&prefix).unwrap_or_default();
            let facts = serde_json::from_slice(&record.value).map_err(Error::internal)?;
            each(Scope::new(org, name), Known { facts, changed: Some(record.changed) })?;
            after = Some(record.key);
        }
        if !page.more {
            return Ok(());
        }
    }
}

/// The collections that stand in `parent`, or at the top for `None`, and are not deleted.
pub fn children(snapshot: &dyn Snapshot, org: &str, parent: Option<&str>) -> Result<Vec<(Scope, Known)>, Error> {
    let mut found = Vec::new();
    each(snapshot, org, |scope, known| {
        let facts = &known.facts;
        if facts.kind == NamespaceKind::Collection && !facts.is_deleted() && facts.parent.as_deref() == parent {
            found.push((scope, known));
        }
        Ok(())
    })?;
    Ok(found)
}

/// A collection and all that stand in it, itself first, and how many levels there are below it.
pub fn subtree(snapshot: &dyn Snapshot, top: &Scope) -> Result<(Vec<(Scope, Known)>, usize), Error> {
    let mut by_parent: HashMap<String, Vec<(Scope, Known)>> = HashMap::new();
    each(snapshot, &top.org, |scope, known| {
        if let Some(parent) = known.facts.parent.clone().filter(|_| !known.facts.is_deleted()) {
            by_parent.entry(parent).or_default().push((scope, known));
        }
        Ok(())
    })?;
    let mut all = vec![(top.clone(), known(snapshot, top)?)];
    let (mut level, mut levels) = (0..1, 0);
    while !level.is_empty() {
        for at in level.clone() {
            all.extend(by_parent.remove(&all[at].0.namespace).unwrap_or_default());
        }
        level = level.end..all.len();
        levels += usize::from(!level.is_empty());
    }
    Ok((all, levels))
}

/// Checks the title of a namespace: text that can be seen, on one line.
pub fn check_title(field: &str, title: &str) -> Result<(), Error> {
    crate::limits::text(field, title, TITLE_CHARS_MAX)?;
    if let Some(at) = title.chars().position(is_unseen) {
        let message = format!("{field} holds an invisible character at position {at}: remove it");
        return Err(Error::invalid(field, message));
    }
    Ok(())
}

/// Controls, marks that turn the direction of the text, and others that show nothing.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// What titles have in common that differ in case and spacing alone.
pub fn folded_title(title: &str) -> String {
    let folded: String = title.nfc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}
