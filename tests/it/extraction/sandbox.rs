//! What a confined process can still do: nothing.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use loom::extraction::Extractors;
use serde_json::Value;

use super::settings;

/// The layers without which no process reads a file.
const MUST: [&str; 5] = ["descriptors", "limits", "no_new_privs", "descriptor_limit", "seccomp"];

#[test]
fn a_confined_process_can_do_nothing() {
    let report = Extractors::new(&settings()).unwrap().local_report().unwrap().unwrap();
    let allowed: Vec<_> = report.attempts.iter().filter(|attempt| attempt.allowed).collect();
    assert!(allowed.is_empty(), "{allowed:?}");
    assert!(report.attempts.len() >= 16, "{:?}", report.attempts);
    for name in MUST {
        assert!(report.layers.iter().any(|layer| layer.name == name && layer.active), "{:?}", report.layers);
    }
}

#[test]
fn one_of_a_plain_user_can_do_nothing_either() {
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) != 0 {
        // The other test ran as one.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("loom");
    fs::copy(env!("CARGO_BIN_EXE_loom"), &program).unwrap();
    let mut command = Command::new(&program);
    std::os::unix::process::CommandExt::uid(&mut command, 65_534);
    std::os::unix::process::CommandExt::gid(&mut command, 65_534);
    let output = command.args(["extractor", "--probe", "--json"]).env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let attempts = report["attempts"].as_array().unwrap();
    assert!(attempts.len() >= 16 && attempts.iter().all(|attempt| attempt["allowed"] == false), "{report}");
    let layers = report["layers"].as_array().unwrap();
    assert!(MUST.iter().all(|name| layers.iter().any(|layer| layer["name"] == *name && layer["active"] == true)));
}

/// What a program of the system writes when it runs confined and reads `input`.
fn confined(args: &[&str], input: &[u8]) -> (bool, Vec<u8>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_loom"))
        .args(["extractor", "--confined"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end without reading.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    (output.status.success(), output.stdout)
}

#[test]
fn a_program_of_the_system_gets_its_input_and_its_output_and_writes_nothing_else() {
    assert_eq!(confined(&["/bin/cat"], b"words"), (true, b"words".to_vec()));
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("written");
    assert!(!confined(&["/bin/sh", "-c", &format!("echo x > {}", written.display())], b"").0);
    assert!(!Path::new(&written).exists() || fs::read(&written).unwrap().is_empty());
    assert!(!confined(&["/nonexistent/program"], b"").0);
}
