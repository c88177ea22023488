//! What every request gets, whatever answers it: an id, a log line, a place in the metrics, and the headers.

use std::fmt::Write as _;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderName, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument as _;
use uuid::Uuid;

use super::reply::Outcome;
use super::shared::Door;
use crate::error::Error;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// The longest id that is taken over from a caller, in bytes.
const REQUEST_ID_MAX: usize = 128;
/// The stages that each answer times.
const STAGES: [&str; 6] = ["embed", "lexical", "vector", "keys", "fuse", "store"];
/// What is not an operation or a route of ours, in log lines and metrics.
pub const OTHER: &str = "other";

/// Answers a request in its envelope. A caller that leaves does not stop what it asked for.
pub async fn wrap(State(door): State<Door>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let span = tracing::info_span!("request", id = %id);
    let running = door.metrics.begin();
    let task = tokio::spawn(
        async move {
            let mut response = match tokio::spawn(next.run(request).in_current_span()).await {
                Ok(response) => response,
                Err(error) => Error::internal(error).into_response(),
            };
            let outcome = response.extensions_mut().remove::<Outcome>().unwrap_or_default();
            let elapsed = started.elapsed();
            let (op, status) = (outcome.label.unwrap_or(OTHER), response.status().as_u16());
            door.metrics.record(op, status, elapsed);
            report(op, status, elapsed.as_secs_f64() * 1e3, &outcome);
            drop(running);
            finish(&mut response, &outcome.timings, elapsed.as_secs_f64() * 1e3);
            response
        }
        .instrument(span),
    );
    let mut response = task.await.unwrap_or_else(|error| Error::internal(error).into_response());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

fn report(op: &str, status: u16, ms: f64, outcome: &Outcome) {
    let code = outcome.code.as_deref().unwrap_or_default();
    let cause = outcome.cause.as_deref().unwrap_or("none");
    match status {
        // It passes by itself.
        503 => tracing::warn!(op, status, ms, code, cause, "answered"),
        500.. => tracing::error!(op, status, ms, code, cause, "answered"),
        _ => tracing::info!(op, status, ms, code, "answered"),
    }
}

/// The caller's id when it is one, else a fresh one.
fn request_id(headers: &HeaderMap) -> String {
    let valid = |id: &&str| {
        (1..=REQUEST_ID_MAX).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    let sent = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(valid);
    sent.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

fn finish(response: &mut Response, timings: &[(&'static str, f64)], total_ms: f64) {
    let timing = server_timing(timings, total_ms);
    let headers = response.headers_mut();
    if let Ok(timing) = HeaderValue::from_str(&timing) {
        headers.insert(SERVER_TIMING, timing);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    let policy = if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) { "cross-origin" } else { "same-origin" };
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static(policy));
}

fn server_timing(timings: &[(&'static str, f64)], total_ms: f64) -> String {
    let mut header = String::new();
    for stage in STAGES {
        // An empty sum of floats is negative zero.
        let spent = timings.iter().filter(|(name, _)| *name == stage).fold(0.0, |spent, (_, ms)| spent + ms);
        // Writing to a string cannot fail.
        let _ = write!(header, "{stage};dur={spent:.3}, ");
    }
    let _ = write!(header, "total;dur={total_ms:.3}");
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_request_id_is_kept_and_another_replaced() {
        let kept = |sent: &str| {
            let headers = HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_str(sent).expect("it is a value"))]);
            request_id(&headers) == sent
        };
        assert!(kept("a") && kept("Trace-1_b.c") && kept(&"x".repeat(128)));
        assert!(!kept("") && !kept("a b") && !kept("a\tb") && !kept("a;b") && !kept(&"x".repeat(129)));
        let fresh = request_id(&HeaderMap::new());
        assert_eq!(Uuid::parse_str(&fresh).expect("it is a UUID").get_version_num(), 7);
    }

    #[test]
    fn every_stage_is_timed_even_when_it_took_no_part() {
        assert_eq!(
            server_timing(&[("store", 1.5), ("embed", 0.25), ("store", 1.0)], 4.0),
            "embed;dur=0.250, lexical;dur=0.000, vector;dur=0.000, keys;dur=0.000, fuse;dur=0.000, store;dur=2.500, total;dur=4.000"
        );
    }
}
