//! An extractor behind HTTP. It is not trusted: what is read of it is bounded and checked, it is waited for no longer than
//! the caller allows, and the token goes to the configured host alone, over no redirect.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use loom_extract::contract::{Artifact, CONTRACT_VERSION, Capabilities, RefusalCode, Request};
use serde::Deserialize;
use ureq::http::Uri;
use ureq::http::header::{AUTHORIZATION, CONTENT_LENGTH};
use ureq::{Agent, Proxy, SendBody};

use super::answer;
use super::failure::{Failure, FailureCode};
use super::known::{Known, Recent};
use super::settings::ServiceSettings;
use crate::error::{Code, Error};

/// How long an extraction waits for a service's capabilities, which may be starting.
const CAPABILITIES_WAIT: Duration = Duration::from_secs(30);
/// The most bytes of capabilities and of a refusal.
const SMALL_BYTES_MAX: u64 = 1 << 20;
/// How much of a file is read at a time, and how many such pieces wait to be sent.
const PIECE_BYTES: usize = 128 << 10;
const PIECES_WAITING: usize = 4;
/// How soon a wait notices that it is to stop.
const NOTICE: Duration = Duration::from_millis(20);

/// An extractor behind an address.
pub struct Service {
    wire: Arc<Wire>,
    artifact_bytes_max: u64,
    known: Known,
}

/// What a request needs, and all that it holds while nobody waits for it any more.
struct Wire {
    agent: Agent,
    settings: ServiceSettings,
}

/// What a service answered.
struct Answer {
    status: u16,
    /// `None` where it is longer than it may be.
    bytes: Option<Vec<u8>>,
}

/// The body of an answer that is no artifact.
#[derive(Deserialize)]
struct Refused {
    error: RefusedWhy,
}

#[derive(Deserialize)]
struct RefusedWhy {
    code: String,
    #[serde(default)]
    message: String,
}

