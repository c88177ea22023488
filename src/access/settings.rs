//! The settings of access.

use std::fmt;

use crate::config::number;
use crate::error::{Code, Error};

/// The shortest `LOOM_JWT_SECRET`, in bytes: as long as the hash that it keys.
const SECRET_BYTES_MIN: usize = 32;

/// Whether calls need a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// They do not: whoever reaches the loopback address is the single user.
    #[default]
    Off,
    /// Each does.
    Token,
}

/// How callers are told apart, and what each may use.
#[derive(Clone, Debug)]
pub struct AccessSettings {
    /// Whether calls need a token: `LOOM_AUTH`, `off` (default) or `token`.
    pub auth: Auth,
    /// What signs tokens of others and seals stored secrets: `LOOM_JWT_SECRET`, at least 32 bytes.
    pub secret: Option<Secret>,
    /// The calls that one subject may begin in a minute: `LOOM_RATE_LIMIT_PER_MINUTE`, default 6,000; 0: any number.
    pub calls_per_minute: u32,
    /// The calls of one subject that may run at once: `LOOM_CONCURRENCY_PER_SUBJECT`, default 64.
    pub concurrent_calls: u32,
    /// How long audit records are kept, in days: `LOOM_AUDIT_DAYS`, default 365; 0: for ever.
    pub audit_days: u32,
}

/// Bytes that nothing prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Takes the secret as it is given.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Default for AccessSettings {
    fn default() -> Self {
        Self { auth: Auth::Off, secret: None, calls_per_minute: 6_000, concurrent_calls: 64, audit_days: 365 }
    }
}

impl AccessSettings {
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        match lookup("LOOM_AUTH").unwrap_or_default().trim() {
            "" | "off" => {}
            "token" => self.auth = Auth::Token,
            other => {
                let message = format!("the setting LOOM_AUTH is {other:?}: it must be off or token");
                return Err(Error { field: Some("LOOM_AUTH".into()), ..Error::new(Code::ValidationFailed, message) });
            }
        }
        if let Some(secret) = lookup("LOOM_JWT_SECRET").filter(|secret| !secret.is_empty()) {
            if secret.len() < SECRET_BYTES_MIN {
                let message = format!(
                    "the setting LOOM_JWT_SECRET has {} bytes: it must have at least {SECRET_BYTES_MIN}, drawn at random",
                    secret.len()
                );
                return Err(Error::invalid("LOOM_JWT_SECRET", message));
            }
            self.secret = Some(Secret::new(secret.as_bytes()));
        }
        number(lookup, "LOOM_RATE_LIMIT_PER_MINUTE", &mut self.calls_per_minute, 0)?;
        number(lookup, "LOOM_CONCURRENCY_PER_SUBJECT", &mut self.concurrent_calls, 1)?;
        number(lookup, "LOOM_AUDIT_DAYS", &mut self.audit_days, 0)
    }
}
