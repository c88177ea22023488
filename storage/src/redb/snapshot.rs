//! Reading: one moment of the main file.

use std::sync::Arc;

use super::Inner;
use super::commit::no_seq;
use super::open::SEQ_KEY;
use super::tables::{ReadTables, Table};
use crate::change::ChangeEntry;
use crate::codec::{self, Outline, Stored, StoredRecord, VectorBlock, VectorPlace};
use crate::error::Error;
use crate::id::{BlobHash, ChunkId, Hash, Revision, Scope, Seq, VersionId};
use crate::keys;
use crate::record::{BlobRow, Chunk, Head, NamespaceRow, Record, Section, Version};
use crate::store::{Page, Snapshot, TimelineKey};

/// A view of the main file; keeps the store's folder held for as long as it lives.
pub(super) struct RedbSnapshot {
    // Before `inner`, so that the transaction ends while its file is open.
    pub(super) tables: ReadTables,
    seq: Seq,
    inner: Arc<Inner>,
}

impl RedbSnapshot {
    pub(super) fn new(inner: &Arc<Inner>) -> Result<Self, Error> {
        let tables = ReadTables::new(inner.main.begin_read()?);
        let seq = tables.get(Table::Meta, SEQ_KEY)?.ok_or_else(no_seq)?;
        Ok(Self { tables, seq, inner: Arc::clone(inner) })
    }

    /// Refuses chunks with ids from `first` to before `end` among which one is missing.
    fn refuse_gaps(&self, scope: &Scope, first: ChunkId, end: u64, chunks: &[Chunk]) -> Result<(), Error> {
        let mut next = first.0;
        for chunk in chunks {
            // Versions need not follow each other, the chunks of one do.
            if chunk.id.0 != next && chunk.idx != 0 {
                return Err(missing(scope, next));
            }
            next = chunk.id.0.saturating_add(1);
        }
        let last = match chunks.last() {
            Some(chunk) => self.version(scope, chunk.version)?,
            None if first.0 < end => self.version_with(scope, first)?,
            None => None,
        };
        let ids = last.map_or(0..0, |version| {
            version.first_chunk.0..version.first_chunk.0.saturating_add(u64::from(version.chunk_count))
        });
        if next < end && ids.contains(&next) { Err(missing(scope, next)) } else { Ok(()) }
    }

    /// The version that has a chunk of that id, whether the chunk is there or not.
    fn version_with(&self, scope: &Scope, id: ChunkId) -> Result<Option<Version>, Error> {
        let of_commit = VersionId::new(id.seq(), 0).0;
        let after = of_commit.checked_sub(1).map(|before| keys::version(scope, VersionId(before)));
        let mut found = None;
        self.tables.walk(Table::Versions, &keys::scope(scope), after.as_deref(), &mut |key, value| {
            let version: Version = codec::decode(key, value)?;
            let has_it = version.first_chunk <= id && id.0 - version.first_chunk.0 < u64::from(version.chunk_count);
            let of_a_later_commit = version.id.seq() > id.seq();
            if has_it {
                found = Some(version);
            }
            Ok(!has_it && !of_a_later_commit)
        })?;
        Ok(found)
    }

    /// The later version that holds the text, the outline and the chunks of version `id`, which has none of its own:
    /// its chunks name it. `None` when there is no such version.
    pub(super) fn holder(&self, scope: &Scope, id: VersionId) -> Result<Option<Version>, Error> {
        let Some(version) = self.version(scope, id)?.filter(|version| version.chunk_count > 0) else { return Ok(None) };
        let Some(chunk) = self.chunk(scope, version.first_chunk)? else { return Ok(None) };
        Ok(self.version(scope, chunk.version)?.filter(|later| version.is_shared_by(later)))
    }

    /// What `table` holds of a version, or of the later one that holds its content for it.
    fn content<T: Stored>(&self, table: Table, scope: &Scope, id: VersionId) -> Result<Option<T>, Error> {
        let own = self.tables.get(table, &keys::version(scope, id))?;
        if own.is_some() {
            return Ok(own);
        }
        match self.holder(scope, id)? {
            Some(holder) => self.tables.get(table, &keys::version(scope, holder.id)),
            None => Ok(None),
        }
    }

    /// The version that an index row names.
    fn indexed(&self, scope: &Scope, id: Option<VersionId>, row: &[u8]) -> Result<Version, Error> {
        let version = id.map(|id| self.version(scope, id)).transpose()?.flatten();
        version.ok_or_else(|| dangling(row))
    }
}

impl Snapshot for RedbSnapshot {
    fn seq(&self) -> Seq {
        self.seq
    }

    fn namespace(&self, scope: &Scope) -> Result<Option<NamespaceRow>, Error> {
        self.tables.get(Table::Namespaces, &keys::scope(scope))
    }

