//! The Model Context Protocol as it goes over the wire.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

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

/// The error object of a call that was refused.
fn error_of(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    let mut told: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    told["error"].take()
}

/// What a client says first, in the revisions with a handshake.
fn hello(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } })
}

#[test]
fn each_revision_of_the_protocol_is_answered_in_its_own() {
    let folder = Folder::new();
    let server = Server::start(folder.open());
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (status, answer) = send(&server, &[], "initialize", &hello(version));
        assert_eq!((status, &answer["result"]["protocolVersion"]), (200, &json!(version)), "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "loom");
    }
    let (_, answer) = send(&server, &[], "initialize", &hello("1999-01-01"));
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
        assert_eq!(error_of(&refused)["code"], "FORBIDDEN", "{tool}");
    }
    let (_, read) = send(&server, &token, "resources/read", &json!({ "uri": "loom://secret/s" }));
    assert!(read["error"]["message"].as_str().is_some_and(|message| message.contains("viewer")), "{read}");
    let (_, read) = send(&server, &token, "resources/read", &json!({ "uri": "loom://local/a" }));
    assert_eq!(read["result"]["contents"][0]["text"], "The harbour opens at six.");
}

/// `loom mcp` on a folder, spoken to line by line.
struct Agent {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Agent {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_loom"))
            .arg("mcp")
            .args(arguments)
            .arg("--data")
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, input, output }
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Asks in a session, as the revisions with a handshake have it.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.tell(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }));
        let answer = self.answer();
        assert_eq!(answer["id"], 7, "{answer}");
        answer
    }

    fn greet(&mut self) {
        let answer = self.ask("initialize", &hello("2025-06-18"));
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        self.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))["result"].take()
    }

    /// Ends its input, and so the process.
    fn leave(mut self) {
        drop(self.input.take());
        assert!(self.process.wait().unwrap().success());
    }
}

#[test]
fn the_process_answers_on_standard_output_and_ends_with_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(folder.path(), &[]);
    agent.greet();
    let added = agent.call("loom_knowledge_add", &json!({ "source_uri": "a", "content": "text" }));
    assert_eq!(added["structuredContent"]["chunks_created"], 1, "{added}");
    agent.leave();
    let engine = loom::Engine::open(folder.path(), loom::Config::default()).unwrap();
    assert_eq!(ok(&engine, "knowledge.get", json!({ "source_uri": "a" }))["content"], "text");
}

#[test]
fn the_tools_are_told_while_another_process_holds_the_folder() {
    let folder = Folder::new();
    // It serves nobody, so that every call waits for it and is refused.
    let holder = folder.open();
    let mut agent = Agent::start(folder.path(), &["--read-only"]);
    agent.greet();
    let listed = agent.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 5, "{listed}");
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{listed}");
    drop(holder);
    // What could not be opened at first is opened when it can be.
    let found = agent.call("loom_knowledge_get", &json!({ "source_uri": "a" }));
    assert_eq!(found["structuredContent"]["found"], false, "{found}");
    let refused = agent.call("loom_knowledge_add", &json!({ "source_uri": "a", "content": "text" }));
    assert_eq!(error_of(&refused)["code"], "FORBIDDEN");
    agent.leave();
}

