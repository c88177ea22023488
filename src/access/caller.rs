//! A caller: a person at this machine, who may do everything, or whoever holds a token.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use loom_storage::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::{Code, Error};
use crate::op::Role;

/// Stands for every namespace of an organisation where roles are given.
pub const ANY_NAMESPACE: &str = "*";
/// Names the caller's own namespace.
const OWN_NAMESPACE: &str = "@me";

/// What a token may do: a role by namespace, `*` for all of its organisation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Roles(BTreeMap<String, Role>);

/// Who a token speaks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Whom the token was made for; rates are counted by it.
    pub subject: String,
    /// The organisation, the only one that it reaches.
    pub org: String,
    /// What it may do there.
    #[serde(rename = "ns")]
    pub roles: Roles,
    /// The agent that writes with it, in place of the one that a call names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The person it acts for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The session it writes in, in place of the one that a call names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Who calls, as the transport knows it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// How long a call of its waits for indexes that are being opened or built; `None`: `LOOM_INDEX_WAIT_MS`.
    index_wait: Option<Duration>,
    actor: Arc<str>,
    /// `None`: the single user of a local install.
    identity: Option<Arc<Identity>>,
}

impl Caller {
    /// The single user of a local install, who has every role in every organisation.
    pub fn local() -> Self {
        Self { index_wait: None, actor: "user:local".into(), identity: None }
    }

    /// Whoever holds a token that says so.
    pub fn of(identity: Identity) -> Self {
        let actor = identity
            .user_id
            .as_ref()
            .map_or_else(|| format!("token:{}", identity.subject), |user| format!("user:{user}"));
        Self { index_wait: None, actor: actor.into(), identity: Some(Arc::new(identity)) }
    }

    /// The engine itself, doing what `actor` asked for earlier and was admitted to then.
    pub(crate) fn on_behalf_of(actor: &str) -> Self {
        Self { index_wait: None, actor: actor.into(), identity: None }
    }

    /// The same caller, whose calls wait so long for indexes that are being opened or built.
    #[must_use]
    pub fn waiting(self, index_wait: Duration) -> Self {
        Self { index_wait: Some(index_wait), ..self }
    }

    /// How long its calls wait for indexes; `None`: as long as the settings say.
    pub(crate) fn index_wait(&self) -> Option<Duration> {
        self.index_wait
    }

    /// Who it is, as stored with what it writes: `user:local`, `user:<user_id>` or `token:<subject>`.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Who a token speaks for; `None` for the single user of a local install.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// The role in a namespace that its token names; `None` when it names none.
    pub fn role_in(&self, scope: &Scope) -> Option<Role> {
        match &self.identity {
            None => Some(Role::Admin),
            Some(identity) if identity.org == scope.org => identity.roles.in_namespace(&scope.namespace),
            Some(_) => None,
        }
    }

    /// The highest role anywhere in its organisation.
    pub fn best_role(&self) -> Option<Role> {
        self.identity.as_ref().map_or(Some(Role::Admin), |identity| identity.roles.best())
    }

    /// The namespace that a call addresses: what it names, or the caller's own.
    ///
    /// [`Code::Forbidden`] for another organisation than the token's.
    pub fn resolve(&self, config: &Config, org: &str, namespace: &str) -> Result<Scope, Error> {
        let org = match &self.identity {
            None if org.is_empty() => &config.org,
            None => org,
            Some(identity) if org.is_empty() || org == identity.org => &identity.org,
            Some(_) => {
                let message = "this token is of another organisation: leave `org` out, or use a token of that one";
                return Err(Error { field: Some("org".into()), ..Error::new(Code::Forbidden, message) });
            }
        };
        let namespace = if namespace.is_empty() || namespace == OWN_NAMESPACE { self.own(config) } else { namespace };
        Ok(Scope::new(org, namespace))
    }

    /// A namespace of a list, with the caller's own in place of its name for it.
    pub fn named<'n>(&'n self, config: &'n Config, namespace: &'n str) -> &'n str {
        if namespace == OWN_NAMESPACE { self.own(config) } else { namespace }
    }

    /// The caller's own namespace: the only one that its token names, else the configured one.
    fn own<'c>(&'c self, config: &'c Config) -> &'c str {
        self.identity.as_ref().and_then(|identity| identity.roles.only()).unwrap_or(&config.namespace)
    }
}

impl Roles {
    /// The roles of these namespaces; of one named twice the last counts.
    pub fn new<N: Into<String>>(roles: impl IntoIterator<Item = (N, Role)>) -> Self {
        Self(roles.into_iter().map(|(namespace, role)| (namespace.into(), role)).collect())
    }

    /// The role in a namespace: the higher of its own and that of `*`.
    pub fn in_namespace(&self, namespace: &str) -> Option<Role> {
        self.0.get(namespace).max(self.0.get(ANY_NAMESPACE)).copied()
    }

    /// The highest of them.
    pub fn best(&self) -> Option<Role> {
        self.0.values().max().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each namespace, or `*`, and its role.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Role)> {
        self.0.iter().map(|(namespace, role)| (namespace.as_str(), *role))
    }

    /// The namespace, where they are of one alone.
    fn only(&self) -> Option<&str> {
        match self.0.keys().collect::<Vec<_>>().as_slice() {
            [only] if *only != ANY_NAMESPACE => Some(only),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(roles: &[(&str, Role)], user_id: Option<&str>) -> Caller {
        Caller::of(Identity {
            subject: "ci".into(),
            org: "acme".into(),
            roles: Roles::new(roles.iter().map(|(namespace, role)| (*namespace, *role))),
            agent: None,
            user_id: user_id.map(Into::into),
            session_id: None,
        })
    }

    #[test]
    fn a_role_is_the_higher_of_the_namespaces_own_and_the_organisations() {
        let caller = token(&[("*", Role::Viewer), ("notes", Role::Admin)], None);
        assert_eq!(caller.role_in(&Scope::new("acme", "notes")), Some(Role::Admin));
        assert_eq!(caller.role_in(&Scope::new("acme", "other")), Some(Role::Viewer));
        assert_eq!(caller.role_in(&Scope::new("dev", "notes")), None);
        assert_eq!(token(&[("notes", Role::Writer)], None).role_in(&Scope::new("acme", "note")), None);
        assert_eq!(Caller::local().role_in(&Scope::new("any", "where")), Some(Role::Admin));
    }

    #[test]
    fn what_a_call_leaves_out_is_the_callers_own() {
        let config = Config::default();
        let one = token(&[("notes", Role::Writer)], None);
        assert_eq!(one.resolve(&config, "", "").expect("its own"), Scope::new("acme", "notes"));
        assert_eq!(one.resolve(&config, "acme", "@me").expect("its own"), Scope::new("acme", "notes"));
        assert_eq!(one.resolve(&config, "dev", "notes").expect_err("another's").code, Code::Forbidden);
        let many = token(&[("a", Role::Writer), ("b", Role::Writer)], None);
        assert_eq!(many.resolve(&config, "", "").expect("the configured one"), Scope::new("acme", "local"));
        assert_eq!(Caller::local().resolve(&config, "", "@me").expect("all"), Scope::new("dev", "local"));
        assert_eq!(Caller::local().resolve(&config, "x", "y").expect("all"), Scope::new("x", "y"));
    }

    #[test]
    fn a_writer_is_known_by_the_person_or_else_the_token() {
        assert_eq!(token(&[], Some("ana")).actor(), "user:ana");
        assert_eq!(token(&[], None).actor(), "token:ci");
    }
}
