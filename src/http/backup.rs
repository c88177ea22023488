//! `POST /v1/backup`: a copy of everything as one stream, taken while other calls go on.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame};
use tokio::sync::mpsc;

use super::body::discard;
use super::dispatch::is_json;
use super::pool::blocking;
use super::reply::labelled;
use super::shared::Door;
use crate::error::{Code, Error};

/// How much is sent at once.
const PIECE_BYTES: usize = 128 * 1024;
/// Pieces that wait for a slow reader before the backup waits for it too.
const PIECES_MAX: usize = 4;

/// A part of the stream; only [`Part::End`] ends it in order.
enum Part {
    Piece(Bytes),
    Failed(Error),
    End,
}

/// Streams a backup; one at a time.
pub async fn backup(State(door): State<Door>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    discard(&parts.headers, body);
    // No page of another origin can ask for it unasked.
    let answer = if is_json(&parts.headers) {
        begin(&door, &parts.headers).await
    } else {
        Err(Error::new(
            Code::ValidationFailed,
            "a backup is asked for with the header `content-type: application/json`",
        ))
    };
    labelled(answer.unwrap_or_else(IntoResponse::into_response), "backup")
}

async fn begin(door: &Door, headers: &HeaderMap) -> Result<Response, Error> {
    let admitted = door.admit(headers, "backup").await?;
    let Ok(turn) = door.backups.clone().try_acquire_owned() else {
        return Err(Error {
            retry_after_s: Some(60),
            ..Error::new(Code::Overloaded, "a backup is being taken already: repeat this call when it is done")
        });
    };
    let (sender, mut parts) = mpsc::channel(PIECES_MAX);
    let engine = door.engine.clone();
    tokio::spawn(blocking(move || {
        let _turn = turn;
        let mut pieces = Pieces { sender, piece: Vec::new() };
        let last = match engine.backup(&admitted.caller, &mut pieces) {
            Ok(_) => Part::End,
            Err(error) => Part::Failed(error),
        };
        // A reader that is gone needs no end.
        let _ = pieces.sender.blocking_send(last);
    }));
    match parts.recv().await {
        Some(Part::Piece(first)) => {
            let mut response = Response::new(Body::new(Stream { first: Some(first), parts, ended: false }));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
            Ok(response)
        }
        Some(Part::Failed(error)) => Err(error),
        Some(Part::End) | None => Err(Error::internal("a backup ended before it began")),
    }
}

/// Hands a backup on in pieces.
struct Pieces {
    sender: mpsc::Sender<Part>,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        let sent = piece.is_empty() || self.sender.blocking_send(Part::Piece(piece.into())).is_ok();
        if sent { Ok(()) } else { Err(io::Error::new(io::ErrorKind::BrokenPipe, "nobody reads it any more")) }
    }
}

/// The response's body, which breaks the connection rather than pass for whole when the backup did not end.
struct Stream {
    first: Option<Bytes>,
    parts: mpsc::Receiver<Part>,
    ended: bool,
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        self.parts.poll_recv(context).map(|part| match part {
            Some(Part::Piece(piece)) => Some(Ok(Frame::data(piece))),
            Some(Part::End) => {
                self.ended = true;
                None
            }
            Some(Part::Failed(error)) => {
                tracing::error!(%error, cause = ?error.cause, "a backup broke off");
                Some(Err(io::Error::other(error)))
            }
            None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
        })
    }
}
