//! Reading a request's body within its bounds: size, pace, and what all bodies together may hold.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::{Code, Error};

/// How many bodies of the largest size may be held at once.
const LARGEST_HELD_MAX: usize = 4;
/// The least that all bodies together may hold, in KiB.
const HELD_KIB_MIN: usize = 64 * 1024;
/// How long a body may bring nothing new.
const STALL: Duration = Duration::from_secs(30);
/// How long a body may take in all.
const WHOLE: Duration = Duration::from_mins(10);
/// How long the rest of a refused body is read, so that its sender gets to read the answer.
const LINGER: Duration = Duration::from_secs(5);

/// The bounds of bodies, and how much of them is in use.
pub struct Bodies {
    bytes_max: usize,
    held_kib: Arc<Semaphore>,
    wait: Duration,
}

/// A body that was read whole; what it holds counts until it is dropped.
pub struct Received {
    bytes: Vec<u8>,
    held: Option<OwnedSemaphorePermit>,
}

impl Received {
    /// The bytes of the body.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, and what goes on counting for them until it is dropped.
    #[cfg(feature = "mcp")]
    pub fn into_parts(self) -> (Vec<u8>, Held) {
        (self.bytes, Held(self.held))
    }

    /// Lets go of the bytes and goes on counting, for what they were decoded into.
    pub fn into_held(self) -> Held {
        Held(self.held)
    }
}

/// What a body counts among all bodies, until it is dropped.
pub struct Held(#[expect(dead_code, reason = "it is held for its drop")] Option<OwnedSemaphorePermit>);

impl Bodies {
    /// Bodies of up to `bytes_max` each, which wait at most `wait` for room among the others.
    pub fn new(bytes_max: usize, wait: Duration) -> Self {
        let held = (bytes_max / 1024).saturating_mul(LARGEST_HELD_MAX).max(HELD_KIB_MIN);
        Self { bytes_max, held_kib: Arc::new(Semaphore::new(held.min(Semaphore::MAX_PERMITS))), wait }
    }

    /// Reads a body whole.
    ///
    /// [`Code::PayloadTooLarge`] past the limit, before anything is read when the headers tell;
    /// [`Code::Overloaded`] when other bodies leave no room; [`Code::BadJson`] when it breaks off or stalls.
    pub async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Received, Error> {
        let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > self.bytes_max as u64) {
            discard(headers, body);
            return Err(self.too_large());
        }
        timeout(WHOLE, self.collect(headers, body)).await.unwrap_or_else(|_| Err(too_slow(WHOLE)))
    }

    async fn collect(&self, headers: &HeaderMap, mut body: Body) -> Result<Received, Error> {
        let mut received = Received { bytes: Vec::new(), held: None };
        while let Some(piece) = next(&mut body).await? {
            if received.bytes.len() + piece.len() > self.bytes_max {
                discard(headers, body);
                return Err(self.too_large());
            }
            if let Err(error) = self.hold(&mut received, piece.len()).await {
                discard(headers, body);
                return Err(error);
            }
            received.bytes.extend_from_slice(&piece);
        }
        Ok(received)
    }

    async fn hold(&self, received: &mut Received, more: usize) -> Result<(), Error> {
        let held = received.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let needed = (received.bytes.len() + more).div_ceil(1024).saturating_sub(held);
        let Ok(needed) = u32::try_from(needed) else { return Err(self.too_large()) };
        if needed == 0 {
            return Ok(());
        }
        let Ok(Ok(permit)) = timeout(self.wait, self.held_kib.clone().acquire_many_owned(needed)).await else {
            return Err(Error {
                retry_after_s: Some(1),
                ..Error::new(Code::Overloaded, "too many large bodies at once: repeat this call later")
            });
        };
        match &mut received.held {
            Some(held) => held.merge(permit),
            held => *held = Some(permit),
        }
        Ok(())
    }

    fn too_large(&self) -> Error {
        Error::new(
            Code::PayloadTooLarge,
            format!(
                "the body is over the limit of {} bytes: send less at once, or raise LOOM_HTTP_MAX_BODY_BYTES",
                self.bytes_max
            ),
        )
    }
}

fn too_slow(waited: Duration) -> Error {
    let seconds = waited.as_secs();
    Error::new(Code::BadJson, format!("the body did not come within {seconds} seconds: send it at once"))
}

/// The next data of a body; `None` at its end. [`Code::BadJson`] when it breaks off or brings nothing for too long.
pub async fn next(body: &mut Body) -> Result<Option<Bytes>, Error> {
    loop {
        let frame = timeout(STALL, poll_fn(|context| Pin::new(&mut *body).poll_frame(context))).await;
        match frame {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(frame))) => {
                // Trailers carry nothing that an operation takes.
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Ok(Some(Err(error))) => {
                return Err(Error {
                    cause: Some(error.into()),
                    ..Error::new(Code::BadJson, "the body broke off before its end")
                });
            }
            Err(_) => {
                return Err(too_slow(STALL));
            }
        }
    }
}

/// Reads and drops the rest of a refused body for a while: a sender whose bytes nobody takes sees a broken
/// connection instead of the answer.
pub fn discard(headers: &HeaderMap, mut body: Body) {
    // One that asks first has sent nothing yet.
    if body.is_end_stream() || headers.contains_key(EXPECT) {
        return;
    }
    tokio::spawn(timeout(LINGER, async move { while let Ok(Some(_)) = next(&mut body).await {} }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts").block_on(future)
    }

    #[test]
    fn a_body_is_read_up_to_its_limit() {
        block_on(async {
            let bodies = Bodies::new(5, Duration::ZERO);
            let received = bodies.read(&HeaderMap::new(), Body::from("12345")).await.expect("it fits");
            assert_eq!(received.bytes(), b"12345");
            let error = bodies.read(&HeaderMap::new(), Body::from("123456")).await.err().expect("it does not fit");
            assert_eq!(error.code, Code::PayloadTooLarge);
            assert!(error.message.contains("5 bytes") && error.message.contains("LOOM_HTTP_MAX_BODY_BYTES"));
        });
    }

    #[test]
    fn bodies_give_back_what_they_held() {
        block_on(async {
            let bodies = Bodies::new(40 * 1024 * 1024, Duration::ZERO);
            let room = bodies.held_kib.available_permits();
            let received = bodies.read(&HeaderMap::new(), Body::from(vec![0; 2049])).await.expect("it fits");
            assert_eq!(bodies.held_kib.available_permits(), room - 3);
            drop(received);
            assert_eq!(bodies.held_kib.available_permits(), room);
            let all = bodies
                .held_kib
                .acquire_many(u32::try_from(room).expect("it is not that much"))
                .await
                .expect("it is open");
            let error = bodies.read(&HeaderMap::new(), Body::from("1")).await.err().expect("there is no room");
            assert_eq!(error.code, Code::Overloaded);
            drop(all);
        });
    }
}
