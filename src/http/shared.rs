//! What all requests share, and the routes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
#[cfg(feature = "mcp")]
use axum::routing::any;
use axum::routing::{get, post};
use tokio::sync::Semaphore;

use super::body::{Bodies, discard};
use super::metrics::Metrics;
use super::origin::Origins;
use super::pool::Pool;
use super::reply::Refusal;
use super::{backup, dispatch, download, envelope, openapi, origin, probes, upload};
use crate::access::Subjects;
use crate::engine::Engine;
use crate::error::{Code, Error};

/// The state behind every route.
pub type Door = Arc<Shared>;

/// The engine, and what bounds and observes the calls to it.
pub struct Shared {
    /// The engine.
    pub engine: Engine,
    /// Where it runs.
    pub pool: Pool,
    /// The bounds of request bodies.
    pub bodies: Bodies,
    /// Whose requests may pass.
    pub origins: Origins,
    /// The turn to take a backup.
    pub backups: Arc<Semaphore>,
    /// The turns to send a file.
    pub uploads: Arc<Semaphore>,
    /// The turns of messages of agents, each of which has a thread: as many as there are workers.
    #[cfg(feature = "mcp")]
    pub agents: Arc<Semaphore>,
    /// What the subjects of tokens have used.
    pub subjects: Arc<Subjects>,
    /// What was answered so far.
    pub metrics: Metrics,
    openapi: OnceLock<Bytes>,
    closing: AtomicBool,
}

impl Shared {
    /// What requests to `engine` share, bounded as its configuration says.
    pub fn new(engine: Engine) -> Door {
        let limits = &engine.config().http;
        let wait = Duration::from_millis(limits.queue_wait_ms);
        Arc::new(Self {
            pool: Pool::new(limits),
            bodies: Bodies::new(limits.max_body_bytes, wait),
            origins: Origins::new(&limits.allowed_hosts, &limits.allowed_origins),
            backups: Arc::new(Semaphore::new(1)),
            uploads: Arc::new(Semaphore::new(limits.uploads.min(Semaphore::MAX_PERMITS))),
            #[cfg(feature = "mcp")]
            agents: Arc::new(Semaphore::new(limits.workers.min(Semaphore::MAX_PERMITS))),
            subjects: Arc::new(Subjects::new(&engine.config().access)),
            metrics: Metrics::new(),
            openapi: OnceLock::new(),
            closing: AtomicBool::new(false),
            engine,
        })
    }

    /// The `openapi.json` document, made when it is first asked for.
    pub fn openapi(&self) -> Bytes {
        self.openapi.get_or_init(|| openapi::document().to_string().into()).clone()
    }

    /// From now on readiness says no.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    /// Whether the server drains.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }
}

/// Every route, in its envelope and behind the origin check.
pub fn router(door: Door) -> Router {
    let router = Router::new();
    #[cfg(feature = "mcp")]
    let router = router.route("/mcp", any(super::mcp::mcp));
    router
        .route("/v1/{op}", post(dispatch::operation))
        .route("/v1/ops", get(openapi::registry))
        .route("/v1/backup", post(backup::backup))
        .route("/v1/knowledge.upload", post(upload::upload))
        .route("/v1/knowledge.download", get(download::download))
        .route("/openapi.json", get(openapi::serve))
        .route("/healthz", get(probes::health))
        .route("/readyz", get(probes::readiness))
        .route("/metrics", get(probes::metrics))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(door.clone(), origin::guard))
        .layer(from_fn_with_state(door.clone(), envelope::wrap))
        .with_state(door)
}

async fn no_route(request: Request) -> Response {
    let (parts, body) = request.into_parts();
    discard(&parts.headers, body);
    Error::new(Code::NotFound, "no such route: operations are POST /v1/<op>, and GET /v1/ops lists them")
        .into_response()
}

async fn wrong_method(request: Request) -> Response {
    let (parts, body) = request.into_parts();
    discard(&parts.headers, body);
    Refusal::MethodNotAllowed.into_response()
}
