//! Checking a whole store: every record by itself, and each against those that should agree with it.
//!
//! What a version implies is looked for row by row; what nothing implies shows in the number of rows left over.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use redb::ReadableDatabase as _;
use sha2::{Digest as _, Sha256};

use super::open::SEQ_KEY;
use super::plan::{content_rows, served_rows, timeline_key};
use super::snapshot::RedbSnapshot;
use super::tables::{ReadTables, Table};
use super::{Inner, failed};
use crate::change::ChangeEntry;
use crate::codec::{self, Stored, StoredBlob, StoredRecord};
use crate::error::Error;
use crate::id::{Hash, Revision, Scope, Seq};
use crate::keys;
use crate::record::{BlobRow, Chunk, Head, NamespaceRow, Supersession, Version, VersionState};
use crate::store::Snapshot as _;

pub(super) fn run(inner: &Arc<Inner>, deep: bool, report: &mut dyn FnMut(String)) -> Result<(), Error> {
    let snapshot = RedbSnapshot::new(inner)?;
    let mut check = Check { snapshot: &snapshot, deep, report, implied: HashMap::new() };
    check.each(Table::Namespaces, &[], |check, key, row: NamespaceRow| {
        if keys::scope(&row.scope) != key {
            check.fault(format!("namespace {} stands under the key of another", row.scope));
            return Ok(());
        }
        check.namespace(&row)
    })?;
    check.left_over()?;
    check.rest(inner)?;
    if deep { check.pages(inner) } else { Ok(()) }
}

struct Check<'a> {
    snapshot: &'a RedbSnapshot,
    deep: bool,
    report: &'a mut dyn FnMut(String),
    /// How many rows of a table the versions and heads account for.
    implied: HashMap<&'static str, u64>,
}

