//! The Model Context Protocol as it goes over the wire.

use std::io::Write as _;
use std::process::{Command, Stdio};

use loom::access::Auth;
use serde_json::{Value, json};

use crate::harness::{Folder, add, ok};
use crate::server::Server;

/// Sends one message over HTTP; the status and the answer.
fn send(server: &Server, headers: &[(&str, &str)], method: &str, params: &Value) -> (u16, Value) {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut all = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    all.extend_from_slice(headers);
    let (status, _, body) = server.send("POST", "/mcp", &all, message.to_string().as_bytes());
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

fn call(server: &Server, headers: &[(&str, &str)], tool: &str, arguments: &Value) -> Value {
    let (status, answer) = send(server, headers, "tools/call", &json!({ "name": tool, "arguments": arguments }));
    assert_eq!(status, 200, "{answer}");
    answer["result"].clone()
}

#[test]
fn each_revision_of_the_protocol_is_answered_in_its_own() {
    let folder = Folder::new();
    let server = Server::start(folder.open());
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let hello =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let (status, answer) = send(&server, &[], "initialize", &hello);
        assert_eq!((status, &answer["result"]["protocolVersion"]), (200, &json!(version)), "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "loom");
    }
    let hello =
        json!({ "protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let (_, answer) = send(&server, &[], "initialize", &hello);
    assert!(answer["result"]["protocolVersion"].as_str().is_some_and(|version| version > "2025"), "{answer}");
    assert_eq!(server.send("GET", "/mcp", &[("accept", "text/event-stream")], b"").0, 405);
}

#[test]
fn an_agent_has_the_rights_of_its_token_and_no_other_page_gets_in() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| config.access.auth = Auth::Token);
    add(&engine, "a", "The harbour opens at six.");
    ok(&engine, "knowledge.add", json!({ "namespace": "secret", "source_uri": "s", "content": "The harbour vault." }));
    let made = ok(&engine, "token.create", json!({ "subject": "agent", "roles": { "local": "viewer" } }));
    let bearer = format!("Bearer {}", made["token"].as_str().unwrap());
    let server = Server::start(engine);
    assert_eq!(send(&server, &[], "tools/list", &json!({})).0, 401);
    let token = [("authorization", bearer.as_str())];
    for foreign in [("origin", "https://evil.example"), ("host", "attacker.test")] {
        let (status, answer) = send(&server, &[token[0], foreign], "tools/list", &json!({}));
        assert_eq!((status, &answer["error"]["code"]), (403, &json!("FORBIDDEN_ORIGIN")), "{foreign:?}");
    }
    let found = call(&server, &token, "loom_search", &json!({ "query": "harbour" }));
    let hits = found["structuredContent"]["knowledge"].as_array().unwrap();
    assert_eq!((hits.len(), &hits[0]["source_uri"]), (1, &json!("a")), "{found}");
    assert_eq!((&hits[0]["revision"], &hits[0]["chunk_idx"]), (&json!(1), &json!(0)));
    for (tool, arguments) in [
        ("loom_knowledge_add", json!({ "source_uri": "b", "content": "x" })),
        ("loom_knowledge_get", json!({ "namespace": "secret", "source_uri": "s" })),
        ("loom_op", json!({ "op": "knowledge.delete", "args": { "source_uri": "a" } })),
    ] {
        let refused = call(&server, &token, tool, &arguments);
        assert_eq!(refused["isError"], true, "{tool}");
        let error: Value = serde_json::from_str(refused["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(error["error"]["code"], "FORBIDDEN", "{tool}");
    }
    let (_, read) = send(&server, &token, "resources/read", &json!({ "uri": "loom://secret/s" }));
    assert!(read["error"]["message"].as_str().is_some_and(|message| message.contains("viewer")), "{read}");
    let (_, read) = send(&server, &token, "resources/read", &json!({ "uri": "loom://local/a" }));
    assert_eq!(read["result"]["contents"][0]["text"], "The harbour opens at six.");
}

#[test]
fn the_process_answers_on_standard_output_and_ends_with_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_loom"))
        .args(["mcp", "--data"])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "loom_knowledge_add", "arguments": { "source_uri": "a", "content": "text" },
        } }),
    ];
    let mut input = process.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(process.stdout.take().unwrap());
    for (message, answers) in messages.iter().zip([true, false, true]) {
        writeln!(input, "{message}").unwrap();
        if answers {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut output, &mut line).unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            assert_eq!((&answer["id"], &answer["error"]), (&message["id"], &Value::Null), "{answer}");
        }
    }
    drop(input);
    assert!(process.wait().unwrap().success());
    let engine = loom::Engine::open(folder.path(), loom::Config::default()).unwrap();
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "a" }))["content"], "text");
}
