//! The client against a server on loopback that answers each connection as the test scripted it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::embed::{ApiKey, EmbedError, EmbedKind, EmbedSettings, from_settings};

const KEY: &str = "sk-very-secret";

/// What the server does with the request of one connection.
enum Reply {
    /// Gives each text the vector (3 n, 4 n), n being its number of bytes, the last text first.
    Vectors,
    Json(Value),
    Raw(String),
    /// Writes this, then nothing until the client goes.
    Hang(&'static str),
}

struct Seen {
    head: String,
    body: Value,
}

struct Server {
    address: SocketAddr,
    thread: JoinHandle<Vec<Seen>>,
}

impl Server {
    fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let thread = std::thread::spawn(move || {
            let mut seen = Vec::new();
            let mut replies = replies.into_iter();
            while let Some(request) = listener.accept().ok().and_then(|(stream, _)| Some((read(&stream)?, stream))) {
                let (request, mut stream) = request;
                if let Some(reply) = replies.next() {
                    reply.send(&request, &mut stream);
                }
                seen.push(request);
            }
            seen
        });
        Self { address, thread }
    }

    fn settings(&self) -> EmbedSettings {
        EmbedSettings {
            model: "openai:small".to_owned(),
            base_url: format!("http://{}/v1/", self.address),
            api_key: ApiKey::new(KEY),
            timeout_ms: 10_000,
            attempts_max: 3,
            backoff_ms: 1,
            ..EmbedSettings::default()
        }
    }

    /// The requests, in order. A connection without one ends the server.
    fn stop(self) -> Vec<Seen> {
        drop(TcpStream::connect(self.address));
        self.thread.join().expect("the server does not panic")
    }
}

impl Reply {
    fn send(self, request: &Seen, stream: &mut TcpStream) {
        let (text, hangs) = match self {
            Self::Vectors => (ok(&vectors(&request.body)), false),
            Self::Json(body) => (ok(&body), false),
            Self::Raw(text) => (text, false),
            Self::Hang(text) => (text.to_owned(), true),
        };
        // The client may have gone already, which the test sees on its side.
        let _ = stream.write_all(text.as_bytes());
        if hangs {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length?];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { head, body: serde_json::from_slice(&body).ok()? })
}

fn vectors(request: &Value) -> Value {
    let texts = request["input"].as_array().expect("a list of texts");
    let item = |(index, text): (usize, &Value)| {
        let n = text.as_str().expect("a text").len();
        json!({"index": index, "embedding": [3 * n, 4 * n], "object": "embedding"})
    };
    json!({"data": texts.iter().enumerate().rev().map(item).collect::<Vec<_>>(), "usage": {"total_tokens": 1}})
}

