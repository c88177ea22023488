//! Uploads: files that were sent and wait to be ingested.
//!
//! The bytes go to content-addressed storage as they come; what is known of them is a record
//! `upload/<org>/<namespace>/<id>`. Nothing reads the bytes here.

use loom_extract::formats;
use loom_storage::{Batch, BlobRow, BlobWriter, Hash, RecordWrite, Scope, Snapshot, Timestamp, Write};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::access::Caller;
use crate::clock::rfc3339;
use crate::engine::Engine;
use crate::error::{Code, Error};
use crate::limits;
use crate::op::Role;
use crate::quota::{self, Room};

/// What an upload says of itself; an empty organisation or namespace is the configured one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadRequest {
    /// The organisation.
    pub org: String,
    /// The namespace.
    pub namespace: String,
    /// The file's name, which selects its format.
    pub filename: String,
    /// The SHA-256 that the bytes must have, in hex; empty: any.
    pub sha256: String,
    /// The file's media type, which selects its format where the name does not; or empty.
    pub content_type: String,
}

/// A stored upload.
#[derive(Clone, Debug, Serialize)]
pub struct Uploaded {
    /// Its id, for `knowledge.ingest`.
    pub upload_id: String,
    /// SHA-256 of the bytes.
    pub sha256: String,
    /// Their number.
    pub size: u64,
    /// The file's name.
    pub filename: String,
    /// Its media type as it was given.
    pub content_type: String,
    /// The format that name and media type select.
    pub format: String,
    /// Until when it can be ingested.
    pub expires_at: String,
}

/// What is recorded of an upload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Upload {
    /// SHA-256 of the bytes, in hex.
    pub sha256: String,
    pub size: u64,
    pub filename: String,
    pub content_type: String,
    pub format: String,
    /// Who sent it: the only one who may ingest it.
    pub actor: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The start of every upload's key.
pub(crate) const UPLOADS: &str = "upload/";

/// The key of an upload's record.
pub(crate) fn key(scope: &Scope, id: Uuid) -> String {
    format!("{UPLOADS}{}/{}/{id}", scope.org, scope.namespace)
}

/// The upload of that id in a namespace.
pub(crate) fn find(snapshot: &dyn Snapshot, scope: &Scope, id: Uuid) -> Result<Option<Upload>, Error> {
    let record = snapshot.record(&key(scope, id))?;
    record.map(|record| serde_json::from_slice(&record.value).map_err(Error::internal)).transpose()
}

/// An upload whose bytes are on their way. Dropped before [`Uploading::finish`], it leaves nothing.
pub struct Uploading {
    engine: Engine,
    actor: String,
    scope: Scope,
    request: UploadRequest,
    writer: Box<dyn BlobWriter>,
    /// What the namespace's quota left at the start.
    room: Option<Room>,
    /// Runs along where the caller named the hash, which is compared before the bytes become a blob.
    hasher: Option<Sha256>,
    size: u64,
}

impl Engine {
    /// Begins an upload: checks everything that can be refused before any byte is stored.
    ///
    /// # Errors
    /// [`Code::UnsupportedFile`] for the name of an old office format, [`Code::ValidationFailed`] for a field,
    /// [`Code::PayloadTooLarge`] when the namespace's quota is used up,
    /// [`Code::BackendUnavailable`] when the disk is nearly full.
    pub fn begin_upload(&self, caller: &Caller, request: UploadRequest) -> Result<Uploading, Error> {
        let inner = self.inner();
        inner.refuse_when_closed()?;
        let scope = self.admit_to(caller, &request.org, &request.namespace, Role::Writer, "knowledge.upload")?;
        limits::text("filename", &request.filename, limits::LABEL_CHARS_MAX)?;
        limits::text("content_type", &request.content_type, limits::LABEL_CHARS_MAX)?;
        if request.filename.is_empty() {
            return Err(Error::invalid("filename", "filename is missing: it names the file's format"));
        }
        if let Some(extension) = formats::refused_extension(&request.filename) {
            let message = format!(
                "files of the old binary format .{extension} are not read: save the file as .{extension}x and send that"
            );
            return Err(Error { field: Some("filename".into()), ..Error::new(Code::UnsupportedFile, message) });
        }
        let is_hash = request.sha256.len() == 64 && request.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !request.sha256.is_empty() && !is_hash {
            return Err(Error::invalid("sha256", "sha256 must be 64 hex digits: the SHA-256 of the file's bytes"));
        }
        inner.disk.admit(0)?;
        let room = quota::room(inner, &scope)?;
        room.map_or(Ok(()), |room| room.admit(1))?;
        let writer = inner.store.write_blob(&scope)?;
        let hasher = (!request.sha256.is_empty()).then(Sha256::new);
        Ok(Uploading {
            engine: self.clone(),
            actor: caller.actor().to_owned(),
            scope,
            request,
            writer,
            room,
            hasher,
            size: 0,
        })
    }

