//! The check that keeps foreign web pages out: whose `Host` a request names, and whose page sent it.
//!
//! A browser lets any page send requests to the loopback address. A page of another site shows itself by its
//! `Origin`; one that lets its own name resolve to the loopback address shows itself by its `Host`.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderName, ORIGIN,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::body::discard;
use super::shared::Door;
use crate::error::{Code, Error};

/// The names and pages that are ours.
pub struct Origins {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// A request that may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It names no origin, or our own.
    Ours,
    /// It comes from a page that the settings list, which may read the answer.
    Listed(HeaderValue),
}

impl Origins {
    /// Loopback names, and `hosts` (`LOOM_ALLOWED_HOSTS`); same-origin pages, and `origins`
    /// (`LOOM_ALLOWED_ORIGINS`).
    pub fn new(hosts: &[String], origins: &[String]) -> Self {
        Self {
            hosts: hosts.iter().map(|host| host.trim().to_ascii_lowercase()).collect(),
            origins: origins.iter().map(|origin| origin.trim().trim_end_matches('/').to_ascii_lowercase()).collect(),
        }
    }

    /// Whether a request with this target and these headers may pass; [`Code::ForbiddenOrigin`] when not.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Passed, Error> {
        let host = only(headers, &HOST).ok_or_else(foreign_host)?.to_ascii_lowercase();
        let named = uri.authority().map_or(host.clone(), |authority| authority.as_str().to_ascii_lowercase());
        if named != host || !self.is_our_host(&host) {
            return Err(foreign_host());
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(Passed::Ours);
        }
        let origin = only(headers, &ORIGIN).ok_or_else(foreign_origin)?.to_ascii_lowercase();
        if is_same(&origin, &host) {
            return Ok(Passed::Ours);
        }
        match headers.get(ORIGIN) {
            Some(sent) if self.origins.contains(&origin) => Ok(Passed::Listed(sent.clone())),
            Some(_) | None => Err(foreign_origin()),
        }
    }

    fn is_our_host(&self, host: &str) -> bool {
        split_port(host)
            .is_some_and(|(name, _)| is_loopback(name) || self.hosts.iter().any(|ours| ours == host || ours == name))
    }
}

/// Whether `origin` is the page's own server. Only a listed name can stand behind a proxy that speaks TLS.
fn is_same(origin: &str, host: &str) -> bool {
    let (rest, default_port) = match origin.split_once("://") {
        Some(("http", rest)) => (rest, 80),
        Some(("https", rest)) if split_port(host).is_some_and(|(name, _)| !is_loopback(name)) => (rest, 443),
        Some(_) | None => return false,
    };
    match (split_port(rest), split_port(host)) {
        (Some((name, port)), Some((our_name, our_port))) => {
            name == our_name && port.unwrap_or(default_port) == our_port.unwrap_or(default_port)
        }
        (_, _) => false,
    }
}

fn only<'headers>(headers: &'headers HeaderMap, name: &HeaderName) -> Option<&'headers str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// The name and the port of `name`, `name:port`, `[address]` or `[address]:port`; none when it is none of these.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let name_end = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (name, port) = authority.split_at(name_end);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'[' | b']' | b':');
    if name.is_empty() || !name.bytes().all(allowed) {
        return None;
    }
    match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some((name, Some(digits.parse().ok()?))),
        None if port.is_empty() => Some((name, None)),
        Some(_) | None => None,
    }
}

fn is_loopback(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match address {
        Some(address) => address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback()),
        None => name == "localhost" || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
    }
}

fn foreign_host() -> Error {
    Error::new(
        Code::ForbiddenOrigin,
        "the request's `Host` is no name of this server: use localhost or 127.0.0.1, or list the name in LOOM_ALLOWED_HOSTS",
    )
}

fn foreign_origin() -> Error {
    Error::new(
        Code::ForbiddenOrigin,
        "the request comes from a page of another origin: list that origin in LOOM_ALLOWED_ORIGINS to let it in",
    )
}

