//! Who may speak to the loopback: names and origins that only look like ours.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::harness::Folder;
use crate::server::Server;

/// The status of a request with these headers and no others.
fn status(server: &Server, method: &str, path: &str, headers: &[&str]) -> u16 {
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).unwrap();
    let headers: String = headers.iter().flat_map(|header| [header, "\r\n"]).collect();
    write!(stream, "{method} {path} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap()
}

/// Case 31.
#[test]
fn a_foreign_host_or_origin_is_turned_away() {
    let folder = Folder::new();
    let server = Server::start(folder.open());
    let own = server.base.strip_prefix("http://").unwrap().to_owned();
    let port = own.rsplit(':').next().unwrap().to_owned();
    let host = format!("host: {own}");
    let hosts = [
        "attacker.test",
        "localhost.attacker.test",
        "127.0.0.1.attacker.test",
        "127.0.0.1@attacker.test",
        "attacker.test:80",
        "localhost:x",
        "0.0.0.0",
        "[::ffff:8.8.8.8]",
        "10.0.0.1",
        "",
        "127.0.0.1 attacker.test",
        "loc\u{e0}lhost",
    ];
    for foreign in hosts {
        let foreign = format!("host: {foreign}");
        let found = status(&server, "GET", "/v1/ops", &[&foreign]);
        assert!(found == 403 || found == 400, "{foreign}: {found}");
    }
    let origins = [
        "https://evil.example",
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "file://",
        "http://user@evil.example",
        "chrome-extension://abc",
        "",
    ];
    for origin in origins {
        let origin = format!("origin: {origin}");
        for method in ["GET", "POST", "OPTIONS"] {
            assert_eq!(status(&server, method, "/v1/ops", &[&host, &origin]), 403, "{method} {origin}");
        }
    }
    let two_hosts = status(&server, "GET", "/v1/ops", &[&host, "host: attacker.test"]);
    assert!(two_hosts == 403 || two_hosts == 400, "{two_hosts}");
    let two_origins = [&host, &format!("origin: http://{own}"), "origin: https://evil.example"];
    assert_eq!(status(&server, "GET", "/v1/ops", &two_origins), 403);
    for ours in
        [own.as_str(), &format!("localhost:{port}"), "LOCALHOST", "127.0.0.1", "[::1]", &format!("[::1]:{port}")]
    {
        assert_eq!(status(&server, "GET", "/v1/ops", &[&format!("host: {ours}")]), 200, "{ours}");
    }
    assert_eq!(status(&server, "GET", "/v1/ops", &[&host, &format!("origin: http://{own}")]), 200);
}
