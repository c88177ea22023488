//! Every command of the README, run for real.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cli::Loom;
use crate::library;

const README: &str = include_str!("../../README.md");

/// The texts of the README's fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = README.lines();
    while let Some(line) = lines.next() {
        if line == format!("```{language}") {
            blocks.push(lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect());
        }
    }
    blocks
}

/// Runs a block with the built binary in the place of the one that the README builds.
fn run(loom: &Loom, block: &str, base: &str) -> String {
    let block = block
        .replace("cargo run --release --", "\"$LOOM\"")
        .replace("target/release/loom", "\"$LOOM\"")
        .replace("127.0.0.1:7777", base);
    let mut command = Command::new("bash");
    for (name, value) in loom.command().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let script = format!("set -euo pipefail\n{block}");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = command
        .args(["-c", &script])
        .env("LOOM", env!("CARGO_BIN_EXE_loom"))
        .env("HOME", loom.work())
        .current_dir(repository)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{block}\n{out}\n{err}");
    out.into_owned()
}

#[test]
fn every_command_of_the_readme_works() {
    let loom = Loom::new();
    let blocks = blocks("sh");
    let [demo, test, add, tables, change, safe, serve, http, agents] = blocks.as_slice() else {
        panic!("other blocks: {blocks:?}")
    };

    assert!(run(&loom, demo, "").starts_with("Stored "));
    let first = run(&loom, add, "");
    assert!(first.starts_with("added "), "{first}");
    assert!(first.contains("\n1. ARCHITECTURE  Architecture > Invariants\n"), "{first}");
    let calculated = run(&loom, tables, "");
    assert!(calculated.contains("North         30.01\n"), "{calculated}");
    let changed = run(&loom, change, "");
    assert!(changed.contains("The door code changes on Mondays."), "{changed}");
    assert!(changed.contains("nothing is wrong"), "{changed}");

    let kept = run(&loom, safe, "");
    assert!(kept.contains("nothing is wrong"), "{kept}");

    assert_eq!(serve, "cargo run --release -- serve\n");
    let server = loom.serve();
    let answers = run(&loom, http, server.base.strip_prefix("http://").unwrap());
    assert!(answers.contains("Run make undo, then tell the team."), "{answers}");
    assert!(answers.contains("\"openapi\""), "{answers}");

    let printed = run(&loom, agents, "");
    assert!(printed.contains("\"mcpServers\"") && printed.contains("\"mcp\""), "{printed}");

    // The test command is this very run: that it is what continuous integration calls is all that is left to check.
    let called = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
    assert!(called.lines().any(|line| line.trim_start_matches("exec ") == test.trim()), "{called}");
}

#[test]
fn the_library_example_of_the_readme_works() {
    assert_eq!(blocks("rust"), [include_str!("library.rs")], "the example in the README is the one that is run");
    let folder = tempfile::tempdir().unwrap();
    let passage = library::remember_and_ask(folder.path(), "how do I undo a deploy").unwrap();
    assert!(passage.contains("Run `make undo`."), "{passage}");
}
