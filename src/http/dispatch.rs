//! `POST /v1/<op>`: from the bytes of a request to the engine and back.

use std::time::Duration;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::body::discard;
use super::json;
use super::reply::{self, Outcome, labelled};
use super::shared::Door;
use crate::access::Caller;
use crate::config::Config;
use crate::error::{Code, Error};
use crate::op::Spec;
use crate::ops;

/// The largest body that is decoded where it was received, in bytes; it takes no longer than handing it over.
pub const AT_ONCE_BYTES_MAX: usize = 32 * 1024;
/// How much of the names of a namespace tells its calls apart; longer ones are refused anyway.
const LANE_BYTES_MAX: usize = 512;

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
        return ops::unknown(&op).into_response();
    };
    let answer = run(&door, spec, request).await.unwrap_or_else(IntoResponse::into_response);
    labelled(answer, spec.facts.name)
}

/// Whose share of the pool a call uses: that of the namespace it addresses.
pub fn lane(config: &Config, caller: &Caller, org: &str, namespace: &str) -> String {
    // A foreign organisation is refused where refusals are noted.
    let Ok(scope) = caller.resolve(config, org, namespace) else { return String::new() };
    // No name that an operation accepts holds a slash.
    let mut lane = format!("{}/{}", scope.org, scope.namespace);
    lane.truncate(lane.floor_char_boundary(LANE_BYTES_MAX));
    lane
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
    let admitted = match door.admit(&parts.headers, spec.facts.name).await {
        Ok(admitted) => admitted,
        Err(error) => {
            discard(&parts.headers, body);
            return Err(error);
        }
    };
    let received = door.bodies.read(&parts.headers, body).await?;
    let at_once = received.bytes().len() <= AT_ONCE_BYTES_MAX;
    let decode = move || Ok::<_, Error>((json::decode(received.bytes())?, received.into_held()));
    let (input, held) = if at_once { decode()? } else { door.pool.decode(decode).await?? };
    let engine = door.engine.clone();
    let name = |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default();
    let lane = lane(engine.config(), &admitted.caller, name("org"), name("namespace"));
    let answered = door.pool.run(&lane, move || {
        drop(held);
        let index_wait = Duration::from_millis(engine.config().http.index_wait_ms);
        let caller = admitted.caller.clone().waiting(index_wait);
        let answer = engine.call(&caller, spec.facts.name, input)?;
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
