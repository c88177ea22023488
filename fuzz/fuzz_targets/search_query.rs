#![no_main]

use std::sync::OnceLock;

use loom::Engine;
use tempfile::TempDir;

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "the bodies of the other targets")]
mod bodies;

static LIBRARY: OnceLock<(TempDir, Engine)> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (_, engine) = LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let engine = bodies::library(folder.path());
        (folder, engine)
    });
    bodies::search_query(engine, data);
});
