//! Opening a namespace's indexes: taken from their files and brought up by the change log, or built from storage.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use loom_storage::{Change, Chunk, ChunkId, Scope, Seq, Snapshot, Version, VersionId};

use crate::error::Error;
use crate::progress::Progress;
use crate::projection::Model;
use crate::selection::ChunkRange;
use crate::text::{LexicalChunk, LexicalIndex, PENDING_CHUNKS_MAX};
use crate::vector::{Refused, VectorIndex};

/// How many changes are read from the log at a time.
pub(crate) const CHANGES_PAGE: usize = 256;

/// Makes `folder` the projections of one namespace of one store; what another left there is removed.
pub(crate) fn claim_folder(folder: &Path, identity: &str) -> Result<(), Error> {
    let owner = folder.join("namespace.txt");
    let io = |error: std::io::Error| Error::from_io("projection", &error);
    if fs::read_to_string(&owner).is_ok_and(|found| found == identity) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(io)?;
    }
    fs::create_dir_all(folder).map_err(io)?;
    fs::write(&owner, identity).map_err(io)
}

pub(crate) fn vector_folder(folder: &Path, model: &Model) -> PathBuf {
    folder.join("vectors").join(crate::projections::file_name(&model.name))
}

/// Deletes the vector indexes of all models but `model`: one that is to serve again is built from the vectors in storage.
pub(crate) fn keep_model(folder: &Path, model: &Model) -> Result<(), Error> {
    let kept = vector_folder(folder, model);
    let others = match fs::read_dir(folder.join("vectors")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| Error::from_io("vector", &error))?,
    };
    for other in others {
        let other = other.map_err(|error| Error::from_io("vector", &error))?.path();
        if other != kept {
            wipe(&other)?;
        }
    }
    Ok(())
}

pub(crate) fn open_lexical(
    folder: &Path,
    scope: &Scope,
    snapshot: &dyn Snapshot,
    last: Seq,
    progress: &Progress,
) -> Result<LexicalIndex, Error> {
    let opened = LexicalIndex::open(folder)
        .and_then(|(index, watermark)| check_watermark(index, watermark, last))
        .and_then(|opened| check_erasures(opened, scope, snapshot));
    let (mut index, watermark) = match opened {
        Err(Error::Rebuild { detail, .. }) => {
            tracing::warn!(%scope, detail, "rebuilding the lexical projection");
            wipe(folder)?;
            LexicalIndex::open(folder)?
        }
        opened => opened?,
    };
    if watermark == Seq(0) {
        if index.statistics().segment_chunks > 0 {
            // A build was cut off. What it wrote is of a moment that nothing names any more.
            index = LexicalIndex::create(folder)?;
        }
        for version in progress.live_versions(snapshot, scope) {
            let version = version?;
            index.add(version.id, &lexical_chunks(&chunks_of(scope, snapshot, &version)?));
            progress.add(version.chunk_count);
            if index.pending_chunks() >= PENDING_CHUNKS_MAX
                && let Some(job) = index.freeze(Seq(0))
            {
                let flushed = job.run()?;
                index.install(flushed);
            }
        }
    } else {
        replay(scope, snapshot, watermark, |version, chunks| {
            progress.go_on()?;
            if !version.is_live() {
                index.remove(version.id, &lexical_chunks(chunks));
            } else if !index.contains(version.id) {
                index.add(version.id, &lexical_chunks(chunks));
            }
            Ok(())
        })?;
    }
    Ok(index)
}

pub(crate) fn open_vectors(
    folder: &Path,
    scope: &Scope,
    snapshot: &dyn Snapshot,
    last: Seq,
    model: &Model,
    progress: &Progress,
) -> Result<VectorIndex, Error> {
    let open = || VectorIndex::open(folder, &model.name, model.dim);
    let opened = open()
        .and_then(|(index, watermark)| check_watermark(index, watermark, last))
        .and_then(|opened| check_erasures(opened, scope, snapshot));
    let (mut index, watermark) = match opened {
        Err(Error::Rebuild { detail, .. }) => {
            tracing::warn!(%scope, detail, "rebuilding the vector projection");
            wipe(folder)?;
            open()?
        }
        opened => opened?,
    };
    if watermark == Seq(0) {
        for version in progress.live_versions(snapshot, scope) {
            let version = version?;
            add_vectors(&mut index, scope, snapshot, model, &chunks_of(scope, snapshot, &version)?)?;
            progress.add(version.chunk_count);
        }
    } else {
        replay(scope, snapshot, watermark, |version, chunks| {
            progress.go_on()?;
            if version.is_live() {
                add_vectors(&mut index, scope, snapshot, model, chunks)
            } else {
                index.remove(ChunkRange { first: version.first_chunk, count: version.chunk_count });
                Ok(())
            }
        })?;
    }
    Ok(index)
}

