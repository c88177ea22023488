//! `namespace.restore`: undo of `namespace.delete`.

use loom_storage::{Batch, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::exists;
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::namespaces::{self, NamespaceFacts};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Restore;

/// The input of `namespace.restore`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
}

/// The output of `namespace.restore`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether this call restored it; false when it was not deleted.
    restored: bool,
    /// The live documents that it holds.
    documents: u64,
}

impl Command for Restore {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "namespace.restore",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Bring a deleted namespace back with all it held.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope_in_any_state(&input.org, &input.namespace)?;
        let snapshot = planning.snapshot();
        let known = namespaces::known(snapshot, &scope)?;
        exists(snapshot, &scope, &known)?;
        let documents = snapshot.namespace(&scope)?.map_or(0, |row| row.documents);
        let restored = known.facts.is_deleted();
        let mut batch = Batch::default();
        if restored {
            if let Some(parent) = &known.facts.parent {
                let above = Scope::new(&scope.org, parent);
                let parent = namespaces::known(snapshot, &above)?;
                if parent.facts.is_deleted() {
                    let message =
                        format!("the collection {} that it stands in is deleted: restore that first", above.namespace);
                    return Err(Error::new(Code::PreconditionFailed, message));
                }
                batch.preconditions.push(namespaces::unchanged(&above, parent.changed));
            }
            let facts = NamespaceFacts { deleted_at: None, ..known.facts };
            batch.preconditions.push(namespaces::unchanged(&scope, known.changed));
            batch.writes.push(namespaces::write(&scope, &facts)?);
        }
        let answer = move |_: &_| Output { restored, documents };
        Ok(Plan { batch, answer: Box::new(answer), audit: json!({}) })
    }
}
