//! From a document as it is given to a version as it is stored: checked, cut, hashed, with its vectors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use loom_storage::{
    Batch, BlobRow, Chunk, ChunkId, Document, Hash, Head, NewChunk, NewVersion, Original, Place, Precondition, Scope,
    Snapshot, Version, VersionId, Write,
};
use serde_json::{Map, Value};

use crate::chunk::{self, Cut, Piece};
use crate::context::{Planning, Reading};
use crate::embed;
use crate::error::{Code, Error};
use crate::limits;
use crate::models::NamespaceModels;
use crate::noise;

/// A document as a call gives it.
#[derive(Clone, Debug)]
pub struct Incoming<'a> {
    /// The path of its fields in the input, such as `entries[3].`; empty at the top.
    pub at: String,
    /// The source address.
    pub source_uri: &'a str,
    /// The text.
    pub content: &'a str,
    /// The title, or empty.
    pub title: &'a str,
    /// The description, or empty.
    pub description: &'a str,
    /// The tags.
    pub tags: &'a [String],
    /// The metadata object.
    pub metadata: &'a Map<String, Value>,
    /// The original's bytes in base64.
    pub original_bytes_b64: Option<&'a str>,
    /// The original's file name, or empty.
    pub original_filename: &'a str,
    /// The original's media type, or empty.
    pub blob_content_type: &'a str,
    /// The writing agent, or empty.
    pub agent: &'a str,
    /// The session, or empty.
    pub session_id: &'a str,
    /// What the content is; `None`: the writer's own.
    pub source_class: Option<&'a str>,
}

/// The class of what a writer says itself.
pub const SOURCE_CLASS_DEFAULT: &str = "asserted";
/// What `source_class` may be.
const SOURCE_CLASSES: [&str; 4] = [SOURCE_CLASS_DEFAULT, "derived", "external", "imported"];

/// A document ready to be committed.
pub struct Prepared {
    /// The version to store.
    pub version: NewVersion,
    /// The head it was prepared over.
    pub head: Option<Head>,
    /// The catalogue row of a newly stored original.
    pub blob: Option<BlobRow>,
}

/// Checks and cuts a document.
pub fn prepare(planning: &Planning<'_>, scope: &Scope, incoming: &Incoming<'_>) -> Result<Prepared, Error> {
    check(planning, incoming)?;
    let (head, live) = current(planning, scope, incoming.source_uri)?;
    let cut = chunk::cut(incoming.content, planning.config().chunks);
    within_chunks_max(planning, &format!("{}content", incoming.at), &cut)?;
    let mut document = described(incoming, &cut)?;
    // Last of all that may refuse the call, so that a refused one stores no bytes.
    let (original, blob) = original(planning, scope, incoming, live.as_ref())?;
    planning.actor().clone_into(&mut document.actor);
    if let Some(live) = live.filter(|live| live.content_hash == Hash::of(incoming.content.as_bytes())) {
        // A re-save of the same text keeps its author.
        document.actor = live.document.actor;
        if incoming.source_class.is_none() {
            document.source_class = live.document.source_class;
        }
    }
    document.original = original;
    let version = version(planning, scope, incoming.source_uri, incoming.content, document, cut);
    Ok(Prepared { version, head, blob })
}

/// Rewrites a live text document with other fields: the same text, fresh chunks.
pub fn rewrite(
    planning: &Planning<'_>,
    scope: &Scope,
    head: Head,
    live: &Version,
    document: Document,
) -> Result<Prepared, Error> {
    let text =
        planning.snapshot().text(scope, live.id)?.ok_or_else(|| Error::internal("a live version has no text"))?;
    let cut = chunk::cut(&text, planning.config().chunks);
    within_chunks_max(planning, "source_uri", &cut)?;
    let version = version(planning, scope, &live.source_uri, &text, document, cut);
    Ok(Prepared { version, head: Some(head), blob: None })
}

/// Adds to a batch all that commits the prepared documents: guards, vectors, blobs, versions.
pub fn commit_into(
    planning: &Planning<'_>,
    batch: &mut Batch,
    scope: &Scope,
    prepared: Vec<Prepared>,
) -> Result<NamespaceModels, Error> {
    let inputs = inputs(prepared.iter().flat_map(|prepared| &prepared.version.chunks).map(|NewChunk(chunk)| chunk));
    let models = planning.embed_into(batch, scope, &inputs)?;
    for Prepared { version, head, blob } in prepared {
        batch.preconditions.push(head_unchanged(scope, &version.source_uri, head.as_ref()));
        batch.writes.extend(blob.map(|row| Write::PutBlob { scope: scope.clone(), row }));
        batch.writes.push(Write::PutVersion(Box::new(version)));
    }
    Ok(models)
}

