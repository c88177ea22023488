//! `POST /v1/<op>`: from the bytes of a request to the engine and back.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Map;

use super::body::discard;
use super::json;
use super::reply::{self, Outcome, labelled};
use super::shared::Door;
use crate::error::{Code, Error};
use crate::op::{Caller, Spec};
use crate::ops;

/// Runs one operation.
pub async fn operation(
    State(door): State<Door>,
    op: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let Ok(Path(op)) = op else {
        return Error::new(Code::NotFound, "the route is not UTF-8: GET /v1/ops lists the operations").into_response();
    };
    let Some(spec) = ops::ALL.iter().find(|spec| spec.facts.name == op) else {
        let (parts, body) = request.into_parts();
        discard(&parts.headers, body);
        return unknown(&door, op).await.into_response();
    };
    let answer = run(&door, spec, request).await.unwrap_or_else(IntoResponse::into_response);
    labelled(answer, spec.facts.name)
}

/// The engine's own words on a name that it does not know.
async fn unknown(door: &Door, op: String) -> Error {
    let engine = door.engine.clone();
    match door.pool.run(move || engine.call(&Caller::local(), &op, Map::new())).await {
        Ok(Ok(_)) => Error::internal("an operation answered that the registry does not list"),
        Ok(Err(error)) | Err(error) => error,
    }
}

async fn run(door: &Door, spec: &'static Spec, request: Request) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        discard(&parts.headers, body);
        return Err(Error::new(
            Code::ValidationFailed,
            "an operation takes JSON: send the header `content-type: application/json`",
        ));
    }
    let received = door.bodies.read(&parts.headers, body).await?;
    let engine = door.engine.clone();
    let answered = door.pool.run(move || {
        let input = json::decode(received.bytes())?;
        drop(received);
        let answer = engine.call(&Caller::local(), spec.facts.name, input)?;
        let output = serde_json::to_vec(&answer.output).map_err(Error::internal)?;
        Ok::<_, Error>((output, answer.timings))
    });
    let (output, timings) = answered.await??;
    let mut response = reply::document(StatusCode::OK, output);
    response.extensions_mut().insert(Outcome { timings, ..Outcome::default() });
    Ok(response)
}

/// Whether the one content type is JSON in UTF-8. A page of another origin cannot send it unasked.
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut sent = headers.get_all(CONTENT_TYPE).iter();
    let (Some(media), None) = (sent.next().and_then(|value| value.to_str().ok()), sent.next()) else { return false };
    let mut parts = media.split(';').map(str::trim);
    parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && parts.all(|parameter| {
            parameter.split_once('=').is_none_or(|(name, value)| {
                !name.trim().eq_ignore_ascii_case("charset")
                    || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            })
        })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_json_in_utf_8_is_json() {
        let is =
            |media: &'static str| is_json(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))]));
        assert!(
            is("application/json") && is("Application/JSON; charset=UTF-8") && is("application/json;charset=\"utf-8\"")
        );
        assert!(!is("text/plain") && !is("application/json-seq") && !is("") && !is("text/plain; a=application/json"));
        assert!(!is("application/json; charset=utf-16") && !is("application/x-www-form-urlencoded"));
        assert!(!is_json(&HeaderMap::new()));
    }
}
