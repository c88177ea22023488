//! `namespace.delete`: a namespace and what it holds are out of reach until they are restored or erased.

use loom_storage::{Batch, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::exists;
use crate::clock::rfc3339;
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::models;
use crate::namespaces::{self, Known};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Delete;

/// The input of `namespace.delete`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// The namespace's name once more.
    confirm: String,
}

/// The output of `namespace.delete`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether this call deleted it; false when it was deleted before.
    deleted: bool,
    /// Since when it is deleted.
    deleted_at: String,
    /// The live documents that are out of reach with it.
    documents: u64,
}

impl Command for Delete {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "namespace.delete",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Put a namespace and all it holds out of reach; namespace.restore undoes it.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope_in_any_state(&input.org, &input.namespace)?;
        if input.confirm != scope.namespace {
            let message = "confirm must repeat the namespace's name: nothing was deleted";
            return Err(Error { field: Some("confirm".into()), ..Error::new(Code::ConfirmMismatch, message) });
        }
        let snapshot = planning.snapshot();
        let known = namespaces::known(snapshot, &scope)?;
        exists(snapshot, &scope, &known)?;
        if let [first, ..] = namespaces::children(snapshot, &scope.org, Some(&scope.namespace))?.as_slice() {
            let message = format!(
                "collections stand in it, such as {}: use collection.delete with `recursive`, or move them first",
                first.0.namespace
            );
            return Err(Error { field: Some("namespace".into()), ..Error::new(Code::PreconditionFailed, message) });
        }
        let documents = snapshot.namespace(&scope)?.map_or(0, |row| row.documents);
        let mut batch = Batch::default();
        let deleted = !known.facts.is_deleted();
        let at = known.facts.deleted_at.unwrap_or(planning.now());
        if deleted {
            delete_into(planning, &mut batch, &scope, known)?;
        }
        let audit = json!({ "documents": documents });
        let answer = move |_: &_| Output { deleted, deleted_at: rfc3339(at), documents };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}

/// Adds to the batch that a namespace is deleted. Writes that were planned before are refused when they come later.
pub(in crate::ops) fn delete_into(
    planning: &Planning<'_>,
    batch: &mut Batch,
    scope: &Scope,
    known: Known,
) -> Result<(), Error> {
    let facts = namespaces::NamespaceFacts { deleted_at: Some(planning.now()), ..known.facts };
    batch.preconditions.push(namespaces::unchanged(scope, known.changed));
    batch.writes.push(namespaces::write(scope, &facts)?);
    batch.writes.extend(models::touch(scope, planning.snapshot())?);
    Ok(())
}
