//! `/mcp`: the Model Context Protocol on the same port, for the same callers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::body::discard;
use super::dispatch::lane;
use super::identity::Admitted;
use super::reply::labelled;
use super::shared::Door;
use crate::error::{Code, Error};
use crate::mcp::{Agents, Calls, Registry, refusal};
use crate::ops;

/// Answers one message; each is of one caller and stands by itself, so that no session is kept.
pub async fn mcp(State(door): State<Door>, request: Request) -> Response {
    let admitted = match door.admit(request.headers(), "mcp").await {
        Ok(admitted) => Arc::new(admitted),
        Err(error) => {
            let (parts, body) = request.into_parts();
            discard(&parts.headers, body);
            return labelled(error.into_response(), "mcp");
        }
    };
    let config = door.engine.config();
    let wait = Duration::from_millis(config.http.queue_wait_ms);
    let Ok(Ok(_turn)) = timeout(wait, door.agents.clone().acquire_owned()).await else {
        let (parts, body) = request.into_parts();
        discard(&parts.headers, body);
        let message = "as many messages of agents are being answered as LOOM_HTTP_WORKERS allows: repeat this one";
        let error = Error { retry_after_s: Some(1), ..Error::new(Code::Overloaded, message) };
        return labelled(error.into_response(), "mcp");
    };
    let settings = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(config.http.max_body_bytes)
        // The guard of every route has looked at both.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let registry = Registry::new(config.mcp.clone());
    let calls: Arc<dyn Calls> = Arc::new(InPool { door: door.clone(), admitted, runtime: Handle::current() });
    let make = move || Ok(Agents::new(registry.clone(), Arc::clone(&calls)));
    let service = StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), settings);
    labelled(service.handle(request).await.into_response(), "mcp")
}

/// Calls of one caller, in the pool that all calls share.
struct InPool {
    door: Door,
    admitted: Arc<Admitted>,
    runtime: Handle,
}

impl Calls for InPool {
    fn call(&self, asked: &str, input: Map<String, Value>) -> Result<Value, Value> {
        let engine = self.door.engine.clone();
        let name = |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default();
        let lane = lane(engine.config(), &self.admitted.caller, name("org"), name("namespace"));
        let wait = Duration::from_millis(engine.config().http.index_wait_ms);
        let (caller, op) = (self.admitted.caller.clone().waiting(wait), asked.to_owned());
        let running = self.door.pool.run(&lane, move || engine.call(&caller, &op, input));
        let started = Instant::now();
        let answered: Result<_, Error> = self.runtime.block_on(running).and_then(|answer| answer);
        if let Some(spec) = ops::find(asked) {
            let status = answered.as_ref().map_or_else(|error| error.code.status(), |_| 200);
            self.door.metrics.record(spec.facts.name, status, started.elapsed());
        }
        answered.map(|answer| answer.output).map_err(|error| refusal(&error))
    }
}
