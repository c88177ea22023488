//! A reader as a response body, piece by piece, so that no download is held whole and no slow one holds a worker.

use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::http::shared::Door;

/// How much is read at once.
const PIECE_BYTES: u64 = 128 * 1024;
/// How long a reader of the answer may take for one piece.
const STALL: Duration = Duration::from_mins(1);

/// The `length` bytes of `reader` from `start` on; `length` is at least 1.
///
/// When `reader` fails or ends early the body fails, so that the connection breaks rather than pass for complete.
pub fn body<R: Read + Seek + Send + 'static>(door: Door, reader: R, start: u64, length: u64) -> Body {
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(send(door, reader, start, length, sender));
    Body::new(Pieces { pieces, left: length })
}

async fn send<R: Read + Seek + Send + 'static>(
    door: Door,
    mut reader: R,
    start: u64,
    length: u64,
    sender: mpsc::Sender<io::Result<Bytes>>,
) {
    let mut sent = 0;
    while sent < length {
        let wanted = PIECE_BYTES.min(length - sent);
        let seek = (sent == 0).then_some(start);
        let step = door.pool.step(move || (read(&mut reader, seek, wanted), reader)).await;
        let piece = match step {
            Ok((piece, returned)) => {
                reader = returned;
                piece
            }
            Err(error) => {
                tracing::error!(cause = error.cause.map(tracing::field::display), "a download broke off");
                return;
            }
        };
        let failed = piece.is_err();
        if let Err(error) = &piece {
            tracing::error!(%error, "a download broke off");
        }
        // The receiver is gone when the caller is.
        if !matches!(timeout(STALL, sender.send(piece)).await, Ok(Ok(()))) || failed {
            return;
        }
        sent += wanted;
    }
}

fn read(reader: &mut (impl Read + Seek), seek: Option<u64>, wanted: u64) -> io::Result<Bytes> {
    if let Some(start) = seek {
        reader.seek(SeekFrom::Start(start))?;
    }
    let mut piece = Vec::with_capacity(usize::try_from(wanted).map_err(io::Error::other)?);
    reader.take(wanted).read_to_end(&mut piece)?;
    if piece.len() as u64 == wanted { Ok(piece.into()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

struct Pieces {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    left: u64,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.pieces.poll_recv(context).map(|piece| match piece {
            Some(Ok(piece)) => {
                self.left = self.left.saturating_sub(piece.len() as u64);
                Some(Ok(Frame::data(piece)))
            }
            Some(Err(error)) => Some(Err(error)),
            None if self.left > 0 => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            None => None,
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
