//! Why a document is not among the hits.

use loom_index::Filter;
use loom_storage::{Head, Scope, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::legs::{self, Known};
use super::{Found, Request, ranked_of};
use crate::context::Reading;
use crate::error::Error;

/// How deep the legs are asked when a document is looked for.
pub const WHY_NOT_DEPTH: usize = 10_000;

/// What became of a document in a search, in the addressed namespace.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "SearchWhyNot")]
pub struct WhyNot {
    /// The document.
    pub source_uri: String,
    /// `found`, `not_stored`, `deleted`, `empty`, `filtered`, `unembedded` (in a search by meaning alone), `no_match`,
    /// `demoted`, or `ranked_below`.
    pub reason: String,
    /// The reason as a sentence.
    pub detail: String,
    /// Its best place among the hits returned, from 1; null when it is not among them.
    pub hit: Option<u32>,
    /// The fields of the search that leave it out.
    pub filtered_by: Vec<String>,
    /// The best rank of its chunks in the lexical leg, from 1, among the first 10,000.
    pub lexical_rank: Option<u32>,
    /// The best rank of its chunks in the vector leg.
    pub vector_rank: Option<u32>,
    /// The best rank of its chunks in the exact-key leg.
    pub keys_rank: Option<u32>,
    /// The place of its best chunk among all candidates, from 1.
    pub place: Option<u32>,
    /// Chunks it has, and how many of them have a vector.
    pub chunks: u32,
    /// How many of its chunks have a vector under the model that is searched.
    pub embedded: u32,
}

/// Looks for the document that the search asks about in the addressed namespace.
pub fn look(
    reading: &Reading<'_>,
    scope: &Scope,
    request: &Request<'_>,
    known: &mut Known,
    found: &Found,
) -> Result<WhyNot, Error> {
    let source_uri = request.why_not;
    let mut why = WhyNot { source_uri: source_uri.to_owned(), ..WhyNot::default() };
    let at = found.hits.iter().position(|hit| hit.namespace == scope.namespace && hit.source_uri == source_uri);
    why.hit = at.and_then(|at| u32::try_from(at + 1).ok());
    let head: Option<Head> = reading.snapshot().head(scope, source_uri)?;
    let version = match head.filter(|head| head.live) {
        Some(head) => reading.snapshot().version(scope, head.version)?,
        None => None,
    };
    let Some(version) = version else {
        let (reason, detail) = match head {
            Some(_) => ("deleted", "its last version was deleted; knowledge.restore brings it back"),
            None => ("not_stored", "nothing was ever stored under this address in the namespace"),
        };
        return Ok(why.because(reason, detail));
    };
    why.chunks = version.chunk_count;
    if version.chunk_count == 0 {
        return Ok(why.because("empty", "the document has no text and no title to find it by"));
    }
    let mut skipped = Vec::new();
    let asked = legs::ask(reading, std::slice::from_ref(scope), request, WHY_NOT_DEPTH, known, &mut skipped)?;
    let Some(asked) = asked.first() else {
        return Ok(why.because("empty", "the namespace has no chunks"));
    };
    let embedded = asked.snapshot.vectors(scope, &asked.model.name, &inputs(asked, scope, &version)?)?;
    why.embedded = u32::try_from(embedded.iter().flatten().count()).unwrap_or(u32::MAX);
    why.filtered_by = filtered_by(reading, scope, request.filter, &version)?;
    if !why.filtered_by.is_empty() {
        let fields = why.filtered_by.join(", ");
        return Ok(why.because("filtered", &format!("these fields of the search leave it out: {fields}")));
    }
    let first = version.first_chunk.0;
    let own = |chunk: loom_storage::ChunkId| (first..first + u64::from(version.chunk_count)).contains(&chunk.0);
    let candidates: Vec<_> = asked.legs.candidates.iter().filter(|candidate| own(candidate.chunk)).collect();
    why.lexical_rank = candidates.iter().filter_map(|candidate| candidate.lexical_rank).min();
    why.vector_rank = candidates.iter().filter_map(|candidate| candidate.vector_rank).min();
    why.keys_rank = candidates.iter().filter_map(|candidate| candidate.names_rank).min();
    let ranked = ranked_of(reading, request, asked);
    let place = ranked.iter().position(|candidate| own(candidate.chunk));
    why.place = place.and_then(|place| u32::try_from(place + 1).ok());
    why.judged(asked, &version, place.map(|place| ranked[place].chunk), request)
}

impl WhyNot {
    fn because(mut self, reason: &str, detail: &str) -> Self {
        (self.reason, self.detail) = (reason.to_owned(), detail.to_owned());
        self
    }

    /// The reason of a document that the filters let through.
    fn judged(
        self,
        asked: &legs::Asked,
        version: &Version,
        best: Option<loom_storage::ChunkId>,
        request: &Request<'_>,
    ) -> Result<Self, Error> {
        if let Some(hit) = self.hit {
            return Ok(self.because("found", &format!("it is hit {hit}")));
        }
        let Some(best) = best else {
            if self.embedded == 0 && self.vector_rank.is_none() {
                let detail = "it holds no word of the query, and none of its chunks has a vector under the model yet";
                return Ok(self.because("unembedded", detail));
            }
            return Ok(self.because("no_match", "it is among the first 10,000 of no leg that was asked"));
        };
        let place = self.place.unwrap_or(0);
        let chunk = asked.snapshot.chunk(&asked.scope, best)?;
        if chunk.is_some_and(|chunk| chunk.noise) && place as usize <= request.reads() {
            let title = &version.document.title;
            let detail = format!(
                "its best passage was at place {place} and was moved below the hits close to the query, since its section \
                 is noise in {title:?}"
            );
            return Ok(self.because("demoted", &detail));
        }
        let detail =
            format!("its best passage is at place {place} of all candidates; the search returns {}", request.top_k);
        Ok(self.because("ranked_below", &detail))
    }
}

/// The fields of the filter that leave out every chunk of the version.
fn filtered_by(reading: &Reading<'_>, scope: &Scope, filter: &Filter, version: &Version) -> Result<Vec<String>, Error> {
    let projection = reading.projection(scope)?;
    let Some(view) = reading.views().of(&projection)? else { return Ok(Vec::new()) };
    let alone = |set: &dyn Fn(&mut Filter)| {
        let mut alone = Filter::default();
        set(&mut alone);
        alone
    };
    let fields: [(&str, Filter); 8] = [
        ("uri_prefix", alone(&|one| one.uri_prefixes.clone_from(&filter.uri_prefixes))),
        ("tags", alone(&|one| one.tags.clone_from(&filter.tags))),
        ("since_seconds", alone(&|one| one.ingested_from = filter.ingested_from)),
        ("session_ids", alone(&|one| one.session_ids.clone_from(&filter.session_ids))),
        ("source_classes", alone(&|one| one.source_classes.clone_from(&filter.source_classes))),
        ("formats", alone(&|one| one.formats.clone_from(&filter.formats))),
        ("block_types", alone(&|one| one.block_types.clone_from(&filter.block_types))),
        ("metadata", alone(&|one| one.metadata = filter.metadata.clone())),
    ];
    let leaves_out = |filter: &Filter| !view.serves(version, filter);
    Ok(fields.into_iter().filter(|(_, filter)| leaves_out(filter)).map(|(name, _)| name.to_owned()).collect())
}

fn inputs(asked: &legs::Asked, scope: &Scope, version: &Version) -> Result<Vec<loom_storage::Hash>, Error> {
    let chunks = asked.snapshot.chunks(scope, version.first_chunk, version.chunk_count)?;
    Ok(chunks.iter().map(|chunk| chunk.input_hash).collect())
}
