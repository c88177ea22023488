//! Identifiers and hashes: newtypes, so that none is taken for another.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A namespace of a tenant. Both names are 1 to 128 of `[A-Za-z0-9._-]`, checked at the API's edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// The tenant.
    pub org: String,
    /// The namespace inside the tenant.
    pub namespace: String,
}

impl Scope {
    /// The scope of `namespace` in `org`.
    pub fn new(org: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { org: org.into(), namespace: namespace.into() }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org, self.namespace)
    }
}

/// The number of a commit: 1, 2, 3 in the order of durability over the whole store. 0 stands for "before any".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seq(pub u64);

/// Bits of an id that count inside one commit; the bits above hold the commit's [`Seq`].
const ORDINAL_BITS: u32 = 24;
/// How many versions, and how many chunks, one batch may create.
pub const ORDINALS_MAX: u64 = 1 << ORDINAL_BITS;

macro_rules! sequenced_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u64);

        impl $name {
            /// The id of the `ordinal`-th item of its kind created by commit `seq`.
            pub fn new(seq: Seq, ordinal: u64) -> Self {
                debug_assert!(ordinal < ORDINALS_MAX, "the batch was checked against ORDINALS_MAX");
                Self(seq.0 << ORDINAL_BITS | ordinal)
            }

            /// The commit that created it.
            pub fn seq(self) -> Seq {
                Seq(self.0 >> ORDINAL_BITS)
            }
        }
    };
}

sequenced_id! {
    /// One stored version of a document; ordered by commit, unique in the store.
    VersionId
}
sequenced_id! {
    /// One chunk, of a version or of several with the same content; the chunks of a version have consecutive ids in document order.
    ChunkId
}

/// The public id of a document version: a `UUIDv7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocId(pub Uuid);

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A document's revision: 1, 2, 3 without gaps for each source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision(pub u64);

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hash(pub [u8; 32]);

/// The SHA-256 of a blob's bytes.
pub type BlobHash = Hash;

impl Hash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of `parts`, one after the other.
    pub fn of_all(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The hash that [`Hash::hex`] writes so; `None` for any other text.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Lower-case hexadecimal.
    pub fn hex(&self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::with_capacity(64), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}
