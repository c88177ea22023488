//! Tokens that another program signs: JSON Web Tokens with HS256 under `LOOM_JWT_SECRET`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use loom_storage::Timestamp;
use serde::Deserialize;
use sha2::Sha256;

use super::settings::Secret;
use super::{Identity, tokens};

/// The longest token, in bytes.
const BYTES_MAX: usize = 8 << 10;

#[derive(Deserialize)]
struct Header {
    alg: String,
    /// Extensions that a reader must know; none are known here.
    #[serde(default)]
    crit: Vec<String>,
}

/// The claims; `sub` and `org` name the subject.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    org: String,
    #[serde(default)]
    ns: super::Roles,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    user_id: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    /// Seconds since 1970.
    #[serde(default)]
    exp: Option<f64>,
    #[serde(default)]
    nbf: Option<f64>,
}

/// Who a token speaks for; `None` where it is no token signed with the secret, or not at this time.
pub(super) fn verify(secret: &Secret, token: &str, now: Timestamp) -> Option<Identity> {
    if token.len() > BYTES_MAX {
        return None;
    }
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
    mac.update(signed.as_bytes());
    // Compares in constant time.
    mac.verify_slice(&URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
    let header: Header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    if header.alg != "HS256" || !header.crit.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age are exact in a double")]
    let seconds = now.0 as f64 / 1e3;
    if claims.exp.is_some_and(|end| seconds >= end) || claims.nbf.is_some_and(|start| seconds < start) {
        return None;
    }
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let identity = Identity {
        subject: claims.sub,
        org: claims.org,
        roles: claims.ns,
        agent: filled(claims.agent),
        user_id: filled(claims.user_id),
        session_id: filled(claims.session_id),
    };
    tokens::check(&identity).is_ok().then_some(identity)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::op::Role;

    const NOW: Timestamp = Timestamp(1_796_040_000_000);

    fn signed(header: &Value, claims: &Value, key: &[u8]) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
        mac.update(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn only_what_was_signed_with_the_secret_for_this_time_is_believed() {
        let key = [7; 32];
        let secret = Secret::new(&key);
        let header = json!({ "alg": "HS256", "typ": "JWT" });
        let claims = |exp: i64, nbf: i64| json!({ "sub": "ci", "org": "acme", "ns": { "notes": "writer" }, "exp": exp, "nbf": nbf });
        let good = signed(&header, &claims(1_796_040_001, 1_796_040_000), &key);
        let identity = verify(&secret, &good, NOW).expect("it is signed");
        assert_eq!((identity.subject.as_str(), identity.roles.in_namespace("notes")), ("ci", Some(Role::Writer)));
        assert_eq!(identity.roles.in_namespace("other"), None);

        let mut forged = good.clone().into_bytes();
        for at in 0..forged.len() {
            forged[at] ^= 1;
            let text = std::str::from_utf8(&forged).expect("a low bit of ASCII is ASCII");
            assert!(verify(&secret, text, NOW).is_none_or(|of| of == identity), "byte {at}");
            forged[at] ^= 1;
        }
        for refused in [
            signed(&header, &claims(1_796_040_000, 0), &key),
            signed(&header, &claims(1_796_040_009, 1_796_040_001), &key),
            signed(&header, &claims(1_796_040_009, 0), &[8; 32]),
            signed(&json!({ "alg": "none" }), &claims(1_796_040_009, 0), &key),
            signed(&json!({ "alg": "HS512" }), &claims(1_796_040_009, 0), &key),
            signed(&json!({ "alg": "HS256", "crit": ["exp"] }), &claims(1_796_040_009, 0), &key),
            signed(&header, &json!({ "sub": "ci" }), &key),
            signed(&header, &json!({ "sub": "ci", "org": "acme", "ns": { "a": "owner" } }), &key),
            signed(&header, &json!({ "sub": "ci", "org": "../x" }), &key),
            signed(&header, &json!({ "sub": "", "org": "acme" }), &key),
            format!("{good}x"),
            good.rsplit_once('.').expect("three parts").0.to_owned(),
            String::new(),
            "..".into(),
        ] {
            assert!(verify(&secret, &refused, NOW).is_none(), "{refused}");
        }
    }
}
