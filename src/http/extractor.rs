//! The extractor that comes with Loom, served to others by the contract of `docs/extraction.md`.

use std::future::Future;
use std::io::Cursor;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, Request as HttpRequest, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use loom_extract::contract::{CONTRACT_VERSION, Options, Request};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::body::{Bodies, discard};
use super::form::Form;
use super::server::{ACCEPT_PAUSE, address, cannot_listen, connection, next};
use crate::error::{Code, Error};
use crate::extraction::{ExtractionSettings, Extractors, Failure, FailureCode};

/// Connections at once. The next ones wait in the system's backlog.
const CONNECTIONS_MAX: usize = 64;
/// How long a request waits for its turn.
const TURN_WAIT: Duration = Duration::from_secs(30);
/// How long requests that were begun may take to end when the service stops.
const DRAIN: Duration = Duration::from_secs(10);
/// How much longer than the extraction itself an answer is waited for.
const SLACK: Duration = Duration::from_secs(30);

/// What serves extractions.
pub struct ExtractorService {
    extractors: Arc<Extractors>,
    /// The hash of the token that callers need.
    token: Option<[u8; 32]>,
    bodies: Bodies,
    turns: Semaphore,
    time: Duration,
}

impl ExtractorService {
    /// Serves the extractor of `settings`, to callers with the token if there is one, as many at once as the machine has cores.
    pub fn new(settings: &ExtractionSettings, token: Option<&str>) -> Result<Self, Error> {
        // It is this one that is served: none is asked in turn.
        let settings =
            ExtractionSettings { service: None, services: std::collections::BTreeMap::new(), ..settings.clone() };
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let file_bytes = usize::try_from(settings.limits.file_bytes).unwrap_or(usize::MAX);
        Ok(Self {
            extractors: Arc::new(Extractors::new(&settings)?),
            token: token.map(|token| Sha256::digest(token.trim()).into()),
            bodies: Bodies::new(file_bytes, TURN_WAIT),
            turns: Semaphore::new(cores),
            time: Duration::from_secs(settings.limits.time_seconds),
        })
    }

    /// Whether the caller may call. Hashes are compared, which tell nothing of the token by the time that takes.
    fn admits(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let given = given.map(|token| <[u8; 32]>::from(Sha256::digest(token.trim())));
        self.token.is_none() || given == self.token
    }
}

/// Serves extractions on `listen` until `stop` completes. `ready` is given the address once connections are accepted.
///
/// Without a token only a loopback address is listened on: [`Code::ValidationFailed`] otherwise.
pub fn serve_extractor(
    service: ExtractorService,
    listen: &str,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let address = address(listen)?;
    if service.token.is_none() && !address.ip().is_loopback() {
        let message =
            format!("{address} can be reached from other machines: set LOOM_EXTRACTOR_TOKEN, which callers then need");
        return Err(Error::invalid("listen", message));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("loom-extractor")
        .enable_all()
        .build()
        .map_err(Error::internal)?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(|error| cannot_listen(address, error))?;
        ready(listener.local_addr().map_err(Error::internal)?);
        accept(router(Arc::new(service)), listener, stop).await;
        Ok(())
    });
    runtime.shutdown_background();
    served
}

fn router(service: Arc<ExtractorService>) -> Router {
    Router::new()
        .route("/v1/capabilities", get(capabilities))
        .route("/v1/extract", post(extract))
        .fallback(no_route)
        .with_state(service)
}

