//! A store in memory, as plain as the contract allows: the model that other backends are compared with.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::backup::{self, BackupSummary, Part};
use crate::batch::{Batch, Committed, CommittedVersion, NewVersion, Precondition, Write as BatchWrite};
use crate::change::{Change, ChangeEntry};
use crate::codec;
use crate::error::Error;
use crate::id::{BlobHash, ChunkId, Hash, Revision, Scope, Seq, VersionId};
use crate::record::{
    BlobRow, Cause, Chunk, Head, NamespaceRow, Record, Section, Supersession, Timestamp, Version, VersionState,
};
use crate::store::{BlobReader, BlobWriter, Compacted, Page, Snapshot, Store, TimelineKey};
use crate::{keys, validate};

/// A store whose clones share their contents, so that a clone is also the store opened again.
#[derive(Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<Arc<State>>>,
    blobs: Blobs,
    /// When uploads last brought a blob.
    brought: Brought,
}

type Brought = Arc<Mutex<BTreeMap<(Scope, BlobHash), Instant>>>;
type Blobs = Arc<Mutex<BTreeMap<(Scope, BlobHash), Arc<[u8]>>>>;

#[derive(Clone, Default)]
struct State {
    seq: Seq,
    namespaces: BTreeMap<Scope, NamespaceRow>,
    heads: BTreeMap<(Scope, String), Head>,
    versions: BTreeMap<(Scope, VersionId), Version>,
    texts: BTreeMap<(Scope, VersionId), String>,
    outlines: BTreeMap<(Scope, VersionId), Vec<Section>>,
    chunks: BTreeMap<(Scope, ChunkId), Chunk>,
    vectors: BTreeMap<(Scope, String, Hash), Vec<f32>>,
    changes: BTreeMap<(Scope, Seq), ChangeEntry>,
    blobs: BTreeMap<(Scope, BlobHash), BlobRow>,
    records: BTreeMap<String, Record>,
}

impl MemoryStore {
    /// A store with the same contents that from now on goes its own way.
    #[must_use]
    pub fn fork(&self) -> Self {
        let (state, blobs) = (Arc::clone(&self.state.lock()), self.blobs.lock().clone());
        Self { state: Arc::new(Mutex::new(state)), blobs: Arc::new(Mutex::new(blobs)), brought: Brought::default() }
    }
}

impl Store for MemoryStore {
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, Error> {
        Ok(Box::new(Arc::clone(&self.state.lock())))
    }

    fn commit(&self, batch: Batch) -> Result<Committed, Error> {
        validate::batch(&batch)?;
        let mut current = self.state.lock();
        let mut next = State::clone(&current);
        next.seq.0 += 1;
        let committed = next.apply(batch, &self.blobs)?;
        *current = Arc::new(next);
        Ok(committed)
    }

    fn write_blob(&self, scope: &Scope) -> Result<Box<dyn BlobWriter>, Error> {
        if !keys::is_valid(scope) {
            return Err(Error::Invalid(format!("{scope:?} is no namespace")));
        }
        let (blobs, brought) = (Arc::clone(&self.blobs), Arc::clone(&self.brought));
        Ok(Box::new(Writer { blobs, brought, scope: scope.clone(), bytes: Vec::new() }))
    }

    fn read_blob(&self, scope: &Scope, hash: &BlobHash) -> Result<Box<dyn BlobReader>, Error> {
        match self.blobs.lock().get(&(scope.clone(), *hash)) {
            Some(bytes) => Ok(Box::new(Cursor::new(Arc::clone(bytes)))),
            None => Err(Error::BlobGone { hash: hash.hex() }),
        }
    }

    fn remove_blob(&self, scope: &Scope, hash: &BlobHash, idle: Duration) -> Result<bool, Error> {
        let key = (scope.clone(), *hash);
        let is_named = self.state.lock().blobs.contains_key(&key);
        if is_named || self.brought.lock().get(&key).is_some_and(|at| at.elapsed() < idle) {
            return Ok(false);
        }
        self.blobs.lock().remove(&key);
        Ok(true)
    }

