//! Tokens as a server takes them.

use loom::Engine;
use loom::access::{Auth, Secret};
use serde_json::{Value, json};

use crate::harness::{Folder, add, ok, refused};
use crate::server::Server;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// HS256 of `{"sub":"bot","org":"dev","ns":{"local":"writer"},"agent":"helper","user_id":"ana"}` with [`SECRET`].
const JWT: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJib3QiLCJvcmciOiJkZXYiLCJucyI6eyJsb2NhbCI6IndyaXRlciJ9LCJhZ2VudCI6ImhlbHBlciIsInVzZXJfaWQiOiJhbmEifQ.i-4zhTKx9GR-UEBPpa5F41YPzPv-mLfQkT6JObfuyjA";

fn guarded(folder: &Folder) -> Engine {
    folder.open_with(|config| {
        config.access.auth = Auth::Token;
        config.access.secret = Some(Secret::new(SECRET.as_bytes()));
    })
}

fn token(engine: &Engine, roles: &Value) -> String {
    let made = ok(engine, "token.create", json!({ "subject": "ci", "roles": roles }));
    made["token"].as_str().expect("a key").to_owned()
}

/// Calls an operation with a token; the status and the answer.
fn call(server: &Server, token: &str, op: &str, input: &Value) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let (status, _, body) = server.send("POST", &format!("/v1/{op}"), &headers, input.to_string().as_bytes());
    (status, serde_json::from_str(&body).expect("JSON"))
}

