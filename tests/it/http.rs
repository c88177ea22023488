//! The HTTP door itself: its envelope, its bounds and whom it turns away.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use loom::Config;
use serde_json::{Value, json};

use crate::harness::Folder;
use crate::server::Server;

/// An answer as it came over the wire.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// The code of an error, after a look at its shape.
    fn code(&self) -> String {
        let body = self.json();
        let error = body["error"].as_object().expect("the body is an error");
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(error["retryable"].is_boolean());
        error["code"].as_str().expect("an error has a code").into()
    }

    /// What every answer carries.
    fn assert_envelope(&self) {
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "{}", self.head);
        let timing = self.header("server-timing").expect("every answer is timed");
        for stage in ["embed", "lexical", "vector", "keys", "fuse", "store"] {
            assert!(timing.contains(&format!("{stage};dur=")), "{timing}");
        }
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        assert!(self.header("cache-control").is_some(), "{}", self.head);
    }
}

struct Http {
    server: Server,
    _folder: Folder,
}

impl Http {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(set: impl FnOnce(&mut Config)) -> Self {
        let folder = Folder::new();
        Self { server: Server::start(folder.open_with(set)), _folder: folder }
    }

    fn connect(&self) -> TcpStream {
        let address = self.server.base.strip_prefix("http://").expect("the base is an address");
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("it takes a timeout");
        stream
    }

    /// Sends the bytes of a request as they are and reads the answer to the end of the connection.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).expect("the server reads");
        read(&mut stream)
    }

    fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|line| line.to_ascii_lowercase().starts_with("host:")) {
            head.push_str("host: localhost\r\n");
        }
        for line in headers {
            head.push_str(line);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        self.raw(&[head.as_bytes(), body].concat())
    }

    fn post(&self, op: &str, body: impl AsRef<[u8]>) -> Answer {
        self.send("POST", &format!("/v1/{op}"), &["content-type: application/json"], body.as_ref())
    }

    fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.send("GET", path, headers, b"")
    }

    fn store(&self, source_uri: &str, content: &str) {
        let answer = self.post("knowledge.upsert", json!({"source_uri": source_uri, "content": content}).to_string());
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
}

fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the server answers");
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("the answer has a head");
    let head = String::from_utf8(bytes[..head_end].to_vec()).expect("the head is text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("the head has a status");
    Answer { status, head, body: bytes[head_end + 4..].to_vec() }
}

