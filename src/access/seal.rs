//! Credentials of others, sealed at rest: XChaCha20-Poly1305 under a key that is made of `LOOM_JWT_SECRET` and what the
//! credential is for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use loom_storage::{Batch, Precondition, RecordWrite, Snapshot, Store, Timestamp, Write};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::settings::Secret;
use crate::engine::Engine;
use crate::error::{Code, Error};
use crate::limits;

/// The start of every sealed credential's key.
const SECRETS: &str = "secret/";
/// Sets keys for sealing apart from any other use of the secret.
const PURPOSE: &[u8] = b"loom sealed credential 1";
/// Bytes of a nonce, drawn at random for each sealing.
const NONCE_BYTES: usize = 24;
/// The longest credential, in bytes: a service account's key file fits.
const BYTES_MAX: usize = 64 << 10;
/// Records read at a time.
const PAGE: usize = 256;

/// A sealed credential.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sealed {
    nonce: String,
    ciphertext: String,
    stored_at: Timestamp,
}

/// A stored credential, without what it is.
#[derive(Clone, Debug, Serialize)]
pub struct StoredSecret {
    /// Its name: the setting that it stands for.
    pub name: String,
    /// Whether the secret of now opens it.
    pub opens: bool,
}

fn cipher(secret: &Secret, name: &str) -> Result<XChaCha20Poly1305, Error> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).map_err(Error::internal)?;
    mac.update(PURPOSE);
    mac.update(name.as_bytes());
    XChaCha20Poly1305::new_from_slice(&mac.finalize().into_bytes()).map_err(|error| Error::internal(error.to_string()))
}

fn seal(secret: &Secret, name: &str, value: &[u8], stored_at: Timestamp) -> Result<Sealed, Error> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(Error::internal)?;
    let payload = Payload { msg: value, aad: name.as_bytes() };
    let sealed = cipher(secret, name)?.encrypt(&XNonce::from(nonce), payload);
    let sealed = sealed.map_err(|error| Error::internal(error.to_string()))?;
    Ok(Sealed { nonce: STANDARD.encode(nonce), ciphertext: STANDARD.encode(sealed), stored_at })
}

/// The credential; `None` where the secret is not the one that it was sealed under, or it is damaged.
fn open(secret: &Secret, name: &str, sealed: &Sealed) -> Option<Vec<u8>> {
    let nonce: [u8; NONCE_BYTES] = STANDARD.decode(&sealed.nonce).ok()?.try_into().ok()?;
    let bytes = STANDARD.decode(&sealed.ciphertext).ok()?;
    cipher(secret, name).ok()?.decrypt(&XNonce::from(nonce), Payload { msg: &bytes, aad: name.as_bytes() }).ok()
}

/// The stored credential of that name. An error where there is one that the secret of now does not open.
pub(crate) fn stored(store: &dyn Store, secret: Option<&Secret>, name: &str) -> Result<Option<String>, Error> {
    let Some(record) = store.snapshot()?.record(&format!("{SECRETS}{name}"))? else { return Ok(None) };
    let sealed: Sealed = serde_json::from_slice(&record.value).map_err(Error::internal)?;
    let opened = secret.and_then(|secret| open(secret, name, &sealed)).and_then(|value| String::from_utf8(value).ok());
    opened.map(Some).ok_or_else(|| {
        let message = format!(
            "the stored {name} does not open with LOOM_JWT_SECRET: set the one that it was sealed under, or `loom secrets reseal` \
             with LOOM_JWT_SECRET_OLD"
        );
        Error::invalid("LOOM_JWT_SECRET", message)
    })
}

impl Engine {
    /// Stores a credential sealed, in place of an earlier one of the name: a setting's, such as `LOOM_EMBEDDING_API_KEY`.
    /// [`Code::PreconditionFailed`] without `LOOM_JWT_SECRET`.
    pub fn store_secret(&self, name: &str, value: &str) -> Result<(), Error> {
        limits::name("name", name)?;
        if value.is_empty() || value.len() > BYTES_MAX {
            return Err(Error::invalid("value", format!("a credential has 1 to {BYTES_MAX} bytes")));
        }
        let secret = self.config().access.secret.as_ref().ok_or_else(no_secret)?;
        let sealed = seal(secret, name, value.as_bytes(), self.config().clock.now())?;
        self.write_secret(name, Some(&sealed), None)
    }

    /// Removes a credential; whether there was one.
    pub fn remove_secret(&self, name: &str) -> Result<bool, Error> {
        let there = self.inner().store.snapshot()?.record(&format!("{SECRETS}{name}"))?.is_some();
        self.write_secret(name, None, None)?;
        Ok(there)
    }

    /// The names of the stored credentials.
    pub fn secrets(&self) -> Result<Vec<StoredSecret>, Error> {
        let secret = self.config().access.secret.as_ref();
        let all = sealed(self.inner().store.snapshot()?.as_ref())?;
        let opens = |name: &str, sealed: &Sealed| secret.is_some_and(|secret| open(secret, name, sealed).is_some());
        Ok(all.into_iter().map(|(name, sealed, _)| StoredSecret { opens: opens(&name, &sealed), name }).collect())
    }

