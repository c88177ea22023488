//! `rerank`: who orders the best hits, and what happens when nobody does.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use loom::Engine;
use loom::rerank::{EndpointSettings, Shape};
use loom_transformer::testing::{Head, Pieces, write};
use loom_transformer::{CrossEncoder, Limits};
use serde_json::{Value, json};

use crate::harness::{Folder, add, hits, ok, refused, uris};

/// A reranker that gives the passages that hold `word` the best scores, or one that fails.
fn reranker(word: Option<&'static str>) -> EndpointSettings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/rerank", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let start = head.len();
                reader.read_line(&mut head).unwrap();
                if let Some(given) = head[start..].to_lowercase().strip_prefix("content-length:") {
                    length = given.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let asked: Value = serde_json::from_slice(&body).unwrap();
            let rated = |(index, text): (usize, &Value)| {
                let score = word.map_or(0.5, |word| if text.as_str().unwrap().contains(word) { 1.0 } else { 0.1 });
                json!({ "index": index, "score": score })
            };
            let scores: Vec<Value> = asked["texts"].as_array().unwrap().iter().enumerate().map(rated).collect();
            let (status, answer) = if word.is_some() { (200, json!(scores).to_string()) } else { (500, String::new()) };
            let answer =
                format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    EndpointSettings { url, shape: Shape::Tei, model: String::new(), api_key: loom::embed::ApiKey::default() }
}

fn opened(folder: &Folder, default: &str, endpoints: &[(&str, EndpointSettings)]) -> Engine {
    let engine = folder.open_with(|config| {
        config.rerank.default = default.into();
        config.rerank.endpoints =
            endpoints.iter().map(|(name, endpoint)| ((*name).to_owned(), endpoint.clone())).collect::<BTreeMap<_, _>>();
    });
    for number in 0..12 {
        add(&engine, &format!("pump/{number:02}"), &format!("The pump is restarted. {}", "pump ".repeat(12 - number)));
    }
    add(&engine, "blue", "The pump has a blue cover.");
    engine
}

fn searched(engine: &Engine, more: &Value) -> Value {
    let mut input = json!({ "query": "pump", "namespace_scope": "this", "top_k": 3 });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    ok(engine, "knowledge.search", input)
}

#[test]
fn a_reranker_lifts_what_the_legs_ranked_low() {
    let folder = Folder::new();
    let engine = opened(&folder, "", &[("colours", reranker(Some("blue")))]);
    let plain = searched(&engine, &json!({}));
    assert!(!uris(&hits(&plain)).contains(&"blue") && plain["reranked_by"] == "");
    let reranked = searched(&engine, &json!({ "rerank": "colours", "explain": true }));
    assert_eq!((uris(&hits(&reranked))[0], &reranked["reranked_by"]), ("blue", &json!("colours")));
    assert_eq!(hits(&reranked)[0]["explanation"]["rerank_score"], json!(1.0));
    let error = refused(&engine, "knowledge.search", json!({ "query": "x", "rerank": "shapes" }));
    assert_eq!(error.field.as_deref(), Some("rerank"));
    assert!(error.message.contains("colours"), "{}", error.message);
}

#[test]
fn a_search_whose_reranker_fails_keeps_its_order() {
    let folder = Folder::new();
    let endpoints = [("broken", reranker(None)), ("colours", reranker(Some("pump")))];
    let engine = opened(&folder, "broken", &endpoints);
    let plain = searched(&engine, &json!({ "rerank": "none" }));
    for more in [json!({}), json!({ "rerank": "broken" }), json!({ "rerank": "colours" })] {
        let answer = searched(&engine, &more);
        assert_eq!(uris(&hits(&answer)), uris(&hits(&plain)));
        assert_eq!(answer["reranked_by"], "", "it failed, or kept the order");
    }
}

#[test]
fn a_cross_encoder_in_a_folder_orders_hits() {
    let model = tempfile::tempdir().unwrap();
    write(model.path(), Pieces::Word, Head::Cross, 7).unwrap();
    let encoder = CrossEncoder::open(model.path(), &Limits::default()).unwrap();
    let folder = Folder::new();
    let engine = folder.open_with(|config| config.rerank.local_model = model.path().display().to_string());
    let texts: Vec<String> =
        (0..8).map(|number| format!("the pump {number} of the harbour {}", "x".repeat(number))).collect();
    for (number, text) in texts.iter().enumerate() {
        add(&engine, &format!("{number}"), text);
    }
    let answer = searched(&engine, &json!({ "rerank": "builtin:local", "top_k": 8 }));
    assert_eq!(answer["reranked_by"], "builtin:local");
    let until = Instant::now() + Duration::from_mins(1);
    let all: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = encoder.score("pump", &all, until).unwrap();
    let found = hits(&answer);
    let order: Vec<f32> = uris(&found).iter().map(|uri| scores[uri.parse::<usize>().unwrap()]).collect();
    assert!(order.is_sorted_by(|left, right| left >= right), "{order:?}");
    let missing = folder.dir.path().join("none").display().to_string();
    let other = Folder::new();
    let mut config = other.config();
    config.rerank.local_model = missing;
    let Err(error) = Engine::open(other.path(), config) else { panic!("a folder without a model") };
    assert!(error.to_string().contains("reranker"), "{error}");
}
