//! `collection.move`: a collection with all that stands in it, to another place.

use loom_storage::Batch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Place, collection};
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::namespaces::{self, NamespaceFacts};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Move;

/// The input of `collection.move`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The collection.
    #[serde(default)]
    namespace: String,
    /// The collection to put it in; empty: at the top.
    #[serde(default)]
    parent: String,
}

/// The output of `collection.move`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether it stood somewhere else before.
    moved: bool,
    /// The collection that it stands in now; null at the top.
    parent: Option<String>,
}

impl Command for Move {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "collection.move",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Put a collection and all that stands in it somewhere else.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        let known = collection(planning.snapshot(), &scope, "namespace")?;
        let (_, levels) = namespaces::subtree(planning.snapshot(), &scope)?;
        let place = Place::of(planning, &input.org, &input.parent, levels, "collection.move")?;
        if place.0.iter().any(|(above, _)| *above == scope) {
            let message = "a collection cannot stand in itself or in what stands in it: choose another parent";
            return Err(Error { field: Some("parent".into()), ..Error::new(Code::PreconditionFailed, message) });
        }
        let parent = (!input.parent.is_empty()).then(|| input.parent.clone());
        let moved = known.facts.parent != parent;
        let mut batch = Batch::default();
        if moved {
            let facts = NamespaceFacts { parent: parent.clone(), ..known.facts };
            batch.preconditions.extend(place.guards());
            batch.preconditions.push(namespaces::unchanged(&scope, known.changed));
            batch.writes.push(namespaces::write(&scope, &facts)?);
        }
        let audit = json!({ "parent": parent });
        Ok(Plan { batch, answer: Box::new(move |_| Output { moved, parent }), audit })
    }
}
