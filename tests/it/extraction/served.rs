//! `loom extractor --listen`, asked by an engine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use loom::extraction::{ExtractionSettings, Extractors, FailureCode, ServiceSettings};

use super::{failed, read};

const TOKEN: &str = "a-token-of-tests";

/// A service that runs until it is dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(settings: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loom"))
            .args(["extractor", "--listen", "127.0.0.1:0"])
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, url }
    }

    fn extractors(&self, token: &str) -> Extractors {
        let service = ServiceSettings { url: self.url.clone(), token: token.to_owned().into() };
        Extractors::new(&ExtractionSettings { service: Some(service), ..ExtractionSettings::default() }).unwrap()
    }

    /// The status and the body of the answer to a request as it is written.
    fn raw(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(self.url.strip_prefix("http://").unwrap()).unwrap();
        write!(stream, "{head}\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn an_engine_reads_files_by_the_service_as_by_its_own_process() {
    let served = Served::start(&[("LOOM_EXTRACTOR_TOKEN", TOKEN), ("LOOM_EXTRACTOR_MAX_BYTES", "1000")]);
    let extractors = served.extractors(TOKEN);
    assert_eq!(extractors.available()["markdown"], Some(true));
    let text = "# One\n\nTwo ünïcode words.\n";
    let there = read(&extractors, "markdown", text.as_bytes()).unwrap();
    let here = read(&Extractors::new(&super::settings()).unwrap(), "markdown", text.as_bytes()).unwrap();
    assert_eq!(there, here);
    assert_eq!(failed(read(&extractors, "text", &[b'a'; 1_001])).0, Some(FailureCode::TooLarge));
    assert_eq!(failed(read(&extractors, "text", b" ")).0, Some(FailureCode::NoText));
    let broken = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 100]].concat();
    let refused = failed(read(&extractors, "text", &broken));
    assert!(refused.0.is_some_and(|code| code != FailureCode::Refused), "{refused:?}");

    // Without the token it does not even say what it reads.
    for token in ["", "another"] {
        let (code, message) = failed(read(&served.extractors(token), "text", b"x"));
        assert!(code.is_none() && message.contains("401"), "{message}");
    }
    assert!(served.raw("POST /v1/extract?format=text HTTP/1.1\r\nContent-Length: 0").starts_with("HTTP/1.1 401"));
    assert!(served.raw("GET / HTTP/1.1").starts_with("HTTP/1.1 404"));
    let bearer = format!("Authorization: Bearer {TOKEN}\r\nContent-Length: 0");
    let other = served.raw(&format!("POST /v1/extract?contract=2&format=text HTTP/1.1\r\n{bearer}"));
    assert!(other.starts_with("HTTP/1.1 400") && other.contains("contract"), "{other}");
    let unknown = served.raw(&format!("POST /v1/extract?format=nothing HTTP/1.1\r\n{bearer}"));
    assert!(unknown.starts_with("HTTP/1.1 415") && unknown.contains("unsupported_format"), "{unknown}");
}

#[test]
fn without_a_token_only_this_machine_is_listened_on() {
    let served = Served::start(&[]);
    assert!(read(&served.extractors(""), "text", b"words").is_ok());
    let output = Command::new(env!("CARGO_BIN_EXE_loom"))
        .args(["extractor", "--listen", "0.0.0.0:0"])
        .env_remove("LOOM_EXTRACTOR_TOKEN")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("LOOM_EXTRACTOR_TOKEN"), "{error}");
}