#[test]
fn agents_and_commands_share_a_folder_and_outlive_the_one_that_opened_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Agent::start(folder.path(), &[]);
    first.greet();
    first.call("loom_knowledge_add", &json!({ "source_uri": "a", "content": "text" }));
    let mut second = Agent::start(folder.path(), &[]);
    second.greet();
    let get = json!({ "source_uri": "a" });
    assert_eq!(second.call("loom_knowledge_get", &get)["structuredContent"]["content"], "text");
    let command = Command::new(env!("CARGO_BIN_EXE_loom"))
        .args(["call", "knowledge.get", &get.to_string(), "--data"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(command.status.success(), "{}", String::from_utf8_lossy(&command.stderr));
    first.leave();
    assert_eq!(second.call("loom_knowledge_get", &get)["structuredContent"]["content"], "text");
    let added = second.call("loom_knowledge_add", &json!({ "source_uri": "b", "content": "text" }));
    assert_eq!(added["structuredContent"]["chunks_created"], 1, "{added}");
    second.leave();
}

#[test]
fn a_message_over_its_bound_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_loom"))
        .args(["mcp", "--data"])
        .arg(folder.path())
        .env("LOOM_HTTP_MAX_BODY_BYTES", "1000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    input.write_all(&[b' '; 1_001]).unwrap();
    // Its input stays open: it ends by itself.
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("LOOM_HTTP_MAX_BODY_BYTES"));
    drop(input);
}

/// The parameters of a request as the revision without a handshake has them.
fn alone(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    params
}