fn ok(body: &Value) -> String {
    let body = body.to_string();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn status(status: u16, headers: &str) -> Reply {
    let body = format!("upstream says {KEY}");
    Reply::Raw(format!(
        "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    ))
}

fn in_an_hour() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

fn embed(settings: &EmbedSettings, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    from_settings(settings).expect("valid settings").embed(texts, EmbedKind::Passage, in_an_hour())
}

/// Embeds two texts against the script; returns the result and how many requests there were.
fn run(replies: Vec<Reply>) -> (Result<Vec<Vec<f32>>, EmbedError>, usize) {
    let server = Server::start(replies);
    let result = embed(&server.settings(), &["one", "two"]);
    if let Err(error) = &result {
        let text = format!("{error} {error:?}");
        assert!(!text.contains("secret") && !text.contains("upstream"), "{text}");
    }
    (result, server.stop().len())
}

fn check_invalid(reply: Reply, expected: &str) {
    match run(vec![reply]) {
        (Err(EmbedError::Invalid { message }), 1) => assert!(message.contains(expected), "{message}"),
        other => panic!("{expected}: {other:?}"),
    }
}

#[test]
fn vectors_are_normalised_and_in_the_order_of_the_texts() {
    let server = Server::start(vec![Reply::Json(json!({"data": [
        {"index": 1, "embedding": [0.0, -2.0]},
        {"index": 0, "embedding": [3.0, 4.0]},
    ]}))]);
    assert_eq!(embed(&server.settings(), &["one", "two"]), Ok(vec![vec![0.6, 0.8], vec![0.0, -1.0]]));
    let seen = server.stop();
    assert_eq!(seen[0].body, json!({"model": "small", "input": ["one", "two"]}));
    let head = seen[0].head.to_ascii_lowercase();
    assert!(head.starts_with("post /v1/embeddings http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")), "{head}");
    assert!(head.contains("content-type: application/json\r\n"), "{head}");
}

#[test]
fn an_answer_without_numbers_is_in_order_and_no_key_is_no_header() {
    let server =
        Server::start(vec![Reply::Json(json!({"data": [{"embedding": [1.0, 0.0]}, {"embedding": [0.0, 0.0]}]}))]);
    let settings = EmbedSettings { api_key: ApiKey::default(), ..server.settings() };
    assert_eq!(embed(&settings, &["one", "two"]), Ok(vec![vec![1.0, 0.0], vec![0.0, 0.0]]));
    assert!(!server.stop()[0].head.to_ascii_lowercase().contains("authorization"));
}

#[test]
fn requests_are_bounded_in_texts_and_bytes() {
    let server = Server::start((0..4).map(|_| Reply::Vectors).collect());
    let settings = EmbedSettings { batch_max: 2, batch_bytes_max: 6, ..server.settings() };
    let vectors = embed(&settings, &["a", "b", "c", "a text past the bound", "dddd", "ee"]).expect("four answers");
    assert_eq!(vectors, vec![vec![0.6, 0.8]; 6]);
    let inputs: Vec<Value> = server.stop().into_iter().map(|mut seen| seen.body["input"].take()).collect();
    assert_eq!(json!(inputs), json!([["a", "b"], ["c"], ["a text past the bound"], ["dddd", "ee"]]));
}

#[test]
fn blank_texts_are_zero_and_are_not_sent() {
    let server = Server::start(vec![Reply::Vectors, Reply::Vectors]);
    let settings = server.settings();
    assert_eq!(embed(&settings, &["", "one", " \n"]), Ok(vec![vec![0.0; 2], vec![0.6, 0.8], vec![0.0; 2]]));
    assert_eq!(embed(&settings, &[""]), Ok(vec![vec![0.0; 2]]));
    assert_eq!(embed(&settings, &[]), Ok(vec![]));
    let inputs: Vec<Value> = server.stop().into_iter().map(|mut seen| seen.body["input"].take()).collect();
    assert_eq!(json!(inputs), json!([["one"], ["dimension"]]));
}

#[test]
fn the_dimension_is_asked_once_and_then_demanded() {
    let server = Server::start(vec![Reply::Vectors, Reply::Json(json!({"data": [{"index": 0, "embedding": [1.0]}]}))]);
    let embedder = from_settings(&server.settings()).expect("valid settings");
    assert_eq!((embedder.dim(in_an_hour()), embedder.dim(in_an_hour())), (Ok(2), Ok(2)));
    let changed = embedder.embed(&["one"], EmbedKind::Query, in_an_hour());
    assert!(matches!(changed, Err(EmbedError::Invalid { .. })), "{changed:?}");
    assert_eq!(server.stop().len(), 2);
}

#[test]
fn passing_failures_are_retried() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"data\": [".to_owned();
    for failure in [status(500, ""), status(429, "Retry-After: 0\r\n"), Reply::Raw(String::new()), Reply::Raw(cut)] {
        let (result, requests) = run(vec![failure, Reply::Vectors]);
        assert_eq!((result, requests), (Ok(vec![vec![0.6, 0.8]; 2]), 2));
    }
}

#[test]
fn retries_end() {
    let (result, requests) = run((0..9).map(|_| status(503, "")).collect());
    assert!(matches!(result, Err(EmbedError::Unavailable { retry_after_s: None, .. })), "{result:?}");
    assert_eq!(requests, 3);
}

#[test]
fn a_longer_wait_than_allowed_is_passed_on_at_once() {
    for asked in [3_600, u64::MAX] {
        let (result, requests) = run(vec![status(429, &format!("Retry-After: {asked}\r\n"))]);
        let Err(EmbedError::Unavailable { retry_after_s, .. }) = result else { panic!("{result:?}") };
        assert_eq!((retry_after_s, requests), (Some(asked), 1));
    }
}

#[test]
fn a_refusal_is_final() {
    for code in [400, 401, 404, 413] {
        assert_eq!(run(vec![status(code, ""), Reply::Vectors]), (Err(EmbedError::Refused { status: code }), 1));
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Server::start(vec![Reply::Vectors]);
    for code in [302, 307, 308] {
        let location = format!("Location: http://{}/v1/embeddings\r\n", elsewhere.address);
        assert_eq!(run(vec![status(code, &location)]), (Err(EmbedError::Refused { status: code }), 1));
    }
    assert!(elsewhere.stop().is_empty());
}

#[test]
fn a_server_that_hangs_is_given_up() {
    for begun in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"data\":"] {
        let server = Server::start(vec![Reply::Hang(begun), Reply::Hang(begun)]);
        let settings = EmbedSettings { timeout_ms: 100, attempts_max: 2, ..server.settings() };
        let result = embed(&settings, &["one"]);
        let Err(EmbedError::Unavailable { message, .. }) = result else { panic!("{result:?}") };
        assert!(message.contains("within 100 ms"), "{message}");
        assert_eq!(server.stop().len(), 2);
    }
}

#[test]
fn an_absent_server_is_unavailable() {
    let server = Server::start(vec![]);
    let settings = server.settings();
    server.stop();
    let result = embed(&settings, &["one"]);
    assert!(matches!(result, Err(EmbedError::Unavailable { .. })), "{result:?}");
}

#[test]
fn an_answer_must_have_one_vector_for_each_text() {
    let item = |index: Value| json!({"index": index, "embedding": [1.0, 0.0]});
    check_invalid(Reply::Json(json!({"data": [item(json!(0))]})), "1 vectors for 2 texts");
    check_invalid(Reply::Json(json!({"data": []})), "0 vectors for 2 texts");
    check_invalid(Reply::Json(json!({"data": [item(json!(1)), item(json!(1))]})), "not numbered");
    check_invalid(Reply::Json(json!({"data": [item(json!(1)), item(json!(2))]})), "not numbered");
    check_invalid(Reply::Json(json!({"data": [item(json!(1)), item(json!(null))]})), "not numbered");
    let uneven = json!({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]});
    check_invalid(Reply::Json(uneven), "2 dimensions");
    check_invalid(Reply::Json(json!({"data": [{"embedding": []}, {"embedding": []}]})), "0 dimensions");
    let long = vec![0.5; EmbedSettings::DIM_MAX + 1];
    check_invalid(Reply::Json(json!({"data": [{"embedding": long}, {"embedding": long}]})), "8193 dimensions");
}