impl Service {
    /// Checks the address and the token, which the setting `field` gave; asks nothing of the service.
    pub fn new(field: &str, settings: &ServiceSettings, artifact_bytes_max: u64) -> Result<Self, Error> {
        let refused = |what: &str| {
            let message = format!("{field}: {what}");
            Error { field: Some(field.into()), ..Error::new(Code::ValidationFailed, message) }
        };
        let address = settings.url.trim().parse::<Uri>().ok().filter(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.query().is_none()
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
        });
        let address = address
            .ok_or_else(|| refused("the address must begin with http:// or https:// and hold no user and no query"))?;
        if !settings.token.is_empty() && settings.token.bearer().is_none() {
            return Err(refused("the token holds a character that no header carries"));
        }
        // A proxy sees the token of a plain request, but only the host of an encrypted one.
        let proxy = if address.scheme_str() == Some("https") { Proxy::try_from_env() } else { None };
        let agent = Agent::config_builder()
            .proxy(proxy)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .build()
            .new_agent();
        let url = settings.url.trim().trim_end_matches('/').to_owned();
        let wire = Wire { agent, settings: ServiceSettings { url, token: settings.token.clone() } };
        Ok(Self { wire: Arc::new(wire), artifact_bytes_max, known: Known::default() })
    }

    /// What the service says of itself, of the last minute or asked within `wait`; `None` while it cannot be read.
    pub fn listed(&self, wait: Duration) -> Option<Arc<Capabilities>> {
        match self.known.recent() {
            Recent::Told(capabilities) => Some(capabilities),
            Recent::Failed => None,
            Recent::Unasked => {
                let asked = self.capabilities(Instant::now() + wait, &AtomicBool::new(false));
                asked.inspect_err(|error| tracing::debug!(%error, "capabilities could not be read")).ok()
            }
        }
    }

    fn capabilities(&self, until: Instant, stop: &AtomicBool) -> Result<Arc<Capabilities>, Failure> {
        let wire = Arc::clone(&self.wire);
        let asked = ask(until, stop, move |left| wire.capabilities(left));
        let read = asked.and_then(|answer| match answer {
            Answer { status: 200, bytes: Some(bytes) } => {
                let capabilities: Option<Capabilities> = serde_json::from_slice(&bytes).ok();
                let spoken = capabilities.filter(|capabilities| capabilities.contract == CONTRACT_VERSION);
                spoken.map(Arc::new).ok_or_else(|| {
                    Failure::Transient(format!(
                        "the extraction service does not say what it reads by contract {CONTRACT_VERSION}"
                    ))
                })
            }
            Answer { status, .. } => Err(Failure::Transient(format!(
                "the extraction service answered with status {status} when asked what it reads"
            ))),
        });
        self.known.hear(read.as_ref().ok().cloned());
        read
    }

    /// Reads one file: see [`Extractors::extract`](super::Extractors::extract).
    pub fn extract(
        &self,
        request: &Request,
        size: u64,
        body: &mut dyn Read,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Artifact, Failure> {
        let capabilities = match self.known.recent() {
            Recent::Told(capabilities) => capabilities,
            Recent::Failed | Recent::Unasked => {
                self.capabilities(until.min(Instant::now() + CAPABILITIES_WAIT), stop)?
            }
        };
        if capabilities.of(&request.format).is_none() {
            let message = format!("the extraction service does not read the format {}", request.format);
            return Err(Failure::refused(FailureCode::FormatUnavailable, message));
        }
        if size > capabilities.max_bytes {
            return Err(Failure::too_large(size, capabilities.max_bytes));
        }
        let answer = self.send(request, size, body, until, stop)?;
        match answer {
            Answer { status: 200, bytes: None } => Err(Failure::artifact_too_large(self.artifact_bytes_max)),
            Answer { status: 200, bytes: Some(bytes) } => answer::artifact(&bytes, &request.format),
            Answer { status: status @ (408 | 429), .. } => Err(busy(status)),
            Answer { status: status @ 400..=499, bytes } => Err(refusal(status, &bytes.unwrap_or_default())),
            Answer { status, .. } => Err(busy(status)),
        }
    }

    fn send(
        &self,
        request: &Request,
        size: u64,
        body: &mut dyn Read,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Answer, Failure> {
        let (pieces, received) = mpsc::sync_channel(PIECES_WAITING);
        let (wire, request, limit) = (Arc::clone(&self.wire), request.clone(), self.artifact_bytes_max);
        let asked = start(until, move |left| {
            wire.extract(&request, size, &mut Pieces { received, piece: io::Cursor::default() }, limit, left)
        })?;
        if let Some(early) = feed(pieces, size, body, &asked, until, stop)? {
            return early;
        }
        wait(&asked, until, stop)
    }
}

impl Wire {
    fn capabilities(&self, timeout: Duration) -> Result<Answer, Failure> {
        let mut request = self.agent.get(format!("{}/v1/capabilities", self.settings.url));
        if let Some(bearer) = self.settings.token.bearer().filter(|_| !self.settings.token.is_empty()) {
            request = request.header(AUTHORIZATION, bearer);
        }
        let sent = request.config().timeout_global(Some(timeout)).build().call();
        read(sent.map_err(|error| unreached(&error))?, SMALL_BYTES_MAX)
    }

    fn extract(
        &self,
        request: &Request,
        size: u64,
        body: &mut Pieces,
        limit: u64,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        let mut sending = self
            .agent
            .post(format!("{}/v1/extract", self.settings.url))
            .query("contract", request.contract.to_string())
            .query("format", &request.format)
            .query("filename", &request.filename)
            .content_type("application/octet-stream")
            .header(CONTENT_LENGTH, size);
        for (name, option) in [("encoding", &request.options.encoding), ("sql_dialect", &request.options.sql_dialect)] {
            if !option.is_empty() {
                sending = sending.query(name, option);
            }
        }
        if let Some(bearer) = self.settings.token.bearer().filter(|_| !self.settings.token.is_empty()) {
            sending = sending.header(AUTHORIZATION, bearer);
        }
        let sent = sending.config().timeout_global(Some(timeout)).build().send(SendBody::from_reader(body));
        let response = sent.map_err(|error| unreached(&error))?;
        let limit = if response.status().as_u16() == 200 { limit } else { SMALL_BYTES_MAX };
        read(response, limit)
    }
}

/// Reads an answer of at most `limit` bytes.
fn read(mut response: ureq::http::Response<ureq::Body>, limit: u64) -> Result<Answer, Failure> {
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    // One byte more tells an answer of the limit from a longer one.
    let reader = response.body_mut().with_config().limit(u64::MAX).reader();
    reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|_| Failure::Transient("the extraction service broke off its answer".into()))?;
    let whole = bytes.len() as u64 <= limit;
    Ok(Answer { status, bytes: whole.then_some(bytes) })
}

