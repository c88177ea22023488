//! `GET /v1/knowledge.download`: a document's original, or its text, as a file.

mod file;
mod query;
mod range;
mod stream;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use super::dispatch;
use super::reply::{Refusal, labelled};
use super::shared::Door;
use crate::download::Download;
use crate::error::Error;
use query::Asked;
use range::Wanted;

const DOWNLOAD_SOURCE: HeaderName = HeaderName::from_static("x-loom-download-source");

/// Answers a download, whole or one range of it, without holding it whole.
pub async fn download(
    State(door): State<Door>,
    method: Method,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let answer = answer(&door, &method, query.as_deref().unwrap_or_default(), &headers).await;
    labelled(answer.unwrap_or_else(IntoResponse::into_response), "knowledge.download")
}

async fn answer(door: &Door, method: &Method, query: &str, sent: &HeaderMap) -> Result<Response, Error> {
    let asked = Asked::parse(query)?;
    let inline = asked.inline;
    let admitted = door.admit(sent, "knowledge.download").await?;
    let engine = door.engine.clone();
    let lane = dispatch::lane(engine.config(), &admitted.caller, &asked.org, &asked.namespace);
    let opened = door
        .pool
        .run(&lane, move || engine.download(&admitted.caller, &asked.org, &asked.namespace, &asked.source_uri));
    let download = opened.await??;
    let etag = format!("\"{}\"", download.etag);
    let mut response = Response::new(Body::empty());
    describe(response.headers_mut(), &download, &etag, inline)?;
    if text(sent, &IF_NONE_MATCH).is_some_and(|tags| range::lists(tags, &etag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let size = download.size;
    let whole_only = text(sent, &IF_RANGE).is_some_and(|tag| tag.trim() != etag);
    let range = text(sent, &RANGE).filter(|_| method == Method::GET && !whole_only);
    let (start, length) = match range.map_or(Wanted::Whole, |range| range::wanted(range, size)) {
        Wanted::Whole => (0, size),
        Wanted::Part { first, last } => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            insert(response.headers_mut(), CONTENT_RANGE, &format!("bytes {first}-{last}/{size}"))?;
            (first, last - first + 1)
        }
        Wanted::Outside => {
            let mut refused = Refusal::RangeNotSatisfiable.into_response();
            insert(refused.headers_mut(), CONTENT_RANGE, &format!("bytes */{size}"))?;
            return Ok(refused);
        }
    };
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    if method == Method::GET && length > 0 {
        *response.body_mut() = stream::body(door.clone(), download.body, start, length).await?;
    }
    Ok(response)
}

fn describe(headers: &mut HeaderMap, download: &Download, etag: &str, inline: bool) -> Result<(), Error> {
    let shown = file::Shown::new(&download.content_type, inline);
    insert(headers, CONTENT_TYPE, &shown.content_type)?;
    insert(headers, CONTENT_DISPOSITION, &file::disposition(&download.filename, shown.inline))?;
    insert(headers, ETAG, etag)?;
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(shown.policy));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(DOWNLOAD_SOURCE, HeaderValue::from_static(download.source.as_str()));
    // A copy may be kept, but is asked about each time: a deleted document is gone at once.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(())
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), Error> {
    headers.insert(name, HeaderValue::from_str(value).map_err(Error::internal)?);
    Ok(())
}

/// A header's text; one that was sent twice or is not text counts as not sent.
fn text<'headers>(headers: &'headers HeaderMap, name: &HeaderName) -> Option<&'headers str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