impl Check<'_> {
    fn fault(&mut self, sentence: String) {
        (self.report)(sentence);
    }

    /// Turns damage into a report; only a failure of the backend ends the check.
    fn unless_damaged<T>(&mut self, result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error @ (Error::Corrupt { .. } | Error::BlobGone { .. })) => {
                self.fault(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Calls `each` with every record of a table under `prefix` that decodes, and reports those that do not.
    fn each<T: Stored>(
        &mut self,
        table: Table,
        prefix: &[u8],
        mut each: impl FnMut(&mut Self, &[u8], T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let snapshot = self.snapshot;
        let walked = snapshot.tables.walk(table, prefix, None, &mut |key, value| {
            if let Some(record) = self.unless_damaged(codec::decode(key, value))? {
                each(self, key, record)?;
            }
            Ok(true)
        });
        self.unless_damaged(walked).map(|_| ())
    }

    fn imply(&mut self, table: Table, rows: u64) {
        *self.implied.entry(table.name()).or_default() += rows;
    }

    /// Reports a row that should be there and is not.
    fn expect(&mut self, table: Table, key: &[u8], of: &str) -> Result<(), Error> {
        self.imply(table, 1);
        if !self.snapshot.tables.contains(table, key)? {
            self.fault(format!("{of} has no row in {}", table.name()));
        }
        Ok(())
    }

    fn namespace(&mut self, row: &NamespaceRow) -> Result<(), Error> {
        self.imply(Table::Namespaces, 1);
        let scope = &row.scope;
        let mut found = NamespaceRow { documents: 0, chunks: 0, versions: 0, ..row.clone() };
        self.each(Table::Versions, &keys::scope(scope), |check, key, version: Version| {
            found.versions += 1;
            if version.is_live() {
                found.documents += 1;
                found.chunks += u64::from(version.chunk_count);
            }
            if keys::version(scope, version.id) != key {
                check.fault(format!("version {} of {scope} stands under the key of another", version.id.0));
                return Ok(());
            }
            check.version(scope, &version)
        })?;
        if found != *row {
            self.fault(format!("the totals of {scope} are {row:?} and should be {found:?}"));
        }
        if row.last_seq > self.snapshot.seq() {
            self.fault(format!("{scope} was changed by commit {}, which is yet to come", row.last_seq.0));
        }
        let scope_bytes = keys::scope(scope).len();
        self.each(Table::Heads, &keys::scope(scope), |check, key, head: Head| {
            check.head(scope, &String::from_utf8_lossy(&key[scope_bytes..]), head)
        })
    }

    fn head(&mut self, scope: &Scope, source_uri: &str, head: Head) -> Result<(), Error> {
        let version = self.snapshot.version(scope, head.version);
        let Some(version) = self.unless_damaged(version)? else { return Ok(()) };
        let agrees = version.is_some_and(|version| {
            version.source_uri == source_uri && version.revision == head.revision && version.is_live() == head.live
        });
        if !agrees || head.changed > self.snapshot.seq() {
            self.fault(format!("the head of {source_uri:?} in {scope} does not agree with its version"));
        }
        Ok(())
    }

    fn version(&mut self, scope: &Scope, version: &Version) -> Result<(), Error> {
        let name = format!("version {} ({:?} in {scope})", version.id.0, version.source_uri);
        let key = keys::version(scope, version.id);
        let (uri, revision) = (&version.source_uri, version.revision);
        self.imply(Table::Revisions, 1);
        let indexed = self.snapshot.revision(scope, uri, revision);
        if self.unless_damaged(indexed)?.is_some_and(|indexed| indexed.is_none_or(|row| row.id != version.id)) {
            self.fault(format!("{name} is not what its revision {} names", revision.0));
        }
        if revision == Revision(1) {
            self.expect(Table::Heads, &keys::source(scope, uri), &name)?;
        } else if !self
            .snapshot
            .tables
            .contains(Table::Revisions, &keys::revision(scope, uri, Revision(revision.0.saturating_sub(1))))?
        {
            self.fault(format!("{name} has no revision before its {}", revision.0));
        }
        let head = self.snapshot.head(scope, uri);
        let head = self.unless_damaged(head)?.flatten();
        if head.is_some_and(|head| head.revision < revision || (version.is_live() && head.version != version.id)) {
            self.fault(format!("{name} is not what the head of its address names"));
        }
        self.expect(Table::Timeline, &timeline_key(scope, version), &name)?;
        match version.state {
            VersionState::Live => {
                for (table, key) in served_rows(scope, version) {
                    self.expect(table, &key, &name)?;
                }
                if let Some(original) = &version.document.original
                    && !self.snapshot.tables.contains(Table::Blobs, &keys::hash(scope, &original.blob))?
                {
                    self.fault(format!("the original of {name}, blob {}, is not catalogued", original.blob.hex()));
                }
            }
            VersionState::Superseded(supersession) => {
                self.imply(Table::Supersessions, 1);
                let row: Result<Option<Supersession>, _> = self.snapshot.tables.get(Table::Supersessions, &key);
                if self.unless_damaged(row)?.is_some_and(|row| row != Some(supersession)) {
                    self.fault(format!("{name} does not agree with its supersession"));
                }
            }
        }
        if version.is_live() || version.chunk_count == 0 || self.snapshot.tables.contains(Table::Texts, &key)? {
            self.imply(Table::Texts, 1);
            self.outline(scope, version, &name)?;
            return self.contents(scope, version, &name);
        }
        // The rows are the holder's, and checked as such.
        let holder = self.snapshot.holder(scope, version.id);
        if self.unless_damaged(holder)?.is_some_and(|holder| holder.is_none()) {
            self.fault(format!("{name} has no text, and no later version has it"));
        }
        Ok(())
    }

    fn outline(&mut self, scope: &Scope, version: &Version, name: &str) -> Result<(), Error> {
        let sections = self.snapshot.sections(scope, version.id);
        let sections = self.unless_damaged(sections)?;
        self.imply(Table::Outlines, u64::from(version.section_count > 0));
        if sections.as_ref().is_some_and(|sections| sections.len() as u64 != u64::from(version.section_count)) {
            self.fault(format!("{name} has {} sections, and its outline others", version.section_count));
        }
        let chunk_count = u64::from(version.chunk_count);
        if !sections.unwrap_or_default().iter().all(|section| section.is_within(chunk_count)) {
            self.fault(format!("a section of {name} has chunks that are not among its {chunk_count}"));
        }
        Ok(())
    }

    /// The text and the chunks of a version.
    fn contents(&mut self, scope: &Scope, version: &Version, name: &str) -> Result<(), Error> {
        let text = self.snapshot.text(scope, version.id);
        let text = self.unless_damaged(text)?;
        if text == Some(None) {
            self.fault(format!("{name} has no text"));
        }
        let text = text.flatten().filter(|_| self.deep);
        if let Some(text) = &text {
            if Hash::of(text.as_bytes()) != version.content_hash {
                self.fault(format!("the text of {name} does not hash to its content hash"));
            }
            if text.chars().count() as u64 != version.chars {
                self.fault(format!("the text of {name} does not have {} characters", version.chars));
            }
        }
        let mut hashes = HashSet::new();
        for (idx, id) in (0..).zip(version.chunk_ids()) {
            self.imply(Table::Chunks, 1);
            let chunk = self.snapshot.chunk(scope, id);
            let Some(chunk) = self.unless_damaged(chunk)? else { continue };
            let Some(chunk) = chunk.filter(|chunk| (chunk.id, chunk.version, chunk.idx) == (id, version.id, idx))
            else {
                self.fault(format!("chunk {idx} of {name} is missing or another's"));
                continue;
            };
            if let Some(text) = &text {
                self.passage(version, &chunk, text, name);
            }
            hashes.insert(chunk.content_hash);
        }
        if version.is_live() {
            for (table, key) in content_rows(scope, version.id, &hashes) {
                self.expect(table, &key, name)?;
            }
        }
        Ok(())
    }

    fn passage(&mut self, version: &Version, chunk: &Chunk, text: &str, name: &str) {
        if Hash::of(chunk.text.as_bytes()) != chunk.content_hash {
            self.fault(format!("chunk {} of {name} does not hash to its content hash", chunk.idx));
        }
        // An extracted file's chunks are not always cut from its text.
        if version.document.format.is_empty() {
            let range = usize::try_from(chunk.place.byte_start).ok().zip(usize::try_from(chunk.place.byte_end).ok());
            if range.and_then(|(start, end)| text.get(start..end)) != Some(chunk.text.as_str()) {
                self.fault(format!("chunk {} of {name} is not at its place in the text", chunk.idx));
            }
        }
    }

    /// Rows that no version, head or namespace accounts for.
    fn left_over(&mut self) -> Result<(), Error> {
        for table in [
            Table::Namespaces,
            Table::Heads,
            Table::Versions,
            Table::Revisions,
            Table::Texts,
            Table::Outlines,
            Table::Timeline,
            Table::TimelineLive,
            Table::Live,
            Table::Content,
            Table::ChunkContent,
            Table::Chunks,
            Table::Supersessions,
        ] {
            // A version stands for itself and has a row in the timeline.
            let implied_by = if table == Table::Versions { Table::Timeline } else { table };
            let implied = self.implied.get(implied_by.name()).copied().unwrap_or_default();
            let rows = self.snapshot.tables.len(table)?;
            if rows != implied {
                self.fault(format!("{} has {rows} rows where {implied} belong", table.name()));
            }
        }
        Ok(())
    }

    /// The tables that stand for themselves.
    fn rest(&mut self, inner: &Inner) -> Result<(), Error> {
        let last = self.snapshot.seq();
        self.each(Table::Changes, &[], |check, key, entry: ChangeEntry| {
            if keys::number(key).map(Seq) != Some(entry.seq) || entry.seq > last {
                check.fault(format!("the changes of commit {} stand under {}", entry.seq.0, keys::printable(key)));
            }
            Ok(())
        })?;
        self.each(Table::Records, &[], |check, key, record: StoredRecord| {
            if record.changed > last {
                check.fault(format!("record {} is of a commit yet to come", keys::printable(key)));
            }
            Ok(())
        })?;
        self.vectors()?;
        self.blobs(inner)
    }

    /// Every page of both files, those without a record among them, against its checksum.
    fn pages(&mut self, inner: &Inner) -> Result<(), Error> {
        let last = self.snapshot.seq();
        let main = inner.main.check_pages(|database| {
            let tables = ReadTables::new(database.begin_read().map_err(failed)?);
            // The page of a commit that cannot be read makes the file fall back to the one before.
            match tables.get::<Seq>(Table::Meta, SEQ_KEY)? {
                Some(seq) if seq >= last => Ok(()),
                _ => {
                    Err(Error::Corrupt { what: "page", key: "of the last commit".into(), detail: "it is lost".into() })
                }
            }
        });
        self.unless_damaged(main)?;
        let blobs = inner.blobs.file.check_pages(|_| Ok(()));
        self.unless_damaged(blobs).map(|_| ())
    }

    fn blobs(&mut self, inner: &Inner) -> Result<(), Error> {
        let view = inner.blobs.view()?;
        self.each(Table::Blobs, &[], |check, key, row: BlobRow| {
            match view.find(key) {
                Ok(Some(stored)) if stored.size == row.size => {}
                Ok(_) => check.fault(format!("the bytes of blob {} are not stored", row.hash.hex())),
                Err(error) => check.fault(error.to_string()),
            }
            if !key.ends_with(&row.hash.0) {
                check.fault(format!("blob {} stands under {}", row.hash.hex(), keys::printable(key)));
            }
            Ok(())
        })?;
        let deep = self.deep;
        let walked = view.each(&mut |key, value| {
            let Some(stored) = self.unless_damaged(codec::decode::<StoredBlob>(key, value))? else { return Ok(()) };
            let mut hasher = Sha256::new();
            if !deep {
                return Ok(());
            }
            let read = view.each_piece(stored, &mut |piece| {
                hasher.update(piece);
                Ok(())
            });
            if self.unless_damaged(read)?.is_some() && !key.ends_with(&hasher.finalize()) {
                self.fault(format!("the bytes of blob {} do not hash to it", keys::printable(key)));
            }
            Ok(())
        });
        self.unless_damaged(walked).map(|_| ())
    }
}

mod vectors;

#[cfg(test)]
mod tests;
