//! `namespace.create`: a namespace before anything is written to it.

use loom_storage::Batch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Planning;
use crate::error::{Code, Error};
use crate::limits;
use crate::namespaces::{self, NamespaceFacts, NamespaceKind, Visibility};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Create;

/// The input of `namespace.create`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// What it is for; a collection is made with `collection.create`.
    #[serde(default)]
    kind: NamespaceKind,
    /// Who finds what it holds.
    #[serde(default)]
    visibility: Visibility,
    /// Its title.
    #[serde(default)]
    title: String,
    /// Whose it is, as an actor such as `user:local`; empty: the caller's.
    #[serde(default)]
    owner: String,
}

/// The output of `namespace.create`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The namespace.
    namespace: String,
    /// What it is for.
    kind: NamespaceKind,
    /// Who finds what it holds.
    visibility: Visibility,
    /// Whose it is.
    owner: String,
}

impl Command for Create {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "namespace.create",
        role: Role::Admin,
        kind: Kind::Write,
        audited: true,
        mcp_all_listed: false,
        summary: "Say what a namespace is for, whose it is and who finds it, before it is written to.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope_in_any_state(&input.org, &input.namespace)?;
        namespaces::check_title("title", &input.title)?;
        limits::text("owner", &input.owner, limits::LABEL_CHARS_MAX)?;
        if input.kind == NamespaceKind::Collection {
            return Err(Error::invalid("kind", "kind must not be collection: collection.create makes those"));
        }
        let known = namespaces::known(planning.snapshot(), &scope)?;
        if known.changed.is_some() || planning.snapshot().namespace(&scope)?.is_some() {
            let what = if known.facts.is_deleted() {
                "is deleted: namespace.restore brings it back"
            } else {
                "exists: namespace.update changes it"
            };
            let message = format!("the namespace {} {what}", scope.namespace);
            return Err(Error { field: Some("namespace".into()), ..Error::new(Code::PreconditionFailed, message) });
        }
        let owner = if input.owner.is_empty() { planning.actor().to_owned() } else { input.owner.clone() };
        let facts = NamespaceFacts {
            kind: input.kind,
            visibility: input.visibility,
            title: input.title.clone(),
            owner: owner.clone(),
            parent: None,
            created_at: Some(planning.now()),
            deleted_at: None,
        };
        let batch = Batch {
            preconditions: vec![namespaces::unchanged(&scope, known.changed)],
            writes: vec![namespaces::write(&scope, &facts)?],
        };
        let audit = json!({ "kind": facts.kind, "visibility": facts.visibility, "owner": owner });
        let (kind, visibility) = (facts.kind, facts.visibility);
        let answer = move |_: &_| Output { namespace: scope.namespace, kind, visibility, owner };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}
