//! How answers and errors become HTTP: JSON bodies, one error shape, and what the log may say of them.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::error::{Code, Error};

/// What a handler tells the envelope about its answer, carried as an extension of the response.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The operation or route, one of the names that metrics know.
    pub label: Option<&'static str>,
    /// The error code, when there was an error.
    pub code: Option<String>,
    /// The cause of an error, for the log alone.
    pub cause: Option<String>,
    /// Where the time went, in milliseconds, by stage.
    pub timings: Vec<(&'static str, f64)>,
}

/// `response`, with `label` as the operation or route that it answers.
pub fn labelled(mut response: Response, label: &'static str) -> Response {
    response.extensions_mut().get_or_insert_default::<Outcome>().label = Some(label);
    response
}

/// A JSON document as a response.
pub fn document(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A refusal that HTTP itself knows and the operations do not.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// The route exists, but not with this method.
    MethodNotAllowed,
    /// The range asked for lies outside the document.
    RangeNotSatisfiable,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code, message) = match self {
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                "this route does not answer this method: the `allow` header names those it does; operations are POST",
            ),
            Self::RangeNotSatisfiable => (
                StatusCode::RANGE_NOT_SATISFIABLE,
                "RANGE_NOT_SATISFIABLE",
                "the range lies outside the document: `content-range` says its size in bytes",
            ),
        };
        let body = json!({ "error": { "code": code, "message": message, "retryable": false } });
        let mut response = document(status, body.to_string());
        response.extensions_mut().insert(Outcome { code: Some(code.into()), ..Outcome::default() });
        response
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = document(status, self.to_json().to_string());
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::Unauthenticated {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"loom\""));
        }
        let cause = self.cause.as_deref().map(|cause| causes(cause));
        response.extensions_mut().insert(Outcome { code: Some(self.code.to_string()), cause, ..Outcome::default() });
        response
    }
}

/// A value as a response with status 200.
pub fn value(value: &Value) -> Response {
    document(StatusCode::OK, value.to_string())
}

/// The words of an error and of what lies under it, which a log line can hold.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    const LEVELS_MAX: usize = 8;
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.take(LEVELS_MAX).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
