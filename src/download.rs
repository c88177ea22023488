//! A document as a file: its stored original, or its text as Markdown.

use std::io::{Cursor, Read, Seek};

use loom_storage::Hash;

use crate::access::Caller;
use crate::context::Reading;
use crate::deadline::Deadline;
use crate::engine::Engine;
use crate::error::{Code, Error};
use crate::ingest;
use crate::limits;
use crate::op::{Kind, Role};

/// Bytes that can be read from any position.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// Where a download's bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownloadSource {
    /// The stored original.
    Blob,
    /// The document's text.
    Text,
}

impl DownloadSource {
    /// `blob` or `text`, as the `X-Loom-Download-Source` header says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Text => "text",
        }
    }
}

/// A document as a file.
pub struct Download {
    /// Where the bytes come from.
    pub source: DownloadSource,
    /// A name for the file.
    pub filename: String,
    /// Its media type; empty when it is not known.
    pub content_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Hex SHA-256 of the bytes.
    pub etag: String,
    /// The bytes.
    pub body: Box<dyn ReadSeek>,
}

impl Engine {
    /// The live document's original, or its text as Markdown when it has none. An empty `org` or `namespace` is the
    /// configured one. [`Code::NotFound`] when no such document is live, [`Code::BlobGone`] when the original's
    /// bytes are no longer stored.
    pub fn download(&self, caller: &Caller, org: &str, namespace: &str, source_uri: &str) -> Result<Download, Error> {
        let config = self.config();
        let scope = self.admit_to(caller, org, namespace, Role::Viewer, "knowledge.download")?;
        limits::source_uri("source_uri", source_uri)?;
        let reading: Reading<'_> = self.reading(caller, Deadline::of(Kind::Read, config))?;
        let Some(version) = ingest::current(&reading, &scope, source_uri)?.1 else {
            let message = format!("{scope} has no live document {source_uri:?}");
            return Err(Error { field: Some("source_uri".into()), ..Error::new(Code::NotFound, message) });
        };
        if let Some(original) = version.document.original {
            let body = self.inner().store.read_blob(&scope, &original.blob)?;
            let filename = if original.filename.is_empty() { last_segment(source_uri) } else { original.filename };
            return Ok(Download {
                source: DownloadSource::Blob,
                filename,
                content_type: original.content_type,
                size: body.size(),
                etag: original.blob.hex(),
                body: Box::new(body),
            });
        }
        let text = reading.snapshot().text(&scope, version.id)?;
        let bytes = text.ok_or_else(|| Error::internal("a live version has no text"))?.into_bytes();
        let filename = last_segment(source_uri);
        let has_extension = [".md", ".markdown"].iter().any(|end| filename.to_lowercase().ends_with(end));
        Ok(Download {
            source: DownloadSource::Text,
            filename: if has_extension { filename } else { format!("{filename}.md") },
            content_type: "text/markdown; charset=utf-8".into(),
            size: bytes.len() as u64,
            etag: Hash::of(&bytes).hex(),
            body: Box::new(Cursor::new(bytes)),
        })
    }
}

/// The last part of an address that can name a file.
fn last_segment(source_uri: &str) -> String {
    let path = source_uri.split(['?', '#']).next().unwrap_or(source_uri);
    let name = path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("document");
    name.to_owned()
}
