//! Processes that misbehave in place of the extractor.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use loom::extraction::contract::{CONTRACT_VERSION, Capabilities, FormatCapability};
use loom::extraction::{ExtractionSettings, Extractors, FailureCode};
use serde_json::json;
use tempfile::TempDir;

use super::{failed, read, request};

/// A message of the process.
fn message(kind: u8, length: u64, payload: &[u8]) -> Vec<u8> {
    [&[kind], &length.to_le_bytes()[..], payload].concat()
}

fn hello() -> Vec<u8> {
    let formats = vec![FormatCapability { format: "text".into(), ..FormatCapability::default() }];
    let capabilities =
        Capabilities { contract: CONTRACT_VERSION, formats, max_bytes: 1_000, ..Capabilities::default() };
    let hello = json!({ "capabilities": capabilities, "layers": [] }).to_string();
    message(b'H', hello.len() as u64, hello.as_bytes())
}

/// A program that says `says` and then runs `does`.
fn program(says: &[u8], does: &str) -> (TempDir, ExtractionSettings) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    fs::write(folder.path().join("says"), says).unwrap();
    fs::write(&path, format!("#!/bin/sh\ncat \"${{0%program}}says\"\n{does}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, ExtractionSettings { program: Some(path), ..ExtractionSettings::default() })
}

/// What becomes of a file when the program says hello, `says` and then runs `does`.
fn outcome(says: &[u8], does: &str) -> (Option<FailureCode>, String) {
    let (_folder, settings) = program(&[&hello()[..], says].concat(), does);
    failed(read(&Extractors::new(&settings).unwrap(), "text", b"text"))
}

const READ_ON: &str = "cat >/dev/null";

#[test]
fn one_that_is_not_ready_is_tried_again() {
    for (says, does, words) in [
        (&b""[..], "exit 3", "ended before it was ready"),
        (b"Hello, world", "exit 0", "ended before it was ready"),
        (&hello()[..20], "exit 0", "ended before it was ready"),
        (&message(b'U', 7, b"no room"), "exit 0", "no room"),
        (&message(b'H', 2, b"{}"), READ_ON, "another version"),
        (&message(b'H', u64::MAX, b""), READ_ON, "ended before it was ready"),
    ] {
        let (_folder, settings) = program(says, does);
        let extractors = Extractors::new(&settings).unwrap();
        let (code, message) = failed(read(&extractors, "text", b"text"));
        assert!(code.is_none() && message.contains(words), "{code:?} {message}");
        assert!(extractors.available().values().all(Option::is_none));
    }
    let settings = ExtractionSettings { program: Some("/nonexistent/loom".into()), ..ExtractionSettings::default() };
    let (code, message) = failed(read(&Extractors::new(&settings).unwrap(), "text", b"text"));
    assert!(code.is_none() && message.contains("could not be started"), "{message}");
}

#[test]
fn one_that_dies_says_by_its_death_what_the_file_did() {
    for (does, code) in [
        ("kill -SEGV $$", FailureCode::Corrupt),
        ("kill -ABRT $$", FailureCode::Corrupt),
        ("exit 0", FailureCode::Corrupt),
        ("exit 101", FailureCode::Corrupt),
        ("kill -KILL $$", FailureCode::ResourceLimit),
        ("kill -XCPU $$", FailureCode::ResourceLimit),
        ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", FailureCode::ResourceLimit),
        ("head -c 1000000 /dev/zero >&2; exit 1", FailureCode::Corrupt),
    ] {
        // It has to be ready first.
        let (found, message) = outcome(b"", &format!("head -c 200 >/dev/null; {does}"));
        assert_eq!(found, Some(code), "{does}: {message}");
    }
}

#[test]
fn one_that_breaks_the_contract_is_refused() {
    let artifact = |text: &str| message(b'A', text.len() as u64, text.as_bytes());
    let wrong = json!({ "contract": 99, "format": "text", "parser": { "name": "", "version": "" }, "blocks": [],
                        "coverage": { "unit": "bytes", "total": 0, "extracted": 0, "failed": 0 } });
    for (says, code) in [
        (b"garbage, and more of it".to_vec(), FailureCode::InvalidArtifact),
        (message(b'S', 2, b"{}"), FailureCode::InvalidArtifact),
        (message(b'N', 2, b"{}"), FailureCode::InvalidArtifact),
        (message(b'P', 4, b"many"), FailureCode::InvalidArtifact),
        (message(b'F', 1 << 40, b""), FailureCode::InvalidArtifact),
        (artifact("not JSON"), FailureCode::InvalidArtifact),
        (artifact("{\"secret\""), FailureCode::InvalidArtifact),
        (artifact(&"[".repeat(100_000)), FailureCode::InvalidArtifact),
        (artifact(&wrong.to_string()), FailureCode::InvalidArtifact),
        (message(b'A', 1 << 40, b""), FailureCode::ResourceLimit),
    ] {
        let (found, message) = outcome(&says, READ_ON);
        assert_eq!(found, Some(code), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
    // Half a message, and then the end.
    assert_eq!(outcome(&message(b'A', 100, b"half"), "head -c 200 >/dev/null").0, Some(FailureCode::Corrupt));
}

#[test]
fn one_that_hangs_is_ended_with_all_that_it_started() {
    let (_folder, settings) = program(&hello(), "sleep 1000 & sleep 1000");
    let extractors = Extractors::new(&settings).unwrap();
    let soon = Instant::now() + Duration::from_millis(300);
    let late = extractors.extract(&request("text"), 4, &mut &b"text"[..], soon, &AtomicBool::new(false));
    let (code, message) = failed(late);
    assert!(code.is_none() && message.contains("in the time"), "{code:?} {message}");

    let mut settings = settings;
    settings.limits.time_seconds = 0;
    let (code, message) = failed(read(&Extractors::new(&settings).unwrap(), "text", b"text"));
    assert_eq!(code, Some(FailureCode::Timeout), "{message}");

    // It reads nothing of a file that no pipe holds.
    let large = vec![b'a'; 1 << 20];
    let soon = Instant::now() + Duration::from_millis(300);
    let stuck = extractors.extract(&request("text"), 1 << 20, &mut &large[..], soon, &AtomicBool::new(false));
    assert!(failed(stuck).0.is_none());
}

/// A file while which is read the flag is set.
struct Stopping<'a>(&'a AtomicBool);
impl std::io::Read for Stopping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.store(true, std::sync::atomic::Ordering::Release);
        buffer.fill(b'a');
        Ok(buffer.len())
    }
}

#[test]
fn one_that_is_stopped_ends_before_its_time() {
    let (_folder, settings) = program(&hello(), "sleep 1000");
    let extractors = Extractors::new(&settings).unwrap();
    let stop = AtomicBool::new(false);
    let stopped = extractors.extract(&request("text"), 4, &mut Stopping(&stop), super::later(), &stop);
    assert!(failed(stopped).1.contains("stopped"));
}
