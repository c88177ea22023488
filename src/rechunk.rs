//! Cutting documents again: after a change of the chunk settings, of the noise rules or of what counts as a name.

use loom_storage::{Batch, Chunk, NewChunk, Scope, Version};
use serde::Serialize;

use crate::access::Caller;
use crate::deadline::Deadline;
use crate::disk;
use crate::engine::Engine;
use crate::error::{Code, Error};
use crate::ingest;
use crate::op::Kind;

/// What cutting a namespace's documents again came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rechunked {
    /// Live documents looked at.
    pub documents: u64,
    /// Those whose chunks would be others.
    pub changed: Vec<String>,
    /// Those of them that were rewritten.
    pub rewritten: u64,
    /// Those that a write landed over since they were read; they keep that write.
    pub failed: Vec<String>,
    /// Extracted files, which are left as they are.
    pub extracted: u64,
}

/// How far it has come: documents done, and all of them.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

impl Engine {
    /// Cuts the live documents of a namespace again, or the one at `source_uri`, and says which would have other chunks;
    /// with `apply` these are rewritten as their next revisions, one commit each.
    ///
    /// An extracted file keeps its chunks: it would become a text.
    pub fn rechunk(
        &self,
        caller: &Caller,
        scope: &Scope,
        source_uri: Option<&str>,
        apply: bool,
        progress: Progress<'_>,
    ) -> Result<Rechunked, Error> {
        self.admit_operator(caller)?;
        let documents = self.live(caller, scope, source_uri)?;
        let mut rechunked = Rechunked::default();
        for version in &documents {
            self.rechunk_one(caller, scope, version, apply, &mut rechunked)?;
            rechunked.documents += 1;
            progress(rechunked.documents, documents.len() as u64);
        }
        Ok(rechunked)
    }

    /// Builds what is searched of a namespace anew from what is stored, and waits for it.
    pub fn rebuild_index(&self, caller: &Caller, scope: &Scope) -> Result<(), Error> {
        self.admit_operator(caller)?;
        self.inner().projections.discard(scope)?;
        let reading = self.reading(caller, Deadline::of(Kind::Write, self.config()))?;
        if reading.snapshot().namespace(scope)?.is_some() {
            reading.projection(scope)?;
        }
        Ok(())
    }

    fn live(&self, caller: &Caller, scope: &Scope, source_uri: Option<&str>) -> Result<Vec<Version>, Error> {
        let reading = self.reading(caller, Deadline::of(Kind::Write, self.config()))?;
        let Some(source_uri) = source_uri else {
            return loom_storage::live_versions(reading.snapshot(), scope)
                .map(|version| version.map_err(Error::from))
                .collect();
        };
        let (_, live) = ingest::current(&reading, scope, source_uri)?;
        let live = live.ok_or_else(|| Error::new(Code::NotFound, format!("nothing is live at {source_uri:?}")))?;
        Ok(vec![live])
    }

    fn rechunk_one(
        &self,
        caller: &Caller,
        scope: &Scope,
        version: &Version,
        apply: bool,
        rechunked: &mut Rechunked,
    ) -> Result<(), Error> {
        let planning = self.planning(caller, Deadline::of(Kind::Write, self.config()))?;
        let (head, live) = ingest::current(&planning, scope, &version.source_uri)?;
        let (Some(head), Some(live)) = (head, live.filter(|live| live.id == version.id)) else {
            // Deleted or replaced meanwhile: its chunks are new, or nobody's.
            return Ok(());
        };
        if !live.document.format.is_empty() {
            rechunked.extracted += 1;
            return Ok(());
        }
        let chunks = planning.snapshot().chunks(scope, live.first_chunk, live.chunk_count)?;
        let document = live.document.clone();
        let prepared = ingest::rewrite(&planning, scope, head, &live, document)?;
        let news = prepared.version.chunks.iter().map(|NewChunk(chunk)| chunk);
        if chunks.iter().map(facts).eq(news.map(facts)) {
            return Ok(());
        }
        rechunked.changed.push(version.source_uri.clone());
        if !apply {
            return Ok(());
        }
        let mut batch = Batch::default();
        ingest::commit_into(&planning, &mut batch, scope, vec![prepared])?;
        if let Some(bytes) = disk::bytes(&batch) {
            self.inner().disk.admit(bytes)?;
        }
        match self.commit(batch) {
            Ok(_) => rechunked.rewritten += 1,
            Err(loom_storage::Error::Conflict { .. }) => rechunked.failed.push(version.source_uri.clone()),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// What two chunks must agree in to be the same.
fn facts(chunk: &Chunk) -> impl PartialEq + '_ {
    (&chunk.text, &chunk.context, &chunk.section_path, chunk.place, chunk.noise, &chunk.keys)
}
