//! An extraction service on loopback that answers as a test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use loom::extraction::ServiceSettings;
use serde_json::{Value, json};

/// What a file became: a status and a body.
pub type Extraction = (u16, Value);

/// A service that answers each file, by its name and bytes, with what `read` makes of it; each request has a thread of
/// its own, so that one may wait.
pub fn service(read: impl Fn(&str, &[u8]) -> Extraction + Clone + Send + 'static) -> ServiceSettings {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, read) = (stream.expect("a connection"), read.clone());
            thread::spawn(move || answer(stream, read));
        }
    });
    ServiceSettings { url, ..ServiceSettings::default() }
}

fn answer(mut stream: TcpStream, read: impl Fn(&str, &[u8]) -> Extraction) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let (mut head, mut length, mut is_chunked) = (String::new(), 0, false);
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        let line = head[start..].to_lowercase();
        if let Some(given) = line.strip_prefix("content-length:") {
            length = given.trim().parse().expect("a length");
        }
        is_chunked |= line.starts_with("transfer-encoding: chunked");
    }
    assert!(!is_chunked, "a file's size is known");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the whole body");
    let target = head.split_whitespace().nth(1).expect("a request line");
    let (status, answer) = if target.starts_with("/v1/capabilities") {
        (200, capabilities())
    } else {
        let named = target.split(['?', '&']).find_map(|part| part.strip_prefix("filename=")).unwrap_or_default();
        read(named, &body)
    };
    let answer = answer.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", answer.len());
    // A caller that was told to stop is gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.as_bytes()));
}

fn capabilities() -> Value {
    let formats = ["text", "markdown", "pdf", "csv", "sql"].map(|format| json!({ "format": format }));
    json!({ "contract": 1, "name": "test", "version": "1", "formats": formats, "max_bytes": 1 << 20 })
}

/// An artifact of paragraphs, one for each line of a file.
pub fn paragraphs(format: &str, text: &str) -> Extraction {
    let blocks: Vec<Value> = text.lines().map(|line| json!({ "kind": "paragraph", "text": line })).collect();
    (200, artifact(format, &json!({ "blocks": blocks })))
}

/// A complete artifact with what `more` says instead.
pub fn artifact(format: &str, more: &Value) -> Value {
    let mut artifact = json!({
        "contract": 1,
        "format": format,
        "parser": { "name": "test", "version": "1" },
        "coverage": { "unit": "lines", "total": 1, "extracted": 1, "failed": 0 },
    });
    for (name, value) in more.as_object().expect("fields") {
        artifact[name] = value.clone();
    }
    artifact
}

/// A refusal by a contract code.
pub fn refusal(status: u16, code: &str) -> Extraction {
    (status, json!({ "error": { "code": code, "message": "because of the test" } }))
}
