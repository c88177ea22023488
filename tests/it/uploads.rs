//! `POST /v1/knowledge.upload` as it comes over the wire, and an ingest by the extractor that comes with Loom.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loom_storage::Hash;
use serde_json::{Value, json};

use crate::harness::Folder;
use crate::server::Server;

fn started(folder: &Folder) -> Server {
    Server::start(folder.open_with(|config| {
        config.documents.original_bytes = 3 << 20;
        config.extraction.program = Some(PathBuf::from(env!("CARGO_BIN_EXE_loom")));
    }))
}

/// Sends a request as it is and reads the answer to its end: status and JSON.
fn raw(server: &Server, request: &[u8]) -> (u16, Value) {
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").expect("an address")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_mins(1))).expect("it takes a timeout");
    // A server that refuses early may not read to the end.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split_whitespace().nth(1).expect("a status line").parse().expect("a number");
    (status, serde_json::from_str(body).expect("JSON"))
}

fn sent(server: &Server, query: &str, body: &[u8]) -> (u16, Value) {
    let head = format!(
        "POST /v1/knowledge.upload?{query} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    raw(server, &[head.as_bytes(), body].concat())
}

#[test]
fn a_body_is_stored_as_it_is_and_a_file_found_by_its_words() {
    let folder = Folder::new();
    let server = started(&folder);
    let text = "# Kiln\n\nHeat it to 1,240 degrees with `heat_kiln`.\n\n".repeat(40);
    let (status, uploaded) = sent(&server, "filename=kiln%20notes.md&content_type=text/plain", text.as_bytes());
    assert_eq!(status, 201, "{uploaded}");
    assert_eq!((&uploaded["filename"], &uploaded["format"]), (&json!("kiln notes.md"), &json!("markdown")));
    assert_eq!((&uploaded["sha256"], &uploaded["size"]), (&json!(Hash::of(text.as_bytes()).hex()), &json!(text.len())));
    let (status, asked) =
        server.post("knowledge.ingest", &json!({ "upload_id": uploaded["upload_id"], "source_uri": "kiln" }));
    assert_eq!(status, 200, "{asked}");
    let until = Instant::now() + Duration::from_mins(2);
    let job = loop {
        let job = server.post("knowledge.ingest_status", &json!({ "ingestion_id": asked["ingestion_id"] })).1;
        if !matches!(job["state"].as_str(), Some("pending" | "processing")) {
            break job;
        }
        assert!(Instant::now() < until, "{job}");
        std::thread::yield_now();
    };
    assert_eq!(job["state"], "ready", "{job}");
    let found = server.post("knowledge.search", &json!({ "query": "heat_kiln" })).1;
    assert_eq!(
        (&found["results"][0]["source_uri"], &found["results"][0]["format"]),
        (&json!("kiln"), &json!("markdown"))
    );
    let (status, original) = server.get("/v1/knowledge.download?source_uri=kiln");
    assert_eq!((status, original), (200, text));
}

#[test]
fn what_is_wrong_with_an_upload_is_said_and_nothing_is_left_of_it() {
    let folder = Folder::new();
    let server = started(&folder);
    let long = vec![b'a'; (3 << 20) + 1];
    for (query, body, status, code) in [
        ("filename=a.md", long.as_slice(), 413, "PAYLOAD_TOO_LARGE"),
        ("filename=a.doc", b"x", 415, "UNSUPPORTED_FILE"),
        ("", b"x", 422, "VALIDATION_FAILED"),
        ("filename=a.md&filename=b.md", b"x", 422, "VALIDATION_FAILED"),
        ("filename=%ff", b"x", 422, "VALIDATION_FAILED"),
        ("filename=a.md&namespace=..", b"x", 422, "VALIDATION_FAILED"),
        (&format!("filename=a.md&sha256={}", "0".repeat(64)), b"x", 422, "CHECKSUM_MISMATCH"),
    ] {
        let (given, answer) = sent(&server, query, body);
        assert_eq!((given, &answer["error"]["code"]), (status, &json!(code)), "{query}: {answer}");
    }
    // Of unknown length, and too long only once it is read.
    let mut chunked = b"POST /v1/knowledge.upload?filename=a.md HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        transfer-encoding: chunked\r\n\r\n"
        .to_vec();
    for piece in long.chunks(1 << 20) {
        chunked.extend(format!("{:x}\r\n", piece.len()).bytes().chain(piece.iter().copied()).chain(*b"\r\n"));
    }
    chunked.extend(b"0\r\n\r\n");
    assert_eq!(raw(&server, &chunked).0, 413);
    // Broken off: the sender has half closed, so it can still read.
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").expect("an address")).expect("it listens");
    stream
        .write_all(b"POST /v1/knowledge.upload?filename=a.md HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 9\r\n\r\nhalf")
        .expect("it is sent");
    stream.shutdown(std::net::Shutdown::Write).expect("it ends");
    let mut answer = String::new();
    // Whether an answer comes or the connection ends is the transport's; that nothing is stored is ours.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.contains("BAD_JSON") || answer.starts_with("HTTP/1.1 400"), "{answer}");
    server.stop();
    let engine = folder.open();
    assert_eq!(engine.blobs(false).expect("they are counted").blobs, 0);
}
