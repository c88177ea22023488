//! A reader as a response body, piece by piece, so that no download is held whole and no slow one holds a worker.

use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::error::Error;
use crate::http::shared::Door;

/// How much is read at once.
const PIECE_BYTES: u64 = 128 * 1024;
/// How long a reader of the answer may take for one piece.
const STALL: Duration = Duration::from_mins(1);

/// The `length` bytes of `reader` from `start` on, once the first of them are read; `length` is at least 1.
///
/// Each piece is read by a worker of the pool, which is waited for as long as a read may take: an error here before the
/// answer begins. When a later piece cannot be read the body fails, so that the connection breaks rather than pass for
/// complete.
pub async fn body<R: Read + Seek + Send + 'static>(
    door: Door,
    reader: R,
    start: u64,
    length: u64,
) -> Result<Body, Error> {
    let (sender, pieces) = mpsc::channel(1);
    let (first, reader) = next(&door, reader, Some(start), PIECE_BYTES.min(length)).await?;
    tokio::spawn(send(door, reader, first, length, sender));
    Ok(Body::new(Pieces { pieces, left: length }))
}

async fn send<R: Read + Seek + Send + 'static>(
    door: Door,
    mut reader: R,
    mut piece: Bytes,
    mut left: u64,
    sender: mpsc::Sender<io::Result<Bytes>>,
) {
    loop {
        left = left.saturating_sub(piece.len() as u64);
        // The receiver is gone when the caller is.
        if !matches!(timeout(STALL, sender.send(Ok(piece))).await, Ok(Ok(()))) || left == 0 {
            return;
        }
        match next(&door, reader, None, PIECE_BYTES.min(left)).await {
            Ok((read, returned)) => (piece, reader) = (read, returned),
            Err(error) => {
                tracing::error!(%error, cause = ?error.cause, "a download broke off");
                let _ = timeout(STALL, sender.send(Err(io::Error::other(error)))).await;
                return;
            }
        }
    }
}

/// Reads `wanted` bytes, from `seek` on where it says so.
async fn next<R: Read + Seek + Send + 'static>(
    door: &Door,
    mut reader: R,
    seek: Option<u64>,
    wanted: u64,
) -> Result<(Bytes, R), Error> {
    let wait = Duration::from_millis(door.engine.config().deadlines.read_ms);
    let (read, reader) = door.pool.step(wait, move || (read(&mut reader, seek, wanted), reader)).await?;
    Ok((read.map_err(Error::internal)?, reader))
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
