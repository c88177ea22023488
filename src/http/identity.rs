//! Whose request it is: the single user's, or that of a bearer token.

use std::time::Instant;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use super::pool::blocking;
use super::shared::Shared;
use crate::access::{Auth, Caller, Turn, unauthenticated};
use crate::error::Error;

/// Who calls, and the right to run the call until this is dropped.
pub struct Admitted {
    /// Who calls.
    pub caller: Caller,
    _turn: Turn,
}

impl Shared {
    /// Who sent a request with these headers, counted against what its subject may ask for.
    ///
    /// [`Code::Unauthenticated`](crate::Code::Unauthenticated) without a token that holds where one is needed,
    /// [`Code::RateLimited`](crate::Code::RateLimited) where the subject has used up its calls.
    pub async fn admit(&self, headers: &HeaderMap, what: &str) -> Result<Admitted, Error> {
        let caller = match self.engine.config().access.auth {
            Auth::Off => Caller::local(),
            Auth::Token => {
                let engine = self.engine.clone();
                let known = match bearer(headers).map(str::to_owned) {
                    Some(token) => blocking(move || engine.authenticate(&token)).await?,
                    None => Err(unauthenticated()),
                };
                known.inspect_err(|_| self.engine.note_unauthenticated(what))?
            }
        };
        let begun = self.subjects.begin(&caller, Instant::now());
        let turn = begun.inspect_err(|error| self.engine.note_refusal(&caller, error, what, ""))?;
        Ok(Admitted { caller, _turn: turn })
    }
}

/// The token of the one `authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (sent.next(), sent.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