    /// The error for an upload of more bytes than `LOOM_KNOWLEDGE_UPLOAD_MAX_BYTES` allows.
    pub fn upload_too_large(&self) -> Error {
        let max = self.config().documents.original_bytes;
        let message = format!("the file is larger than the {max} bytes that LOOM_KNOWLEDGE_UPLOAD_MAX_BYTES allows");
        Error::new(Code::PayloadTooLarge, message)
    }
}

impl Uploading {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`Code::PayloadTooLarge`] past the limit or the namespace's quota, [`Code::BackendUnavailable`] when they cannot be stored.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.size += bytes.len() as u64;
        let engine = self.engine.inner();
        if self.size > engine.config.documents.original_bytes as u64 {
            return Err(self.engine.upload_too_large());
        }
        self.room.map_or(Ok(()), |room| room.admit(self.size))?;
        engine.disk.admit(bytes.len() as u64)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        Ok(self.writer.write(bytes)?)
    }

    /// Stores what was sent, durable when it returns.
    ///
    /// # Errors
    /// [`Code::ChecksumMismatch`] when the bytes are not those of the hash that was named, [`Code::PayloadTooLarge`] when
    /// other uploads filled the namespace's quota meanwhile; nothing is stored then.
    pub fn finish(self) -> Result<Uploaded, Error> {
        if let Some(hasher) = self.hasher {
            let actual = Hash(hasher.finalize().into()).hex();
            if !actual.eq_ignore_ascii_case(&self.request.sha256) {
                let message = format!(
                    "the {} bytes that arrived have the SHA-256 {actual}, not the one that was named: send them again",
                    self.size
                );
                return Err(Error { field: Some("sha256".into()), ..Error::new(Code::ChecksumMismatch, message) });
            }
        }
        let inner = self.engine.inner();
        quota::room(inner, &self.scope)?.map_or(Ok(()), |room| room.admit(self.size))?;
        let (sha256, size) = self.writer.finish()?;
        let now = inner.config.clock.now();
        let ttl_ms = i64::try_from(inner.config.ingest.upload_ttl_s.saturating_mul(1000)).unwrap_or(i64::MAX);
        let UploadRequest { filename, content_type, .. } = self.request;
        let upload = Upload {
            sha256: sha256.hex(),
            size,
            format: formats::of(&filename, &content_type).to_owned(),
            filename,
            content_type,
            actor: self.actor,
            created_at: now,
            expires_at: Timestamp(now.0.saturating_add(ttl_ms)),
        };
        let id = inner.config.ids.fresh();
        let row = BlobRow { hash: sha256, size, stored_at: now };
        let value = serde_json::to_vec(&upload).map_err(Error::internal)?;
        let record = RecordWrite { key: key(&self.scope, id), value: Some(value) };
        let writes = vec![Write::PutBlob { scope: self.scope, row }, Write::Record(record)];
        inner.commit(Batch { preconditions: Vec::new(), writes })?;
        Ok(Uploaded {
            upload_id: id.to_string(),
            sha256: upload.sha256,
            size,
            expires_at: rfc3339(upload.expires_at),
            filename: upload.filename,
            content_type: upload.content_type,
            format: upload.format,
        })
    }
}
