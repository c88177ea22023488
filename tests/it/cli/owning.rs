//! What an owner does: keys, status, settings, erasure, credentials, and setting up clients and the service.

use std::fs;

use serde_json::{Value, json};

use super::Loom;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_key_is_made_listed_and_revoked() {
    let loom = Loom::new();
    let made = parsed(&loom.ok(["token", "create", "scout", "--role", "notes=writer", "--days", "9", "--json"]));
    let (id, token) = (made["token_id"].as_str().unwrap(), made["token"].as_str().unwrap());
    let listed = loom.ok(["token", "list"]);
    assert!(listed.contains(id) && listed.contains("notes=writer") && !listed.contains(token), "{listed}");
    assert!(loom.ok(["token", "revoke", id]).contains("revoked"));
    assert!(loom.ok(["token", "list"]).contains("no keys"));
    assert!(loom.ok(["audit"]).contains("token.revoke"));
    let wrong = loom.run(["token", "create", "scout", "--role", "notes"]);
    assert_eq!(wrong.status, 2, "{}", wrong.err);
}

#[test]
fn a_namespace_is_erased_for_good() {
    let loom = Loom::new();
    loom.write("a.md", "# Harbour\n\nThe harbour opens at six.\n");
    loom.ok(["add", "a.md"]);
    assert_eq!(loom.run(["erase", "namespace", "local", "--confirm", "loca"]).status, 1);
    assert!(loom.ok(["list"]).contains("a.md"));
    let done = loom.ok(["erase", "namespace", "local", "--confirm", "local"]);
    assert!(done.starts_with("done namespace local: 1 document"), "{done}");
    assert!(loom.ok(["list"]).contains("no documents"));
    assert!(loom.ok(["erase", "status"]).contains("done namespace"));
}

#[test]
fn status_tells_what_is_held_with_and_without_a_server() {
    let loom = Loom::new();
    loom.write("a.md", "# Harbour\n\nThe harbour opens at six.\n");
    loom.ok(["add", "a.md"]);
    let alone = parsed(&loom.ok(["status", "--json"]));
    assert_eq!(
        (&alone["numbers"]["loom_documents"], &alone["namespaces"][0]["namespace"]),
        (&json!(1.0), &json!("local"))
    );
    let serving = loom.serve();
    let served = loom.ok(["status"]);
    assert!(served.contains("1 document") && served.contains("nothing fails"), "{served}");
    drop(serving);
}

#[test]
fn settings_come_from_flags_the_environment_and_a_file() {
    let loom = Loom::new();
    loom.write("settings.env", "LOOM_NAMESPACE=filed\nLOOM_EMBEDDING_API_KEY=private\nLOOM_UNHEARD=1\n");
    let run = |args: &[&str], environment: &[(&str, &str)]| {
        let mut command = loom.command();
        command.env("LOOM_CONFIG", loom.work().join("settings.env")).envs(environment.iter().copied()).args(args);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let shown = parsed(&run(&["config", "--json"], &[("LOOM_ORG", "acme")]));
    let row =
        |name: &str| shown["settings"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!((&row("LOOM_ORG")["value"], &row("LOOM_ORG")["origin"]), (&json!("acme"), &json!("environment")));
    assert_eq!((&row("LOOM_NAMESPACE")["value"], &row("LOOM_NAMESPACE")["origin"]), (&json!("filed"), &json!("file")));
    assert_eq!(row("LOOM_EMBEDDING_API_KEY")["value"], "(hidden)");
    assert_eq!(shown["unknown"], json!(["LOOM_UNHEARD"]));
    let input = r#"{"source_uri": "a", "content": "x"}"#;
    let namespace = |args: &[&str], environment: &[(&str, &str)]| {
        parsed(&run(args, environment))["namespace"].as_str().unwrap().to_owned()
    };
    assert_eq!(namespace(&["call", "knowledge.add", input], &[]), "filed");
    assert_eq!(namespace(&["call", "knowledge.add", input], &[("LOOM_NAMESPACE", "env")]), "env");
    assert_eq!(
        namespace(&["call", "knowledge.add", input, "--namespace", "flag"], &[("LOOM_NAMESPACE", "env")]),
        "flag"
    );
}

#[test]
fn a_credential_is_sealed_and_sealed_again() {
    let loom = Loom::new();
    let run = |args: &[&str], environment: &[(&str, &str)], input: &str| {
        let mut command = loom.command();
        command.envs(environment.iter().copied()).args(args);
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
        super::Ran::from(child.wait_with_output().unwrap())
    };
    let (old, new) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let name = "LOOM_EMBEDDING_API_KEY";
    assert_eq!(run(&["secrets", "set", name], &[], "sk-private").status, 1, "there is nothing to seal it under");
    let stored = run(&["secrets", "set", name], &[("LOOM_JWT_SECRET", old)], "sk-private\n");
    assert_eq!(stored.status, 0, "{}", stored.err);
    let both = [("LOOM_JWT_SECRET", new), ("LOOM_JWT_SECRET_OLD", old)];
    assert!(run(&["secrets", "list"], &both[..1], "").out.contains("another secret"));
    assert!(run(&["secrets", "reseal"], &both, "").out.contains("1 credential"));
    let listed = run(&["secrets", "list"], &both[..1], "");
    assert_eq!((listed.out.trim(), listed.out.contains("sk-private")), (name, false));
}

#[test]
fn clients_and_the_service_are_set_up() {
    let loom = Loom::new();
    let file = loom.work().join("client").join("mcp.json");
    let named = file.to_str().unwrap();
    loom.ok(["mcp", "--namespace", "notes", "install", "cursor", "--write", "--file", named]);
    let config = parsed(&fs::read_to_string(&file).unwrap());
    // The client starts it without what this shell has set, so the folder is named.
    let data = loom.data();
    assert_eq!(config["mcpServers"]["loom"]["args"], json!(["mcp", "--data", data, "--namespace", "notes"]));
    let printed = parsed(&loom.ok(["mcp", "install", "vscode", "--json"]));
    assert!(printed["config"]["servers"]["loom"]["command"].is_string(), "{printed}");
    if cfg!(target_os = "linux") {
        let unit = loom.ok(["service", "install", "--print"]);
        assert!(unit.contains(" serve --data ") && unit.contains("WantedBy=default.target"), "{unit}");
    }
}