    fn set_holder_note(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn ready(&self) -> Result<(), Error> {
        Ok(())
    }

    fn compact(&self) -> Result<Compacted, Error> {
        Ok(Compacted::default())
    }

    fn backup(&self, to: &mut dyn Write) -> Result<BackupSummary, Error> {
        let state = Arc::clone(&self.state.lock());
        let mut writer = backup::Writer::new(to, state.seq, codec::ROWS_VERSION)?;
        for part in Part::ALL {
            for (key, value) in state.rows(part, &self.blobs)? {
                writer.row(part, &key, &value)?;
            }
        }
        writer.finish()
    }

    fn verify(&self, _: bool, _: &mut dyn FnMut(String)) -> Result<(), Error> {
        Ok(())
    }
}

impl State {
    fn apply(&mut self, batch: Batch, blobs: &Blobs) -> Result<Committed, Error> {
        for precondition in batch.preconditions {
            match precondition {
                Precondition::Head { scope, source_uri, changed } => {
                    let head = self.heads.get(&(scope, source_uri.clone()));
                    if head.map(|head| head.changed) != changed {
                        return Err(Error::Conflict { what: source_uri });
                    }
                }
                Precondition::Record { key, changed } => {
                    if self.records.get(&key).map(|record| record.changed) != changed {
                        return Err(Error::RecordConflict { key });
                    }
                }
            }
        }
        let mut committed = Committed { seq: self.seq, versions: Vec::new() };
        for write in batch.writes {
            self.write(write, blobs, &mut committed)?;
        }
        Ok(committed)
    }

    fn write(&mut self, write: BatchWrite, blobs: &Blobs, committed: &mut Committed) -> Result<(), Error> {
        match write {
            BatchWrite::PutVersion(new) => committed.versions.push(self.put_version(*new, &committed.versions)),
            BatchWrite::Retire { scope, source_uri, cause, at } => {
                let head = self.head_where(&scope, &source_uri, true)?;
                self.retire(&scope, head.version, cause, at);
                self.put_head(&scope, &source_uri, Head { live: false, ..head });
            }
            BatchWrite::Restore { scope, source_uri, document } => {
                let head = self.head_where(&scope, &source_uri, false)?;
                let seq = self.seq;
                let version = self.version_mut(&scope, head.version);
                if !matches!(version.state, VersionState::Superseded(Supersession { cause: Cause::Delete, .. })) {
                    return Err(Error::Invalid("it was not deleted".into()));
                }
                version.state = VersionState::Live;
                version.document = document;
                self.change(&scope, Change::Restored(head.version));
                self.put_head(&scope, &source_uri, Head { live: true, changed: seq, ..head });
            }
            BatchWrite::Edit { scope, source_uri, document } => {
                let head = self.head_where(&scope, &source_uri, true)?;
                self.version_mut(&scope, head.version).document = document;
                self.change(&scope, Change::Edited(head.version));
                self.put_head(&scope, &source_uri, head);
            }
            BatchWrite::PutVectors { scope, model, vectors } => {
                let same = |key: &(Scope, String, Hash)| key.0 == scope && key.1 == model;
                let kept = self.vectors.iter().find(|(key, _)| same(key)).map(|(_, vector)| vector.len());
                if vectors.iter().any(|(_, vector)| kept.is_some_and(|kept| kept != vector.len())) {
                    return Err(Error::Invalid("another dimension than the model's".into()));
                }
                for (input, vector) in vectors {
                    self.vectors.entry((scope.clone(), model.clone(), input)).or_insert(vector);
                }
                self.touch(&scope);
            }
            BatchWrite::DropVectors { scope, model } => {
                self.vectors.retain(|key, _| key.0 != scope || key.1 != model);
                self.touch(&scope);
            }
            BatchWrite::SwitchModel { scope, model } => self.change(&scope, Change::ModelSwitched(model)),
            BatchWrite::PutBlob { scope, row } => {
                let size = blobs.lock().get(&(scope.clone(), row.hash)).map(|bytes| bytes.len() as u64);
                match size {
                    None => return Err(Error::BlobGone { hash: row.hash.hex() }),
                    Some(size) if size != row.size => return Err(Error::Invalid("another size".into())),
                    Some(_) => self.blobs.insert((scope.clone(), row.hash), row),
                };
                self.touch(&scope);
            }
            BatchWrite::DropBlob { scope, row } => {
                let key = (scope, row.hash);
                if self.blobs.get(&key) == Some(&row) {
                    self.blobs.remove(&key);
                }
                self.touch(&key.0);
            }
            BatchWrite::EraseNamespace { scope } => self.erase_namespace(&scope),
            BatchWrite::EraseVersions { scope, source_uri, versions, at } => {
                self.erase_versions(&scope, &source_uri, &versions, at);
                self.touch(&scope);
            }
            BatchWrite::DropUnusedVectors { scope } => self.drop_unused_vectors(&scope),
            BatchWrite::Record(write) => {
                match write.value {
                    Some(value) => {
                        let record = Record { key: write.key.clone(), changed: self.seq, value };
                        self.records.insert(write.key, record)
                    }
                    None => self.records.remove(&write.key),
                };
            }
        }
        Ok(())
    }

