//! Erasing, as plain as the contract allows.

use super::State;
use crate::change::Change;
use crate::id::{Hash, Scope, VersionId};
use crate::record::{Cause, Document, Head, Supersession, Timestamp, Version, VersionState};

impl State {
    pub(super) fn erase_namespace(&mut self, scope: &Scope) {
        self.namespaces.remove(scope);
        self.heads.retain(|(of, _), _| of != scope);
        self.versions.retain(|(of, _), _| of != scope);
        self.texts.retain(|(of, _), _| of != scope);
        self.outlines.retain(|(of, _), _| of != scope);
        self.chunks.retain(|(of, _), _| of != scope);
        self.vectors.retain(|(of, _, _), _| of != scope);
        self.changes.retain(|(of, _), _| of != scope);
        self.blobs.retain(|(of, _), _| of != scope);
    }

    pub(super) fn erase_versions(&mut self, scope: &Scope, source_uri: &str, asked: &[VersionId], at: Timestamp) {
        let Some(head) = self.heads.get(&(scope.clone(), source_uri.to_owned())).copied() else { return };
        let all: Vec<Version> =
            self.versions_of(scope).filter(|version| version.source_uri == source_uri).cloned().collect();
        let (empty, full): (Vec<&Version>, Vec<&Version>) = all.iter().partition(|version| version.is_erased());
        let (erased, kept): (Vec<&Version>, Vec<&Version>) =
            full.into_iter().partition(|version| asked.contains(&version.id));
        if erased.is_empty() {
            return;
        }
        for version in &erased {
            self.forget(scope, version, &kept);
        }
        if head.live && asked.contains(&head.version) {
            self.change(scope, Change::Retired(head.version));
        }
        if kept.is_empty() {
            for version in erased.iter().chain(&empty) {
                self.versions.remove(&(scope.clone(), version.id));
                self.texts.remove(&(scope.clone(), version.id));
            }
            self.heads.remove(&(scope.clone(), source_uri.to_owned()));
        } else {
            for version in &erased {
                let supersession = Supersession { at, cause: Cause::Erasure, chunks: 0 };
                let emptied = Version {
                    state: VersionState::Superseded(supersession),
                    document: Document::default(),
                    content_hash: Hash::of(b""),
                    chars: 0,
                    chunk_count: 0,
                    section_count: 0,
                    ..(*version).clone()
                };
                self.versions.insert((scope.clone(), version.id), emptied);
                self.texts.insert((scope.clone(), version.id), String::new());
            }
            let live = head.live && !asked.contains(&head.version);
            self.put_head(scope, source_uri, Head { live, ..head });
        }
        self.change(scope, Change::Erased);
    }

    pub(super) fn drop_unused_vectors(&mut self, scope: &Scope) {
        let chunks = self.chunks.iter().filter(|((of, _), _)| of == scope);
        let used: Vec<Hash> = chunks.map(|(_, chunk)| chunk.input_hash).collect();
        self.vectors.retain(|(of, _, input), _| of != scope || used.contains(input));
        self.touch(scope);
    }

    /// Where the text and the outline of a version are: with the latest that has its chunks.
    pub(super) fn holder(&self, scope: &Scope, id: VersionId) -> (Scope, VersionId) {
        let version = self.versions.get(&(scope.clone(), id)).filter(|version| version.chunk_count > 0);
        let chunk = version.and_then(|version| self.chunks.get(&(scope.clone(), version.first_chunk)));
        (scope.clone(), chunk.map_or(id, |chunk| chunk.version))
    }

    /// Removes what only this version holds, and gives the rest to the latest kept version of the same chunks.
    fn forget(&mut self, scope: &Scope, version: &Version, kept: &[&Version]) {
        let key = (scope.clone(), version.id);
        if self.holder(scope, version.id) != key {
            return;
        }
        let (text, outline) = (self.texts.remove(&key), self.outlines.remove(&key));
        let is_heir = |other: &&&Version| {
            version.chunk_count > 0 && other.chunk_count > 0 && other.first_chunk == version.first_chunk
        };
        let Some(heir) = kept.iter().filter(is_heir).map(|heir| heir.id).max() else {
            for id in version.chunk_ids() {
                self.chunks.remove(&(scope.clone(), id));
            }
            return;
        };
        for id in version.chunk_ids() {
            self.chunks.get_mut(&(scope.clone(), id)).expect("a version has its chunks").version = heir;
        }
        self.texts.extend(text.map(|text| ((scope.clone(), heir), text)));
        self.outlines.extend(outline.map(|outline| ((scope.clone(), heir), outline)));
    }
}
