//! Who calls, and how far that reaches: identities and their roles, the tokens that carry them, the bounds on each
//! subject, and what is recorded of refusals.

mod admit;
mod caller;
mod jwt;
mod refusals;
mod seal;
mod settings;
#[cfg(feature = "server")]
mod subjects;
mod tokens;

pub use admit::{Addresses, admit};
pub(crate) use admit::{require, role_in};
pub use caller::{ANY_NAMESPACE, Caller, Identity, Roles};
pub(crate) use refusals::{Refusal, Refusals};
pub use seal::StoredSecret;
pub(crate) use seal::stored as stored_secret;
pub use settings::{AccessSettings, Auth, Secret};
#[cfg(feature = "server")]
pub(crate) use subjects::{Subjects, Turn};
#[cfg(feature = "server")]
pub(crate) use tokens::unauthenticated;
pub(crate) use tokens::{TOKENS, Token, check, fresh_secret, hash_of, key as token_key};