/// What is embedded for chunks, under the hash that their vectors are kept by.
pub fn inputs<'a>(chunks: impl Iterator<Item = &'a Chunk>) -> Vec<(Hash, String)> {
    chunks.map(|chunk| (chunk.input_hash, embed::input(&chunk.context, &chunk.text))).collect()
}

/// The guard that a source address is as it was read.
pub fn head_unchanged(scope: &Scope, source_uri: &str, head: Option<&Head>) -> Precondition {
    Precondition::Head {
        scope: scope.clone(),
        source_uri: source_uri.to_owned(),
        changed: head.map(|head| head.changed),
    }
}

/// The version that a source address serves.
pub fn live_in(snapshot: &dyn Snapshot, scope: &Scope, source_uri: &str) -> Result<Option<Version>, Error> {
    match snapshot.head(scope, source_uri)?.filter(|head| head.live) {
        Some(head) => Ok(snapshot.version(scope, head.version)?),
        None => Ok(None),
    }
}

/// The head of a source address and the version it serves.
pub fn current(
    reading: &Reading<'_>,
    scope: &Scope,
    source_uri: &str,
) -> Result<(Option<Head>, Option<Version>), Error> {
    let head = reading.snapshot().head(scope, source_uri)?;
    let live = match head.filter(|head| head.live) {
        Some(head) => reading.snapshot().version(scope, head.version)?,
        None => None,
    };
    Ok((head, live))
}

fn check(planning: &Planning<'_>, incoming: &Incoming<'_>) -> Result<(), Error> {
    let at = |field: &str| format!("{}{field}", incoming.at);
    limits::source_uri(&at("source_uri"), incoming.source_uri)?;
    limits::content(&at("content"), incoming.content, planning.config().documents.content_bytes)?;
    limits::text(&at("title"), incoming.title, limits::TITLE_CHARS_MAX)?;
    limits::text(&at("description"), incoming.description, limits::DESCRIPTION_CHARS_MAX)?;
    for (field, value) in [
        ("original_filename", incoming.original_filename),
        ("blob_content_type", incoming.blob_content_type),
        ("agent", incoming.agent),
        ("session_id", incoming.session_id),
    ] {
        limits::text(&at(field), value, limits::LABEL_CHARS_MAX)?;
    }
    source_class(&at("source_class"), incoming.source_class)
}

/// Checks what a call says the content is.
pub fn source_class(field: &str, class: Option<&str>) -> Result<(), Error> {
    match class.filter(|class| !SOURCE_CLASSES.contains(class)) {
        None => Ok(()),
        Some(class) => {
            let message = format!("source_class must be one of {}; it is {class:?}", SOURCE_CLASSES.join(", "));
            Err(Error::invalid(field, message))
        }
    }
}

/// The document's fields: as the call gives them, else as the text's front matter does.
fn described(incoming: &Incoming<'_>, cut: &Cut) -> Result<Document, Error> {
    let at = |field: &str| format!("{}{field}", incoming.at);
    let front = cut.front_matter.as_ref();
    let or_front = |given: &str, front: Option<&String>, chars_max: usize| {
        let front =
            || front.map_or_else(String::new, |text| text.chars().filter(|c| *c != '\0').take(chars_max).collect());
        if given.is_empty() { front() } else { given.to_owned() }
    };
    let tags = if incoming.tags.is_empty() {
        // Front matter is the document's text: what does not fit a tag is left out rather than refused.
        let fitting = front.map_or(&[][..], |front| &front.tags).iter();
        let fitting: Vec<String> = fitting
            .filter(|tag| !tag.trim().is_empty() && limits::text("", tag, limits::TAG_CHARS_MAX).is_ok())
            .take(limits::TAGS_MAX)
            .cloned()
            .collect();
        limits::tags(&at("tags"), &fitting)?
    } else {
        limits::tags(&at("tags"), incoming.tags)?
    };
    Ok(Document {
        title: or_front(incoming.title, front.and_then(|front| front.title.as_ref()), limits::TITLE_CHARS_MAX),
        description: or_front(
            incoming.description,
            front.and_then(|front| front.description.as_ref()),
            limits::DESCRIPTION_CHARS_MAX,
        ),
        tags,
        metadata: limits::metadata(&at("metadata"), incoming.metadata)?,
        agent: incoming.agent.to_owned(),
        session_id: incoming.session_id.to_owned(),
        source_class: incoming.source_class.unwrap_or(SOURCE_CLASS_DEFAULT).to_owned(),
        ..Document::default()
    })
}

