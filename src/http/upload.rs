//! `POST /v1/knowledge.upload`: a file's bytes as they are, streamed to storage.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::body::{discard, next};
use super::form::Form;
use super::pool::blocking;
use super::reply::{self, labelled};
use super::shared::Door;
use crate::error::{Code, Error};
use crate::uploads::{UploadRequest, Uploaded, Uploading};

/// Pieces of a body that wait for storage before the sender waits too; each is what was received at once.
const PIECES_MAX: usize = 8;

/// Stores an upload.
pub async fn upload(State(door): State<Door>, RawQuery(query): RawQuery, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let answer = match asked(query.as_deref().unwrap_or_default(), &parts.headers) {
        Ok(asked) => receive(&door, asked, &parts.headers, body).await,
        Err(error) => {
            discard(&parts.headers, body);
            Err(error)
        }
    };
    let answer = answer.and_then(|uploaded| {
        let output = serde_json::to_vec(&uploaded).map_err(Error::internal)?;
        Ok(reply::document(StatusCode::CREATED, output))
    });
    labelled(answer.unwrap_or_else(IntoResponse::into_response), "knowledge.upload")
}

/// What the query string says, and the header where it says nothing of the media type.
fn asked(query: &str, headers: &HeaderMap) -> Result<UploadRequest, Error> {
    let mut form = Form::parse(query, &["org", "namespace", "filename", "sha256", "content_type"])?;
    let mut request = UploadRequest {
        org: form.take("org"),
        namespace: form.take("namespace"),
        filename: form.take("filename"),
        sha256: form.take("sha256"),
        content_type: form.take("content_type"),
    };
    if request.content_type.is_empty() {
        let sent = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // What clients send when they know nothing.
        let is_known = !matches!(sent, "application/octet-stream" | "application/x-www-form-urlencoded");
        request.content_type = if is_known { sent.to_owned() } else { String::new() };
    }
    Ok(request)
}

async fn receive(door: &Door, asked: UploadRequest, headers: &HeaderMap, mut body: Body) -> Result<Uploaded, Error> {
    let wait = Duration::from_millis(door.engine.config().http.queue_wait_ms);
    let Ok(Ok(turn)) = timeout(wait, door.uploads.clone().acquire_owned()).await else {
        discard(headers, body);
        let message = "as many files are being uploaded as LOOM_HTTP_UPLOADS allows: repeat this upload";
        return Err(Error { retry_after_s: Some(1), ..Error::new(Code::Overloaded, message) });
    };
    let admitted = match door.admit(headers, "knowledge.upload").await {
        Ok(admitted) => admitted,
        Err(error) => {
            discard(headers, body);
            return Err(error);
        }
    };
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > door.engine.config().documents.original_bytes as u64) {
        discard(headers, body);
        return Err(door.engine.upload_too_large());
    }
    let (sender, pieces) = mpsc::channel::<Bytes>(PIECES_MAX);
    let engine = door.engine.clone();
    let stored = tokio::spawn(blocking(move || {
        let _turn = turn;
        store(engine.begin_upload(&admitted.caller, asked)?, pieces)
    }));
    let received = loop {
        match next(&mut body).await {
            Ok(Some(piece)) => {
                // Storage refused: its error is the answer.
                if sender.send(piece).await.is_err() {
                    discard(headers, body);
                    break Ok(());
                }
            }
            Ok(None) => break sender.send(Bytes::new()).await.or(Ok(())),
            Err(error) => break Err(error),
        }
    };
    drop(sender);
    let stored = stored.await.map_err(Error::internal)??;
    received.and(stored)
}

/// Stores pieces until the empty one that says that all have come.
fn store(mut uploading: Uploading, mut pieces: mpsc::Receiver<Bytes>) -> Result<Uploaded, Error> {
    while let Some(piece) = pieces.blocking_recv() {
        if piece.is_empty() {
            return uploading.finish();
        }
        uploading.write(&piece)?;
    }
    Err(Error::new(Code::BadJson, "the upload broke off before its end: send the file again"))
}
