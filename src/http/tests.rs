//! What depends on the load of a running server: refusing when it is full, and ending in order.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::pool::Place;
use super::server::{Running, start_door};
use super::shared::{Door, Shared};
use crate::config::Config;
use crate::engine::Engine;

/// Long enough never to be waited out by a test that passes.
const LONG_MS: u64 = 60_000;

struct Server {
    running: Running,
    door: Door,
    _folder: TempDir,
}

fn server(queue: usize, queue_wait_ms: u64) -> Server {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut config = Config::default();
    config.http.workers = 1;
    config.http.queue = queue;
    config.http.queue_wait_ms = queue_wait_ms;
    let door = Shared::new(Engine::open(folder.path(), config).expect("the folder opens"));
    let running = start_door(door.clone(), "127.0.0.1:0").expect("a free port");
    Server { running, door, _folder: folder }
}

fn take_worker(door: &Door) -> Place {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(door.pool.enter("another")).expect("the worker is free")
}

fn post(address: SocketAddr, op: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_millis(LONG_MS))).expect("it takes a timeout");
    let request = format!(
        "POST /v1/{op} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    answer
}

#[test]
fn a_full_server_says_when_to_come_back() {
    let server = server(0, 0);
    let body = r#"{"source_uri": "a", "content": "one"}"#;
    let place = take_worker(&server.door);
    let refused = post(server.running.address(), "knowledge.upsert", body);
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
    assert!(refused.contains(r#""code":"OVERLOADED""#) && refused.contains(r#""retry_after_s":1"#), "{refused}");
    drop(place);
    let answered = post(server.running.address(), "knowledge.upsert", body);
    assert!(answered.starts_with("HTTP/1.1 200 "), "{answered}");
    server.running.stop().expect("a clean stop");
}

#[test]
fn a_stopping_server_answers_what_it_began() {
    let Server { running, door, _folder } = server(1, LONG_MS);
    let address = running.address();
    let mut idle = TcpStream::connect(address).expect("the server listens");
    let place = take_worker(&door);
    let caller = thread::spawn(move || post(address, "knowledge.upsert", r#"{"source_uri": "a", "content": "one"}"#));
    while (door.pool.load().running, door.pool.load().waiting) != (1, 1) {
        thread::yield_now();
    }
    let stopping = thread::spawn(move || running.stop());
    while !door.is_closing() {
        thread::yield_now();
    }
    assert!(TcpStream::connect(address).is_err(), "a server that stops takes no new connection");
    drop(place);
    let answered = caller.join().expect("the caller got an answer");
    assert!(answered.starts_with("HTTP/1.1 200 "), "{answered}");
    stopping.join().expect("it does not panic").expect("a clean stop");
    assert_eq!(idle.read(&mut [0]).expect("the end of the stream"), 0, "an idle connection is closed");
}