#[test]
fn a_call_without_a_token_that_holds_is_refused_and_told_nothing() {
    let folder = Folder::new();
    let engine = guarded(&folder);
    add(&engine, "a", "the marker text");
    let made =
        ok(&engine, "token.create", json!({ "subject": "ci", "roles": { "local": "writer" }, "expires_in_days": 1 }));
    let good = made["token"].as_str().expect("a key").to_owned();
    let server = Server::start(engine.clone());
    let (status, headers, body) =
        server.send("POST", "/v1/knowledge.get", &[("content-type", "application/json")], b"{}");
    assert_eq!((status, headers["www-authenticate"].to_str().unwrap()), (401, "Bearer realm=\"loom\""), "{body}");
    let last = if good.ends_with('A') { "B" } else { "A" };
    let forged = format!("{}{last}", &good[..good.len() - 1]);
    for wrong in ["", "x", "loom_", "loom_x_y", &forged, &good[..good.len() - 1], &format!("{JWT}x")] {
        let (status, answer) = call(&server, wrong, "knowledge.get", &json!({ "source_uri": "a" }));
        assert_eq!((status, &answer["error"]["code"]), (401, &json!("UNAUTHENTICATED")), "{wrong}");
    }
    assert_eq!(call(&server, &good, "knowledge.get", &json!({ "source_uri": "a" })).1["content"], "the marker text");
    // Two headers are not one that holds.
    let bearer = format!("Bearer {good}");
    let twice =
        [("authorization", bearer.as_str()), ("authorization", bearer.as_str()), ("content-type", "application/json")];
    assert_eq!(server.send("POST", "/v1/knowledge.get", &twice, b"{\"source_uri\": \"a\"}").0, 401);

    folder.clock.advance_ms(86_400_000);
    assert_eq!(call(&server, &good, "knowledge.get", &json!({ "source_uri": "a" })).0, 401, "it has expired");
    let other = token(&engine, &json!({ "local": "viewer" }));
    assert_eq!(call(&server, &other, "knowledge.get", &json!({ "source_uri": "a" })).0, 200);
    let listed = ok(&engine, "token.list", json!({}));
    let [entry] = listed["tokens"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert!(!listed.to_string().contains(other.rsplit('_').next().unwrap()), "no list shows a secret");
    let revoked = ok(&engine, "token.revoke", json!({ "token_id": entry["token_id"] }));
    assert_eq!(revoked["revoked"], true);
    assert_eq!(call(&server, &other, "knowledge.get", &json!({ "source_uri": "a" })).0, 401, "it is revoked");
    assert_eq!(ok(&engine, "token.revoke", json!({ "token_id": entry["token_id"] }))["revoked"], false);
    let ended = ok(&engine, "token.list", json!({ "include_ended": true }));
    assert_eq!(ended["tokens"].as_array().unwrap().len(), 2);
}

#[test]
fn what_a_token_signs_goes_before_what_a_call_says() {
    let folder = Folder::new();
    let engine = guarded(&folder);
    let server = Server::start(engine.clone());
    let input = json!({ "source_uri": "a", "content": "text", "agent": "liar", "session_id": "s" });
    let (status, answer) = call(&server, JWT, "knowledge.add", &input);
    assert_eq!(status, 200, "{answer}");
    let row = ok(&engine, "knowledge.list", json!({}))["rows"][0].clone();
    assert_eq!((&row["agent"], &row["session_id"], &row["actor"]), (&json!("helper"), &json!("s"), &json!("user:ana")));
    for elsewhere in [json!({ "org": "acme" }), json!({ "namespace": "other" })] {
        let mut input = json!({ "source_uri": "a" });
        input.as_object_mut().unwrap().extend(elsewhere.as_object().unwrap().clone());
        assert_eq!(call(&server, JWT, "knowledge.get", &input).0, 403, "{input}");
    }
}

#[test]
fn the_other_routes_ask_for_the_same() {
    let folder = Folder::new();
    let engine = guarded(&folder);
    add(&engine, "a", "text");
    let viewer = format!("Bearer {}", token(&engine, &json!({ "local": "viewer" })));
    let admin = format!("Bearer {}", token(&engine, &json!({ "*": "admin" })));
    let server = Server::start(engine.clone());
    let json = ("content-type", "application/json");
    for (method, path, nobody, seen, all) in [
        ("GET", "/healthz", 200, 200, 200),
        ("GET", "/readyz", 200, 200, 200),
        ("GET", "/openapi.json", 200, 200, 200),
        ("GET", "/v1/ops", 200, 200, 200),
        ("GET", "/metrics", 401, 403, 200),
        ("GET", "/v1/knowledge.download?source_uri=a", 401, 200, 200),
        ("GET", "/v1/knowledge.download?source_uri=a&namespace=b", 401, 403, 404),
        ("POST", "/v1/knowledge.upload?filename=a.md", 401, 403, 201),
        ("POST", "/v1/backup", 401, 403, 200),
    ] {
        let status = |headers: &[(&str, &str)]| server.send(method, path, headers, b"").0;
        assert_eq!(status(&[json]), nobody, "{path} without a token");
        assert_eq!(status(&[json, ("authorization", &viewer)]), seen, "{path} as a viewer");
        assert_eq!(status(&[json, ("authorization", &admin)]), all, "{path} as an admin");
    }
    // A backup holds every organisation, and a token is of one.
    ok(&engine, "knowledge.add", json!({ "org": "acme", "source_uri": "a", "content": "text" }));
    assert_eq!(server.send("POST", "/v1/backup", &[json, ("authorization", &admin)], b"").0, 403);
}

#[test]
fn a_key_gives_no_more_than_its_maker_has() {
    let folder = Folder::new();
    let engine = guarded(&folder);
    let server = Server::start(engine.clone());
    let admin = token(&engine, &json!({ "a": "admin", "b": "writer" }));
    for (roles, status) in [
        (json!({ "a": "admin" }), 200),
        (json!({ "a": "viewer" }), 200),
        (json!({ "b": "viewer" }), 403),
        (json!({ "a": "viewer", "b": "writer" }), 403),
        (json!({ "*": "viewer" }), 403),
        (json!({ "c": "viewer" }), 403),
        (json!({}), 422),
        (json!({ "a": "owner" }), 422),
        (json!({ "../a": "viewer" }), 422),
    ] {
        let (got, answer) = call(&server, &admin, "token.create", &json!({ "subject": "x", "roles": roles }));
        assert_eq!(got, status, "{roles}: {answer}");
    }
    let writer = token(&engine, &json!({ "a": "writer" }));
    assert_eq!(call(&server, &writer, "token.create", &json!({ "subject": "x", "roles": { "a": "viewer" } })).0, 403);
    // The maker sees and ends only what it could have made.
    let (_, listed) = call(&server, &admin, "token.list", &json!({}));
    let shown: Vec<&Value> = listed["tokens"].as_array().unwrap().iter().map(|token| &token["roles"]).collect();
    assert_eq!(shown, [&json!({ "a": "admin" }), &json!({ "a": "viewer" }), &json!({ "a": "writer" })]);
    let all = ok(&engine, "token.list", json!({}));
    let its_own = &all["tokens"][0]["token_id"];
    assert_eq!(call(&server, &admin, "token.revoke", &json!({ "token_id": its_own })).0, 404);
}

#[test]
fn each_subject_has_its_own_share_of_calls() {
    let folder = Folder::new();
    let engine = folder.open_with(|config| {
        config.access.auth = Auth::Token;
        config.access.calls_per_minute = 3;
    });
    let first = token(&engine, &json!({ "local": "viewer" }));
    let made = ok(&engine, "token.create", json!({ "subject": "other", "roles": { "local": "viewer" } }));
    let server = Server::start(engine.clone());
    let read = |token: &str| call(&server, token, "knowledge.get", &json!({ "source_uri": "a" }));
    let answers: Vec<u16> = (0..4).map(|_| read(&first).0).collect();
    assert_eq!(answers, [200, 200, 200, 429]);
    let (_, answer) = read(&first);
    assert_eq!((&answer["error"]["code"], &answer["error"]["retryable"]), (&json!("RATE_LIMITED"), &json!(true)));
    assert!(answer["error"]["retry_after_s"].as_u64().is_some_and(|wait| (1..=20).contains(&wait)), "{answer}");
    assert_eq!(read(made["token"].as_str().unwrap()).0, 200, "another subject's calls are its own");
}

#[test]
fn what_was_done_and_what_was_refused_is_on_record() {
    let folder = Folder::new();
    let engine = guarded(&folder);
    add(&engine, "a", "text");
    let viewer = token(&engine, &json!({ "local": "viewer" }));
    let server = Server::start(engine.clone());
    folder.clock.advance_ms(1_000);
    assert_eq!(call(&server, &viewer, "knowledge.delete", &json!({ "source_uri": "a" })).0, 403);
    assert_eq!(call(&server, &viewer, "knowledge.delete", &json!({ "source_uri": "a" })).0, 403);
    assert_eq!(call(&server, "nonsense", "knowledge.delete", &json!({ "source_uri": "a" })).0, 401);
    assert_eq!(call(&server, &viewer, "audit.list", &json!({})).0, 403);
    server.stop();
    // Refusals are written in the background, and at the latest when the engine closes.
    drop(engine);
    let engine = guarded(&folder);
    folder.clock.advance_ms(1_000);
    ok(&engine, "knowledge.delete", json!({ "source_uri": "a" }));
    let listed = ok(&engine, "audit.list", json!({ "namespace": "*" }));
    let line = |record: &Value| {
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        format!("{} {} {} {} {}", text("op"), text("actor"), text("namespace"), text("outcome"), record["count"])
    };
    let mut lines: Vec<String> = listed["records"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(lines.remove(0), "knowledge.delete user:local local done 0");
    assert_eq!(lines.pop().unwrap(), "token.create user:local local done 0");
    lines.sort();
    assert_eq!(
        lines,
        [
            "audit.list token:ci local refused 1",
            "knowledge.delete   refused 1",
            "knowledge.delete token:ci local refused 2",
        ]
    );
    assert!(!listed.to_string().contains(&viewer), "no key is on record");
    let only = ok(&engine, "audit.list", json!({ "namespace": "local", "refused": true }));
    assert_eq!(only["records"].as_array().unwrap().len(), 2);
    let first = ok(&engine, "audit.list", json!({ "namespace": "*", "limit": 2 }));
    let rest = ok(&engine, "audit.list", json!({ "namespace": "*", "cursor": first["next_cursor"] }));
    let both = [&first, &rest].map(|page| page["records"].as_array().unwrap().len());
    assert_eq!((both, &rest["next_cursor"]), ([2, 3], &Value::Null));
    let before = ok(&engine, "audit.list", json!({ "namespace": "*", "until": "2026-01-01T00:00:00.500Z" }));
    assert_eq!(before["records"].as_array().unwrap().len(), 1);
    for wrong in [json!({ "cursor": "a/b" }), json!({ "until": "yesterday" }), json!({ "limit": 0 })] {
        refused(&engine, "audit.list", wrong);
    }
}
