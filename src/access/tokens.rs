//! Opaque keys: `loom_<id>_<secret>`, of which only the secret's SHA-256 is stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loom_storage::{Hash, Snapshot, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::{ANY_NAMESPACE, Caller, Identity, jwt};
use crate::engine::Engine;
use crate::error::{Code, Error};
use crate::limits;

/// The start of every opaque key.
const PREFIX: &str = "loom_";
/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// The start of the key of every token's record.
pub(crate) const TOKENS: &str = "token/";

/// What is stored of an opaque key, under `token/<id>`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Token {
    /// Who it speaks for.
    #[serde(flatten)]
    pub identity: Identity,
    /// What its maker said it is for.
    pub note: String,
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// Since when it is refused.
    pub revoked_at: Option<Timestamp>,
    /// SHA-256 of its secret, in hex.
    pub hash: String,
}

/// The key of a token's record.
pub(crate) fn key(id: Uuid) -> String {
    format!("{TOKENS}{id}")
}

/// A secret drawn at random and the whole key that shows it, for the record of that id.
pub(crate) fn fresh_secret(id: Uuid) -> Result<(String, String), Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(Error::internal)?;
    let secret = URL_SAFE_NO_PAD.encode(bytes);
    let whole = format!("{PREFIX}{}_{secret}", id.simple());
    Ok((secret, whole))
}

/// What is stored of a secret.
pub(crate) fn hash_of(secret: &str) -> String {
    Hash::of(secret.as_bytes()).hex()
}

/// Checks what a token says of its holder.
pub(crate) fn check(identity: &Identity) -> Result<(), Error> {
    limits::name("org", &identity.org)?;
    let labels = [
        ("subject", Some(&identity.subject)),
        ("agent", identity.agent.as_ref()),
        ("user_id", identity.user_id.as_ref()),
        ("session_id", identity.session_id.as_ref()),
    ];
    for (field, value) in labels {
        let Some(value) = value else { continue };
        limits::text(field, value, limits::LABEL_CHARS_MAX)?;
        if value.is_empty() || value.chars().any(char::is_control) {
            return Err(Error::invalid(field, format!("{field} must be text without control characters")));
        }
    }
    limits::list_len("roles", identity.roles.iter().count(), 0, limits::NAMESPACES_MAX)?;
    for (namespace, _) in identity.roles.iter().filter(|(namespace, _)| *namespace != ANY_NAMESPACE) {
        limits::name("roles", namespace)?;
    }
    Ok(())
}

impl Engine {
    /// Who holds a bearer token: an opaque key that is stored, not revoked and not expired, or a JWT signed with
    /// `LOOM_JWT_SECRET`. [`Code::Unauthenticated`] for anything else, in the same words.
    pub fn authenticate(&self, bearer: &str) -> Result<Caller, Error> {
        let config = self.config();
        let now = config.clock.now();
        let identity = if bearer.starts_with(PREFIX) {
            opaque(self.inner().store.snapshot()?.as_ref(), bearer, now)?
        } else {
            config.access.secret.as_ref().and_then(|secret| jwt::verify(secret, bearer, now))
        };
        identity.map(Caller::of).ok_or_else(unauthenticated)
    }
}

/// The error for a call without a token that holds.
pub(crate) fn unauthenticated() -> Error {
    Error::new(
        Code::Unauthenticated,
        "this server needs a token that it knows and that has not expired: send the header `authorization: Bearer TOKEN`; \
         `loom token create` makes one",
    )
}

fn opaque(snapshot: &dyn Snapshot, bearer: &str, now: Timestamp) -> Result<Option<Identity>, Error> {
    let parts = bearer.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
    let Some((id, secret)) = parts.and_then(|(id, secret)| Some((Uuid::try_parse(id).ok()?, secret))) else {
        return Ok(None);
    };
    let Some(record) = snapshot.record(&key(id))? else { return Ok(None) };
    let token: Token = serde_json::from_slice(&record.value).map_err(Error::internal)?;
    let is_its = bool::from(token.hash.as_bytes().ct_eq(hash_of(secret).as_bytes()));
    let is_over = token.revoked_at.is_some() || token.expires_at.is_some_and(|end| now >= end);
    Ok((is_its && !is_over).then_some(token.identity))
}