/// Refuses an index that follows versions which were erased since.
fn check_erasures<T>(opened: (T, Seq), scope: &Scope, snapshot: &dyn Snapshot) -> Result<(T, Seq), Error> {
    let mut after = opened.1;
    while after > Seq(0) {
        let page = snapshot.changes(scope, after, CHANGES_PAGE)?;
        if page.items.iter().flat_map(|entry| &entry.changes).any(|change| *change == Change::Erased) {
            return Err(erased());
        }
        match page.items.last() {
            Some(last) if page.more => after = last.seq,
            _ => break,
        }
    }
    Ok(opened)
}

fn check_watermark<T>(index: T, watermark: Seq, last: Seq) -> Result<(T, Seq), Error> {
    if watermark > last {
        return Err(Error::Rebuild {
            what: "namespace",
            detail: format!("it has followed commit {}, the store ends at {}", watermark.0, last.0),
        });
    }
    Ok((index, watermark))
}

fn wipe(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::from_io("projection", &error)),
        _ => Ok(()),
    }
}

/// Why a projection cannot follow an erasure: it holds what nobody can tell it any more.
pub(crate) fn erased() -> Error {
    Error::Rebuild { what: "namespace", detail: "versions that it follows were erased".into() }
}

/// Visits each version that a change after `since` touched, once, as the snapshot has it, in order of id: of versions with
/// the same chunks the one that may be live comes last.
pub(crate) fn replay(
    scope: &Scope,
    snapshot: &dyn Snapshot,
    since: Seq,
    mut visit: impl FnMut(&Version, &[Chunk]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut touched: BTreeSet<VersionId> = BTreeSet::new();
    let mut after = since;
    loop {
        let page = snapshot.changes(scope, after, CHANGES_PAGE)?;
        for change in page.items.iter().flat_map(|entry| &entry.changes) {
            match change {
                Change::Added(id) | Change::Retired(id) | Change::Restored(id) => {
                    touched.insert(*id);
                }
                Change::Edited(_) | Change::ModelSwitched(_) | Change::Erased => {}
            }
        }
        match page.items.last() {
            Some(last) if page.more => after = last.seq,
            _ => break,
        }
    }
    for id in touched {
        if let Some(version) = snapshot.version(scope, id)? {
            let chunks = chunks_of(scope, snapshot, &version)?;
            visit(&version, &chunks)?;
        }
    }
    Ok(())
}

pub(crate) fn chunks_of(scope: &Scope, snapshot: &dyn Snapshot, version: &Version) -> Result<Vec<Chunk>, Error> {
    Ok(snapshot.chunks(scope, version.first_chunk, version.chunk_count)?)
}

pub(crate) fn block_types(scope: &Scope, snapshot: &dyn Snapshot, version: &Version) -> Result<Vec<String>, Error> {
    if version.document.format.is_empty() {
        return Ok(Vec::new());
    }
    Ok(chunks_of(scope, snapshot, version)?.into_iter().map(|chunk| chunk.block_type).collect())
}

pub(crate) fn lexical_chunks(chunks: &[Chunk]) -> Vec<LexicalChunk<'_>> {
    chunks
        .iter()
        .map(|chunk| LexicalChunk { id: chunk.id, context: &chunk.context, text: &chunk.text, names: &chunk.keys })
        .collect()
}

pub(crate) fn add_vectors(
    index: &mut VectorIndex,
    scope: &Scope,
    snapshot: &dyn Snapshot,
    model: &Model,
    chunks: &[Chunk],
) -> Result<(), Error> {
    let inputs: Vec<_> = chunks.iter().map(|chunk| chunk.input_hash).collect();
    put_vectors(index, chunks.iter().map(|chunk| chunk.id), &snapshot.vectors(scope, &model.name, &inputs)?)
}

/// Gives the chunks their vectors, those that have one.
pub(crate) fn put_vectors(
    index: &mut VectorIndex,
    chunks: impl Iterator<Item = ChunkId>,
    vectors: &[Option<Vec<f32>>],
) -> Result<(), Error> {
    for (chunk, vector) in chunks.zip(vectors) {
        if let Some(vector) = vector {
            match index.add(chunk, vector) {
                // A text without a known word has the zero vector: it is found by its words alone.
                Ok(()) | Err(Refused::NoDirection) => {}
                Err(refused) => return Err(Error::Rebuild { what: "vector", detail: refused.to_string() }),
            }
        }
    }
    Ok(())
}
