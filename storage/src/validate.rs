//! The rules of a batch that need no look at the store.

use std::collections::HashSet;

use crate::batch::{Batch, NewVersion, Write};
use crate::error::Error;
use crate::id::{ORDINALS_MAX, Scope};
use crate::keys;

/// The longest source address, in Unicode scalar values.
const SOURCE_URI_CHARS_MAX: usize = 2048;
/// The longest control record key, in bytes.
const RECORD_KEY_BYTES_MAX: usize = 16 << 10;
/// The longest model name, in bytes.
const MODEL_BYTES_MAX: usize = 1024;

/// [`Error::Invalid`] when `batch` breaks a rule whatever the store holds. Every backend asks this first.
pub(crate) fn batch(batch: &Batch) -> Result<(), Error> {
    let mut sources = HashSet::new();
    let (mut versions, mut chunks) = (0, 0);
    for write in &batch.writes {
        match write {
            Write::PutVersion(new) => {
                once(&mut sources, &new.scope, &new.source_uri)?;
                versions += 1;
                chunks += new_version(new)?;
            }
            Write::Retire { scope, source_uri, .. }
            | Write::Restore { scope, source_uri, .. }
            | Write::Edit { scope, source_uri, .. }
            | Write::EraseVersions { scope, source_uri, .. } => once(&mut sources, scope, source_uri)?,
            Write::PutVectors { scope, model, vectors } => {
                named(scope, model)?;
                let dimension = vectors.first().map_or(1, |(_, vector)| vector.len());
                if dimension == 0 || vectors.iter().any(|(_, vector)| vector.len() != dimension) {
                    return invalid(format!("the vectors of {model} are empty or of several dimensions"));
                }
            }
            Write::DropVectors { scope, model } | Write::SwitchModel { scope, model } => named(scope, model)?,
            Write::PutBlob { scope, .. } | Write::DropBlob { scope, .. } => known(scope)?,
            Write::EraseNamespace { scope } | Write::DropUnusedVectors { scope } => alone(batch, scope)?,
            Write::Record(write) => record_key(&write.key)?,
        }
    }
    if versions > ORDINALS_MAX || chunks > ORDINALS_MAX {
        return invalid(format!("{versions} versions with {chunks} chunks; at most {ORDINALS_MAX} of each"));
    }
    Ok(())
}

fn new_version(new: &NewVersion) -> Result<u64, Error> {
    let uri = &new.source_uri;
    if uri.is_empty() || uri.chars().count() > SOURCE_URI_CHARS_MAX || uri.chars().any(char::is_control) {
        return invalid(format!("a source address is 1 to {SOURCE_URI_CHARS_MAX} characters, none of them control"));
    }
    let chunks = new.chunks.len() as u64;
    if new.sections.len() as u64 > ORDINALS_MAX {
        return invalid(format!("{uri:?} has {} sections; at most {ORDINALS_MAX}", new.sections.len()));
    }
    if !new.sections.iter().all(|section| section.is_within(chunks)) {
        return invalid(format!("a section of {uri:?} has chunks that are not among its {chunks}"));
    }
    Ok(chunks)
}

fn once<'a>(seen: &mut HashSet<(&'a Scope, &'a str)>, scope: &'a Scope, source_uri: &'a str) -> Result<(), Error> {
    known(scope)?;
    if seen.insert((scope, source_uri)) { Ok(()) } else { invalid(format!("two writes to {source_uri:?} in {scope}")) }
}

/// Whether one write at most of the batch concerns a namespace.
fn alone(batch: &Batch, scope: &Scope) -> Result<(), Error> {
    known(scope)?;
    let concerned = batch.writes.iter().filter(|write| write.scope() == Some(scope)).count();
    if concerned == 1 { Ok(()) } else { invalid(format!("a write that must be alone in {scope} is not")) }
}

fn known(scope: &Scope) -> Result<(), Error> {
    if keys::is_valid(scope) { Ok(()) } else { invalid(format!("{scope:?} is no namespace")) }
}

fn named(scope: &Scope, model: &str) -> Result<(), Error> {
    known(scope)?;
    if model.is_empty() || model.len() > MODEL_BYTES_MAX || model.contains('\0') {
        return invalid(format!("a model's name is 1 to {MODEL_BYTES_MAX} bytes without NUL"));
    }
    Ok(())
}

fn record_key(key: &str) -> Result<(), Error> {
    if key.is_empty() || key.len() > RECORD_KEY_BYTES_MAX {
        return invalid(format!("a record's key is 1 to {RECORD_KEY_BYTES_MAX} bytes"));
    }
    Ok(())
}

fn invalid<T>(message: String) -> Result<T, Error> {
    Err(Error::Invalid(message))
}