#[test]
fn every_answer_has_its_envelope() {
    let http = Http::new();
    for (answer, status) in [
        (http.post("knowledge.upsert", r#"{"source_uri": "a", "content": "one"}"#), 200),
        (http.post("knowledge.upsert", "{}"), 422),
        (http.post("knowledge.upsert", "nonsense"), 400),
        (http.post("knowledge.upsret", "{}"), 404),
        (http.get("/healthz", &[]), 200),
        (http.get("/v1/ops", &[]), 200),
        (http.get("/nowhere", &[]), 404),
        (http.get("/v1/knowledge.upsert", &[]), 405),
        (http.get("/healthz", &["origin: https://evil.example"]), 403),
        (http.send("HEAD", "/healthz", &[], b""), 200),
    ] {
        assert_eq!(answer.status, status, "{}", answer.head);
        answer.assert_envelope();
    }
}

#[test]
fn a_request_id_is_echoed_when_it_is_valid() {
    let http = Http::new();
    assert_eq!(http.get("/healthz", &["x-request-id: Trace_1.b-2"]).header("x-request-id"), Some("Trace_1.b-2"));
    let replaced = http.get("/healthz", &["x-request-id: not valid"]);
    assert!(replaced.header("x-request-id").is_some_and(|id| id.len() == 36 && !id.contains(' ')), "{}", replaced.head);
}

#[test]
fn errors_have_one_shape_and_their_status() {
    let http = Http::new();
    let deep = format!("{{\"metadata\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for (body, status, code, field) in [
        ("", 400, "BAD_JSON", Value::Null),
        ("[]", 400, "BAD_JSON", Value::Null),
        ("{\"a\"", 400, "BAD_JSON", Value::Null),
        (r#"{"source_uri": "a", "source_uri": "b"}"#, 422, "VALIDATION_FAILED", json!("source_uri")),
        (r#"{"source_uri": "a", "content": "\ud800"}"#, 422, "VALIDATION_FAILED", json!("content")),
        (r#"{"tags": ["\ude00"]}"#, 422, "VALIDATION_FAILED", json!("tags[0]")),
        (deep.as_str(), 422, "VALIDATION_FAILED", json!("metadata")),
    ] {
        let answer = http.post("knowledge.upsert", body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
        assert_eq!(answer.json()["error"]["field"], field);
    }
    http.store("after", "The server lives on.");
}

#[test]
fn unknown_operations_and_routes_are_told_apart() {
    let http = Http::new();
    let unknown = http.post("knowledge.upsret", "not even JSON");
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "UNKNOWN_OP"));
    assert!(unknown.json()["error"]["message"].as_str().expect("words").contains("knowledge.upsert"));
    for path in ["/", "/v1", "/v1/", "/v1/knowledge.upsert/", "/v1/%ff", "/v2/knowledge.upsert", "//v1/ops"] {
        let answer = http.send("POST", path, &["content-type: application/json"], b"{}");
        assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"), "{path}");
    }
    for (method, path, allow) in [
        ("GET", "/v1/knowledge.upsert", "POST"),
        ("DELETE", "/v1/knowledge.upsert", "POST"),
        ("POST", "/v1/ops", "GET,HEAD"),
        ("POST", "/v1/knowledge.download", "GET,HEAD"),
        ("POST", "/openapi.json", "GET,HEAD"),
        ("OPTIONS", "/healthz", "GET,HEAD"),
    ] {
        let answer = http.send(method, path, &["content-type: application/json"], b"{}");
        assert_eq!((answer.status, answer.code().as_str()), (405, "METHOD_NOT_ALLOWED"), "{method} {path}");
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
}

#[test]
fn an_operation_demands_json() {
    let http = Http::new();
    let body = br#"{"source_uri": "a", "content": "one"}"#;
    for headers in [&[][..], &["content-type: text/plain"], &["content-type: application/x-www-form-urlencoded"]] {
        let answer = http.send("POST", "/v1/knowledge.upsert", headers, body);
        assert_eq!((answer.status, answer.code().as_str()), (422, "VALIDATION_FAILED"), "{headers:?}");
        assert!(answer.json()["error"]["message"].as_str().expect("words").contains("content-type: application/json"));
    }
    let answer = http.send("POST", "/v1/knowledge.upsert", &["content-type: application/json; charset=utf-8"], body);
    assert_eq!(answer.status, 200);
}

#[test]
fn a_body_over_the_limit_is_refused_and_the_answer_arrives() {
    let http = Http::with(|config| config.http.max_body_bytes = 1000);
    let refused = |answer: Answer| {
        assert_eq!((answer.status, answer.code().as_str()), (413, "PAYLOAD_TOO_LARGE"));
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains("1000") && message.contains("LOOM_HTTP_MAX_BODY_BYTES"), "{message}");
    };
    // One that sends all of it before it reads.
    refused(http.post("knowledge.upsert", vec![b' '; 20_000_000]));
    // One that only says how much it will send.
    let head = "POST /v1/knowledge.upsert HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                content-type: application/json\r\n";
    refused(http.raw(format!("{head}content-length: 99999999999\r\nexpect: 100-continue\r\n\r\n").as_bytes()));
    // One that does not say it.
    let mut chunked = format!("{head}transfer-encoding: chunked\r\n\r\n");
    for _ in 0..20 {
        chunked.extend(["64\r\n", &" ".repeat(100), "\r\n"]);
    }
    chunked.push_str("0\r\n\r\n");
    refused(http.raw(chunked.as_bytes()));
    let fits = format!("{:<1000}", r#"{"source_uri": "a", "content": "one"}"#);
    assert_eq!(http.post("knowledge.upsert", fits).status, 200);
}

#[test]
fn a_body_that_breaks_off_is_bad_json() {
    let http = Http::new();
    let mut stream = http.connect();
    let head = "POST /v1/knowledge.upsert HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    stream
        .write_all(format!("{head}content-length: 100\r\n\r\n{{\"source_uri\"").as_bytes())
        .expect("the server reads");
    stream.shutdown(std::net::Shutdown::Write).expect("the connection is open");
    let mut answer = Vec::new();
    // Whether it is told or cut off, it stores nothing and the server lives on.
    if stream.read_to_end(&mut answer).is_ok() && !answer.is_empty() {
        assert!(answer.starts_with(b"HTTP/1.1 400 "), "{}", String::from_utf8_lossy(&answer));
    }
    http.store("after", "The server lives on.");
}

#[test]
fn foreign_pages_and_names_are_turned_away_from_every_route() {
    let http = Http::with(|config| {
        config.http.allowed_hosts = vec!["loom.example".into()];
        config.http.allowed_origins = vec!["https://app.example".into()];
    });
    for path in
        ["/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/ops", "/v1/knowledge.download?source_uri=a", "/x"]
    {
        for header in
            ["origin: https://evil.example", "origin: null", "host: attacker.test", "host: attacker.test:7777"]
        {
            let answer = http.get(path, &[header]);
            assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN_ORIGIN"), "{path} {header}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let foreign = ["content-type: application/json", "origin: https://evil.example"];
    let body = br#"{"source_uri": "a", "content": "one"}"#;
    assert_eq!(http.send("POST", "/v1/knowledge.upsert", &foreign, body).status, 403);
    assert_eq!(http.get("/v1/knowledge.download?source_uri=a", &[]).status, 404, "nothing was written");
    let no_host = http.raw(b"GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!((no_host.status, no_host.code().as_str()), (403, "FORBIDDEN_ORIGIN"));

    assert_eq!(http.get("/healthz", &["host: loom.example:8080"]).status, 200);
    assert_eq!(http.get("/healthz", &["host: 127.0.0.1:1", "origin: http://127.0.0.1:1"]).status, 200);
    let listed = http.get("/healthz", &["origin: https://app.example"]);
    assert_eq!(listed.header("access-control-allow-origin"), Some("https://app.example"));
    let asks = ["origin: https://app.example", "access-control-request-method: POST"];
    let preflight = http.send("OPTIONS", "/v1/knowledge.upsert", &asks, b"");
    assert_eq!(preflight.status, 204);
    assert!(preflight.header("access-control-allow-headers").is_some_and(|names| names.contains("content-type")));
}

#[test]
fn a_download_answers_ranges_and_validators() {
    let http = Http::new();
    let content: String =
        (0..60_000).flat_map(|line| ["Line ".into(), line.to_string(), " of the text.\n".into()]).collect();
    http.store("docs/long text.md", &content);
    let path = "/v1/knowledge.download?source_uri=docs%2Flong+text.md";
    let whole = http.get(path, &[]);
    assert_eq!(whole.status, 200);
    whole.assert_envelope();
    assert_eq!(whole.header("x-loom-download-source"), Some("text"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert!(whole.header("content-disposition").is_some_and(|value| value.starts_with("attachment; filename=")));
    assert!(whole.header("content-security-policy").is_some_and(|value| value.contains("sandbox")));
    assert_eq!(whole.header("content-length"), Some(whole.body.len().to_string().as_str()));
    assert!(String::from_utf8(whole.body.clone()).expect("it is text").contains("Line 59999 of the text."));
    let etag = whole.header("etag").expect("it has a validator");

    let part = http.get(path, &["range: bytes=200000-700000"]);
    assert_eq!(part.status, 206);
    assert_eq!(part.header("content-range"), Some(format!("bytes 200000-700000/{}", whole.body.len()).as_str()));
    assert!(part.body == whole.body[200_000..=700_000]);
    let end = http.get(path, &["range: bytes=-10", &format!("if-range: {etag}")]);
    assert!(end.status == 206 && end.body == whole.body[whole.body.len() - 10..]);
    assert_eq!(http.get(path, &["range: bytes=-10", "if-range: \"old\""]).status, 200);
    let outside = http.get(path, &["range: bytes=99999999-"]);
    assert_eq!((outside.status, outside.code().as_str()), (416, "RANGE_NOT_SATISFIABLE"));
    assert_eq!(outside.header("content-range"), Some(format!("bytes */{}", whole.body.len()).as_str()));

    let known = http.get(path, &[&format!("if-none-match: {etag}")]);
    assert_eq!((known.status, known.body.len()), (304, 0));
    let head = http.send("HEAD", path, &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), whole.header("content-length"));
    let shown = http.get(&format!("{path}&inline=1"), &[]);
    assert!(shown.header("content-disposition").is_some_and(|value| value.starts_with("inline; ")));
}

#[test]
fn a_download_names_what_is_wrong() {
    let http = Http::new();
    let missing = http.get("/v1/knowledge.download?source_uri=nothing", &[]);
    assert_eq!((missing.status, missing.code().as_str()), (404, "NOT_FOUND"));
    for query in ["", "source_uri=a&source_uri=b", "source_uri=%ff"] {
        let answer = http.get(&format!("/v1/knowledge.download?{query}"), &[]);
        assert_eq!((answer.status, answer.code().as_str()), (422, "VALIDATION_FAILED"), "{query}");
        assert_eq!(answer.json()["error"]["field"], "source_uri");
    }
}

#[test]
fn the_server_tells_about_itself() {
    let http = Http::new();
    http.store("a", "one");
    let ready = http.get("/readyz", &[]);
    assert_eq!((ready.status, &ready.json()["ready"]), (200, &json!(true)));
    let metrics = http.get("/metrics", &[]);
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = String::from_utf8(metrics.body).expect("it is text");
    let counted = "loom_http_requests_total{op=\"knowledge.upsert\",status=\"200\"} 1";
    assert!(text.lines().any(|line| line == counted), "{text}");
    let ops = http.get("/v1/ops", &[]).json();
    let ops = ops["ops"].as_array().expect("a list");
    assert_eq!(ops.len(), loom::ops::ALL.len());
    assert!(ops.iter().all(|entry| entry["name"] == entry["op"] && entry["summary"].as_str().is_some()));
}

#[test]
fn a_connection_serves_many_requests_and_all_kinds_of_nonsense_end_alone() {
    let http = Http::new();
    let mut stream = http.connect();
    for _ in 0..3 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("the server reads");
    }
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("the server reads");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("the server answers");
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 4);
    for nonsense in
        [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0\0\0\0\r\n\r\n"]
    {
        let mut stream = http.connect();
        stream.write_all(nonsense).expect("the connection is open");
        stream.shutdown(std::net::Shutdown::Write).expect("the connection is open");
        let mut answer = Vec::new();
        // What it says, if it says anything, is up to the parser; it must let go of the connection.
        stream.read_to_end(&mut answer).expect("the connection ends");
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."));
    }
    http.store("after", "The server lives on.");
}

#[test]
fn a_stopped_server_lets_go_of_its_port() {
    let folder = Folder::new();
    let server = Server::start(folder.open());
    let address = server.base.strip_prefix("http://").expect("the base is an address").to_owned();
    server.stop();
    assert!(TcpStream::connect(address).is_err());
    drop(Server::start(folder.open()));
}
