//! `collection.delete`: a collection, alone or with all that stands in it.

use loom_storage::Batch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::collection;
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::namespaces;
use crate::op::{Command, Facts, Kind, Plan, Role};
use crate::ops::namespace::delete::delete_into;

/// See the module.
pub struct Delete;

/// The input of `collection.delete`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The collection.
    #[serde(default)]
    namespace: String,
    /// The collection's name once more.
    confirm: String,
    /// Also delete the collections that stand in it.
    #[serde(default)]
    recursive: bool,
}

/// The output of `collection.delete`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The collections that were deleted, the named one first. Each is restored with `namespace.restore`.
    deleted: Vec<String>,
    /// The live documents that are out of reach with them.
    documents: u64,
}

impl Command for Delete {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "collection.delete",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Put a collection out of reach, with `recursive` also those that stand in it.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        if input.confirm != scope.namespace {
            let message = "confirm must repeat the collection's name: nothing was deleted";
            return Err(Error { field: Some("confirm".into()), ..Error::new(Code::ConfirmMismatch, message) });
        }
        collection(planning.snapshot(), &scope, "namespace")?;
        let (all, _) = namespaces::subtree(planning.snapshot(), &scope)?;
        if all.len() > 1 && !input.recursive {
            let message = format!(
                "{} collections stand in it, such as {}: give `recursive`, or move them first",
                all.len() - 1,
                all[1].0.namespace
            );
            return Err(Error { field: Some("recursive".into()), ..Error::new(Code::PreconditionFailed, message) });
        }
        let (mut batch, mut documents) = (Batch::default(), 0);
        let deleted: Vec<String> = all.iter().map(|(scope, _)| scope.namespace.clone()).collect();
        for (scope, known) in all {
            documents += planning.snapshot().namespace(&scope)?.map_or(0, |row| row.documents);
            delete_into(planning, &mut batch, &scope, known)?;
        }
        let audit = json!({ "deleted": deleted, "documents": documents });
        Ok(Plan { batch, answer: Box::new(move |_| Output { deleted, documents }), audit })
    }
}
