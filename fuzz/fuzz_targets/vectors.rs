#![no_main]

use std::sync::OnceLock;

use tempfile::TempDir;

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "the bodies of the other targets")]
mod bodies;

static FOLDER: OnceLock<TempDir> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a temporary folder"));
    bodies::vectors(folder.path(), data);
});
