//! The extractor that comes with Loom, for real.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use loom::extraction::{ExtractionSettings, Extractors, FailureCode};
use serde_json::json;

use super::{failed, later, read, request, settings};
use crate::harness;

#[test]
fn a_text_is_read_and_so_are_many_after_it() {
    let extractors = Extractors::new(&settings()).unwrap();
    assert!(extractors.is_configured());
    for number in 0..50 {
        let text = format!("# Heading {number}\n\nSome words.\n");
        let artifact = read(&extractors, "markdown", text.as_bytes()).unwrap();
        assert_eq!(artifact.text.as_deref(), Some(text.as_str()));
        assert_eq!((artifact.format.as_str(), artifact.blocks.len()), ("markdown", 2));
    }
}

#[test]
fn formats_are_told_apart_from_those_that_nobody_reads() {
    let extractors = Extractors::new(&settings()).unwrap();
    let available = extractors.available();
    assert_eq!(available["markdown"], Some(true));
    let (code, message) = failed(read(&extractors, "doc", b"x"));
    assert_eq!(code, Some(FailureCode::UnsupportedFormat));
    assert!(message.contains("markdown"), "{message}");
    let unread = available.iter().find(|(_, available)| **available == Some(false));
    if let Some((format, _)) = unread {
        assert_eq!(failed(read(&extractors, format, b"x")).0, Some(FailureCode::FormatUnavailable));
    }

    let none = Extractors::new(&ExtractionSettings::default()).unwrap();
    assert!(!none.is_configured());
    assert!(none.available().values().all(|available| *available == Some(false)));
    assert_eq!(failed(read(&none, "markdown", b"x")).0, Some(FailureCode::FormatUnavailable));
}

#[test]
fn a_file_over_the_limit_and_one_that_ends_early_are_not_read_and_the_next_one_is() {
    let mut settings = settings();
    settings.limits.file_bytes = 10;
    settings.artifact_bytes_max = 1_000;
    let extractors = Extractors::new(&settings).unwrap();
    assert_eq!(failed(read(&extractors, "text", b"elevenbytes")).0, Some(FailureCode::TooLarge));
    let cut = extractors.extract(&request("text"), 10, &mut &b"cut"[..], later(), &AtomicBool::new(false));
    let (code, message) = failed(cut);
    assert!(code.is_none() && message.contains("read to its end"), "{message}");
    let stopped = extractors.extract(&request("text"), 3, &mut &b"abc"[..], later(), &AtomicBool::new(true));
    assert!(failed(stopped).1.contains("stopped"));
    assert_eq!(read(&extractors, "text", b"whole").unwrap().text.as_deref(), Some("whole"));
}

#[test]
fn an_artifact_over_the_limit_is_refused() {
    let extractors = Extractors::new(&ExtractionSettings { artifact_bytes_max: 100, ..settings() }).unwrap();
    assert_eq!(failed(read(&extractors, "text", &[b'a'; 200])).0, Some(FailureCode::ResourceLimit));
}

#[test]
fn the_operation_lists_every_format_and_the_limits_of_an_upload() {
    let folder = harness::Folder::new();
    let output = harness::ok(&folder.open(), "knowledge.formats", json!({}));
    let formats = output["formats"].as_array().unwrap();
    assert_eq!(formats.len(), loom_extract::formats::ALL.len());
    assert_eq!(output["refused_extensions"], json!(["doc", "xls", "ppt"]));
    assert_eq!((&output["default_format"], &output["max_upload_bytes"]), (&json!("text"), &json!(64 << 20)));
    let csv = &formats[0];
    assert_eq!(csv["format"], "csv");
    assert_eq!(csv["extensions"], json!(["csv"]));
    // An engine of a library has no program to read with.
    assert_eq!(csv["available"], false);
}

#[test]
fn doctor_says_how_to_get_what_reads_pictures() {
    let folder = harness::Folder::new();
    drop(folder.open());
    let doctor = Command::new(env!("CARGO_BIN_EXE_loom"))
        .arg("doctor")
        .arg("--data")
        .arg(folder.path())
        .env("PATH", "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success() && said.contains("apt install poppler-utils tesseract-ocr"), "{said}");
}
