//! `/mcp`: the Model Context Protocol on the same port, for the same callers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value};

use super::body::discard;
use super::dispatch::{AT_ONCE_BYTES_MAX, lane};
use super::identity::Admitted;
use super::json;
use super::reply::{self, labelled};
use super::shared::Door;
use crate::error::Error;
use crate::mcp::{Agents, Calls, Done, Work, refusal};
use crate::ops;

/// The code that the protocol has for a message that is no JSON, or that no reader may take two ways.
const PARSE_ERROR: i32 = -32_700;

/// Answers one message; each is of one caller and stands by itself, so that no session is kept.
pub async fn mcp(State(door): State<Door>, request: Request) -> Response {
    labelled(answer(&door, request).await.unwrap_or_else(IntoResponse::into_response), "mcp")
}

async fn answer(door: &Door, request: Request) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    let admitted = match door.admit(&parts.headers, "mcp").await {
        Ok(admitted) => Arc::new(admitted),
        Err(error) => {
            discard(&parts.headers, body);
            return Err(error);
        }
    };
    let received = door.bodies.read(&parts.headers, body).await?;
    // Decoded for what it must not hold; the protocol's own reader takes the bytes.
    let at_once = received.bytes().len() <= AT_ONCE_BYTES_MAX;
    let is_message = parts.method == Method::POST;
    let check = move || (is_message.then(|| json::decode(received.bytes()).err()).flatten(), received);
    let (fault, received) = if at_once { check() } else { door.pool.decode(check).await? };
    if let Some(fault) = fault {
        let error = serde_json::json!({ "code": PARSE_ERROR, "message": fault.message });
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error });
        return Ok(reply::document(StatusCode::BAD_REQUEST, body.to_string()));
    }
    let (bytes, _held) = received.into_parts();
    let settings = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(bytes.len().max(1))
        // The guard of every route has looked at both.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let agents = Agents::new(door.tools.clone(), Arc::new(InPool { door: door.clone(), admitted }));
    let make = move || Ok(agents.clone());
    let service = StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), settings);
    Ok(service.handle(Request::from_parts(parts, Body::from(bytes))).await.into_response())
}

/// Calls of one caller, in the pool that all calls share.
struct InPool {
    door: Door,
    admitted: Arc<Admitted>,
}

impl Calls for InPool {
    fn call(&self, op: &str, input: Map<String, Value>) -> Result<Value, Value> {
        let engine = &self.door.engine;
        let wait = Duration::from_millis(engine.config().http.index_wait_ms);
        let started = Instant::now();
        let answer = engine.call(&self.admitted.caller.clone().waiting(wait), op, input);
        if let Some(spec) = ops::find(op) {
            let status = answer.as_ref().map_or_else(|error| error.code.status(), |_| 200);
            self.door.metrics.record(spec.facts.name, status, started.elapsed());
        }
        answer.map(|answer| answer.output).map_err(|error| refusal(&error))
    }

    fn admit<'calls>(&'calls self, org: &str, namespace: &str, work: Work) -> Done<'calls> {
        let lane = lane(self.door.engine.config(), &self.admitted.caller, org, namespace);
        Box::pin(async move { self.door.pool.run(&lane, work).await.map_err(|error| refusal(&error)) })
    }
}