/// The original of the new version: the bytes given, else the live version's.
fn original(
    planning: &Planning<'_>,
    scope: &Scope,
    incoming: &Incoming<'_>,
    live: Option<&Version>,
) -> Result<(Option<Original>, Option<BlobRow>), Error> {
    let named = |given: &str, prior: &str| if given.is_empty() { prior.to_owned() } else { given.to_owned() };
    // Callers fill what is optional with an empty string: that must not replace a stored original by nothing.
    let Some(encoded) = incoming.original_bytes_b64.filter(|encoded| !encoded.is_empty()) else {
        let carried = live.and_then(|live| live.document.original.clone()).map(|prior| Original {
            filename: named(incoming.original_filename, &prior.filename),
            content_type: named(incoming.blob_content_type, &prior.content_type),
            ..prior
        });
        return Ok((carried, None));
    };
    let field = format!("{}original_bytes_b64", incoming.at);
    let bytes_max = planning.config().documents.original_bytes;
    let too_large = || {
        let message = format!("{field} is larger than LOOM_KNOWLEDGE_UPLOAD_MAX_BYTES ({bytes_max} bytes) allows");
        Error { field: Some(field.clone()), ..Error::new(Code::PayloadTooLarge, message) }
    };
    // The padding hides up to two bytes: what is surely too large is not even decoded.
    if encoded.len() / 4 * 3 > bytes_max.saturating_add(2) {
        return Err(too_large());
    }
    let bytes = STANDARD
        .decode(encoded)
        .map_err(|error| Error::invalid(field.clone(), format!("{field} is not base64: {error}")))?;
    if bytes.len() > bytes_max {
        return Err(too_large());
    }
    let row = planning.store_blob(scope, &bytes)?;
    let original = Original {
        blob: row.hash,
        size: row.size,
        filename: incoming.original_filename.to_owned(),
        content_type: incoming.blob_content_type.to_owned(),
    };
    Ok((Some(original), Some(row)))
}

fn version(
    planning: &Planning<'_>,
    scope: &Scope,
    source_uri: &str,
    text: &str,
    document: Document,
    cut: Cut,
) -> NewVersion {
    let mut noise = noise::labels(&document.title, text, &cut);
    let mut pieces = cut.pieces;
    if pieces.is_empty() && !(document.title.is_empty() && document.description.is_empty()) {
        pieces.push(Piece::without_text());
        noise.push(false);
    }
    let chunks = pieces.into_iter().zip(noise).map(|(piece, noise)| new_chunk(text, &document, piece, noise)).collect();
    NewVersion {
        scope: scope.clone(),
        doc_id: planning.fresh_doc_id(),
        source_uri: source_uri.to_owned(),
        ingested_at: planning.now(),
        document,
        text: text.to_owned(),
        sections: cut.sections,
        chunks,
    }
}

/// Refuses a document of too many chunks by the input field that it comes from.
fn within_chunks_max(planning: &Planning<'_>, field: &str, cut: &Cut) -> Result<(), Error> {
    let (chunks, chunks_max) = (cut.pieces.len(), planning.config().documents.chunks);
    if chunks <= chunks_max {
        return Ok(());
    }
    let message = format!(
        "the document is cut into {chunks} chunks; LOOM_KNOWLEDGE_MAX_CHUNKS allows {chunks_max}: split the document"
    );
    Err(Error { field: Some(field.into()), ..Error::new(Code::PayloadTooLarge, message) })
}

fn new_chunk(text: &str, document: &Document, piece: Piece, noise: bool) -> NewChunk {
    let Place { byte_start, byte_end, .. } = piece.place;
    let slice = usize::try_from(byte_start).ok().zip(usize::try_from(byte_end).ok());
    let passage = slice.and_then(|(start, end)| text.get(start..end)).expect("a piece is a slice of the text");
    let context =
        chunk::context(&document.title, &document.description, &piece.section_path, piece.table_header.as_deref());
    NewChunk(Chunk {
        id: ChunkId(0),
        version: VersionId(0),
        idx: 0,
        text: passage.to_owned(),
        content_hash: Hash::of(passage.as_bytes()),
        input_hash: embed::input_hash(&context, passage),
        context,
        section_path: piece.section_path,
        place: piece.place,
        noise,
        block_type: String::new(),
        keys: piece.keys,
        locator: String::new(),
    })
}