    fn put_version(&mut self, new: NewVersion, earlier_in_batch: &[CommittedVersion]) -> CommittedVersion {
        let scope = new.scope.clone();
        let earlier = self.heads.get(&(scope.clone(), new.source_uri.clone())).copied();
        let same = earlier.map(|head| head.version).filter(|id| self.has_content(&scope, *id, &new));
        let chunks_retired = match earlier {
            Some(head) if head.live => self.retire(&scope, head.version, Cause::Replace, new.ingested_at),
            _ => 0,
        };
        let id = VersionId::new(self.seq, earlier_in_batch.len() as u64);
        let revision = Revision(earlier.map_or(0, |head| head.revision.0) + 1);
        let created = self.chunks.keys().filter(|(_, chunk)| chunk.seq() == self.seq).count() as u64;
        let first_chunk = match same {
            Some(same) => self.version_mut(&scope, same).first_chunk,
            None => ChunkId::new(self.seq, if new.chunks.is_empty() { 0 } else { created }),
        };
        let version = Version {
            id,
            doc_id: new.doc_id,
            source_uri: new.source_uri.clone(),
            revision,
            ingested_at: new.ingested_at,
            state: VersionState::Live,
            document: new.document,
            content_hash: Hash::of(new.text.as_bytes()),
            chars: new.text.chars().count() as u64,
            first_chunk,
            chunk_count: u32::try_from(new.chunks.len()).expect("the batch was checked against ORDINALS_MAX"),
            section_count: u32::try_from(new.sections.len()).expect("the batch was checked against ORDINALS_MAX"),
        };
        for ((idx, chunk_id), chunk) in (0..).zip(version.chunk_ids()).zip(new.chunks) {
            self.chunks.insert((scope.clone(), chunk_id), Chunk { id: chunk_id, version: id, idx, ..chunk.0 });
        }
        self.namespaces.entry(scope.clone()).or_insert_with(|| NamespaceRow {
            scope: scope.clone(),
            created_at: new.ingested_at,
            last_seq: self.seq,
            documents: 0,
            chunks: 0,
            versions: 0,
        });
        if let Some(same) = same {
            self.texts.remove(&(scope.clone(), same));
            self.outlines.remove(&(scope.clone(), same));
        }
        self.texts.insert((scope.clone(), id), new.text);
        self.outlines.insert((scope.clone(), id), new.sections);
        self.versions.insert((scope.clone(), id), version);
        self.change(&scope, Change::Added(id));
        self.put_head(&scope, &new.source_uri, Head { version: id, revision, live: true, changed: self.seq });
        CommittedVersion { version: id, revision, first_chunk, chunks_retired }
    }

    /// Whether a version has the text, the outline and the chunks of `new`, and any chunk.
    fn has_content(&self, scope: &Scope, id: VersionId, new: &NewVersion) -> bool {
        let key = (scope.clone(), id);
        let plain = |chunk: &Chunk| Chunk { id: ChunkId(0), version: VersionId(0), idx: 0, ..chunk.clone() };
        let kept = self.versions[&key].chunk_ids().map(|id| plain(&self.chunks[&(scope.clone(), id)]));
        !new.chunks.is_empty()
            && self.texts.get(&key) == Some(&new.text)
            && self.outlines.get(&key) == Some(&new.sections)
            && kept.eq(new.chunks.iter().map(|chunk| plain(&chunk.0)))
    }

    fn retire(&mut self, scope: &Scope, id: VersionId, cause: Cause, at: Timestamp) -> u32 {
        let version = self.version_mut(scope, id);
        let chunks = version.chunk_count;
        version.state = VersionState::Superseded(Supersession { at, cause, chunks });
        self.change(scope, Change::Retired(id));
        chunks
    }

    fn head_where(&self, scope: &Scope, source_uri: &str, live: bool) -> Result<Head, Error> {
        let head = self.heads.get(&(scope.clone(), source_uri.to_owned())).filter(|head| head.live == live);
        head.copied().ok_or_else(|| Error::Invalid(format!("no head of {source_uri:?} that is live: {live}")))
    }

