//! The boundaries between the crates, held by a test.

use std::fs;
use std::path::{Path, PathBuf};

/// The Rust files below a folder of the repository.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The files below `folder` that use `library`.
fn users(folder: &str, library: &str) -> Vec<PathBuf> {
    let marks = [format!("use {library}::"), format!(" {library}::"), format!("({library}::")];
    let mut users = sources(folder);
    users.retain(|path| {
        let text = fs::read_to_string(path).unwrap();
        marks.iter().any(|mark| text.contains(mark.as_str()))
    });
    users
}

#[test]
fn each_library_is_named_where_it_belongs() {
    for (library, home, others) in [
        ("redb", "storage/src", &["src", "index/src"][..]),
        ("bincode", "storage/src", &["src", "index/src"]),
        ("tantivy", "index/src", &["src", "storage/src"]),
        ("usearch", "index/src", &["src", "storage/src"]),
        ("tokenizers", "transformer/src", &["src", "storage/src", "index/src"]),
        (
            "axum",
            "src/http",
            &["src/ops", "src/search", "src/cli", "src/chunk", "src/embed", "index/src", "storage/src"],
        ),
        (
            "clap",
            "src/cli",
            &["src/ops", "src/search", "src/http", "src/chunk", "src/embed", "index/src", "storage/src"],
        ),
    ] {
        assert!(!users(home, library).is_empty(), "{library} is used in {home}");
        for other in others {
            assert_eq!(users(other, library), Vec::<PathBuf>::new(), "{library} in {other}");
        }
    }
}

#[test]
fn files_stay_readable() {
    for folder in ["src", "storage/src", "index/src", "transformer/src"] {
        for path in sources(folder) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 500, "{} has {lines} lines: look for the seam", path.display());
        }
    }
}
