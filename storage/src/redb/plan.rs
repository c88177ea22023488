//! From a batch to the rows it writes: every check and every record first, the first write after.
//!
//! Nothing here writes, so that a batch that is refused leaves no trace in the transaction it shares.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::blob::BlobFile;
use super::tables::{Table, WriteTables};
use crate::batch::{Batch, Committed, CommittedVersion, Precondition, RecordWrite, Write};
use crate::change::{Change, ChangeEntry};
use crate::codec::{self, Body, Outline, Stored, StoredRecord, VectorBlock, VectorPlace};
use crate::error::Error;
use crate::id::{Hash, Scope, Seq, VersionId};
use crate::record::{
    BlobRow, Cause, Chunk, Document, Head, NamespaceRow, Supersession, Timestamp, Version, VersionState,
};
use crate::store::TimelineKey;
use crate::{keys, validate};

/// One write to a table of the main file.
pub(super) enum Op {
    Put(Table, Vec<u8>, Vec<u8>),
    Remove(Table, Vec<u8>),
    RemovePrefix(Table, Vec<u8>),
}

/// A batch with the work done that needs no transaction: rules checked, texts hashed, texts and outlines compressed.
pub(super) struct Prepared {
    batch: Batch,
    /// Of each version to put, in order.
    versions: Vec<PreparedVersion>,
}

struct PreparedVersion {
    /// Of the text.
    hash: Hash,
    /// Of the text.
    chars: u64,
    text: Body,
    outline: Option<Body>,
    /// How many sections the outline has.
    section_count: u32,
}

impl Prepared {
    pub(super) fn new(mut batch: Batch) -> Result<Self, Error> {
        validate::batch(&batch)?;
        let mut versions = Vec::new();
        for write in &mut batch.writes {
            if let Write::PutVersion(new) = write {
                let text = std::mem::take(&mut new.text);
                let outline = Outline(std::mem::take(&mut new.sections));
                versions.push(PreparedVersion {
                    hash: Hash::of(text.as_bytes()),
                    chars: text.chars().count() as u64,
                    text: Body::of(&text)?,
                    section_count: u32::try_from(outline.0.len()).expect("the batch was checked against ORDINALS_MAX"),
                    outline: if outline.0.is_empty() { None } else { Some(Body::of(&outline)?) },
                });
                // To compare with those of the version before.
                new.sections = outline.0;
            }
        }
        Ok(Self { batch, versions })
    }

    /// About how much it stores.
    pub(super) fn bytes(&self) -> usize {
        let writes = self.batch.writes.iter().map(|write| match write {
            Write::PutVersion(new) => new.chunks.iter().map(|chunk| chunk.0.text.len() + chunk.0.context.len()).sum(),
            Write::PutVectors { vectors, .. } => vectors.iter().map(|(_, vector)| vector.len() * 4).sum(),
            Write::Record(record) => record.value.as_ref().map_or(0, Vec::len),
            Write::Retire { .. }
            | Write::Restore { .. }
            | Write::Edit { .. }
            | Write::DropVectors { .. }
            | Write::SwitchModel { .. }
            | Write::PutBlob { .. }
            | Write::DropBlob { .. }
            | Write::EraseNamespace { .. }
            | Write::EraseVersions { .. }
            | Write::DropUnusedVectors { .. } => 0usize,
        });
        let bodies = self.versions.iter().flat_map(|version| version.outline.iter().chain([&version.text]));
        bodies.map(Body::len).sum::<usize>() + writes.sum::<usize>()
    }
}

/// The rows that `prepared` writes as commit `seq` on top of what `tables` hold, or why it must not.
pub(super) fn plan(
    tables: &mut WriteTables<'_>,
    blobs: &BlobFile,
    prepared: &Prepared,
    seq: Seq,
) -> Result<(Vec<Op>, Committed), Error> {
    let mut planner = Planner {
        tables,
        blobs,
        seq,
        ops: Vec::new(),
        namespaces: BTreeMap::new(),
        changes: BTreeMap::new(),
        dimensions: HashMap::new(),
        dropped: HashSet::new(),
        placed: HashSet::new(),
        vector_blocks: 0,
        chunks: 0,
        committed: Vec::new(),
    };
    for precondition in &prepared.batch.preconditions {
        planner.check(precondition)?;
    }
    let mut versions = prepared.versions.iter();
    for write in &prepared.batch.writes {
        planner.write(write, &mut versions)?;
    }
    planner.finish()
}