    fn namespaces(&self, org: Option<&str>) -> Result<Vec<NamespaceRow>, Error> {
        let prefix = org.map(keys::org).unwrap_or_default();
        Ok(self.tables.page(Table::Namespaces, &prefix, None, usize::MAX, codec::decode)?.items)
    }

    fn head(&self, scope: &Scope, source_uri: &str) -> Result<Option<Head>, Error> {
        self.tables.get(Table::Heads, &keys::source(scope, source_uri))
    }

    fn heads(
        &self,
        scope: &Scope,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<(String, Head)>, Error> {
        let in_scope = keys::scope(scope).len();
        let after = after.map(|after| keys::source(scope, after));
        self.tables.page(Table::Heads, &keys::source(scope, prefix), after.as_deref(), limit, |key, value| {
            let source_uri = str::from_utf8(&key[in_scope..]).map_err(|_| not_text(key))?;
            Ok((source_uri.to_owned(), codec::decode(key, value)?))
        })
    }

    fn version(&self, scope: &Scope, id: VersionId) -> Result<Option<Version>, Error> {
        self.tables.get(Table::Versions, &keys::version(scope, id))
    }

    fn revision(&self, scope: &Scope, source_uri: &str, revision: Revision) -> Result<Option<Version>, Error> {
        let key = keys::revision(scope, source_uri, revision);
        let Some(row) = self.tables.get_raw(Table::Revisions, &key)? else { return Ok(None) };
        let version = self.indexed(scope, keys::number(&row).map(VersionId), &key)?;
        // The row bears no checksum; what it names does.
        if version.source_uri != source_uri || version.revision != revision {
            return Err(dangling(&key));
        }
        Ok(Some(version))
    }

    fn text(&self, scope: &Scope, id: VersionId) -> Result<Option<String>, Error> {
        self.content(Table::Texts, scope, id)
    }

    fn sections(&self, scope: &Scope, version: VersionId) -> Result<Vec<Section>, Error> {
        let outline: Option<Outline> = self.content(Table::Outlines, scope, version)?;
        Ok(outline.map(|Outline(sections)| sections).unwrap_or_default())
    }

    fn timeline(
        &self,
        scope: &Scope,
        after: Option<TimelineKey>,
        include_superseded: bool,
        limit: usize,
    ) -> Result<Page<Version>, Error> {
        let table = if include_superseded { Table::Timeline } else { Table::TimelineLive };
        let after = after.map(|after| keys::timeline(scope, after));
        self.tables.page(table, &keys::scope(scope), after.as_deref(), limit, |key, _| {
            let version = self.indexed(scope, keys::timeline_version(key), key)?;
            if include_superseded || version.is_live() { Ok(version) } else { Err(dangling(key)) }
        })
    }

    fn chunk(&self, scope: &Scope, id: ChunkId) -> Result<Option<Chunk>, Error> {
        self.tables.get(Table::Chunks, &keys::chunk(scope, id))
    }

    fn chunks(&self, scope: &Scope, first: ChunkId, count: u32) -> Result<Vec<Chunk>, Error> {
        let end = first.0.saturating_add(u64::from(count));
        let after = first.0.checked_sub(1).map(|before| keys::chunk(scope, ChunkId(before)));
        let mut chunks = Vec::new();
        self.tables.walk(Table::Chunks, &keys::scope(scope), after.as_deref(), &mut |key, value| {
            if keys::number(key).is_none_or(|id| id >= end) {
                return Ok(false);
            }
            chunks.push(codec::decode(key, value)?);
            Ok(true)
        })?;
        self.refuse_gaps(scope, first, end, &chunks)?;
        Ok(chunks)
    }

    fn live_versions(&self, scope: &Scope, after: Option<VersionId>, limit: usize) -> Result<Page<Version>, Error> {
        let after = after.map(|after| keys::version(scope, after));
        self.tables.page(Table::Live, &keys::scope(scope), after.as_deref(), limit, |key, _| {
            let version = self.indexed(scope, keys::number(key).map(VersionId), key)?;
            if version.is_live() { Ok(version) } else { Err(dangling(key)) }
        })
    }

    fn versions_with_content(&self, scope: &Scope, content: &Hash) -> Result<Vec<VersionId>, Error> {
        let prefix = keys::hash(scope, content);
        let page = self.tables.page(Table::Content, &prefix, None, usize::MAX, |key, _| {
            // The row bears no checksum; what it names does.
            let version = self.indexed(scope, keys::number(key).map(VersionId), key)?;
            if version.is_live() && version.content_hash == *content { Ok(version.id) } else { Err(dangling(key)) }
        })?;
        Ok(page.items)
    }

    fn chunk_content_elsewhere(&self, scope: &Scope, content: &Hash, source_uri: &str) -> Result<bool, Error> {
        // Only live versions have rows, and a source address has one live version at most: two rows settle it.
        let own = self.head(scope, source_uri)?.map(|head| head.version);
        let rows = self.tables.page(Table::ChunkContent, &keys::hash(scope, content), None, 2, |key, _| {
            let version = self.indexed(scope, keys::number(key).map(VersionId), key)?;
            if version.is_live() { Ok(Some(version.id)) } else { Err(dangling(key)) }
        })?;
        Ok(rows.items.iter().any(|version| *version != own))
    }

    fn vector(&self, scope: &Scope, model: &str, input: &Hash) -> Result<Option<Vec<f32>>, Error> {
        Ok(self.vectors(scope, model, std::slice::from_ref(input))?.pop().flatten())
    }

    fn vectors(&self, scope: &Scope, model: &str, inputs: &[Hash]) -> Result<Vec<Option<Vec<f32>>>, Error> {
        // Inputs that were embedded together are asked for together.
        let mut last: Option<(u64, VectorBlock)> = None;
        let mut vectors = Vec::with_capacity(inputs.len());
        for input in inputs {
            let key = keys::vector(scope, model, input);
            let Some(place) = self.tables.get::<VectorPlace>(Table::VectorPlaces, &key)? else {
                vectors.push(None);
                continue;
            };
            if last.as_ref().is_none_or(|(number, _)| *number != place.block) {
                let block = self.tables.get(Table::VectorBlocks, &keys::vector_block(scope, model, place.block))?;
                last = Some((place.block, block.ok_or_else(|| misplaced(&key))?));
            }
            let found = last.as_ref().and_then(|(_, block)| block.get(place.at)).filter(|(of, _)| of == input);
            vectors.push(Some(found.ok_or_else(|| misplaced(&key))?.1));
        }
        Ok(vectors)
    }

    fn changes(&self, scope: &Scope, after: Seq, limit: usize) -> Result<Page<ChangeEntry>, Error> {
        let after = keys::changes(scope, after);
        self.tables.page(Table::Changes, &keys::scope(scope), Some(&after), limit, codec::decode)
    }

    fn blob(&self, scope: &Scope, hash: &BlobHash) -> Result<Option<BlobRow>, Error> {
        self.tables.get(Table::Blobs, &keys::hash(scope, hash))
    }

    fn blobs(&self, after: Option<(&Scope, &BlobHash)>, limit: usize) -> Result<Page<(Scope, BlobRow)>, Error> {
        let after = after.map(|(scope, hash)| keys::hash(scope, hash));
        self.tables.page(Table::Blobs, &[], after.as_deref(), limit, |key, value| {
            let (scope, _) = keys::split(key).ok_or_else(|| not_text(key))?;
            Ok((scope, codec::decode(key, value)?))
        })
    }

    fn unnamed_blobs(&self, each: &mut dyn FnMut(String, u64)) -> Result<(), Error> {
        let mut is_named = |key: &[u8]| self.tables.contains(Table::Blobs, key);
        self.inner.blobs.each_unnamed(&mut is_named, &mut |key, stored| each(keys::hash_words(key), stored.size))
    }

    fn record(&self, key: &str) -> Result<Option<Record>, Error> {
        let found: Option<StoredRecord> = self.tables.get(Table::Records, key.as_bytes())?;
        Ok(found.map(|record| Record { key: key.into(), changed: record.changed, value: record.value }))
    }

    fn records(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Page<Record>, Error> {
        let after = after.map(str::as_bytes);
        self.tables.page(Table::Records, prefix.as_bytes(), after, limit, |key, value| {
            let record: StoredRecord = codec::decode(key, value)?;
            let key = str::from_utf8(key).map_err(|_| not_text(key))?;
            Ok(Record { key: key.into(), changed: record.changed, value: record.value })
        })
    }
}

fn dangling(row: &[u8]) -> Error {
    Error::Corrupt {
        what: "index row",
        key: keys::printable(row),
        detail: "it does not agree with the version that it names".into(),
    }
}

/// A vector is not where its place says.
pub(super) fn misplaced(place: &[u8]) -> Error {
    Error::Corrupt {
        what: "vector place",
        key: keys::printable(place),
        detail: "its block is missing or holds another vector there".into(),
    }
}

fn missing(scope: &Scope, id: u64) -> Error {
    Error::Corrupt {
        what: "chunk",
        key: keys::printable(&keys::chunk(scope, ChunkId(id))),
        detail: "it is missing".into(),
    }
}

fn not_text(key: &[u8]) -> Error {
    Error::Corrupt { what: "key", key: keys::printable(key), detail: "it is not UTF-8".into() }
}
