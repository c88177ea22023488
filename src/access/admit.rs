//! The one check before an operation's code runs: whose call it is, what it addresses, and whether it may.

use loom_storage::{Scope, Snapshot};
use serde_json::{Map, Value};

use super::{ANY_NAMESPACE, Caller, Identity, Refusal};
use crate::engine::Engine;
use crate::error::{Code, Error};
use crate::limits;
use crate::namespaces;
use crate::op::{Facts, Role};

/// What an operation's role is needed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// The namespace that the call names, and each of `namespaces` where it takes that.
    Namespace,
    /// Some namespace of the organisation: the operation shows no more than its caller reaches.
    Organisation,
}

/// Fills in who calls, and refuses what the caller may not do. Answers the identity fields that it wrote.
///
/// What a token says goes before what the call says. [`Code::Forbidden`] where the role is too low, the same words
/// whether the namespace exists or not; of several namespaces all are refused where one is.
pub fn admit(
    engine: &Engine,
    caller: &Caller,
    facts: &Facts,
    addresses: Addresses,
    input: &mut Map<String, Value>,
) -> Result<Vec<&'static str>, Error> {
    let filled = fill(engine, caller, input)?;
    let Some(identity) = caller.identity() else { return Ok(filled) };
    match addresses {
        Addresses::Organisation if caller.best_role() >= Some(facts.role) => {}
        Addresses::Organisation => return Err(refused(facts.name, facts.role, None)),
        Addresses::Namespace => {
            let further = input.get("namespaces").and_then(Value::as_array).into_iter().flatten();
            let names = input.get("namespace").into_iter().chain(further).filter_map(Value::as_str);
            let snapshot = engine.inner().store.snapshot()?;
            for name in names {
                let scope = Scope::new(&identity.org, name);
                require(caller, snapshot.as_ref(), &scope, facts.role, facts.name)?;
            }
        }
    }
    Ok(filled)
}

/// Writes the identity fields: a token's over what is there, the configured ones where nothing is.
fn fill(engine: &Engine, caller: &Caller, input: &mut Map<String, Value>) -> Result<Vec<&'static str>, Error> {
    let config = engine.config();
    let mut filled = Vec::new();
    // What is no text is left for decoding to refuse.
    let given = |input: &Map<String, Value>, name: &str| match input.get(name) {
        None | Some(Value::Null) => Some(String::new()),
        Some(value) => value.as_str().map(str::to_owned),
    };
    if let (Some(org), Some(namespace)) = (given(input, "org"), given(input, "namespace")) {
        let scope = caller.resolve(config, &org, &namespace)?;
        for (name, was, is) in [("org", org, scope.org), ("namespace", namespace, scope.namespace)] {
            if was.is_empty() {
                filled.push(name);
            }
            input.insert(name.into(), is.into());
        }
    }
    if let Some(Value::Array(names)) = input.get_mut("namespaces") {
        for name in names {
            if let Value::String(name) = name {
                *name = caller.named(config, name).to_owned();
            }
        }
    }
    let signed = |field: fn(&Identity) -> &Option<String>| caller.identity().and_then(|of| field(of).clone());
    let fields = [
        ("agent", signed(|of| &of.agent)),
        ("session_id", signed(|of| &of.session_id)),
        ("user_id", signed(|of| &of.user_id)),
    ];
    for (name, signed) in fields {
        let default = (name == "agent" && caller.identity().is_none()).then(|| config.agent.clone());
        let is_absent = given(input, name).is_some_and(|given| given.is_empty());
        if let Some(value) = signed.or(default.filter(|_| is_absent)) {
            input.insert(name.into(), value.into());
            filled.push(name);
        }
    }
    Ok(filled)
}

impl Engine {
    /// The namespace that a call outside the registry addresses, where the caller has `role` in it and nobody deleted it.
    pub(crate) fn admit_to(
        &self,
        caller: &Caller,
        org: &str,
        namespace: &str,
        role: Role,
        what: &str,
    ) -> Result<Scope, Error> {
        let admitted = caller.resolve(self.config(), org, namespace).and_then(|scope| {
            limits::name("org", &scope.org)?;
            limits::name("namespace", &scope.namespace)?;
            let snapshot = self.inner().store.snapshot()?;
            require(caller, snapshot.as_ref(), &scope, role, what)?;
            namespaces::refuse_deleted(snapshot.as_ref(), &scope)?;
            Ok(scope)
        });
        admitted.inspect_err(|error| self.note_refusal(caller, error, what, namespace))
    }

    /// Has a refusal added to the audit; other errors are none.
    pub(crate) fn note_refusal(&self, caller: &Caller, error: &Error, op: &str, namespace: &str) {
        if matches!(error.code, Code::Forbidden | Code::RateLimited) {
            let org = caller.identity().map_or(&self.config().org, |identity| &identity.org);
            let namespace = if limits::name("namespace", namespace).is_ok() { namespace } else { "" };
            self.note(org, namespace, op, caller.actor(), error.code);
        }
    }

    /// Has it added to the audit that somebody nobody knows was refused.
    #[cfg(feature = "server")]
    pub(crate) fn note_unauthenticated(&self, op: &str) {
        self.note(&self.config().org, "", op, "", Code::Unauthenticated);
    }

    fn note(&self, org: &str, namespace: &str, op: &str, actor: &str, code: Code) {
        let [org, namespace, op, actor] = [org, namespace, op, actor].map(str::to_owned);
        self.inner().refusals.note(Refusal { org, namespace, op, actor, code }, self.config().clock.now());
    }
}

/// Refuses a caller whose role in a namespace is below `role`.
pub(crate) fn require(
    caller: &Caller,
    snapshot: &dyn Snapshot,
    scope: &Scope,
    role: Role,
    what: &str,
) -> Result<(), Error> {
    if role_in(caller, snapshot, scope)? >= Some(role) {
        return Ok(());
    }
    Err(refused(what, role, Some(&scope.namespace)))
}

/// A caller's role in a namespace: the highest of its own there and in the collections above it.
pub(crate) fn role_in(caller: &Caller, snapshot: &dyn Snapshot, scope: &Scope) -> Result<Option<Role>, Error> {
    let mut role = caller.role_in(scope);
    if role == Some(Role::Admin) || caller.identity().is_none_or(|identity| identity.org != scope.org) {
        return Ok(role);
    }
    for above in namespaces::ancestors(snapshot, scope)? {
        role = role.max(caller.role_in(&above));
    }
    Ok(role)
}

fn refused(what: &str, role: Role, namespace: Option<&str>) -> Error {
    let role = role.name();
    let place = match namespace {
        None => "in a namespace".to_owned(),
        Some(ANY_NAMESPACE) => "in all namespaces".to_owned(),
        Some(name) => {
            let shown: String = name.chars().filter(|c| !c.is_control()).take(128).collect();
            format!("in the namespace {shown:?}")
        }
    };
    Error::new(Code::Forbidden, format!("{what} needs the role {role} {place}: use a token that has it"))
}