#[test]
fn the_newest_revision_needs_no_handshake() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "a", "The harbour opens at six.");
    drop(engine);
    let mut agent = Agent::start(folder.path(), &[]);
    let found = agent.ask("server/discover", &alone(json!({})));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")), "{found}");
    let read = agent.ask("resources/read", &alone(json!({ "uri": "loom://local/a" })));
    assert_eq!(read["result"]["contents"][0]["text"], "The harbour opens at six.", "{read}");
    agent.leave();

    let server = Server::start(folder.open());
    let params = alone(json!({ "name": "loom_search", "arguments": { "query": "harbour" } }));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "loom_search")];
    let (status, answer) = send(&server, &headers, "tools/call", &params);
    assert_eq!((status, &answer["result"]["resultType"]), (200, &json!("complete")), "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["knowledge"][0]["source_uri"], "a", "{answer}");
    let mut unknown = params;
    unknown["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let headers = [("mcp-protocol-version", "2099-01-01"), headers[1], headers[2]];
    let (_, answer) = send(&server, &headers, "tools/call", &unknown);
    assert!(answer["error"]["data"]["supported"].is_array(), "{answer}");
}

#[test]
fn errors_say_what_was_wrong_and_what_to_do() {
    let folder = Folder::new();
    let server = Server::start(folder.open());
    for (tool, arguments, code, field, hint) in [
        ("loom_knowledge_list", json!({ "limit": 0 }), "VALIDATION_FAILED", json!("limit"), "knowledge.list"),
        ("loom_search", json!({ "query": "x", "top_k": 0 }), "VALIDATION_FAILED", json!("top_k"), "correct"),
        ("loom_search", json!({}), "VALIDATION_FAILED", json!("query"), "correct"),
        ("loom_op", json!({ "op": "knowledge.get", "args": [] }), "VALIDATION_FAILED", json!("args"), "knowledge.get"),
        ("loom_op", json!({ "op": "knowledge.reads", "args": {} }), "FORBIDDEN", Value::Null, "do not repeat"),
        ("loom_knowledge_search", json!({ "query": "x" }), "FORBIDDEN", Value::Null, "do not repeat"),
        ("loom_nothing", json!({}), "UNKNOWN_OP", Value::Null, "loom_op"),
        (
            "loom_op",
            json!({ "op": "knowledge.update_metadata", "args": { "source_uri": "none", "title": "t" } }),
            "NOT_FOUND",
            json!("source_uri"),
            "loom_search",
        ),
    ] {
        let refused = call(&server, &[], tool, &arguments);
        let error = error_of(&refused);
        assert_eq!((&error["code"], &error["field"]), (&json!(code), &field), "{tool} {arguments}: {error}");
        assert!(error["hint"].as_str().is_some_and(|said| said.contains(hint)), "{tool} {arguments}: {error}");
        assert!(error["message"].as_str().is_some_and(|said| !said.is_empty()));
    }
    let described = call(&server, &[], "loom_op", &json!({ "op": "knowledge.delete" }));
    assert!(described["structuredContent"]["args"]["properties"]["source_uri"].is_object(), "{described}");
}

#[test]
fn a_search_says_what_it_left_out() {
    let folder = Folder::new();
    let engine = folder.open();
    for at in 0..6 {
        let content = format!("# Harbour {at}\n\n{}", "The harbour master opens the gate at six. ".repeat(20));
        let document = json!({ "source_uri": format!("h/{at}"), "title": "Gate book", "content": content });
        ok(&engine, "knowledge.add", document);
    }
    let server = Server::start(engine);
    let input = json!({ "query": "harbour gate book", "max_tokens": 500, "top_k": 6, "colour": "red" });
    let found = call(&server, &[], "loom_search", &input)["structuredContent"].take();
    let (passages, omitted) = (found["knowledge"].as_array().unwrap(), found["omitted"].as_u64().unwrap());
    assert!(!passages.is_empty() && omitted > 0, "{found}");
    assert!(found["note"].as_str().is_some_and(|note| note.contains("max_tokens")), "{found}");
    assert!(found.to_string().len() < 4 * 600, "{found}");
    assert_eq!(found["ignored_args"], json!(["colour"]));
    assert_eq!(found["documents"][0]["title"], "Gate book", "{found}");
    let below = json!({ "query": "harbour", "uri_prefix": ["h/3"], "namespace_scope": "this" });
    let found = call(&server, &[], "loom_search", &below)["structuredContent"].take();
    assert!(found["knowledge"].as_array().unwrap().iter().all(|hit| hit["source_uri"] == "h/3"), "{found}");
}

#[test]
fn resources_come_in_pages_and_under_addresses_that_lead_back() {
    let folder = Folder::new();
    let engine = folder.open();
    for at in 0..101 {
        add(&engine, &format!("file:///a b/../{at}.md"), "text");
    }
    let server = Server::start(engine);
    let (_, first) = send(&server, &[], "resources/list", &json!({}));
    let page = first["result"]["resources"].as_array().unwrap();
    assert_eq!((page.len(), &page[0]["uri"]), (100, &json!("loom://local/file%3A%2F%2F%2Fa%20b%2F..%2F100.md")));
    let (_, read) = send(&server, &[], "resources/read", &json!({ "uri": page[0]["uri"] }));
    assert_eq!(read["result"]["contents"][0]["text"], "text", "{read}");
    let (_, last) = send(&server, &[], "resources/list", &json!({ "cursor": first["result"]["nextCursor"] }));
    assert_eq!(last["result"]["resources"].as_array().unwrap().len(), 1);
    assert_eq!(last["result"]["nextCursor"], Value::Null);
    for wrong in ["loom://local/none", "file:///etc/passwd", "loom://local/%ff"] {
        let (_, read) = send(&server, &[], "resources/read", &json!({ "uri": wrong }));
        assert_eq!(read["error"]["code"], -32002, "{wrong}: {read}");
    }
    let (_, read) = send(&server, &[], "resources/list", &json!({ "cursor": "nonsense" }));
    assert_eq!(read["error"]["data"]["field"], "cursor", "{read}");
}

#[test]
fn what_two_readers_would_take_differently_is_no_message() {
    let folder = Folder::new();
    let server = Server::start(folder.open_with(|config| config.http.max_body_bytes = 10_000));
    let post = |body: &str| {
        let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let (status, _, answer) = server.send("POST", "/mcp", &headers, body.as_bytes());
        (status, serde_json::from_str::<Value>(&answer).unwrap_or(Value::Null))
    };
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":{}{}}}"#, "[".repeat(100), "]".repeat(100));
    for body in ["", "[]", "nonsense", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, &deep] {
        let (status, answer) = post(body);
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32700)), "{body}");
    }
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#, "x".repeat(10_000));
    let (status, answer) = post(&long);
    assert_eq!((status, &answer["error"]["code"]), (413, &json!("PAYLOAD_TOO_LARGE")), "{answer}");
}
