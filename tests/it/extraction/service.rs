//! Extractors behind HTTP, on this machine.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use loom::extraction::contract::{
    Artifact, Block, CONTRACT_VERSION, Capabilities, Coverage, CoverageUnit, FormatCapability, Parser,
};
use loom::extraction::{ExtractionSettings, Extractors, FailureCode, ServiceSettings};
use serde_json::json;

use super::{failed, later, read, request};

/// A request as a service sees it.
#[derive(Debug)]
struct Seen {
    /// Its first line and its headers.
    head: String,
    body: Vec<u8>,
}

/// A service that answers as `answer` says by the first line of a request, and tells what it was asked.
fn service(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Receiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (see, seen) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = take(&stream);
            let answer = answer(request.head.lines().next().unwrap_or_default());
            // The test ends when it has seen enough.
            if see.send(request).is_err() || stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    (url, seen)
}

fn take(stream: &TcpStream) -> Seen {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Seen { head, body }
}

fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn capabilities() -> String {
    let formats = vec![FormatCapability { format: "pdf".into(), ..FormatCapability::default() }];
    let capabilities = Capabilities { contract: CONTRACT_VERSION, formats, max_bytes: 100, ..Capabilities::default() };
    reply("200 OK", &serde_json::to_string(&capabilities).unwrap())
}

fn artifact() -> Artifact {
    Artifact {
        contract: CONTRACT_VERSION,
        format: "pdf".into(),
        parser: Parser { name: "theirs".into(), version: "1".into() },
        blocks: vec![Block { text: "words".into(), ..Block::default() }],
        coverage: Coverage::complete(CoverageUnit::Pages, 1),
        ..Artifact::default()
    }
}

/// Extractors of which all formats go to `url`.
fn extractors(url: &str) -> Extractors {
    let service = ServiceSettings { url: url.into(), token: String::from("very-secret").into() };
    let settings =
        ExtractionSettings { service: Some(service), artifact_bytes_max: 10_000, ..ExtractionSettings::default() };
    Extractors::new(&settings).unwrap()
}

/// What becomes of a PDF when the service answers an extraction so.
fn outcome(answer: String) -> (Option<FailureCode>, String) {
    let (url, _seen) = service(move |line| if line.starts_with("GET") { capabilities() } else { answer.clone() });
    failed(read(&extractors(&url), "pdf", b"a file"))
}

#[test]
fn a_file_is_sent_with_its_options_and_its_artifact_checked() {
    let (url, seen) = service(|line| {
        if line.starts_with("GET") {
            return capabilities();
        }
        reply("200 OK", &serde_json::to_string(&artifact()).unwrap())
    });
    let extractors = extractors(&format!("{url}/base/"));
    let mut asked = request("pdf");
    asked.filename = "q3 & more.pdf".into();
    asked.options.encoding = "latin1".into();
    let read = extractors.extract(&asked, 6, &mut &b"a file"[..], later(), &AtomicBool::new(false)).unwrap();
    assert_eq!(read, artifact());
    let first = seen.recv().unwrap();
    assert!(first.head.starts_with("GET /base/v1/capabilities "), "{}", first.head);
    let second = seen.recv().unwrap();
    assert!(second.head.starts_with("POST /base/v1/extract?"), "{}", second.head);
    for part in ["format=pdf", "filename=q3%20%26%20more.pdf", "encoding=latin1"] {
        assert!(second.head.lines().next().unwrap().contains(part), "{}", second.head);
    }
    assert!(second.head.to_ascii_lowercase().contains("authorization: bearer very-secret"), "{}", second.head);
    assert_eq!(second.body, b"a file");
    // What it reads is not asked again, and neither is what it does not read.
    assert_eq!(failed(super::read(&extractors, "docx", b"x")).0, Some(FailureCode::FormatUnavailable));
    assert_eq!(failed(super::read(&extractors, "pdf", &[0; 101])).0, Some(FailureCode::TooLarge));
    let available = extractors.available();
    assert_eq!((available["pdf"], available["docx"]), (Some(true), Some(false)));
    assert!(seen.try_recv().is_err());
}

