//! Rerankers against a real server on the loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::embed::{ApiKey, LocalLimits};

/// What the server does with a request.
#[derive(Clone, Copy)]
enum Deed {
    Answer(u16, &'static str),
    /// Never answers.
    Hang,
    /// Answers without an end.
    Flood,
}

struct Asked {
    head: String,
    body: Value,
}

/// A server that does its deed with each request, and tells what it was asked.
fn server(deed: Deed) -> (String, Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, told) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).expect("a head") == 0 {
                    break;
                }
            }
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length:").and_then(|length| length.trim().parse::<usize>().ok())
            });
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).expect("a body");
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            if tell.send(Asked { head, body }).is_err() {
                return;
            }
            match deed {
                Deed::Answer(status, text) => {
                    let answer = format!(
                        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                        text.len()
                    );
                    stream.write_all(answer.as_bytes()).expect("it is sent");
                }
                Deed::Hang => {
                    // Until the caller gives up.
                    let ended = reader.read_to_end(&mut Vec::new());
                    drop(ended);
                }
                Deed::Flood => {
                    let start = b"HTTP/1.1 200 X\r\ncontent-length: 99999999\r\n\r\n";
                    if stream.write_all(start).is_ok() {
                        while stream.write_all(&[b' '; 4096]).is_ok() {}
                    }
                }
            }
        }
    });
    (address, told)
}

fn settings(url: &str, shape: Shape) -> RerankSettings {
    let endpoint =
        EndpointSettings { url: format!("{url}/rerank"), shape, model: "m".into(), api_key: ApiKey::new("key-1") };
    RerankSettings {
        endpoints: BTreeMap::from([("mine".to_owned(), endpoint)]),
        openai_base_url: url.to_owned(),
        openai_key: ApiKey::new("key-2"),
        cohere_base_url: url.to_owned(),
        cohere_key: ApiKey::new("key-3"),
        ..RerankSettings::default()
    }
}

fn score(settings: &RerankSettings, name: &str) -> Result<Vec<f64>, RerankError> {
    let rerankers = Rerankers::new(settings, &LocalLimits::default()).expect("rerankers");
    let reranker = rerankers.asked(name).expect("it is there").expect("one");
    assert_eq!(reranker.name(), name);
    let until = Instant::now() + Duration::from_secs(5);
    reranker.score("which", &["first".to_owned(), "second".to_owned()], until)
}

#[test]
fn searches_share_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    // The second connection would not be answered.
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        for _ in 0..2 {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).expect("a head"), 0, "the connection is kept");
            }
            let length = head
                .to_lowercase()
                .split("content-length:")
                .nth(1)
                .and_then(|rest| rest.lines().next().and_then(|length| length.trim().parse::<usize>().ok()));
            reader.read_exact(&mut vec![0; length.expect("a length")]).expect("a body");
            let answer = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n{RESULTS}", RESULTS.len());
            stream.write_all(answer.as_bytes()).expect("it is sent");
        }
    });
    let rerankers = Rerankers::new(&settings(&url, Shape::Jina), &LocalLimits::default()).expect("rerankers");
    for name in ["mine", "builtin:cohere"] {
        let reranker = rerankers.asked(name).expect("it is there").expect("one");
        let until = Instant::now() + Duration::from_secs(5);
        let scores = reranker.score("which", &["first".to_owned(), "second".to_owned()], until);
        assert_eq!(scores, Ok(vec![0.1, 0.9]), "{name}");
    }
    serving.join().expect("both were answered");
}

const RESULTS: &str = r#"{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}]}"#;

