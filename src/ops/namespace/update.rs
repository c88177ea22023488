//! `namespace.update`: what a namespace is for, whose it is, who finds it.

use loom_storage::Batch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::exists;
use crate::context::Planning;
use crate::error::Error;
use crate::limits;
use crate::namespaces::{self, NamespaceKind, Visibility};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Update;

/// The input of `namespace.update`: what is absent stays.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// What it is for. A collection stays one, and nothing else becomes one.
    #[serde(default)]
    kind: Option<NamespaceKind>,
    /// Who finds what it holds.
    #[serde(default)]
    visibility: Option<Visibility>,
    /// Its title.
    #[serde(default)]
    title: Option<String>,
    /// Whose it is, as an actor such as `user:local`.
    #[serde(default)]
    owner: Option<String>,
}

/// The output of `namespace.update`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether anything changed.
    updated: bool,
    /// The namespace.
    namespace: String,
    /// What it is for.
    kind: NamespaceKind,
    /// Who finds what it holds.
    visibility: Visibility,
    /// Its title.
    title: String,
    /// Whose it is.
    owner: String,
}

impl Command for Update {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "namespace.update",
        role: Role::Admin,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Change what a namespace is for, whose it is, who finds it, or its title.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope(&input.org, &input.namespace)?;
        let known = namespaces::known(planning.snapshot(), &scope)?;
        exists(planning.snapshot(), &scope, &known)?;
        let mut facts = known.facts.clone();
        if let Some(kind) = input.kind {
            if (kind == NamespaceKind::Collection) != (facts.kind == NamespaceKind::Collection) {
                let message = "kind cannot turn a namespace into a collection or a collection into something else";
                return Err(Error::invalid("kind", message));
            }
            facts.kind = kind;
        }
        if let Some(title) = &input.title {
            namespaces::check_title("title", title)?;
            if facts.kind == NamespaceKind::Collection && namespaces::folded_title(title).is_empty() {
                return Err(Error::invalid("title", "title must hold more than spaces: a collection is shown by it"));
            }
            facts.title.clone_from(title);
        }
        if let Some(owner) = &input.owner {
            limits::text("owner", owner, limits::LABEL_CHARS_MAX)?;
            facts.owner.clone_from(owner);
        }
        facts.visibility = input.visibility.unwrap_or(facts.visibility);
        let updated = facts != known.facts;
        let mut batch = Batch::default();
        if updated {
            batch.preconditions.push(namespaces::unchanged(&scope, known.changed));
            batch.writes.push(namespaces::write(&scope, &facts)?);
        }
        let audit = json!({ "kind": facts.kind, "visibility": facts.visibility, "owner": facts.owner });
        let answer = move |_: &_| Output {
            updated,
            namespace: scope.namespace,
            kind: facts.kind,
            visibility: facts.visibility,
            title: facts.title,
            owner: facts.owner,
        };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}