/// Nothing of what the library says is repeated: it may hold the address.
fn unreached(error: &ureq::Error) -> Failure {
    if matches!(error, ureq::Error::Timeout(_)) {
        return late();
    }
    Failure::Transient("the extraction service cannot be reached, or broke off".into())
}

fn busy(status: u16) -> Failure {
    Failure::Transient(format!("the extraction service answered with status {status}"))
}

fn refusal(status: u16, bytes: &[u8]) -> Failure {
    let refused: Option<Refused> = serde_json::from_slice(bytes).ok();
    let named = refused.and_then(|Refused { error }| {
        let code = RefusalCode::ALL.into_iter().find(|code| code.name() == error.code)?;
        Some(Failure::refused(code.into(), error.message))
    });
    named.unwrap_or_else(|| {
        let message = format!("the extraction service refused the file with status {status}");
        Failure::refused(FailureCode::Refused, message)
    })
}

type Asked = Receiver<Result<Answer, Failure>>;

/// Asks in a thread, which is left behind when its answer is no longer waited for: it ends by its own timeout.
fn start(
    until: Instant,
    work: impl FnOnce(Duration) -> Result<Answer, Failure> + Send + 'static,
) -> Result<Asked, Failure> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(late());
    }
    let (answered, asked) = mpsc::sync_channel(1);
    let asking = thread::Builder::new().name("loom-extraction".into()).spawn(move || {
        if answered.send(work(left)).is_err() {
            tracing::debug!("an extraction service answered too late");
        }
    });
    asking.map_err(|_| Failure::Transient("no thread could be started to ask an extraction service".into()))?;
    Ok(asked)
}

fn ask(
    until: Instant,
    stop: &AtomicBool,
    work: impl FnOnce(Duration) -> Result<Answer, Failure> + Send + 'static,
) -> Result<Answer, Failure> {
    wait(&start(until, work)?, until, stop)
}

fn late() -> Failure {
    Failure::Transient("the extraction service did not answer in time".into())
}

fn wait(asked: &Asked, until: Instant, stop: &AtomicBool) -> Result<Answer, Failure> {
    loop {
        if let Some(answer) = wait_briefly(asked, until, stop)? {
            return answer;
        }
    }
}

/// Waits for a moment: `None` when there is no answer yet.
fn wait_briefly(asked: &Asked, until: Instant, stop: &AtomicBool) -> Result<Option<Result<Answer, Failure>>, Failure> {
    if stop.load(Ordering::Acquire) {
        return Err(super::stopped());
    }
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(late());
    }
    match asked.recv_timeout(left.min(NOTICE)) {
        Ok(answer) => Ok(Some(answer)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => {
            Err(Failure::Transient("asking the extraction service ended without an answer".into()))
        }
    }
}

/// Hands the file to the thread that sends it. `Some` when the service answered before it had all of it.
fn feed(
    pieces: SyncSender<Vec<u8>>,
    size: u64,
    body: &mut dyn Read,
    asked: &Asked,
    until: Instant,
    stop: &AtomicBool,
) -> Result<Option<Result<Answer, Failure>>, Failure> {
    let mut left = size;
    while left > 0 {
        let mut piece = vec![0; usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES)];
        let count = body.read(&mut piece).map_err(|error| super::unreadable(&error))?;
        if count == 0 {
            return Err(super::unreadable(&io::ErrorKind::UnexpectedEof.into()));
        }
        piece.truncate(count);
        left -= count as u64;
        let mut waiting = piece;
        loop {
            match pieces.try_send(waiting) {
                Ok(()) => break,
                Err(TrySendError::Full(piece)) => waiting = piece,
                // The request is over, and its answer says how.
                Err(TrySendError::Disconnected(_)) => return Ok(None),
            }
            if let Some(answer) = wait_briefly(asked, until, stop)? {
                return Ok(Some(answer));
            }
        }
    }
    // Which is the end of the file to the thread that sends it.
    drop(pieces);
    Ok(None)
}

/// The file as the thread that sends it reads it.
struct Pieces {
    received: Receiver<Vec<u8>>,
    piece: io::Cursor<Vec<u8>>,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.piece.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            match self.received.recv() {
                Ok(piece) => self.piece = io::Cursor::new(piece),
                // All of it was handed over, or nobody waits for the answer: a short body is then refused.
                Err(_) => return Ok(0),
            }
        }
    }
}