#[test]
fn each_shape_asks_and_is_answered_in_its_way() {
    let (url, asked) = server(Deed::Answer(200, RESULTS));
    assert_eq!(score(&settings(&url, Shape::Jina), "mine"), Ok(vec![0.1, 0.9]));
    let request = asked.recv().expect("it was asked");
    assert!(request.head.starts_with("POST /rerank ") && request.head.contains("Bearer key-1"), "{}", request.head);
    assert_eq!(request.body, json!({ "model": "m", "query": "which", "documents": ["first", "second"], "top_n": 2 }));
    assert_eq!(score(&settings(&url, Shape::Cohere), "builtin:cohere:small"), Ok(vec![0.1, 0.9]));
    let request = asked.recv().expect("it was asked");
    assert!(request.head.starts_with("POST /v2/rerank ") && request.head.contains("Bearer key-3"));
    assert_eq!(request.body["model"], "small");

    let (url, asked) = server(Deed::Answer(200, r#"[{"index":0,"score":2.5},{"index":1,"score":-1}]"#));
    assert_eq!(score(&settings(&url, Shape::Tei), "mine"), Ok(vec![2.5, -1.0]));
    assert_eq!(asked.recv().expect("it was asked").body, json!({ "query": "which", "texts": ["first", "second"] }));

    let (url, asked) = server(Deed::Answer(200, r#"{"choices":[{"message":{"content":"[2, 1]"}}]}"#));
    let scores = score(&settings(&url, Shape::Tei), "builtin:openai:tiny").expect("an order");
    assert!(scores[1] > scores[0]);
    let request = asked.recv().expect("it was asked");
    assert!(request.head.starts_with("POST /chat/completions ") && request.head.contains("Bearer key-2"));
    assert_eq!(request.body["model"], "tiny");
    assert!(request.body["messages"][1]["content"].as_str().is_some_and(|text| text.contains("[2] second")));
}

#[test]
fn what_is_no_answer_is_an_error_that_repeats_nothing() {
    let deeds = [
        Deed::Answer(500, "secret"),
        Deed::Answer(302, RESULTS),
        Deed::Answer(200, "secret"),
        Deed::Answer(200, r#"{"results":[{"index":7,"relevance_score":1}]}"#),
        Deed::Flood,
    ];
    for deed in deeds {
        let (url, _asked) = server(deed);
        let error = score(&settings(&url, Shape::Cohere), "mine").expect_err("no answer").to_string();
        assert!(!error.contains("secret") && !error.contains("127.0.0.1") && !error.contains("key-"), "{error}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    assert!(score(&settings(&format!("http://{closed}"), Shape::Cohere), "mine").is_err());
}

#[test]
fn who_hangs_is_not_waited_for() {
    let (url, _asked) = server(Deed::Hang);
    let rerankers = Rerankers::new(&settings(&url, Shape::Cohere), &LocalLimits::default()).expect("rerankers");
    let reranker = rerankers.asked("mine").expect("it is there").expect("one");
    let until = Instant::now() + Duration::from_millis(200);
    assert!(reranker.score("which", &["a".to_owned(), "b".to_owned()], until).is_err());
}

#[test]
fn names_are_resolved_or_refused() {
    let mut settings = settings("http://127.0.0.1:9", Shape::Tei);
    let refused = |settings: &RerankSettings, name: &str| {
        let rerankers = Rerankers::new(settings, &LocalLimits::default()).expect("rerankers");
        rerankers.asked(name).map(|found| found.is_some()).map_err(|error| error.message)
    };
    assert_eq!(refused(&settings, ""), Ok(false));
    assert_eq!(refused(&settings, "none"), Ok(false));
    assert!(refused(&settings, "https://rerank.test").expect_err("an address").contains("never an address"));
    assert!(refused(&settings, "other").expect_err("unknown").contains("mine"));
    settings.default = "mine".into();
    assert_eq!(refused(&settings, ""), Ok(true));
    assert_eq!(refused(&settings, "none"), Ok(false));
    settings.llm_free = true;
    assert_eq!(refused(&settings, ""), Ok(false), "only as its request names");
    assert_eq!(refused(&settings, "mine"), Ok(true));
    assert!(refused(&settings, "builtin:openai").expect_err("a language model").contains("LOOM_READS_LLM_FREE"));
    settings.openai_base_url = "https://api.test/v1".into();
    settings.openai_key = ApiKey::default();
    settings.llm_free = false;
    assert!(refused(&settings, "builtin:openai").expect_err("no key").contains("LOOM_OPENAI_API_KEY"));
    settings.default = "gone".into();
    assert!(Rerankers::new(&settings, &LocalLimits::default()).is_err());
    settings.default = String::new();
    settings.endpoints.insert(
        "bad".into(),
        EndpointSettings { url: "ftp://x".into(), shape: Shape::Tei, model: String::new(), api_key: ApiKey::default() },
    );
    assert!(Rerankers::new(&settings, &LocalLimits::default()).is_err());
}

#[test]
fn an_excerpt_is_context_and_text_within_its_length() {
    assert_eq!(excerpt("Title", "text", 800), "Title\ntext");
    assert_eq!(excerpt(" ", "text", 3), "tex");
    assert_eq!(excerpt("éééééééé", "abcdefgh", 10), "ééééé\nabcd");
}