    /// Seals every credential under `LOOM_JWT_SECRET` that `old` opens; how many. Those that are sealed under it already stay.
    /// Nothing is written where one opens under neither.
    pub fn reseal_secrets(&self, old: &Secret) -> Result<usize, Error> {
        let secret = self.config().access.secret.as_ref().ok_or_else(no_secret)?;
        let mut again = Vec::new();
        for (name, sealed, changed) in sealed(self.inner().store.snapshot()?.as_ref())? {
            if open(secret, &name, &sealed).is_some() {
                continue;
            }
            let Some(value) = open(old, &name, &sealed) else {
                let message = format!("{name} opens under neither secret: nothing was sealed again");
                return Err(Error::new(Code::PreconditionFailed, message));
            };
            again.push((seal(secret, &name, &value, sealed.stored_at)?, name, changed));
        }
        for (sealed, name, changed) in &again {
            self.write_secret(name, Some(sealed), Some(*changed))?;
        }
        Ok(again.len())
    }

    fn write_secret(&self, name: &str, sealed: Option<&Sealed>, over: Option<loom_storage::Seq>) -> Result<(), Error> {
        let key = format!("{SECRETS}{name}");
        let value = sealed.map(serde_json::to_vec).transpose().map_err(Error::internal)?;
        let preconditions =
            over.map(|changed| Precondition::Record { key: key.clone(), changed: Some(changed) }).into_iter().collect();
        self.commit(Batch { preconditions, writes: vec![Write::Record(RecordWrite { key, value })] })?;
        Ok(())
    }
}

fn sealed(snapshot: &dyn Snapshot) -> Result<Vec<(String, Sealed, loom_storage::Seq)>, Error> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = snapshot.records(SECRETS, after.as_deref(), PAGE)?;
        for record in &page.items {
            let name = record.key.strip_prefix(SECRETS).unwrap_or_default().to_owned();
            all.push((name, serde_json::from_slice(&record.value).map_err(Error::internal)?, record.changed));
        }
        let Some(last) = page.items.last().filter(|_| page.more) else { return Ok(all) };
        after = Some(last.key.clone());
    }
}

fn no_secret() -> Error {
    let message = "a credential is sealed under LOOM_JWT_SECRET: set it, at least 32 random bytes";
    Error { field: Some("LOOM_JWT_SECRET".into()), ..Error::new(Code::PreconditionFailed, message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_credential_opens_under_its_own_secret_and_name_alone() {
        let (secret, other) = (Secret::new(&[1; 32]), Secret::new(&[2; 32]));
        let sealed = seal(&secret, "a", b"credential", Timestamp(1)).expect("it seals");
        assert_eq!(open(&secret, "a", &sealed).as_deref(), Some(&b"credential"[..]));
        assert!(open(&other, "a", &sealed).is_none() && open(&secret, "b", &sealed).is_none());
        let again = seal(&secret, "a", b"credential", Timestamp(1)).expect("it seals");
        assert_ne!(again.ciphertext, sealed.ciphertext, "no two sealings are alike");
        let mut damaged = STANDARD.decode(&sealed.ciphertext).expect("it is text");
        damaged[0] ^= 1;
        assert!(open(&secret, "a", &Sealed { ciphertext: STANDARD.encode(damaged), ..sealed }).is_none());
    }

    #[test]
    fn what_is_stored_is_sealed_used_and_sealed_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = |secret: u8| {
            let mut config = Config::default();
            config.access.secret = Some(Secret::new(&[secret; 32]));
            Engine::open(folder.path(), config).expect("it opens")
        };
        let engine = opened(1);
        engine.store_secret("LOOM_EMBEDDING_API_KEY", "sk-very-private").expect("it is stored");
        drop(engine);
        let file = std::fs::read(folder.path().join("loom.redb")).expect("the file");
        assert!(!file.windows(15).any(|window| window == b"sk-very-private"));
        let engine = opened(2);
        assert!(!engine.secrets().expect("a list")[0].opens);
        let read = |engine: &Engine| {
            let secret = engine.config().access.secret.clone();
            stored(engine.inner().store.as_ref(), secret.as_ref(), "LOOM_EMBEDDING_API_KEY")
        };
        assert!(read(&engine).is_err_and(|error| error.message.contains("reseal")));
        assert!(engine.reseal_secrets(&Secret::new(&[3; 32])).is_err());
        assert_eq!(engine.reseal_secrets(&Secret::new(&[1; 32])).expect("it is sealed again"), 1);
        assert_eq!(engine.reseal_secrets(&Secret::new(&[1; 32])).expect("it is"), 0);
        assert_eq!(read(&engine).expect("it opens").as_deref(), Some("sk-very-private"));
        assert!(engine.remove_secret("LOOM_EMBEDDING_API_KEY").expect("it is removed"));
        assert!(engine.secrets().expect("a list").is_empty());
    }
}
