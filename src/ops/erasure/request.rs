//! `erasure.request`: a namespace, or one person's documents, are to go for good.

use loom_storage::{Batch, RecordWrite, Scope, Write};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{self, ANY_NAMESPACE};
use crate::context::Planning;
use crate::erasure::{self, Erased, Erasure, Reach, Stage};
use crate::error::{Code, Error};
use crate::limits;
use crate::op::{Command, Facts, Kind, Plan, Role};

/// See the module.
pub struct Request;

/// What is to be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Everything of the namespace that the call addresses.
    Namespace,
    /// What one person wrote, in every namespace of the tenant.
    User,
}

/// The input of `erasure.request`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The namespace.
    #[serde(default)]
    namespace: String,
    /// What is to be erased: `namespace` or `user`. A user's documents need the role admin in all namespaces.
    scope: What,
    /// The person, with the scope `user`: the `user_id` of tokens, or an actor such as `token:ci` as documents show it.
    #[serde(default)]
    user: String,
    /// The namespace's name, or the user, once more.
    confirm: String,
}

/// The output of `erasure.request`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its id, for `erasure.status`.
    erasure_id: String,
    /// `pending`: it runs in the background.
    state: String,
}

impl Command for Request {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "erasure.request",
        role: Role::Admin,
        kind: Kind::Write,
        audited: true,
        mcp_all_listed: false,
        summary: "Erase a namespace, or one user's documents, for good: nothing brings it back.",
    };

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        let scope = planning.scope_in_any_state(&input.org, &input.namespace)?;
        let reach = match input.scope {
            What::Namespace => {
                confirmed(&input.confirm, &scope.namespace, "the namespace's name")?;
                Reach::Namespace(scope.namespace.clone())
            }
            What::User => {
                let everywhere = Scope::new(&scope.org, ANY_NAMESPACE);
                let caller = planning.caller();
                access::require(caller, planning.snapshot(), &everywhere, Role::Admin, "erasure.request of a user")?;
                limits::text("user", &input.user, limits::LABEL_CHARS_MAX)?;
                if input.user.is_empty() {
                    return Err(Error::invalid("user", "user must name whose documents are to be erased"));
                }
                confirmed(&input.confirm, &input.user, "the user")?;
                let is_actor = input.user.starts_with("user:") || input.user.starts_with("token:");
                Reach::Person(if is_actor { input.user.clone() } else { format!("user:{}", input.user) })
            }
        };
        let erasure = Erasure {
            id: planning.config().ids.fresh(),
            org: scope.org.clone(),
            reach,
            stage: Stage::Pending,
            requested_at: planning.now(),
            requested_by: planning.actor().to_owned(),
            finished_at: None,
            erased: Erased::default(),
            attempts: 0,
            error: String::new(),
        };
        let value = serde_json::to_vec(&erasure).map_err(Error::internal)?;
        let key = erasure::key(&scope.org, erasure.id);
        let batch =
            Batch { preconditions: Vec::new(), writes: vec![Write::Record(RecordWrite { key, value: Some(value) })] };
        let erasure_id = erasure.id.to_string();
        let audit = json!({ "erasure_id": erasure_id });
        let bell = planning.background_bell();
        let answer = move |_: &_| {
            bell.ring();
            Output { erasure_id, state: "pending".into() }
        };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}

fn confirmed(confirm: &str, name: &str, what: &str) -> Result<(), Error> {
    if confirm == name {
        return Ok(());
    }
    let message = format!("confirm must repeat {what}: nothing was erased");
    Err(Error { field: Some("confirm".into()), ..Error::new(Code::ConfirmMismatch, message) })
}