#[test]
fn numbers_must_be_finite() {
    let raw = |number: &str| {
        let body = format!(r#"{{"data": [{{"embedding": [1.0]}}, {{"embedding": [{number}]}}]}}"#);
        Reply::Raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()))
    };
    check_invalid(raw("1e39"), "not finite");
    for number in ["NaN", "1e999", "\"upstream\"", "null"] {
        check_invalid(raw(number), "not a list of embeddings");
    }
}

#[test]
fn garbage_and_huge_answers_are_refused() {
    for body in [json!("upstream"), json!({"error": {"message": "upstream"}}), json!([]), json!({"data": 1})] {
        check_invalid(Reply::Json(body), "not a list of embeddings");
    }
    let nested = "[".repeat(100_000);
    check_invalid(
        Reply::Raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{nested}", nested.len())),
        "not a list of embeddings",
    );
    let spaces = " ".repeat(2_000_000);
    check_invalid(Reply::Raw(format!("HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n{spaces}")), "longer than");
}

#[test]
fn settings_are_checked_before_any_request() {
    let with = |change: fn(&mut EmbedSettings)| {
        let mut settings = EmbedSettings { model: "openai:small".to_owned(), ..EmbedSettings::default() };
        change(&mut settings);
        settings
    };
    assert!(from_settings(&with(|_| ())).is_ok());
    assert!(from_settings(&with(|settings| settings.base_url = "http://[::1]:8080".to_owned())).is_ok());
    for settings in [
        with(|settings| settings.base_url = String::new()),
        with(|settings| settings.base_url = "localhost:11434/v1".to_owned()),
        with(|settings| settings.base_url = "ftp://localhost/v1".to_owned()),
        with(|settings| settings.base_url = "http://".to_owned()),
        with(|settings| settings.base_url = "https://me:secret@localhost/v1".to_owned()),
        with(|settings| settings.base_url = "https://localhost/v1?key=secret".to_owned()),
        with(|settings| settings.api_key = ApiKey::new("secret\nsecret")),
        with(|settings| settings.batch_max = 0),
        with(|settings| settings.attempts_max = 0),
        with(|settings| settings.timeout_ms = 0),
    ] {
        let Err(EmbedError::Config { message }) = from_settings(&settings) else { panic!("{settings:?}") };
        assert!(!message.contains("secret"), "{message}");
    }
}