struct Planner<'a, 'txn> {
    tables: &'a mut WriteTables<'txn>,
    blobs: &'a BlobFile,
    seq: Seq,
    ops: Vec<Op>,
    /// The rows of the namespaces that the batch touches, as it leaves them.
    namespaces: BTreeMap<&'a Scope, Option<NamespaceRow>>,
    changes: BTreeMap<&'a Scope, Vec<Change>>,
    /// Of the models that the batch touches; `None` when no vector of it is left.
    dimensions: HashMap<(&'a Scope, &'a str), Option<usize>>,
    /// The models whose vectors the batch has dropped so far.
    dropped: HashSet<(&'a Scope, &'a str)>,
    /// The inputs whose vectors the batch stores so far, by their keys.
    placed: HashSet<Vec<u8>>,
    /// Blocks of vectors created so far.
    vector_blocks: u64,
    /// Chunks created so far.
    chunks: u64,
    committed: Vec<CommittedVersion>,
}

impl<'a> Planner<'a, '_> {
    fn check(&mut self, precondition: &Precondition) -> Result<(), Error> {
        match precondition {
            Precondition::Head { scope, source_uri, changed } => {
                if self.head(scope, source_uri)?.map(|head| head.changed) != *changed {
                    return Err(Error::Conflict { what: source_uri.clone() });
                }
            }
            Precondition::Record { key, changed } => {
                let found: Option<StoredRecord> = self.tables.get(Table::Records, key.as_bytes())?;
                if found.map(|record| record.changed) != *changed {
                    return Err(Error::RecordConflict { key: key.clone() });
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, write: &'a Write, versions: &mut std::slice::Iter<'_, PreparedVersion>) -> Result<(), Error> {
        match write {
            Write::PutVersion(new) => {
                let prepared = versions.next().expect("each version was prepared");
                self.put_version(new, prepared)
            }
            Write::Retire { scope, source_uri, cause, at } => {
                self.touch(scope)?;
                let head = self.live_head(scope, source_uri)?;
                self.retire(scope, head.version, *cause, *at)?;
                self.put_head(scope, source_uri, Head { live: false, ..head })
            }
            Write::Restore { scope, source_uri, document } => self.restore(scope, source_uri, document),
            Write::Edit { scope, source_uri, document } => {
                self.touch(scope)?;
                let head = self.live_head(scope, source_uri)?;
                let version = Version { document: document.clone(), ..self.version(scope, head.version)? };
                self.put(Table::Versions, keys::version(scope, version.id), &version)?;
                self.change(scope, Change::Edited(version.id));
                self.put_head(scope, source_uri, head)
            }
            Write::PutVectors { scope, model, vectors } => self.put_vectors(scope, model, vectors),
            Write::DropVectors { scope, model } => {
                self.touch(scope)?;
                self.dimensions.insert((scope, model.as_str()), None);
                self.dropped.insert((scope, model.as_str()));
                let of_model = keys::model(scope, model);
                self.placed.retain(|key| !key.starts_with(&of_model));
                for table in [Table::VectorBlocks, Table::VectorPlaces] {
                    self.ops.push(Op::RemovePrefix(table, of_model.clone()));
                }
                Ok(())
            }
            Write::SwitchModel { scope, model } => {
                self.touch(scope)?;
                self.change(scope, Change::ModelSwitched(model.clone()));
                Ok(())
            }
            Write::PutBlob { scope, row } => self.put_blob(scope, row),
            Write::DropBlob { scope, row } => self.drop_blob(scope, row),
            Write::Record(write) => self.record(write),
            Write::EraseNamespace { scope } => {
                self.erase_namespace(scope);
                Ok(())
            }
            Write::EraseVersions { scope, source_uri, versions, at } => {
                self.erase_versions(scope, source_uri, versions, *at)
            }
            Write::DropUnusedVectors { scope } => self.drop_unused_vectors(scope),
        }
    }

    fn restore(&mut self, scope: &'a Scope, source_uri: &str, document: &Document) -> Result<(), Error> {
        self.touch(scope)?;
        let Some(head) = self.head(scope, source_uri)?.filter(|head| !head.live) else {
            return Err(Error::Invalid(format!("nothing to restore at {source_uri:?} in {scope}")));
        };
        let retired = self.version(scope, head.version)?;
        let VersionState::Superseded(Supersession { cause: Cause::Delete, .. }) = retired.state else {
            return Err(Error::Invalid(format!("{source_uri:?} in {scope} was not deleted, but {:?}", retired.state)));
        };
        let version = Version { state: VersionState::Live, document: document.clone(), ..retired };
        let key = keys::version(scope, version.id);
        self.put(Table::Versions, key.clone(), &version)?;
        self.ops.push(Op::Remove(Table::Supersessions, key));
        let hashes = self.chunk_hashes(scope, &version)?;
        self.serve(scope, &version, &hashes)?;
        self.change(scope, Change::Restored(version.id));
        self.put_head(scope, source_uri, Head { live: true, ..head })
    }

    fn put_vectors(&mut self, scope: &'a Scope, model: &'a str, vectors: &[(Hash, Vec<f32>)]) -> Result<(), Error> {
        self.touch(scope)?;
        let Some((_, first)) = vectors.first() else { return Ok(()) };
        let kept = self.dimension(scope, model)?;
        if kept.is_some_and(|kept| kept != first.len()) {
            return Err(Error::Invalid(format!(
                "vectors of {} numbers for {model}, whose vectors in {scope} are others",
                first.len()
            )));
        }
        let dim = first.len();
        self.dimensions.insert((scope, model), Some(dim));
        let mut missing = Vec::new();
        for (input, vector) in vectors {
            let key = keys::vector(scope, model, input);
            let is_kept = !self.dropped.contains(&(scope, model)) && self.tables.contains(Table::VectorPlaces, &key)?;
            if !is_kept && self.placed.insert(key.clone()) {
                missing.push((key, input, vector));
            }
        }
        for vectors in missing.chunks(VectorBlock::capacity(dim)) {
            let block = VersionId::new(self.seq, self.vector_blocks).0;
            self.vector_blocks += 1;
            let key = keys::vector_block(scope, model, block);
            let entries = vectors.iter().map(|(_, input, vector)| (*input, vector.as_slice()));
            self.put(Table::VectorBlocks, key, &VectorBlock::of(dim, entries)?)?;
            for (at, (key, _, _)) in (0..).zip(vectors) {
                self.put(Table::VectorPlaces, key.clone(), &VectorPlace { block, at })?;
            }
        }
        Ok(())
    }

    /// The dimension of the model's vectors in the namespace; `None` when it has none.
    fn dimension(&mut self, scope: &'a Scope, model: &'a str) -> Result<Option<usize>, Error> {
        if let Some(known) = self.dimensions.get(&(scope, model)) {
            return Ok(*known);
        }
        let mut found = None;
        self.tables.walk(Table::VectorBlocks, &keys::model(scope, model), None, &mut |key, value| {
            found = Some(codec::decode::<VectorBlock>(key, value)?.dim());
            Ok(false)
        })?;
        Ok(found)
    }

    fn put_blob(&mut self, scope: &'a Scope, row: &BlobRow) -> Result<(), Error> {
        self.touch(scope)?;
        let Some(stored) = self.blobs.view()?.find(&keys::hash(scope, &row.hash))? else {
            return Err(Error::BlobGone { hash: row.hash.hex() });
        };
        if stored.size != row.size {
            return Err(Error::Invalid(format!("blob {} has {} bytes, not {}", row.hash.hex(), stored.size, row.size)));
        }
        self.put(Table::Blobs, keys::hash(scope, &row.hash), row)
    }

    fn drop_blob(&mut self, scope: &'a Scope, row: &BlobRow) -> Result<(), Error> {
        self.touch(scope)?;
        let key = keys::hash(scope, &row.hash);
        if self.tables.get::<BlobRow>(Table::Blobs, &key)?.as_ref() == Some(row) {
            self.ops.push(Op::Remove(Table::Blobs, key));
        }
        Ok(())
    }

    fn record(&mut self, write: &RecordWrite) -> Result<(), Error> {
        let key = write.key.as_bytes().to_vec();
        match &write.value {
            Some(value) => {
                self.put(Table::Records, key, &StoredRecord { changed: self.seq, value: value.clone() })?;
            }
            None => self.ops.push(Op::Remove(Table::Records, key)),
        }
        Ok(())
    }

    /// Stops serving a live version; its head is the caller's. Returns the number of its chunks.
    fn retire(&mut self, scope: &'a Scope, id: VersionId, cause: Cause, at: Timestamp) -> Result<u32, Error> {
        let live = self.version(scope, id)?;
        let supersession = Supersession { at, cause, chunks: live.chunk_count };
        let version = Version { state: VersionState::Superseded(supersession), ..live };
        let key = keys::version(scope, id);
        self.put(Table::Versions, key.clone(), &version)?;
        self.put(Table::Supersessions, key, &supersession)?;
        let hashes: HashSet<_> = self.chunk_hashes(scope, &version)?.into_iter().collect();
        for (table, key) in served_rows(scope, &version).into_iter().chain(content_rows(scope, id, hashes.iter())) {
            self.ops.push(Op::Remove(table, key));
        }
        let row = self.namespace(scope)?;
        let (documents, chunks) =
            (row.documents.checked_sub(1), row.chunks.checked_sub(u64::from(version.chunk_count)));
        let (Some(documents), Some(chunks)) = (documents, chunks) else {
            return Err(damaged("namespace", scope.to_string(), "its totals are too small"));
        };
        (row.documents, row.chunks) = (documents, chunks);
        self.change(scope, Change::Retired(id));
        Ok(version.chunk_count)
    }

    /// Enters a version into the indexes of what is served.
    fn serve(&mut self, scope: &'a Scope, version: &Version, chunk_hashes: &[Hash]) -> Result<(), Error> {
        let hashes: HashSet<_> = chunk_hashes.iter().collect();
        for (table, key) in served_rows(scope, version).into_iter().chain(content_rows(scope, version.id, hashes)) {
            self.ops.push(Op::Put(table, key, Vec::new()));
        }
        let row = self.namespace(scope)?;
        row.documents += 1;
        row.chunks += u64::from(version.chunk_count);
        Ok(())
    }

    fn chunk_hashes(&mut self, scope: &Scope, version: &Version) -> Result<Vec<Hash>, Error> {
        let mut hashes = Vec::new();
        for id in version.chunk_ids() {
            let key = keys::chunk(scope, id);
            let chunk: Option<Chunk> = self.tables.get(Table::Chunks, &key)?;
            hashes.push(chunk.ok_or_else(|| damaged("chunk", keys::printable(&key), "it is missing"))?.content_hash);
        }
        Ok(hashes)
    }

    fn head(&mut self, scope: &Scope, source_uri: &str) -> Result<Option<Head>, Error> {
        self.tables.get(Table::Heads, &keys::source(scope, source_uri))
    }

    fn live_head(&mut self, scope: &Scope, source_uri: &str) -> Result<Head, Error> {
        self.head(scope, source_uri)?
            .filter(|head| head.live)
            .ok_or_else(|| Error::Invalid(format!("nothing is live at {source_uri:?} in {scope}")))
    }

    fn version(&mut self, scope: &Scope, id: VersionId) -> Result<Version, Error> {
        let key = keys::version(scope, id);
        let version = self.tables.get(Table::Versions, &key)?;
        version.ok_or_else(|| damaged("version", keys::printable(&key), "it is missing"))
    }

    /// Notes that the batch writes to a namespace, whether it has a row yet or not.
    fn touch(&mut self, scope: &'a Scope) -> Result<(), Error> {
        if !self.namespaces.contains_key(scope) {
            let row = self.tables.get(Table::Namespaces, &keys::scope(scope))?;
            self.namespaces.insert(scope, row);
        }
        Ok(())
    }

    /// The row of a namespace that has versions.
    fn namespace(&mut self, scope: &'a Scope) -> Result<&mut NamespaceRow, Error> {
        let row = self.namespaces.get_mut(scope).and_then(Option::as_mut);
        row.ok_or_else(|| damaged("namespace", scope.to_string(), "it is missing"))
    }

    fn change(&mut self, scope: &'a Scope, change: Change) {
        self.changes.entry(scope).or_default().push(change);
    }

    fn put_head(&mut self, scope: &Scope, source_uri: &str, head: Head) -> Result<(), Error> {
        self.put(Table::Heads, keys::source(scope, source_uri), &Head { changed: self.seq, ..head })
    }

    fn put<T: Stored>(&mut self, table: Table, key: Vec<u8>, value: &T) -> Result<(), Error> {
        let value = codec::encode(&key, value)?;
        self.ops.push(Op::Put(table, key, value));
        Ok(())
    }

    fn finish(mut self) -> Result<(Vec<Op>, Committed), Error> {
        for (scope, row) in std::mem::take(&mut self.namespaces) {
            if let Some(row) = row {
                self.put(Table::Namespaces, keys::scope(scope), &NamespaceRow { last_seq: self.seq, ..row })?;
            }
        }
        for (scope, changes) in std::mem::take(&mut self.changes) {
            let entry = ChangeEntry { seq: self.seq, changes };
            self.put(Table::Changes, keys::changes(scope, self.seq), &entry)?;
        }
        Ok((self.ops, Committed { seq: self.seq, versions: self.committed }))
    }
}

pub(super) fn timeline_key(scope: &Scope, version: &Version) -> Vec<u8> {
    keys::timeline(scope, TimelineKey { ingested_at: version.ingested_at, version: version.id })
}

/// The rows that a version has while it is live, besides those of its chunks.
pub(super) fn served_rows(scope: &Scope, version: &Version) -> [(Table, Vec<u8>); 3] {
    [
        (Table::TimelineLive, timeline_key(scope, version)),
        (Table::Live, keys::version(scope, version.id)),
        (Table::Content, keys::hash_version(scope, &version.content_hash, version.id)),
    ]
}

/// The rows that a version's chunks have while it is live: one for each different content.
pub(super) fn content_rows<'h>(
    scope: &Scope,
    id: VersionId,
    hashes: impl IntoIterator<Item = &'h Hash>,
) -> impl Iterator<Item = (Table, Vec<u8>)> {
    hashes.into_iter().map(move |hash| (Table::ChunkContent, keys::hash_version(scope, hash, id)))
}

fn damaged(what: &'static str, key: String, detail: &str) -> Error {
    Error::Corrupt { what, key, detail: detail.into() }
}

mod erase;
mod version;
