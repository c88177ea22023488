//! What a supervisor asks: is the process up, is it ready, what are its numbers.

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::pool::blocking;
use super::reply::{self, Outcome, labelled};
use super::shared::Door;
use crate::access::Auth;
use crate::engine::Readiness;
use crate::error::{Code, Error};

/// `GET /healthz`: the process is up.
pub async fn health() -> Response {
    labelled(reply::value(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") })), "healthz")
}

/// `GET /readyz`: the store is open and searches see every write; 503 while not.
pub async fn readiness(State(door): State<Door>) -> Response {
    let engine = door.engine.clone();
    let readiness =
        blocking(move || engine.readiness()).await.map(|readiness| match door.engine.config().access.auth {
            Auth::Off => readiness,
            // Anybody may ask, and the names of namespaces are not anybody's.
            Auth::Token => Readiness { detail: json!({}), ..readiness },
        });
    let response = match readiness {
        Ok(readiness) if readiness.ready && !door.is_closing() => {
            reply::value(&json!({ "ready": true, "detail": readiness.detail }))
        }
        Ok(readiness) => {
            let why = if door.is_closing() { "the server is shutting down" } else { "the server is not ready yet" };
            let error = Error {
                retry_after_s: Some(1),
                ..Error::new(Code::BackendUnavailable, format!("{why}: ask again later"))
            };
            let mut body = error.to_json();
            body["ready"] = false.into();
            body["detail"] = readiness.detail;
            let mut response = reply::document(StatusCode::SERVICE_UNAVAILABLE, body.to_string());
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response.extensions_mut().insert(Outcome { code: Some(error.code.to_string()), ..Outcome::default() });
            response
        }
        Err(error) => error.into_response(),
    };
    labelled(response, "readyz")
}

/// `GET /metrics`: the numbers in the text format of Prometheus.
pub async fn metrics(State(door): State<Door>, headers: HeaderMap) -> Response {
    let admitted = match door.admit(&headers, "metrics").await {
        Ok(admitted) => admitted,
        Err(error) => return labelled(error.into_response(), "metrics"),
    };
    let engine = door.engine.clone();
    let response =
        match blocking(move || engine.admit_operator(&admitted.caller).and_then(|()| engine.metrics())).await.flatten()
        {
            Ok(gauges) => {
                let text = door.metrics.text(door.pool.load(), &gauges);
                let media = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                ([(CONTENT_TYPE, media)], text).into_response()
            }
            Err(error) => error.into_response(),
        };
    labelled(response, "metrics")
}
