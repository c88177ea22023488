//! The documents: one pass over every version.

use loom_extract::contract::Coverage;
use loom_storage::{Hash, Scope, TimelineKey, Version};
use serde_json::{Map, Value};

use super::ingests::Ingests;
use super::shapes::{ChunkTotals, DocumentChunks, DocumentTotals, ExtractionTotals, InspectDocument, ModelChunks};
use crate::clock::rfc3339;
use crate::context::Reading;
use crate::error::Error;

/// Versions read at a time.
const PAGE: usize = 1_000;
/// Vectors looked for at a time.
const VECTORS_PAGE: usize = 512;

/// A document that a check found.
pub struct Found {
    pub source_uri: String,
    pub is_extracted: bool,
}

/// What a pass over the documents found.
#[derive(Default)]
pub struct Documents {
    pub totals: DocumentTotals,
    pub chunks: ChunkTotals,
    pub extraction: ExtractionTotals,
    /// The newest live ones.
    pub listed: Vec<Version>,
    /// Live documents without a passage.
    pub without_chunks: Vec<Found>,
    /// Live documents with passages that lack a vector, and how many passages those are.
    pub unembedded: Vec<Found>,
    pub unembedded_chunks: u64,
    /// Live documents of which not everything was extracted.
    pub incomplete: Vec<Found>,
}

impl Documents {
    pub fn read(reading: &Reading<'_>, scope: &Scope, samples: usize) -> Result<Self, Error> {
        let mut documents = Self::default();
        let models = reading.models(scope)?;
        documents.chunks.embedder_model.clone_from(&models.serving.name);
        let names: Vec<String> =
            std::iter::once(&models.serving).chain(&models.building).map(|model| model.name.clone()).collect();
        let mut with_vector = vec![0; names.len()];
        let mut after: Option<TimelineKey> = None;
        loop {
            let page = reading.snapshot().timeline(scope, after, true, PAGE)?;
            after = page.items.last().map(|last| TimelineKey { ingested_at: last.ingested_at, version: last.id });
            for version in page.items {
                documents.count(reading, scope, &version)?;
                if version.is_live() {
                    let inputs = inputs(reading, scope, &version)?;
                    let mut serving = 0;
                    for (at, (model, count)) in names.iter().zip(&mut with_vector).enumerate() {
                        let embedded = embedded(reading, scope, model, &inputs)?;
                        *count += embedded;
                        if at == 0 {
                            serving = embedded;
                        }
                    }
                    documents.look(&version, inputs.len() as u64, serving);
                    if documents.listed.len() < samples {
                        documents.listed.push(version);
                    }
                }
            }
            reading.check_deadline()?;
            if !page.more {
                break;
            }
        }
        let live = documents.chunks.live;
        documents.chunks.searchable = with_vector[0];
        let by_model = names.into_iter().zip(with_vector);
        documents.chunks.by_model =
            by_model.map(|(model, with_vector)| ModelChunks { model, chunks: live, with_vector }).collect();
        Ok(documents)
    }

    /// Counts a version in the totals.
    fn count(&mut self, reading: &Reading<'_>, scope: &Scope, version: &Version) -> Result<(), Error> {
        let totals = &mut self.totals;
        let format = if version.document.format.is_empty() { "text" } else { &version.document.format };
        if version.is_live() {
            totals.live += 1;
            totals.by_format.entry(format.to_owned()).or_default().live += 1;
            let scheme = version.source_uri.split_once("://").map_or("none", |(scheme, _)| scheme);
            *totals.by_scheme.entry(scheme.to_owned()).or_default() += 1;
            totals.newest_ingested_at.get_or_insert_with(|| rfc3339(version.ingested_at));
            totals.earlier_revisions += version.revision.0.saturating_sub(1);
            self.chunks.live += u64::from(version.chunk_count);
            return Ok(());
        }
        totals.retired_versions += 1;
        let head = reading.snapshot().head(scope, &version.source_uri)?;
        if head.is_some_and(|head| head.version == version.id) {
            totals.deleted += 1;
            totals.by_format.entry(format.to_owned()).or_default().deleted += 1;
            totals.earlier_revisions += version.revision.0.saturating_sub(1);
        }
        Ok(())
    }

    /// Looks for what is wrong with a live document.
    fn look(&mut self, version: &Version, chunks: u64, embedded: u64) {
        let found =
            || Found { source_uri: version.source_uri.clone(), is_extracted: !version.document.format.is_empty() };
        if chunks == 0 {
            self.without_chunks.push(found());
        }
        if embedded < chunks {
            self.unembedded_chunks += chunks - embedded;
            self.unembedded.push(found());
        }
        if version.document.format.is_empty() {
            return;
        }
        self.extraction.documents += 1;
        let Ok(coverage) = serde_json::from_str::<Coverage>(&version.document.coverage) else { return };
        for lost in &coverage.lost {
            *self.extraction.lost.entry(lost.clone()).or_default() += 1;
        }
        if !coverage.is_complete() {
            self.extraction.incomplete += 1;
            self.incomplete.push(found());
        }
    }
}

/// The embedder's inputs of a version's passages.
fn inputs(reading: &Reading<'_>, scope: &Scope, version: &Version) -> Result<Vec<Hash>, Error> {
    let chunks = reading.snapshot().chunks(scope, version.first_chunk, version.chunk_count)?;
    Ok(chunks.iter().map(|chunk| chunk.input_hash).collect())
}

/// How many of the inputs have a vector under a model.
fn embedded(reading: &Reading<'_>, scope: &Scope, model: &str, inputs: &[Hash]) -> Result<u64, Error> {
    let mut count = 0;
    for some in inputs.chunks(VECTORS_PAGE) {
        count += reading.snapshot().vectors(scope, model, some)?.iter().flatten().count() as u64;
    }
    Ok(count)
}

/// A live document as the report lists it.
pub fn shown(
    reading: &Reading<'_>,
    scope: &Scope,
    version: &Version,
    ingests: &Ingests,
) -> Result<InspectDocument, Error> {
    let inputs = inputs(reading, scope, version)?;
    let live = inputs.len() as u64;
    let model = reading.serving_model(scope)?;
    let searchable = embedded(reading, scope, &model, &inputs)?;
    let extraction: Option<Map<String, Value>> = serde_json::from_str(&version.document.coverage).ok();
    Ok(InspectDocument {
        source_uri: version.source_uri.clone(),
        title: version.document.title.clone(),
        doc_id: version.doc_id.to_string(),
        revision: version.revision.0,
        ingestion_id: ingests.published(&version.source_uri, version.revision.0).unwrap_or_default(),
        retired_versions: version.revision.0.saturating_sub(1),
        chunks: DocumentChunks {
            live,
            searchable,
            unembedded: live - searchable,
            other_model: 0,
            versions: u64::from(live > 0),
            avg_chars: version.chars.checked_div(live).unwrap_or(0),
        },
        decisions: None,
        extraction,
        jobs: ingests.of(&version.source_uri, Some(version.ingested_at)),
    })
}