/// Lets only requests pass that [`Origins::check`] does, and tells browsers which pages may read the answers.
pub async fn guard(State(door): State<Door>, request: Request, next: Next) -> Response {
    match door.origins.check(request.uri(), request.headers()) {
        Err(error) => {
            let (parts, body) = request.into_parts();
            discard(&parts.headers, body);
            error.into_response()
        }
        Ok(Passed::Ours) => next.run(request).await,
        Ok(Passed::Listed(origin)) => {
            let asks =
                request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
            let mut response = if asks { preflight() } else { next.run(request).await };
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("content-disposition, etag, retry-after, server-timing, x-request-id"),
            );
            headers.append(VARY, HeaderValue::from_static("origin"));
            response
        }
    }
}

fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, if-none-match, if-range, mcp-method, mcp-name, mcp-protocol-version, range, \
             x-request-id",
        ),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(target: &str, headers: &[(&'static str, &str)]) -> Result<Passed, Code> {
        let origins = Origins::new(&["Loom.Example".into(), "box:7777".into()], &["https://app.example/".into()]);
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).expect("it is a value")))
            .collect();
        origins.check(&target.parse().expect("it is a target"), &headers).map_err(|error| error.code)
    }

    #[test]
    fn loopback_and_listed_hosts_pass() {
        for host in [
            "localhost",
            "localhost:7777",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:7777",
            "127.8.9.1:80",
            "[::1]",
            "[::1]:7777",
            "loom.example",
            "loom.example:8080",
            "box:7777",
        ] {
            assert_eq!(passes("/healthz", &[("host", host)]), Ok(Passed::Ours), "{host}");
        }
    }

    #[test]
    fn other_hosts_do_not() {
        for host in [
            "attacker.test",
            "attacker.test:7777",
            "localhost.attacker.test",
            "127.0.0.1.attacker.test",
            "127.1",
            "localhost.",
            "a@localhost",
            "localhost:7777:1",
            "localhost:",
            "localhost:99999",
            "localhost:+1",
            "",
            "[::1",
            "[::1]x",
            "[::2]",
            "0.0.0.0",
            "10.0.0.1",
            "box",
            "box:1",
            "localhost,attacker.test",
            "[localhost]",
        ] {
            assert_eq!(passes("/healthz", &[("host", host)]), Err(Code::ForbiddenOrigin), "{host}");
        }
        assert_eq!(passes("/healthz", &[]), Err(Code::ForbiddenOrigin));
        assert_eq!(passes("/healthz", &[("host", "localhost"), ("host", "localhost")]), Err(Code::ForbiddenOrigin));
        assert_eq!(passes("http://attacker.test/healthz", &[("host", "localhost")]), Err(Code::ForbiddenOrigin));
        assert_eq!(passes("http://localhost:7777/healthz", &[("host", "localhost:7777")]), Ok(Passed::Ours));
    }

    #[test]
    fn an_origin_must_be_ours_or_listed() {
        for (host, origin) in [
            ("localhost:7777", "http://localhost:7777"),
            ("127.0.0.1:7777", "http://127.0.0.1:7777"),
            ("[::1]:7777", "http://[::1]:7777"),
            ("localhost", "http://localhost:80"),
            ("loom.example", "https://loom.example"),
        ] {
            assert_eq!(passes("/", &[("host", host), ("origin", origin)]), Ok(Passed::Ours), "{origin}");
        }
        for origin in [
            "https://evil.example",
            "null",
            "",
            "http://localhost:3000",
            "https://localhost:7777",
            "http://127.0.0.1:7777",
            "http://localhost:7777.evil.example",
            "http://evil.example#localhost:7777",
            "file://",
            "http://localhost",
        ] {
            let sent = [("host", "localhost:7777"), ("origin", origin)];
            assert_eq!(passes("/", &sent), Err(Code::ForbiddenOrigin), "{origin}");
        }
        let listed = passes("/", &[("host", "localhost:7777"), ("origin", "https://App.example")]);
        assert_eq!(listed, Ok(Passed::Listed(HeaderValue::from_static("https://App.example"))));
    }
}
