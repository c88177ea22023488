//! Erasing: rows go, and nothing that is kept names what they held.

use std::collections::{HashMap, HashSet};

use super::{Op, Planner, damaged, timeline_key};
use crate::change::Change;
use crate::codec::{self, Outline, VectorBlock, VectorPlace};
use crate::error::Error;
use crate::id::{ChunkId, Hash, Revision, Scope, VersionId};
use crate::keys;
use crate::record::{Cause, Chunk, Document, Head, Supersession, Timestamp, Version, VersionState};
use crate::redb::open::ERASED_KEY;
use crate::redb::tables::Table;

/// The tables whose rows belong to a namespace.
const OF_NAMESPACE: [Table; 17] = [
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
    Table::VectorBlocks,
    Table::VectorPlaces,
    Table::Supersessions,
    Table::Changes,
    Table::Blobs,
];

impl<'a> Planner<'a, '_> {
    pub(super) fn erase_namespace(&mut self, scope: &'a Scope) {
        self.note_erasure();
        self.namespaces.insert(scope, None);
        for table in OF_NAMESPACE {
            self.ops.push(Op::RemovePrefix(table, keys::scope(scope)));
        }
    }

    pub(super) fn erase_versions(
        &mut self,
        scope: &'a Scope,
        source_uri: &str,
        versions: &[VersionId],
        at: Timestamp,
    ) -> Result<(), Error> {
        self.touch(scope)?;
        let Some(head) = self.head(scope, source_uri)? else { return Ok(()) };
        let all = self.versions_at(scope, source_uri, head)?;
        let asked: HashSet<VersionId> = versions.iter().copied().collect();
        let (erased, kept): (Vec<Version>, Vec<Version>) =
            all.into_iter().filter(|version| !version.is_erased()).partition(|version| asked.contains(&version.id));
        if erased.is_empty() {
            return Ok(());
        }
        if head.live && asked.contains(&head.version) {
            self.retire(scope, head.version, Cause::Erasure, at)?;
        }
        self.note_erasure();
        self.give_up_contents(scope, &erased, &kept)?;
        self.change(scope, Change::Erased);
        if kept.is_empty() {
            return self.remove_address(scope, source_uri, head);
        }
        for version in &erased {
            self.empty(scope, version, at)?;
        }
        let live = head.live && !asked.contains(&head.version);
        self.put_head(scope, source_uri, Head { live, ..head })
    }

    /// Has the next compaction write the files anew.
    fn note_erasure(&mut self) {
        self.ops.push(Op::Put(Table::Meta, ERASED_KEY.to_vec(), Vec::new()));
    }

    /// Every version of a source address.
    fn versions_at(&mut self, scope: &Scope, source_uri: &str, head: Head) -> Result<Vec<Version>, Error> {
        let mut versions = Vec::new();
        for revision in 1..=head.revision.0 {
            let key = keys::revision(scope, source_uri, Revision(revision));
            let id = self.tables.get_raw(Table::Revisions, &key)?.and_then(|id| id.try_into().ok());
            let id = id.ok_or_else(|| damaged("revision", keys::printable(&key), "it is missing"))?;
            versions.push(self.version(scope, VersionId(u64::from_be_bytes(id)))?);
        }
        Ok(versions)
    }

    /// Removes the texts, outlines and chunks of the erased versions; those that a kept one shares become its own.
    fn give_up_contents(&mut self, scope: &Scope, erased: &[Version], kept: &[Version]) -> Result<(), Error> {
        // Of the kept versions that share chunks the latest, which comes last.
        let sharers: HashMap<ChunkId, &Version> = kept
            .iter()
            .filter(|version| version.chunk_count > 0)
            .map(|version| (version.first_chunk, version))
            .collect();
        for version in erased {
            let key = keys::version(scope, version.id);
            let sharer = sharers.get(&version.first_chunk).filter(|_| version.chunk_count > 0);
            let first: Option<Chunk> = self.tables.get(Table::Chunks, &keys::chunk(scope, version.first_chunk))?;
            let holds = version.chunk_count == 0 || first.is_some_and(|first| first.version == version.id);
            if !holds {
                continue;
            }
            if let Some(sharer) = sharer {
                self.hand_over(scope, version, sharer)?;
            } else {
                for id in version.chunk_ids() {
                    self.ops.push(Op::Remove(Table::Chunks, keys::chunk(scope, id)));
                }
            }
            self.ops.push(Op::Remove(Table::Texts, key.clone()));
            self.ops.push(Op::Remove(Table::Outlines, key));
        }
        Ok(())
    }

    /// Gives the text, the outline and the chunks that a version holds to an earlier one of the same content.
    fn hand_over(&mut self, scope: &Scope, from: &Version, to: &Version) -> Result<(), Error> {
        let (from_key, to_key) = (keys::version(scope, from.id), keys::version(scope, to.id));
        if let Some(text) = self.tables.get::<String>(Table::Texts, &from_key)? {
            self.put(Table::Texts, to_key.clone(), &text)?;
        }
        if let Some(outline) = self.tables.get::<Outline>(Table::Outlines, &from_key)? {
            self.put(Table::Outlines, to_key, &outline)?;
        }
        for id in from.chunk_ids() {
            let key = keys::chunk(scope, id);
            let chunk: Option<Chunk> = self.tables.get(Table::Chunks, &key)?;
            let chunk = chunk.ok_or_else(|| damaged("chunk", keys::printable(&key), "it is missing"))?;
            self.put(Table::Chunks, key, &Chunk { version: to.id, ..chunk })?;
        }
        Ok(())
    }

    /// Leaves of a version its number and its time.
    fn empty(&mut self, scope: &Scope, version: &Version, at: Timestamp) -> Result<(), Error> {
        let key = keys::version(scope, version.id);
        let supersession = Supersession { at, cause: Cause::Erasure, chunks: 0 };
        let emptied = Version {
            state: VersionState::Superseded(supersession),
            document: Document::default(),
            content_hash: Hash::of(b""),
            chars: 0,
            chunk_count: 0,
            section_count: 0,
            ..version.clone()
        };
        self.put(Table::Versions, key.clone(), &emptied)?;
        self.put(Table::Supersessions, key.clone(), &supersession)?;
        self.put(Table::Texts, key, &String::new())
    }

    /// Removes a source address whose versions are all erased.
    fn remove_address(&mut self, scope: &'a Scope, source_uri: &str, head: Head) -> Result<(), Error> {
        let all = self.versions_at(scope, source_uri, head)?;
        for version in &all {
            let key = keys::version(scope, version.id);
            for table in [Table::Versions, Table::Supersessions, Table::Texts, Table::Outlines] {
                self.ops.push(Op::Remove(table, key.clone()));
            }
            self.ops.push(Op::Remove(Table::Timeline, timeline_key(scope, version)));
            let revision = keys::revision(scope, source_uri, version.revision);
            self.ops.push(Op::Remove(Table::Revisions, revision));
        }
        self.ops.push(Op::Remove(Table::Heads, keys::source(scope, source_uri)));
        let row = self.namespace(scope)?;
        let versions = row.versions.checked_sub(all.len() as u64);
        row.versions = versions.ok_or_else(|| damaged("namespace", scope.to_string(), "its totals are too small"))?;
        Ok(())
    }

    pub(super) fn drop_unused_vectors(&mut self, scope: &'a Scope) -> Result<(), Error> {
        self.touch(scope)?;
        let of_scope = keys::scope(scope);
        let mut used = HashSet::new();
        self.tables.walk(Table::Chunks, &of_scope, None, &mut |key, value| {
            used.insert(codec::decode::<Chunk>(key, value)?.input_hash);
            Ok(true)
        })?;
        let mut stale: Vec<(Vec<u8>, VectorBlock)> = Vec::new();
        self.tables.walk(Table::VectorBlocks, &of_scope, None, &mut |key, value| {
            let block: VectorBlock = codec::decode(key, value)?;
            if block.inputs().any(|input| !used.contains(&input)) {
                stale.push((key.to_vec(), block));
            }
            Ok(true)
        })?;
        for (key, block) in stale {
            self.rewrite_block(key, &block, &used)?;
        }
        Ok(())
    }

    /// Writes a block again with the vectors of used inputs alone.
    fn rewrite_block(&mut self, key: Vec<u8>, block: &VectorBlock, used: &HashSet<Hash>) -> Result<(), Error> {
        let Some((model, number)) = key.split_last_chunk::<8>() else {
            return Err(damaged("vector block", keys::printable(&key), "its key is too short"));
        };
        let (model, number) = (model.to_vec(), u64::from_be_bytes(*number));
        let place = |input: &Hash| [&model[..], &input.0].concat();
        let all: Vec<(Hash, Vec<f32>)> = (0..).map_while(|at| block.get(at)).collect();
        let (kept, gone): (Vec<_>, Vec<_>) = all.into_iter().partition(|(input, _)| used.contains(input));
        for (input, _) in &gone {
            self.ops.push(Op::Remove(Table::VectorPlaces, place(input)));
        }
        if kept.is_empty() {
            self.ops.push(Op::Remove(Table::VectorBlocks, key));
            return Ok(());
        }
        let entries = kept.iter().map(|(input, vector)| (input, vector.as_slice()));
        self.put(Table::VectorBlocks, key, &VectorBlock::of(block.dim(), entries)?)?;
        for (at, (input, _)) in (0..).zip(&kept) {
            self.put(Table::VectorPlaces, place(input), &VectorPlace { block: number, at })?;
        }
        Ok(())
    }
}
