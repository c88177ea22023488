//! Making a store from a backup: under other names, checked, and only then given the names of a store's files.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use redb::Database;

use super::backup::{check, table};
use super::blob::Restoring;
use super::gather::Gathering;
use super::open::{self, BLOB_FILE, MAIN_FILE, SEQ_KEY, Sources, WAL_FILE, begin_durable};
use super::plan::{content_rows, served_rows, timeline_key};
use super::tables::{Table, WriteTables};
use super::{RedbOptions, failed, verify};
use crate::backup::{self, BackupSummary, Part};
use crate::codec::{self, Vector};
use crate::error::Error;
use crate::id::{Hash, Scope, Seq, VersionId};
use crate::keys;
use crate::record::{Chunk, Version, VersionState};

pub(super) fn run(
    folder: &Path,
    options: &RedbOptions,
    ready: &mut dyn FnMut(&Path) -> Result<(), Error>,
    from: &mut dyn Read,
) -> Result<BackupSummary, Error> {
    let lock = open::take(folder, options)?;
    if open::last_commit(folder, options)?.is_some_and(|seq| seq > Seq(0)) {
        return Err(Error::Occupied { folder: folder.into() });
    }
    let (main, blobs) = (open::create_fresh(folder, MAIN_FILE)?, open::create_fresh(folder, BLOB_FILE)?);
    open::prepare_main(&main)?;
    open::prepare_blobs(&blobs)?;
    let summary = fill(&main, &blobs, from)?;
    main.close().map_err(failed)?;
    blobs.close().map_err(failed)?;
    let names = [MAIN_FILE, WAL_FILE, BLOB_FILE].map(|name| open::fresh_name(folder, name));
    let fresh_wal = names[1].clone();
    let store = open::store(folder, options, lock.clone(), Sources::files(names)?)?;
    let mut fault = None;
    verify::run(&store.inner, false, &mut |found| {
        fault.get_or_insert(found);
    })?;
    if let Some(fault) = fault {
        return Err(damaged("its records", fault));
    }
    drop(store);
    // Closing has made it superfluous, and a log of the store before bears another mark.
    fs::remove_file(&fresh_wal)
        .map_err(|error| Error::from_io(&error, &format!("removing {}", fresh_wal.display())))?;
    ready(folder)?;
    // The blobs first: a store without the bytes that it names would look whole.
    open::publish(folder, BLOB_FILE)?;
    open::publish(folder, MAIN_FILE)?;
    Ok(summary)
}

/// Fills both files, each in one transaction.
fn fill(main: &Database, blobs: &Database, from: &mut dyn Read) -> Result<BackupSummary, Error> {
    let (main, blobs) = (begin_durable(main, true)?, begin_durable(blobs, true)?);
    let mut filling = Filling { tables: WriteTables::new(&main), current: None, vectors: Gathering::default() };
    let mut restoring = Restoring::new(&blobs);
    let summary = backup::read(from, &mut |part, key, value| {
        if part != Part::BlobBytes {
            return filling.row(part, key, value);
        }
        let (blob, _) = key.split_last_chunk::<8>().ok_or_else(|| no_key(key))?;
        restoring.piece(blob, value)
    })?;
    restoring.finish()?;
    filling.finish()?;
    filling.tables.put(Table::Meta, SEQ_KEY, &codec::encode(SEQ_KEY, &summary.seq)?)?;
    drop(filling);
    drop(restoring);
    blobs.commit().map_err(failed)?;
    main.commit().map_err(failed)?;
    Ok(summary)
}

struct Filling<'txn> {
    tables: WriteTables<'txn>,
    /// The version whose chunks come.
    current: Option<Chunks>,
    vectors: Gathering,
}

struct Chunks {
    scope: Scope,
    version: VersionId,
    is_live: bool,
    /// The different contents so far.
    hashes: HashSet<Hash>,
}

impl Filling<'_> {
    fn row(&mut self, part: Part, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let Self { tables, vectors, .. } = self;
        if part == Part::Vectors {
            let Vector(vector) = codec::decode(key, value)?;
            return vectors.add(key, vector, &mut |table, key, value| tables.put(table, key, value));
        }
        tables.put(table(part), key, value)?;
        match part {
            Part::Versions => self.version(key, &codec::decode(key, value)?),
            Part::Chunks => self.chunk(key, &codec::decode(key, value)?),
            Part::Namespaces
            | Part::Heads
            | Part::Texts
            | Part::Outlines
            | Part::Vectors
            | Part::Changes
            | Part::Blobs
            | Part::Records
            | Part::BlobBytes => check(part, key, value),
        }
    }

    /// Writes what was gathered.
    fn finish(&mut self) -> Result<(), Error> {
        let Self { tables, vectors, .. } = self;
        vectors.finish(&mut |table, key, value| tables.put(table, key, value))
    }

    /// Enters a version into the indexes.
    fn version(&mut self, key: &[u8], version: &Version) -> Result<(), Error> {
        let (scope, _) = keys::split(key).ok_or_else(|| no_key(key))?;
        let revision = keys::revision(&scope, &version.source_uri, version.revision);
        self.tables.put(Table::Revisions, &revision, &version.id.0.to_be_bytes())?;
        self.tables.put(Table::Timeline, &timeline_key(&scope, version), &[])?;
        match version.state {
            VersionState::Live => {
                for (table, key) in served_rows(&scope, version) {
                    self.tables.put(table, &key, &[])?;
                }
                Ok(())
            }
            VersionState::Superseded(supersession) => {
                self.tables.put(Table::Supersessions, key, &codec::encode(key, &supersession)?)
            }
        }
    }

    /// Enters the content of a live version's chunk into the index.
    fn chunk(&mut self, key: &[u8], chunk: &Chunk) -> Result<(), Error> {
        let (scope, _) = keys::split(key).ok_or_else(|| no_key(key))?;
        if keys::chunk(&scope, chunk.id) != key {
            return Err(no_key(key));
        }
        let current = match &mut self.current {
            Some(current) if current.version == chunk.version && current.scope == scope => current,
            slot => {
                let version: Option<Version> =
                    self.tables.get(Table::Versions, &keys::version(&scope, chunk.version))?;
                let is_live = version.is_some_and(|version| version.is_live());
                slot.insert(Chunks { scope, version: chunk.version, is_live, hashes: HashSet::new() })
            }
        };
        if current.is_live && current.hashes.insert(chunk.content_hash) {
            for (table, key) in content_rows(&current.scope, current.version, [&chunk.content_hash]) {
                self.tables.put(table, &key, &[])?;
            }
        }
        Ok(())
    }
}

fn no_key(key: &[u8]) -> Error {
    damaged(keys::printable(key), "it is no key of a record")
}

fn damaged(key: impl Into<String>, detail: impl Into<String>) -> Error {
    Error::Corrupt { what: "backup", key: key.into(), detail: detail.into() }
}
