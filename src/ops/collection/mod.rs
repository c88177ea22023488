//! `collection.*`: namespaces that stand in one another like folders.

pub mod create;
pub mod delete;
pub mod list;
pub mod moving;

use loom_storage::{Scope, Snapshot};

use crate::access::{self, ANY_NAMESPACE};
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::namespaces::{self, DEPTH_MAX, Known, NamespaceKind};
use crate::op::Role;

/// A collection that is not deleted. [`Code::NotFound`] where the name is of none.
fn collection(snapshot: &dyn Snapshot, scope: &Scope, field: &str) -> Result<Known, Error> {
    let known = namespaces::known(snapshot, scope)?;
    if known.facts.kind == NamespaceKind::Collection && !known.facts.is_deleted() {
        return Ok(known);
    }
    let message = format!("there is no collection {}: collection.list shows them", scope.namespace);
    Err(Error { field: Some(field.into()), ..Error::new(Code::NotFound, message) })
}

/// Where a collection is to stand: the collection that takes it and those above that, each as it is known.
struct Place(Vec<(Scope, Known)>);

impl Place {
    /// In the collection `parent`, or at the top where that is empty. The caller must be a writer there, and a collection
    /// with `levels` below it must fit.
    fn of(planning: &Planning<'_>, org: &str, parent: &str, levels: usize, what: &str) -> Result<Self, Error> {
        let snapshot = planning.snapshot();
        let name = if parent.is_empty() { ANY_NAMESPACE } else { parent };
        if !parent.is_empty() {
            crate::limits::name("parent", parent)?;
        }
        access::require(planning.caller(), snapshot, &Scope::new(org, name), Role::Writer, what)?;
        if parent.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let parent = Scope::new(org, parent);
        let mut above = vec![(parent.clone(), collection(snapshot, &parent, "parent")?)];
        for scope in namespaces::ancestors(snapshot, &parent)? {
            let known = namespaces::known(snapshot, &scope)?;
            above.push((scope, known));
        }
        if above.len() + levels > DEPTH_MAX {
            let message = format!("collections may stand in at most {DEPTH_MAX} others: choose a place further up");
            return Err(Error { field: Some("parent".into()), ..Error::new(Code::PreconditionFailed, message) });
        }
        Ok(Self(above))
    }

    /// The conditions under which it is still there and not deeper when the batch is applied.
    fn guards(&self) -> impl Iterator<Item = loom_storage::Precondition> {
        self.0.iter().map(|(scope, known)| namespaces::unchanged(scope, known.changed))
    }
}
