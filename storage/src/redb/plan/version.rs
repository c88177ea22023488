//! Putting a version, with rows of its own or with those of the version before it.
//!
//! A version of the same content as the one before it at its source address takes over that one's chunks, text and
//! outline instead of storing them a second time. So the latest version always holds its own rows, and its chunks name
//! it; an earlier one finds what it shares through its first chunk (`RedbSnapshot::holder`).

use super::{Op, Planner, PreparedVersion, timeline_key};
use crate::batch::{CommittedVersion, NewVersion};
use crate::change::Change;
use crate::codec::Outline;
use crate::error::Error;
use crate::id::{ChunkId, Hash, Revision, Scope, VersionId};
use crate::keys;
use crate::record::{Cause, Chunk, Head, NamespaceRow, Version, VersionState};
use crate::redb::tables::Table;

impl<'a> Planner<'a, '_> {
    pub(super) fn put_version(&mut self, new: &'a NewVersion, prepared: &PreparedVersion) -> Result<(), Error> {
        let scope = &new.scope;
        self.touch(scope)?;
        let earlier = self.head(scope, &new.source_uri)?;
        let same = match earlier {
            Some(head) => self.same_content(head.version, new, prepared)?,
            None => None,
        };
        let chunks_retired = match earlier {
            Some(head) if head.live => self.retire(scope, head.version, Cause::Replace, new.ingested_at)?,
            _ => 0,
        };
        let id = VersionId::new(self.seq, self.committed.len() as u64);
        let chunk_count = u32::try_from(new.chunks.len()).expect("the batch was checked against ORDINALS_MAX");
        let first_chunk = match &same {
            Some(same) => same.first_chunk,
            None => self.new_chunks(chunk_count),
        };
        let revision = Revision(earlier.map_or(0, |head| head.revision.0) + 1);
        let version = Version {
            id,
            doc_id: new.doc_id,
            source_uri: new.source_uri.clone(),
            revision,
            ingested_at: new.ingested_at,
            state: VersionState::Live,
            document: new.document.clone(),
            content_hash: prepared.hash,
            chars: prepared.chars,
            first_chunk,
            chunk_count,
            section_count: prepared.section_count,
        };
        let row = self.namespaces.entry(scope).or_default().get_or_insert_with(|| NamespaceRow {
            scope: scope.clone(),
            created_at: new.ingested_at,
            last_seq: self.seq,
            documents: 0,
            chunks: 0,
            versions: 0,
        });
        row.versions += 1;

        self.put(Table::Versions, keys::version(scope, id), &version)?;
        let revision_key = keys::revision(scope, &new.source_uri, revision);
        self.ops.push(Op::Put(Table::Revisions, revision_key, id.0.to_be_bytes().to_vec()));
        self.ops.push(Op::Put(Table::Timeline, timeline_key(scope, &version), Vec::new()));
        if let Some(same) = &same {
            self.give_up_bodies(scope, same);
        }
        let hashes = self.put_contents(new, prepared, &version)?;
        self.serve(scope, &version, &hashes)?;
        self.change(scope, Change::Added(id));
        self.committed.push(CommittedVersion { version: id, revision, first_chunk, chunks_retired });
        self.put_head(scope, &new.source_uri, Head { version: id, revision, live: true, changed: self.seq })
    }

    /// The id of the first of `count` chunks that are created.
    fn new_chunks(&mut self, count: u32) -> ChunkId {
        let first = ChunkId::new(self.seq, if count == 0 { 0 } else { self.chunks });
        self.chunks += u64::from(count);
        first
    }

    /// Writes the text, the outline and the chunks of `version`, which is made of `new`. Returns the hashes of the chunks.
    fn put_contents(
        &mut self,
        new: &NewVersion,
        prepared: &PreparedVersion,
        version: &Version,
    ) -> Result<Vec<Hash>, Error> {
        let key = keys::version(&new.scope, version.id);
        if let Some(outline) = &prepared.outline {
            self.ops.push(Op::Put(Table::Outlines, key.clone(), outline.seal(&key)));
        }
        let sealed = prepared.text.seal(&key);
        self.ops.push(Op::Put(Table::Texts, key, sealed));
        let mut hashes = Vec::with_capacity(new.chunks.len());
        for ((idx, chunk_id), chunk) in (0..).zip(version.chunk_ids()).zip(&new.chunks) {
            let chunk = Chunk { id: chunk_id, version: version.id, idx, ..chunk.0.clone() };
            hashes.push(chunk.content_hash);
            self.put(Table::Chunks, keys::chunk(&new.scope, chunk_id), &chunk)?;
        }
        Ok(hashes)
    }

    /// The version `head` when it has chunks, and its text, outline and chunks are those of `new` but for the ids.
    fn same_content(
        &mut self,
        head: VersionId,
        new: &NewVersion,
        prepared: &PreparedVersion,
    ) -> Result<Option<Version>, Error> {
        let scope = &new.scope;
        let version = self.version(scope, head)?;
        let is_alike = !new.chunks.is_empty()
            && version.content_hash == prepared.hash
            && u64::from(version.chunk_count) == new.chunks.len() as u64
            && version.section_count == prepared.section_count;
        Ok((is_alike && self.same_outline(scope, head, new)? && self.same_chunks(&version, new)?).then_some(version))
    }

    fn same_outline(&mut self, scope: &Scope, head: VersionId, new: &NewVersion) -> Result<bool, Error> {
        if new.sections.is_empty() {
            return Ok(true);
        }
        let kept: Option<Outline> = self.tables.get(Table::Outlines, &keys::version(scope, head))?;
        Ok(kept.is_some_and(|Outline(sections)| sections == new.sections))
    }

    fn same_chunks(&mut self, version: &Version, new: &NewVersion) -> Result<bool, Error> {
        for (id, given) in version.chunk_ids().zip(&new.chunks) {
            let given = &given.0;
            let kept: Option<Chunk> = self.tables.get(Table::Chunks, &keys::chunk(&new.scope, id))?;
            let is_same = kept
                .filter(|kept| kept.version == version.id)
                .is_some_and(|kept| *given == Chunk { id: given.id, version: given.version, idx: given.idx, ..kept });
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes the text and the outline of a version whose content a later one has from now on.
    fn give_up_bodies(&mut self, scope: &Scope, version: &Version) {
        let key = keys::version(scope, version.id);
        if version.section_count > 0 {
            self.ops.push(Op::Remove(Table::Outlines, key.clone()));
        }
        self.ops.push(Op::Remove(Table::Texts, key));
    }
}