    fn put_head(&mut self, scope: &Scope, source_uri: &str, head: Head) {
        self.heads.insert((scope.clone(), source_uri.to_owned()), Head { changed: self.seq, ..head });
    }

    fn version_mut(&mut self, scope: &Scope, id: VersionId) -> &mut Version {
        self.versions.get_mut(&(scope.clone(), id)).expect("a head names a version")
    }

    fn change(&mut self, scope: &Scope, change: Change) {
        let entry = self.changes.entry((scope.clone(), self.seq));
        entry.or_insert_with(|| ChangeEntry { seq: self.seq, changes: Vec::new() }).changes.push(change);
        self.touch(scope);
    }

    /// Brings a namespace's row up to date.
    fn touch(&mut self, scope: &Scope) {
        let Some(row) = self.namespaces.get_mut(scope) else { return };
        let all = || self.versions.iter().filter(|((of, _), _)| of == scope).map(|(_, version)| version);
        row.versions = all().count() as u64;
        row.documents = all().filter(|version| version.is_live()).count() as u64;
        row.chunks = all().filter(|version| version.is_live()).map(|version| u64::from(version.chunk_count)).sum();
        row.last_seq = self.seq;
    }

    fn versions_of<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Version> {
        self.versions.iter().filter(move |((of, _), _)| of == scope).map(|(_, version)| version)
    }
}

impl Snapshot for Arc<State> {
    fn seq(&self) -> Seq {
        self.seq
    }

    fn namespace(&self, scope: &Scope) -> Result<Option<NamespaceRow>, Error> {
        Ok(self.namespaces.get(scope).cloned())
    }

    fn namespaces(&self, org: Option<&str>) -> Result<Vec<NamespaceRow>, Error> {
        let asked = |row: &&NamespaceRow| org.is_none_or(|org| row.scope.org == org);
        Ok(self.namespaces.values().filter(asked).cloned().collect())
    }

    fn head(&self, scope: &Scope, source_uri: &str) -> Result<Option<Head>, Error> {
        Ok(self.heads.get(&(scope.clone(), source_uri.to_owned())).copied())
    }

