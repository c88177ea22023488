//! The ordered keys of stored rows.
//!
//! A scope is `org NUL namespace NUL`, numbers are big endian, and the names in front of a NUL never contain one.

use crate::id::{ChunkId, Hash, Revision, Scope, Seq, VersionId};
use crate::record::Timestamp;
use crate::store::TimelineKey;

/// The longest name of a tenant or a namespace, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Whether `scope` may be written to.
pub(crate) fn is_valid(scope: &Scope) -> bool {
    is_name(&scope.org) && is_name(&scope.namespace)
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// The prefix of all rows of a scope; of a scope that nothing can be written to, a prefix that no row has.
pub(crate) fn scope(scope: &Scope) -> Vec<u8> {
    if !is_valid(scope) {
        return vec![0xff];
    }
    // Room for what follows in most keys.
    let mut key = Vec::with_capacity(scope.org.len() + scope.namespace.len() + 2 + 40);
    key.extend_from_slice(scope.org.as_bytes());
    key.push(0);
    key.extend_from_slice(scope.namespace.as_bytes());
    key.push(0);
    key
}

/// The prefix of all scopes of a tenant; of what cannot be a tenant's name, a prefix that no row has.
pub(crate) fn org(org: &str) -> Vec<u8> {
    if !is_name(org) {
        return vec![0xff];
    }
    let mut key = org.as_bytes().to_vec();
    key.push(0);
    key
}

/// The row of a source address.
pub(crate) fn source(in_scope: &Scope, source_uri: &str) -> Vec<u8> {
    with(in_scope, source_uri.as_bytes())
}

/// The row of a revision of a source address.
pub(crate) fn revision(in_scope: &Scope, source_uri: &str, revision: Revision) -> Vec<u8> {
    let mut key = source(in_scope, source_uri);
    key.push(0);
    key.extend_from_slice(&revision.0.to_be_bytes());
    key
}

/// The row of a version.
pub(crate) fn version(in_scope: &Scope, id: VersionId) -> Vec<u8> {
    with(in_scope, &id.0.to_be_bytes())
}

/// The row of a chunk.
pub(crate) fn chunk(in_scope: &Scope, id: ChunkId) -> Vec<u8> {
    with(in_scope, &id.0.to_be_bytes())
}

/// The row of a commit's changes.
pub(crate) fn changes(in_scope: &Scope, seq: Seq) -> Vec<u8> {
    with(in_scope, &seq.0.to_be_bytes())
}

/// The row of a hash.
pub(crate) fn hash(in_scope: &Scope, hash: &Hash) -> Vec<u8> {
    with(in_scope, &hash.0)
}

/// A key made by [`hash`] in words.
pub(crate) fn hash_words(key: &[u8]) -> String {
    let Some((scope, hash)) = key.split_last_chunk::<32>() else { return printable(key) };
    let scope = scope.strip_suffix(&[0]).unwrap_or(scope).escape_ascii().to_string();
    format!("{} of {}", Hash(*hash).hex(), scope.replace("\\x00", "/"))
}

/// The row of a version under a hash.
pub(crate) fn hash_version(in_scope: &Scope, of: &Hash, id: VersionId) -> Vec<u8> {
    let mut key = hash(in_scope, of);
    key.extend_from_slice(&id.0.to_be_bytes());
    key
}

/// The prefix of all vectors of a model.
pub(crate) fn model(in_scope: &Scope, model: &str) -> Vec<u8> {
    let mut key = with(in_scope, model.as_bytes());
    key.push(0);
    key
}

/// The row of a vector.
pub(crate) fn vector(in_scope: &Scope, of_model: &str, input: &Hash) -> Vec<u8> {
    let mut key = model(in_scope, of_model);
    key.extend_from_slice(&input.0);
    key
}

/// The row of a block of vectors.
pub(crate) fn vector_block(in_scope: &Scope, of_model: &str, block: u64) -> Vec<u8> {
    let mut key = model(in_scope, of_model);
    key.extend_from_slice(&block.to_be_bytes());
    key
}

/// The row of a position in the timeline: the complements of time and version, so that the newest sort first.
pub(crate) fn timeline(in_scope: &Scope, at: TimelineKey) -> Vec<u8> {
    let mut key = with(in_scope, &(!ordered(at.ingested_at)).to_be_bytes());
    key.extend_from_slice(&(!at.version.0).to_be_bytes());
    key
}

/// The version that a timeline key ends with.
pub(crate) fn timeline_version(key: &[u8]) -> Option<VersionId> {
    number(key).map(|complement| VersionId(!complement))
}

/// The number that a key ends with.
pub(crate) fn number(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The scope that a key begins with, and the rest of the key.
pub(crate) fn split(key: &[u8]) -> Option<(Scope, &[u8])> {
    let mut parts = key.splitn(3, |byte| *byte == 0);
    let (org, namespace, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let scope = Scope::new(str::from_utf8(org).ok()?, str::from_utf8(namespace).ok()?);
    is_valid(&scope).then_some((scope, rest))
}

/// A key in words, for an error.
pub(crate) fn printable(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}

/// Negative times before positive ones.
fn ordered(at: Timestamp) -> u64 {
    at.0.cast_unsigned() ^ (1 << 63)
}

fn with(in_scope: &Scope, rest: &[u8]) -> Vec<u8> {
    let mut key = scope(in_scope);
    key.extend_from_slice(rest);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_positions_sort_first() {
        let scope = Scope::new("org", "ns");
        let at =
            |ms, version| timeline(&scope, TimelineKey { ingested_at: Timestamp(ms), version: VersionId(version) });
        let newest_first =
            [at(i64::MAX, 1), at(5, 9), at(5, 8), at(0, 1), at(-1, 1), at(i64::MIN, u64::MAX), at(i64::MIN, 0)];
        assert!(newest_first.is_sorted());
        assert_eq!(timeline_version(&at(5, 9)), Some(VersionId(9)));
    }

    #[test]
    fn a_scope_that_cannot_be_written_has_no_rows_of_others() {
        let aliasing = Scope::new("org", "ns\0uri");
        assert!(!is_valid(&aliasing));
        assert_eq!(scope(&aliasing), [0xff]);
        for name in ["", "a b", "é", "a/b", &"x".repeat(129)] {
            assert!(!is_valid(&Scope::new("org", name)), "{name:?}");
            assert!(!is_valid(&Scope::new(name, "ns")), "{name:?}");
        }
        assert!(is_valid(&Scope::new("x".repeat(128), "A.b_c-9")));
        assert_eq!(split(&source(&Scope::new("o", "n"), "a\0b")), Some((Scope::new("o", "n"), &b"a\0b"[..])));
        assert_eq!(split(b"o\0n"), None);
        assert_eq!(split(b"\0n\0"), None);
    }
}
