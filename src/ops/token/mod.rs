//! `token.*`: the opaque keys of an organisation.

pub mod create;
pub mod list;
pub mod revoke;

use loom_storage::Scope;

use crate::access::{self, Roles, Token};
use crate::context::Reading;
use crate::error::Error;
use crate::op::Role;

/// Whether the caller is an admin wherever these roles reach, and so may give or take them.
fn may_give(reading: &Reading<'_>, org: &str, roles: &Roles) -> Result<bool, Error> {
    for (namespace, _) in roles.iter() {
        let scope = Scope::new(org, namespace);
        if access::role_in(reading.caller(), reading.snapshot(), &scope)? != Some(Role::Admin) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A stored token.
fn decode(value: &[u8]) -> Result<Token, Error> {
    serde_json::from_slice(value).map_err(Error::internal)
}