    fn heads(
        &self,
        scope: &Scope,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<(String, Head)>, Error> {
        let all = self.heads.iter().filter(|((of, uri), _)| {
            of == scope && uri.starts_with(prefix) && after.is_none_or(|after| uri.as_str() > after)
        });
        Ok(page(all.map(|((_, uri), head)| (uri.clone(), *head)), limit))
    }

    fn version(&self, scope: &Scope, id: VersionId) -> Result<Option<Version>, Error> {
        Ok(self.versions.get(&(scope.clone(), id)).cloned())
    }

    fn revision(&self, scope: &Scope, source_uri: &str, revision: Revision) -> Result<Option<Version>, Error> {
        let asked = |version: &&Version| version.source_uri == source_uri && version.revision == revision;
        Ok(self.versions_of(scope).find(asked).cloned())
    }

    fn text(&self, scope: &Scope, id: VersionId) -> Result<Option<String>, Error> {
        Ok(self.texts.get(&self.holder(scope, id)).cloned())
    }

    fn sections(&self, scope: &Scope, version: VersionId) -> Result<Vec<Section>, Error> {
        Ok(self.outlines.get(&self.holder(scope, version)).cloned().unwrap_or_default())
    }

    fn timeline(
        &self,
        scope: &Scope,
        after: Option<TimelineKey>,
        include_superseded: bool,
        limit: usize,
    ) -> Result<Page<Version>, Error> {
        let key = |version: &Version| TimelineKey { ingested_at: version.ingested_at, version: version.id };
        let asked = |version: &&Version| {
            (include_superseded || version.is_live()) && after.is_none_or(|after| key(version) < after)
        };
        let mut all: Vec<_> = self.versions_of(scope).filter(asked).cloned().collect();
        all.sort_by_key(|version| std::cmp::Reverse(key(version)));
        Ok(page(all.into_iter(), limit))
    }

    fn chunk(&self, scope: &Scope, id: ChunkId) -> Result<Option<Chunk>, Error> {
        Ok(self.chunks.get(&(scope.clone(), id)).cloned())
    }

    fn chunks(&self, scope: &Scope, first: ChunkId, count: u32) -> Result<Vec<Chunk>, Error> {
        let end = ChunkId(first.0.saturating_add(u64::from(count)));
        let range = (scope.clone(), first)..(scope.clone(), end);
        Ok(self.chunks.range(range).map(|(_, chunk)| chunk.clone()).collect())
    }

    fn live_versions(&self, scope: &Scope, after: Option<VersionId>, limit: usize) -> Result<Page<Version>, Error> {
        let asked = |version: &&Version| version.is_live() && after.is_none_or(|after| version.id > after);
        Ok(page(self.versions_of(scope).filter(asked).cloned(), limit))
    }

    fn versions_with_content(&self, scope: &Scope, content: &Hash) -> Result<Vec<VersionId>, Error> {
        let asked = |version: &&Version| version.is_live() && version.content_hash == *content;
        Ok(self.versions_of(scope).filter(asked).map(|version| version.id).collect())
    }

    fn chunk_content_elsewhere(&self, scope: &Scope, content: &Hash, source_uri: &str) -> Result<bool, Error> {
        let elsewhere = self.versions_of(scope).filter(|version| version.is_live() && version.source_uri != source_uri);
        let mut ids = elsewhere.flat_map(Version::chunk_ids);
        Ok(ids.any(|id| self.chunks.get(&(scope.clone(), id)).is_some_and(|chunk| chunk.content_hash == *content)))
    }

    fn vector(&self, scope: &Scope, model: &str, input: &Hash) -> Result<Option<Vec<f32>>, Error> {
        Ok(self.vectors.get(&(scope.clone(), model.to_owned(), *input)).cloned())
    }

    fn vectors(&self, scope: &Scope, model: &str, inputs: &[Hash]) -> Result<Vec<Option<Vec<f32>>>, Error> {
        inputs.iter().map(|input| self.vector(scope, model, input)).collect()
    }

    fn changes(&self, scope: &Scope, after: Seq, limit: usize) -> Result<Page<ChangeEntry>, Error> {
        let from = Bound::Excluded((scope.clone(), after));
        let all = self.changes.range((from, Bound::Unbounded)).take_while(|((of, _), _)| of == scope);
        Ok(page(all.map(|(_, entry)| entry.clone()), limit))
    }

    fn blob(&self, scope: &Scope, hash: &BlobHash) -> Result<Option<BlobRow>, Error> {
        Ok(self.blobs.get(&(scope.clone(), *hash)).cloned())
    }

    fn blobs(&self, after: Option<(&Scope, &BlobHash)>, limit: usize) -> Result<Page<(Scope, BlobRow)>, Error> {
        let is_after = |(scope, hash): &(Scope, BlobHash)| after.is_none_or(|after| (scope, hash) > after);
        let all = self.blobs.iter().filter(|(key, _)| is_after(key));
        Ok(page(all.map(|((scope, _), row)| (scope.clone(), row.clone())), limit))
    }

    fn unnamed_blobs(&self, _: &mut dyn FnMut(String, u64)) -> Result<(), Error> {
        // There was no earlier run.
        Ok(())
    }

    fn record(&self, key: &str) -> Result<Option<Record>, Error> {
        Ok(self.records.get(key).cloned())
    }

    fn records(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Page<Record>, Error> {
        let asked =
            |record: &&Record| record.key.starts_with(prefix) && after.is_none_or(|after| record.key.as_str() > after);
        Ok(page(self.records.values().filter(asked).cloned(), limit))
    }
}

fn page<T>(mut all: impl Iterator<Item = T>, limit: usize) -> Page<T> {
    let items = all.by_ref().take(limit).collect();
    Page { items, more: all.next().is_some() }
}

struct Writer {
    blobs: Blobs,
    brought: Brought,
    scope: Scope,
    bytes: Vec<u8>,
}

impl BlobWriter for Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(BlobHash, u64), Error> {
        let Self { blobs, brought, scope, bytes } = *self;
        let (hash, size) = (Hash::of(&bytes), bytes.len() as u64);
        brought.lock().insert((scope.clone(), hash), Instant::now());
        blobs.lock().entry((scope, hash)).or_insert_with(|| bytes.into());
        Ok((hash, size))
    }
}

impl BlobReader for Cursor<Arc<[u8]>> {
    fn size(&self) -> u64 {
        self.get_ref().len() as u64
    }
}

mod erase;
mod rows;