#[test]
fn passing_failures_are_told_from_refusals() {
    for status in ["500 No", "503 No", "408 Late", "429 Busy", "302 Moved", "204 None", "201 Made"] {
        let (code, message) = outcome(reply(status, ""));
        assert!(code.is_none(), "{status}: {code:?} {message}");
    }
    let refusal = |code: &str| json!({ "error": { "code": code, "message": "because" } }).to_string();
    for (status, body, code, words) in [
        ("422 No", refusal("corrupt"), FailureCode::Corrupt, "because"),
        ("400 No", refusal("encoding"), FailureCode::Encoding, "because"),
        ("413 No", refusal("too_large"), FailureCode::TooLarge, "because"),
        ("415 No", refusal("format_unavailable"), FailureCode::FormatUnavailable, "because"),
        ("404 No", refusal("invalid_artifact"), FailureCode::Refused, "404"),
        ("404 No", "not found".into(), FailureCode::Refused, "404"),
        ("401 No", String::new(), FailureCode::Refused, "401"),
        ("200 OK", "<html>".into(), FailureCode::InvalidArtifact, "no artifact"),
        ("200 OK", "{}".into(), FailureCode::InvalidArtifact, "no artifact"),
        ("200 OK", String::new(), FailureCode::InvalidArtifact, "no artifact"),
        ("200 OK", "x".repeat(10_001), FailureCode::ResourceLimit, "MAX_ARTIFACT_BYTES"),
        ("200 OK", artifact_with(|artifact| artifact.contract = 2), FailureCode::InvalidArtifact, "contract"),
        ("200 OK", artifact_with(|artifact| artifact.format = "csv".into()), FailureCode::InvalidArtifact, "format"),
        ("200 OK", artifact_with(|artifact| artifact.coverage.failed = 7), FailureCode::InvalidArtifact, "coverage"),
    ] {
        let (found, message) = outcome(reply(status, &body));
        assert_eq!(found, Some(code), "{status} {body:.80}: {message}");
        assert!(message.contains(words) && !message.contains("very-secret"), "{message}");
    }
    // An answer that is announced and breaks off, and one that is never begun.
    assert!(outcome("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{".into()).0.is_none());
    assert!(outcome(String::new()).0.is_none());
}

fn artifact_with(change: impl FnOnce(&mut Artifact)) -> String {
    let mut artifact = artifact();
    change(&mut artifact);
    serde_json::to_string(&artifact).unwrap()
}

#[test]
fn a_redirect_is_not_followed_and_takes_no_token_along() {
    let (elsewhere, seen) = service(|_| capabilities());
    let moved = format!(
        "HTTP/1.1 307 Moved\r\nlocation: {elsewhere}/v1/extract\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    assert!(outcome(moved).0.is_none());
    assert!(seen.try_recv().is_err());
}

#[test]
fn one_that_cannot_be_asked_is_left_alone_until_an_extraction_reaches_it() {
    let down = std::sync::Arc::new(AtomicBool::new(true));
    let is_down = std::sync::Arc::clone(&down);
    let (url, seen) = service(move |_| {
        if is_down.load(std::sync::atomic::Ordering::Acquire) { reply("503 Down", "") } else { capabilities() }
    });
    let extractors = extractors(&url);
    for _ in 0..3 {
        assert!(extractors.available().values().all(Option::is_none));
    }
    assert_eq!(seen.try_iter().count(), 1);
    let (code, message) = failed(read(&extractors, "pdf", b"x"));
    assert!(code.is_none() && message.contains("503"), "{message}");
    down.store(false, std::sync::atomic::Ordering::Release);
    assert!(failed(read(&extractors, "docx", b"x")).0.is_some());
    assert_eq!(extractors.available()["pdf"], Some(true));
}

#[test]
fn one_that_does_not_answer_is_waited_for_no_longer_than_there_is_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let extractors = extractors(&format!("http://{}", listener.local_addr().unwrap()));
    let soon = Instant::now() + Duration::from_millis(300);
    let (code, message) = failed(extractors.extract(&request("pdf"), 1, &mut &b"x"[..], soon, &AtomicBool::new(false)));
    assert!(code.is_none() && message.contains("in time"), "{message}");
    let stopped = extractors.extract(&request("pdf"), 1, &mut &b"x"[..], later(), &AtomicBool::new(true));
    assert!(failed(stopped).1.contains("stopped"));
}

#[test]
fn formats_go_where_they_are_routed_and_addresses_are_checked() {
    let (pdfs, _seen) = service(|_| capabilities());
    let (others, _also_seen) = service(|_| {
        reply("200 OK", &json!({ "contract": 2, "name": "", "version": "", "formats": [], "max_bytes": 1 }).to_string())
    });
    let of = |url: &str| ServiceSettings { url: url.into(), ..ServiceSettings::default() };
    let services = BTreeMap::from([("pdf".to_owned(), of(&pdfs))]);
    let routed = ExtractionSettings { service: Some(of(&others)), services, ..ExtractionSettings::default() };
    let available = Extractors::new(&routed).unwrap().available();
    // The other one speaks another contract.
    assert_eq!((available["pdf"], available["csv"]), (Some(true), None));
    for url in ["", "ftp://a.test", "http://user:very-secret@a.test", "http://a.test?key=very-secret", "a.test"] {
        let settings = ExtractionSettings { service: Some(of(url)), ..ExtractionSettings::default() };
        let error = Extractors::new(&settings).err().expect("it is refused");
        assert!(error.message.contains("LOOM_DOCUMENT_EXTRACTOR_URL") && !error.message.contains("very-secret"));
    }
}
