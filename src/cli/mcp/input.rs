//! Standard input with a bound on what one message may hold.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// A stream of lines that fails once a line is longer than it may be.
pub struct Lines<R> {
    from: R,
    line_bytes: usize,
    line_bytes_max: usize,
}

impl<R> Lines<R> {
    /// `from`, with lines of at most so many bytes.
    pub fn new(from: R, line_bytes_max: usize) -> Self {
        Self { from, line_bytes: 0, line_bytes_max }
    }

    fn count(&mut self, piece: &[u8]) -> io::Result<()> {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line_bytes += part.len();
            if self.line_bytes > self.line_bytes_max {
                let message = format!("a message is over LOOM_HTTP_MAX_BODY_BYTES, {} bytes", self.line_bytes_max);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            if part.ends_with(b"\n") {
                self.line_bytes = 0;
            }
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(context, buffer))?;
        let counted = self.count(&buffer.filled()[before..]);
        if let Err(error) = &counted {
            tracing::error!(%error, "the input ends here");
            // A read that fails has read nothing.
            buffer.set_filled(before);
        }
        Poll::Ready(counted)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn a_line_has_its_bound_and_the_input_none() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
        runtime.block_on(async {
            let mut read = Vec::new();
            let lines = b"12345\n12345\n1234";
            let count = Lines::new(&lines[..], 6).read_to_end(&mut read).await.expect("each line fits");
            assert_eq!((count, &read[..]), (lines.len(), &lines[..]));
            let error =
                Lines::new(&b"1\n1234567"[..], 6).read_to_end(&mut read).await.expect_err("the second is too long");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        });
    }
}