async fn accept(router: Router, listener: TcpListener, stop: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let (closing, closed) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = stop.as_mut() => break,
            Some(_) = connections.join_next() => {}
            accepted = next(&places, &listener) => match accepted {
                Ok((stream, place)) => {
                    connections.spawn(connection(stream, place, router.clone(), closed.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    closing.send_replace(true);
    let drained = timeout(DRAIN, async { while connections.join_next().await.is_some() {} });
    if drained.await.is_err() {
        tracing::warn!(connections = connections.len(), "stopped before all extractions ended");
    }
}

async fn capabilities(State(service): State<Arc<ExtractorService>>, headers: HeaderMap) -> Response {
    if !service.admits(&headers) {
        return unauthenticated();
    }
    let extractors = Arc::clone(&service.extractors);
    match spawn_blocking(move || extractors.local_capabilities()).await {
        Ok(Some(capabilities)) => axum::Json(capabilities.as_ref()).into_response(),
        Ok(None) | Err(_) => refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the extractor does not start"),
    }
}

async fn extract(
    State(service): State<Arc<ExtractorService>>,
    RawQuery(query): RawQuery,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    if !service.admits(&parts.headers) {
        discard(&parts.headers, body);
        return unauthenticated();
    }
    let request = match asked(&query.unwrap_or_default()) {
        Ok(request) => request,
        Err(message) => {
            discard(&parts.headers, body);
            return refusal(StatusCode::BAD_REQUEST, "bad_request", &message);
        }
    };
    let received = match service.bodies.read(&parts.headers, body).await {
        Ok(received) => received,
        Err(error) => return unread(&error),
    };
    let Ok(Ok(_turn)) = timeout(TURN_WAIT, service.turns.acquire()).await else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "too many extractions at once: try again later");
    };
    let stop = StopOnDrop(Arc::default());
    let (extractors, stopped) = (Arc::clone(&service.extractors), Arc::clone(&stop.0));
    let until = Instant::now() + service.time + SLACK;
    let extracted = spawn_blocking(move || {
        let bytes = received.bytes();
        let artifact = extractors.extract(&request, bytes.len() as u64, &mut Cursor::new(bytes), until, &stopped)?;
        serde_json::to_vec(&artifact).map_err(|error| Failure::Transient(error.to_string()))
    });
    match extracted.await {
        Ok(Ok(artifact)) => ([(CONTENT_TYPE, "application/json")], Bytes::from(artifact)).into_response(),
        Ok(Err(Failure::Refused { code, message })) => refusal(status(code), code.name(), &message),
        Ok(Err(Failure::Transient(message))) => refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", &message),
        Err(error) => {
            tracing::error!(%error, "an extraction panicked");
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "internal", "a defect: the service's log has the cause")
        }
    }
}

/// Ends the extraction of a caller that went away.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What the query string asks for; parameters that it does not know are passed over.
fn asked(query: &str) -> Result<Request, String> {
    let names = ["contract", "filename", "format", "encoding", "sql_dialect"];
    let mut form = Form::parse(query, &names).map_err(|error| error.message)?;
    let contract = form.take("contract");
    if !contract.is_empty() && contract != CONTRACT_VERSION.to_string() {
        return Err(format!("contract is not {CONTRACT_VERSION}, which is spoken here"));
    }
    Ok(Request {
        contract: CONTRACT_VERSION,
        filename: form.take("filename"),
        format: form.take("format"),
        options: Options { encoding: form.take("encoding"), sql_dialect: form.take("sql_dialect") },
    })
}

fn unread(error: &Error) -> Response {
    if error.code == Code::PayloadTooLarge {
        refusal(StatusCode::PAYLOAD_TOO_LARGE, FailureCode::TooLarge.name(), "the file is larger than is read here")
    } else if error.code == Code::Overloaded {
        refusal(StatusCode::SERVICE_UNAVAILABLE, "overloaded", &error.message)
    } else {
        refusal(StatusCode::REQUEST_TIMEOUT, "broken_off", &error.message)
    }
}

fn status(code: FailureCode) -> StatusCode {
    match code {
        FailureCode::FormatUnavailable | FailureCode::UnsupportedFormat => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        FailureCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        FailureCode::FormatMismatch
        | FailureCode::Corrupt
        | FailureCode::Timeout
        | FailureCode::ResourceLimit
        | FailureCode::Encoding
        | FailureCode::InvalidOption
        | FailureCode::NoText => StatusCode::UNPROCESSABLE_ENTITY,
        // Its own process broke the contract, which is no fault of the file.
        FailureCode::InvalidArtifact | FailureCode::Refused => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    (status, axum::Json(json!({ "error": { "code": code, "message": message } }))).into_response()
}

fn unauthenticated() -> Response {
    let refused = refusal(StatusCode::UNAUTHORIZED, "unauthenticated", "send the token as Authorization: Bearer TOKEN");
    ([(WWW_AUTHENTICATE, "Bearer")], refused).into_response()
}

async fn no_route(request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    discard(&parts.headers, body);
    refusal(StatusCode::NOT_FOUND, "not_found", "there are GET /v1/capabilities and POST /v1/extract")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_string_is_decoded_and_another_contract_refused() {
        let request = asked("format=text&filename=a%20b%2Bc.txt&encoding=latin1&unknown=%").expect("a request");
        assert_eq!((request.format.as_str(), request.filename.as_str()), ("text", "a b+c.txt"));
        assert_eq!(request.options.encoding, "latin1");
        assert!(asked("format=%").is_err() && asked("contract=2").is_err());
    }
}
